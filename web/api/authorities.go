package api

import (
	"context"
	"time"

	"github.com/skerry/skerry/engine"
)

// Authority is a key that may say who belongs to the mesh.
type Authority struct {
	Key  string `json:"key"`
	Site string `json:"site"` // empty: it is no site's
	Self bool   `json:"self"`
}

// AuthorityRequest makes a key an authority.
type AuthorityRequest struct {
	Key string `json:"key"` // or a site's name
	// First gives it the rank before this site's own, and not the lowest.
	First bool `json:"first"`
}

// SigningRequest asks for what an authority is to sign whose key is kept off line. One of Certify, Retire, Revoke, Add, Remove and Zone is set.
type SigningRequest struct {
	By       string   `json:"by"`
	Certify  string   `json:"certify"`
	Name     string   `json:"name"`
	ValidFor string   `json:"valid_for"`
	Retire   string   `json:"retire"`
	Revoke   string   `json:"revoke"`
	Add      string   `json:"add"`
	First    bool     `json:"first"`
	Remove   string   `json:"remove"`
	Zone     string   `json:"zone"`
	Sites    []string `json:"sites"` // of the zone; none: it is taken away
}

// ToSign is the text that an authority signs off line.
type ToSign struct {
	Request string `json:"request"`
}

// Signed is an authority's answer.
type Signed struct {
	Answer string `json:"answer"`
}

// Applied tells how many records of an answer count now.
type Applied struct {
	Records int `json:"records"`
}

// Authorities lists the authorities of the mesh, by rank.
func (a *API) Authorities(context.Context) ([]Authority, error) {
	n, list := a.names(), []Authority{}
	for _, key := range a.Mesh.Authorities() {
		list = append(list, Authority{Key: string(key), Site: n.ByID[key], Self: key == a.Mesh.Self()})
	}
	return list, nil
}

// AddAuthority makes a key an authority and lists all of them.
func (a *API) AddAuthority(ctx context.Context, r AuthorityRequest) ([]Authority, error) {
	if err := a.Mesh.Order(ctx, engine.Order{Add: a.keyOf(r.Key), First: r.First}); err != nil {
		return nil, err
	}
	return a.Authorities(ctx)
}

// RemoveAuthority takes a key off the list.
func (a *API) RemoveAuthority(ctx context.Context, key string) error {
	return a.Mesh.Order(ctx, engine.Order{Remove: a.keyOf(key)})
}

// keyOf is the key of a site that is called so; what is no site's name is taken for a key.
func (a *API) keyOf(name string) engine.SiteID {
	if id, err := a.names().ID(name); err == nil {
		return id
	}
	return engine.SiteID(name)
}

// RequestToSign makes the request that an authority signs off line.
func (a *API) RequestToSign(_ context.Context, r SigningRequest) (ToSign, error) {
	set := 0
	for _, what := range []string{r.Certify, r.Retire, r.Revoke, r.Add, r.Remove, r.Zone} {
		if what != "" {
			set++
		}
	}
	if set != 1 || r.By == "" {
		return ToSign{}, badRequest("say by whom it is to be signed, and one of certify, retire, revoke, add, remove and zone")
	}
	term, err := validFor(r.ValidFor)
	if err != nil {
		return ToSign{}, err
	}
	o := engine.Order{Certify: a.keyOf(r.Certify), Name: engine.SiteName(r.Name), Retire: a.keyOf(r.Retire), Revoke: a.keyOf(r.Revoke), Add: a.keyOf(r.Add),
		First: r.First, Remove: a.keyOf(r.Remove), Zone: engine.ZoneName(r.Zone)}
	if term > 0 {
		o.Until = a.Now().Add(term).Truncate(time.Second)
	}
	for _, s := range r.Sites {
		o.Sites = append(o.Sites, a.keyOf(s))
	}
	text, err := a.Mesh.Request(a.keyOf(r.By), o)
	return ToSign{Request: text}, err
}

// ApplyAnswer takes in what an authority has signed off line.
func (a *API) ApplyAnswer(ctx context.Context, r Signed) (Applied, error) {
	n, err := a.Mesh.Apply(ctx, r.Answer)
	return Applied{Records: n}, err
}
