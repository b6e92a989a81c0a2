package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// Replicas asks every site of the resource's placement, each for itself and all at once, and compares. header is
// the caller's; its Authorization goes with the questions.
func (a *API) Replicas(ctx context.Context, ref ResourceRef, header http.Header, remote string) (shape.Comparison, error) {
	row, err := a.rowToRead(ctx, ref)
	if err != nil {
		return shape.Comparison{}, err
	}
	return a.compare(ctx, row, slices.Collect(maps.Keys(row.Sites)), header, remote)
}

// compare asks some sites for what they show of a resource.
func (a *API) compare(ctx context.Context, row engine.ResourceRow, sites []engine.SiteID, header http.Header, remote string) (shape.Comparison, error) {
	return a.compareBy(ctx, row, sites, func(engine.SiteID) engine.ResourceID { return row.ID }, header, remote)
}

// compareBy asks each of some sites for what it shows of what has that identifier there.
func (a *API) compareBy(ctx context.Context, row engine.ResourceRow, sites []engine.SiteID, of func(engine.SiteID) engine.ResourceID, header http.Header, remote string) (shape.Comparison, error) {
	k, s := a.kind(row.Service, row.Kind), a.service(row.Service)
	if k == nil {
		return shape.Comparison{}, refuse(422, "unknown-service", "this site's catalog has no kind %s.%s any more", row.Service, row.Kind)
	}
	c := shape.Comparison{
		ID: string(row.ID), Service: string(row.Service), Kind: string(row.Kind),
		Sites: map[string]shape.View{}, Differences: []shape.Difference{},
	}
	n := a.names()
	ctx, cancel := context.WithTimeout(ctx, replicaWait)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex // guards c.Sites
	for _, id := range sites {
		name := n.Of(id)
		wg.Go(func() {
			v := a.view(ctx, s, k, of(id), name, header, remote)
			mu.Lock()
			defer mu.Unlock()
			c.Sites[name] = v
		})
	}
	wg.Wait()
	c.Compare(k, row.Collaboration == engine.Cross)
	return c, nil
}

func (a *API) view(ctx context.Context, s *Service, k *engine.Kind, id engine.ResourceID, site string, caller http.Header, remote string) shape.View {
	h := http.Header{"Scope": {string(s.Name) + ": " + site}, "Accept": {"application/json, */*;q=0.1"}}
	if v := caller.Get("Authorization"); v != "" {
		h.Set("Authorization", v)
	}
	start := a.Now()
	got, err := s.ask(ctx, http.MethodGet, itemPath(k, id), h, nil, remote, replicaBytes)
	v := shape.View{TookMS: float64(a.Now().Sub(start).Microseconds()) / 1000, Ignored: map[string]any{}}
	switch {
	case ctx.Err() != nil:
		v.Error = fmt.Sprintf("no answer within %s", replicaWait)
		return v
	case err != nil:
		v.Error = err.Error()
		return v
	}
	v.Status = got.status
	v.Pending, _ = strconv.Atoi(got.header.Get("Skerry-Pending"))
	if p, ok := ownProblem(got); ok {
		v.Status, v.Error = 0, p.Detail
		return v
	}
	switch {
	case got.status == http.StatusNotFound || got.status == http.StatusGone:
		v.Error = "the application has no such resource"
	case got.status >= 300:
		v.Error = fmt.Sprintf("the application answered %d", got.status)
	case got.truncated:
		v.Error = fmt.Sprintf("the representation is over %d bytes", replicaBytes)
	default:
		v.Take(k, got.body)
	}
	return v
}
