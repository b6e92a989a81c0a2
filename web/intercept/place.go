package intercept

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/web/problem"
	"github.com/skerry/skerry/web/world"
)

// surroundings is what the names in scopes are looked up in.
type surroundings struct {
	engine.Membership
	Site
}

// place parses, checks and resolves the scope of a request. It returns false when it has refused the request. A
// service that the scope does not bind runs here.
func (h *Handler) place(q *request) bool {
	s, err := scope.Parse(q.text)
	if err != nil {
		detail, extra := err.Error(), map[string]any{}
		var syntax *scope.SyntaxError
		if errors.As(err, &syntax) {
			detail, extra["position"] = syntax.Picture(), syntax.Offset
		}
		h.answered(q)
		problem.Write(q.w, http.StatusBadRequest, "scope-syntax", detail, extra)
		return false
	}
	if h.removed() {
		h.refuse(q, http.StatusConflict, "removed", "this site was taken out of the mesh for good: requests run here, without a scope")
		return false
	}
	known, ids := world.Of(surroundings{h.Membership, h.Site}, h.Application, h.Services, string(h.Service))
	problems := s.Check(known)
	location, bound := s.For(string(h.Service), string(h.Service))
	var alternatives []scope.Alternative
	if len(problems) == 0 && bound {
		if alternatives, err = scope.Resolve(location, known); err != nil {
			var p *scope.Problem
			if !errors.As(err, &p) {
				p = &scope.Problem{Type: scope.TypeError, Detail: err.Error()}
			}
			problems = []scope.Problem{*p}
		}
	}
	if len(problems) > 0 {
		details := make([]string, len(problems))
		for i, p := range problems {
			details[i] = p.Detail
		}
		h.answered(q)
		problem.Write(q.w, http.StatusUnprocessableEntity, problems[0].Type, strings.Join(details, "\n"),
			map[string]any{"position": problems[0].Position, "errors": problems})
		return false
	}
	q.parsed = s
	q.scope = s.String()
	if !bound {
		return true
	}
	for _, a := range alternatives {
		c := choice{either: a.Either, agreement: engine.Agreement(a.Wait), exactlyOne: a.Mode == scope.ExactlyOne}
		for _, name := range a.Sites {
			c.sites = append(c.sites, ids[name])
		}
		for _, names := range a.Parts {
			var part []engine.SiteID
			for _, name := range names {
				part = append(part, ids[name])
			}
			c.parts = append(c.parts, part)
		}
		q.choices = append(q.choices, c)
	}
	if q.choice = q.choices[0]; len(q.choices) == 1 {
		q.choices = nil
	}
	return true
}

// removed reports whether this site was taken out of the mesh.
func (h *Handler) removed() bool {
	self := h.Membership.Self()
	return slices.ContainsFunc(h.Membership.Members(), func(m engine.Member) bool { return m.ID == self && !m.Removed.IsZero() })
}

// name returns what people call a site; its identifier when it has not told a name.
func (h *Handler) name(id engine.SiteID) string { return nameIn(h.Membership, id) }

func nameIn(m engine.Membership, id engine.SiteID) string {
	for _, member := range m.Members() {
		if member.ID == id && member.Name != "" {
			return string(member.Name)
		}
	}
	return string(id)
}

func (h *Handler) names(ids []engine.SiteID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = h.name(id)
	}
	return strings.Join(names, ", ")
}

// nearest returns those of the sites that can be reached now, other than this one, the nearest first.
func (h *Handler) nearest(sites []engine.SiteID) []engine.SiteID {
	status, self := h.Network.Status(), h.Membership.Self()
	reachable := make([]engine.SiteID, 0, len(sites))
	for _, id := range sites {
		if id != self && status[id].Reachable {
			reachable = append(reachable, id)
		}
	}
	distance := func(id engine.SiteID) time.Duration {
		if d := status[id].RTT; d > 0 {
			return d
		}
		return time.Hour // not measured yet: after those that are
	}
	slices.SortStableFunc(reachable, func(a, b engine.SiteID) int { return cmp.Compare(distance(a), distance(b)) })
	return reachable
}

const (
	// patience is how long a read waits for a site that was lost moments ago: with it, an answer or a refusal comes within
	// a second.
	patience = 700 * time.Millisecond
	// moments is how long ago that is at most. Who is gone longer is not waited for.
	moments = 5 * time.Second
	// lookEvery is how often it is looked whether the site is back.
	lookEvery = 50 * time.Millisecond
)

// await returns those of the sites that can be reached, the nearest first, as soon as there is one, but not at once: a
// connection that has just broken may not be known to be gone. It waits as long as one of the sites was there moments
// ago: its agent may just have been started again, or a connection that broke is being replaced.
func (h *Handler) await(ctx context.Context, sites []engine.SiteID, until time.Time) []engine.SiteID {
	status := h.Network.Status()
	if !slices.ContainsFunc(sites, func(id engine.SiteID) bool {
		return status[id].Reachable || time.Since(status[id].LastSeen) < moments
	}) {
		return nil
	}
	look, end := time.NewTicker(lookEvery), time.NewTimer(time.Until(until))
	defer look.Stop()
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-end.C:
			return nil
		case <-look.C:
			if reachable := h.nearest(sites); len(reachable) > 0 {
				return reachable
			}
		}
	}
}
