package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/web/shape"
)

// Alternative is one that a scope resolves to, as far away as its nearest site is today.
type Alternative struct {
	scope.Alternative
	Reachable bool     `json:"reachable"` // a site of it can be reached now
	RTT       *float64 `json:"rtt_ms"`    // milliseconds; nil: not measured, or not reachable
}

// Measured adds what is known of the way to each alternative today.
func (p *Planner) Measured(all []scope.Alternative) []Alternative {
	out := make([]Alternative, len(all))
	for i, a := range all {
		out[i].Alternative = a
		if site := p.nearest(a.Sites); site != "" {
			out[i].Reachable, out[i].RTT = true, p.sites[site].RTT
		}
	}
	return out
}

// ordered puts equals ("|") in the order of their distance, those that cannot be reached last: the order in which a write tries them.
func ordered(all []Alternative) []Alternative {
	far := func(a Alternative) float64 {
		switch {
		case !a.Reachable:
			return 2e9
		case a.RTT == nil:
			return 1e9
		}
		return *a.RTT
	}
	sorted := slices.Clone(all)
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to].Either {
			to++
		}
		slices.SortStableFunc(sorted[from:to], func(a, b Alternative) int { return cmp.Compare(far(a), far(b)) })
		from = to
	}
	return sorted
}

// Today is the alternative that a request runs at if nothing fails: the first that can be reached, else the first.
func Today(all []Alternative) Alternative {
	sorted := ordered(all)
	if i := slices.IndexFunc(sorted, func(a Alternative) bool { return a.Reachable }); i >= 0 {
		return sorted[i]
	}
	return sorted[0]
}

// Others tells what the alternatives beside the one of today are for.
func (p *Planner) Others(all []Alternative, now Alternative, read bool) {
	if len(all) < 2 {
		return
	}
	equals := slices.ContainsFunc(all, func(a Alternative) bool { return a.Either })
	names := make([]string, 0, len(all))
	for _, a := range ordered(all) {
		names = append(names, strings.Join(a.Sites, " & "))
	}
	switch {
	case read && equals:
		p.Plan.Summary += " Equals are asked at once, and the first good answer counts; when all of them fail, the next alternative is asked."
	case read:
		p.Plan.Summary += " When it fails or is silent, the next alternative is asked."
	default:
		p.Plan.Summary += " The next alternative is tried only while it is certain that nothing has happened at those before."
	}
	p.Plan.Summary += fmt.Sprintf(" In order: %s.", strings.Join(names, "; "))
	for _, a := range ordered(all) {
		if slices.Equal(a.Sites, now.Sites) && a.Mode == now.Mode {
			continue
		}
		for _, site := range a.Sites {
			if slices.ContainsFunc(p.Plan.Steps, func(s Step) bool { return s.Site == site }) {
				continue
			}
			if read {
				p.step(site, "is asked instead, or beside the others if it is their equal")
			} else {
				p.step(site, "takes the request if none before can")
			}
		}
	}
}

// Agreement tells how many of the sites have to agree before there is an answer.
func (p *Planner) Agreement(a Alternative, sites []string, read bool) {
	if a.Wait == "" || len(sites) < 2 {
		return
	}
	need, have := engine.Agreement(a.Wait).Of(len(sites)), 0
	for _, s := range sites {
		if p.sites[s].Reachable {
			have++
		}
	}
	switch {
	case have < need:
		p.Plan.Summary = fmt.Sprintf("%d of %s would have to agree, and %d can be reached now: the request would be refused (503), and nothing would happen.",
			need, shape.List(sites), have)
		p.Plan.Steps = []Step{}
	case read:
		p.Plan.Summary = fmt.Sprintf("%s are asked at once; the answer is what %d of them agree on.", shape.List(sites), need)
		p.Plan.Steps = []Step{}
		for _, s := range sites {
			p.step(s, "answers from its application")
		}
	default:
		p.Plan.Summary += fmt.Sprintf(" It is answered when %d of %d have applied it; 202 if sites are lost meanwhile.", need, len(sites))
	}
}

// ExactlyOne plans a request of a scope with "^". Name is what the request calls it, empty when that is not known; at is the site
// that has it, empty when none is known.
func (p *Planner) ExactlyOne(k *engine.Kind, creates, read bool, name, at string, candidates []string) {
	nearest := p.nearest(candidates)
	switch {
	case !k.Natural():
		p.Plan.Summary = fmt.Sprintf("The application names each %s itself, so that nothing says which one is meant: the request would be refused (422).", k.Name)
	case at != "" && creates:
		p.Plan.Summary = fmt.Sprintf("%s %s is at %s already: the request would be refused (409).", k.Name, name, at)
	case at != "":
		p.Plan.Summary = fmt.Sprintf("%s %s is at %s, and the request runs there.", k.Name, name, at)
		p.step(at, "runs the request")
	case nearest == "":
		p.Plan.Summary = "None of " + shape.List(candidates) + " can be reached now."
	case read:
		p.Plan.Summary = "Where it is has not been heard of here: the sites are asked one after the other."
		for _, s := range candidates {
			p.step(s, "answers from its application, if it has it")
		}
	default:
		p.Plan.Summary = fmt.Sprintf("At exactly one of %s: at %s, the nearest, unless one of them has the name.", shape.List(candidates), nearest)
		p.step(nearest, "runs the request, and tells the others that the name is taken")
	}
}
