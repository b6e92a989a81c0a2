package intercept

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
	"github.com/skerry/skerry/web/problem"
)

const (
	// listWait bounds the wait for this site's application to list what may rely on a resource that is to be deleted. An application
	// that takes longer would not delete it quickly either.
	listWait = 5 * time.Second
	// maxRelying is how many of those that rely on it a refusal names.
	maxRelying = 20
	// maxAlong is how many things that are deleted along with what holds them may be replicated.
	maxAlong = 1000
)

// relying is one of those that a refusal names.
type relying struct {
	Service string `json:"service"`
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	At      string `json:"at"` // where its representation has the reference; empty: it lies inside
	// Sites are where it is replicated; none: it is an object of this site alone.
	Sites []string `json:"sites"`
}

// keeps refuses the deletion of what others rely on, and of what holds replicas, unless its caller forces it. Each site that the request passes checks
// what it knows: the resources that it shares and, where what is to be deleted is replicated here, the objects of its
// own application too.
func (h *Handler) keeps(q *request.Request, replicated bool) (refused bool) {
	m := q.Match
	if m.Type != engine.TypeDelete || m.Target == "" || peer.Forces(q.Header, engine.ForceReliedOn) {
		return false
	}
	rows, err := h.Site.Relying(q.Context(), m.Kind, m.Target, maxRelying+1)
	if err != nil {
		h.RefuseError(q, err)
		return true
	}
	most := maxRelying + 1
	if h.Dialect != nil && h.Dialect.TakesAlong(m.Kind) {
		most = maxAlong + 1
	}
	inside, err := h.Site.Holding(q.Context(), m.Kind, m.Target, most)
	if err != nil {
		h.RefuseError(q, err)
		return true
	}
	if h.goAlong(q, inside) {
		inside = nil
	}
	rows = append(rows, inside...)
	t := engine.Target{Service: m.Kind.Service, Kind: m.Kind.Name, ID: engine.ResourceID(m.Target)}
	if row, err := h.Site.Lookup(q.Context(), m.Kind, m.Target); err == nil {
		t.ID = row.ID
	}
	var list []relying
	for _, row := range rows {
		r := relying{Service: string(row.Service), Kind: string(row.Kind), ID: string(row.ID), Sites: []string{}}
		if i := slices.IndexFunc(row.Relations, func(to engine.Relation) bool {
			return to.Target == t && to.Type == engine.RelationReliance
		}); i >= 0 {
			r.At = string(row.Relations[i].At)
		}
		for id := range row.Sites {
			r.Sites = append(r.Sites, h.Name(id))
		}
		slices.Sort(r.Sites)
		list = append(list, r)
	}
	if replicated {
		list = append(list, h.relyingHere(q, t)...)
	}
	if len(list) == 0 {
		return false
	}
	more := ""
	if len(list) > maxRelying {
		list, more = list[:maxRelying], " and others"
	}
	var words []string
	for _, r := range list {
		at := "which only " + h.Name(h.Membership.Self()) + " has"
		if len(r.Sites) > 0 {
			at = "at " + strings.Join(r.Sites, ", ")
		}
		how := "through " + r.At
		if r.At == "" {
			how = "inside it"
		}
		words = append(words, fmt.Sprintf("%s %s (%s, %s)", r.Kind, r.ID, at, how))
	}
	force := "send " + peer.HeaderForce + ": " + engine.ForceReliedOn
	if h.Dialect != nil {
		force = "force it (kubectl delete --force)"
	}
	h.Answered(q)
	problem.Write(q.W, http.StatusConflict, engine.ForceReliedOn, fmt.Sprintf(
		"others rely on %s %s: %s%s; nothing has happened\nhelp: delete them first or have them refer to another, or %s",
		t.Kind, t.ID, strings.Join(words, ", "), more, force), map[string]any{"relied_on_by": list})
	return true
}

// goAlong reports whether all that is replicated inside what is to be deleted is deleted with it, as the application does it and its client knows: each
// thing is at the sites that the container is at. What is elsewhere as well its client may not have meant. The answer warns of what goes.
func (h *Handler) goAlong(q *request.Request, inside []engine.ResourceRow) bool {
	if h.Dialect == nil || len(inside) == 0 || len(inside) > maxAlong || !h.Dialect.TakesAlong(q.Match.Kind) {
		return false
	}
	row, err := h.Site.Lookup(q.Context(), q.Match.Kind, q.Match.Target)
	if err != nil {
		return false
	}
	same := func(r engine.ResourceRow) bool {
		return slices.Equal(slices.Sorted(maps.Keys(r.Sites)), slices.Sorted(maps.Keys(row.Sites)))
	}
	var words []string
	for _, r := range inside {
		if !same(r) {
			return false
		}
		if len(words) < maxRelying {
			words = append(words, fmt.Sprintf("%s %s", r.Kind, r.ID))
		}
	}
	if more := len(inside) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	if q.From == "" {
		h.warns(q, fmt.Sprintf("what is replicated in %s %s is deleted with it at %s: %s", row.Kind, row.ID,
			h.Names(slices.Sorted(maps.Keys(row.Sites))), strings.Join(words, ", ")))
	}
	return true
}

// relyingHere lists the objects of this site's application that rely on something replicated and are not replicated
// themselves. What cannot be read in time is passed over and noted: a deletion must not hang on a list.
func (h *Handler) relyingHere(q *request.Request, t engine.Target) []relying {
	ctx, cancel := context.WithTimeout(q.Context(), listWait)
	defer cancel()
	found, err := h.Client.Referring(ctx, t, q.Credentials())
	if err != nil {
		h.Log.WarnContext(q.Context(), "what relies on a resource that is deleted is not all known", "resource", string(t.ID), "err", err)
	}
	var list []relying
	for _, r := range found {
		if !r.Replicated && r.By.Type == engine.RelationReliance && r.Target != t && len(list) <= maxRelying {
			list = append(list, relying{string(r.Service), string(r.Kind), string(r.ID), string(r.By.At), []string{}})
		}
	}
	return list
}
