package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/doctor"
)

const (
	// waysWait is how long the sites have that are asked for their ways, askedAtOnce how many of them are asked at the same time.
	waysWait    = 3 * time.Second
	askedAtOnce = 16
)

// Ways tells of each two sites how they meet, or why not.
type Ways struct {
	Items []doctor.Pair `json:"items"`
	// Asked are the sites that were asked what they have tried.
	Asked []Asked `json:"asked"`
}

// Asked is a site that was asked, and why it has not answered.
type Asked struct {
	Site  string `json:"site"`
	Error string `json:"error"` // empty: it has answered
}

// OwnWays tells how this site gets to all others.
func (a *API) OwnWays(context.Context) (doctor.View, error) {
	return doctor.ViewOf(a.Mesh.Self(), a.Mesh.Members(), a.Network.Ways(), a.Network.Isolated(), a.Network.Announced()), nil
}

// Ways asks all sites that are reached for their ways, and says of each two what follows from that; of one site alone, unless it is empty.
func (a *API) Ways(ctx context.Context, site string) (Ways, error) {
	of, err := a.names().ID(site)
	if err != nil {
		return Ways{}, err
	}
	self, members, status := a.Mesh.Self(), a.Mesh.Members(), a.Network.Status()
	if of == "" && len(members) > maxPaired {
		return Ways{}, refuse(http.StatusUnprocessableEntity, "too-many", "the mesh has %d sites: name one with ?site=", len(members))
	}
	own, err := a.OwnWays(ctx)
	if err != nil {
		return Ways{}, err
	}
	m := doctor.Mesh{Views: map[string]*doctor.View{string(self): &own}, Now: a.Now()}
	v := Ways{Asked: []Asked{}}
	ctx, cancel := context.WithTimeout(ctx, waysWait)
	defer cancel()
	var asked sync.WaitGroup
	var mu sync.Mutex // guards what is found out
	turns := make(chan struct{}, askedAtOnce)
	for _, s := range members {
		m.Sites = append(m.Sites, doctor.Site{ID: string(s.ID), Name: cmp.Or(string(s.Name), string(s.ID)), Version: s.Version, Addresses: s.Addresses,
			Revoked: s.Revoked, Removed: !s.Removed.IsZero(), Until: s.Until})
		if s.ID == self || !status[s.ID].Reachable {
			continue
		}
		asked.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			var view doctor.View
			err := a.askSite(ctx, s.ID, http.MethodGet, "/ways/own", nil, &view)
			mu.Lock()
			defer mu.Unlock()
			answer := Asked{Site: string(s.Name)}
			var refusal *engine.Refusal
			switch {
			case errors.As(err, &refusal):
				answer.Error = refusal.Detail
			case err != nil:
				answer.Error = err.Error()
			default:
				view.Site = string(s.ID) // whatever it says: the connection proves who it is
				m.Views[string(s.ID)] = &view
			}
			v.Asked = append(v.Asked, answer)
		})
	}
	asked.Wait()
	slices.SortFunc(v.Asked, func(x, y Asked) int { return cmp.Compare(x.Site, y.Site) })
	v.Items = m.Pairs(string(of))
	return v, nil
}

func (a *API) getWays(c echo.Context) error {
	q, err := params(c, "site")
	if err != nil {
		return err
	}
	v, err := a.Ways(c.Request().Context(), q.Get("site"))
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}
