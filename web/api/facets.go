package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// Facets are how many resources a list has, and how many it would have with another value of one of its filters.
type Facets struct {
	Total int            `json:"total"`
	State map[string]int `json:"state"`
	Kind  map[string]int `json:"kind"` // by service.kind
	Site  map[string]int `json:"site"`
}

// Facets counts what Resources lists, whatever its page.
func (a *API) Facets(ctx context.Context, q ResourceQuery) (Facets, error) {
	n := a.names()
	tallies, err := a.Counter.TallyResources(ctx, q.Text)
	if err != nil {
		return Facets{}, fmt.Errorf("count what is listed: %w", err)
	}
	f := Facets{State: map[string]int{}, Kind: map[string]int{}, Site: map[string]int{}}
	for _, t := range tallies {
		f.add(n, q, t)
	}
	return f, nil
}

// add counts in each facet what the filters of the others leave.
func (f *Facets) add(n shape.Names, q ResourceQuery, t engine.ResourceTally) {
	state := t.State
	if state == engine.StateConverged && slices.ContainsFunc(t.Sites, func(id engine.SiteID) bool { _, silent := n.Silent[id]; return silent }) {
		state = engine.StateUnknown
	}
	inState := string(state) == q.State || q.State == "" && !state.Past()
	ofKind := (q.Service == "" || q.Service == string(t.Service)) && (q.Kind == "" || q.Kind == string(t.Kind))
	at := q.Site == "" || slices.ContainsFunc(t.Sites, func(id engine.SiteID) bool { return n.Of(id) == q.Site || string(id) == q.Site })
	if ofKind && at {
		f.State[string(state)] += t.Number
	}
	if inState && at {
		f.Kind[string(t.Service)+"."+string(t.Kind)] += t.Number
	}
	if inState && ofKind {
		for _, id := range t.Sites {
			f.Site[n.Of(id)] += t.Number
		}
	}
	if inState && ofKind && at {
		f.Total += t.Number
	}
}

// ResourceOrders are the orders that a list of resources can have, the newest first where none is asked for.
var ResourceOrders = []engine.ResourceOrder{engine.OrderOldest, engine.OrderName, engine.OrderChanged}

func parseOrder(text string) (engine.ResourceOrder, error) {
	o := engine.ResourceOrder(text)
	if text == "newest" {
		o = ""
	}
	if o != "" && !slices.Contains(ResourceOrders, o) {
		return "", badRequest("order is %q: give newest, %s", text, strings.Join(shape.Texts(ResourceOrders), ", "))
	}
	return o, nil
}
