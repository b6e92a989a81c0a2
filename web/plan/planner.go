package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/shape"
)

// Plan tells which site would do what for a request now.
type Plan struct {
	Summary string `json:"summary"`
	Steps   []Step `json:"steps"`
}

// Step is what one site does.
type Step struct {
	Site      string   `json:"site"`
	Does      string   `json:"does"`
	Reachable bool     `json:"reachable"`
	RTT       *float64 `json:"rtt_ms"`    // milliseconds; nil: not measured
	WaitsFor  []string `json:"waits_for"` // sites whose step comes first
	// Accepts is whether its rules let that be done there: yes, no or unknown; Why says so, and As with whose credentials it would run:
	// the caller's, the agent's, or the agent's with the rights of the user who asks. All are empty where no request is known.
	Accepts string `json:"accepts"`
	Why     string `json:"why"`
	As      string `json:"as"`
}

// Planner makes one plan.
type Planner struct {
	sites map[string]shape.Site
	self  string
	Plan  *Plan
}

// NewPlanner returns a planner that knows sites, the one that plans among them.
func NewPlanner(sites []shape.Site) *Planner {
	p := &Planner{sites: map[string]shape.Site{}, Plan: &Plan{Steps: []Step{}}}
	for _, s := range sites {
		p.sites[s.Name] = s
		if s.Self {
			p.self = s.Name
		}
	}
	return p
}

func (p *Planner) step(site, does string, after ...string) {
	s, known := p.sites[site]
	st := Step{Site: site, Does: does, WaitsFor: append([]string{}, after...)}
	if known {
		st.Reachable, st.RTT = s.Reachable, s.RTT
	}
	p.Plan.Steps = append(p.Plan.Steps, st)
}

// Location tells what a scope means when no request is known.
func (p *Planner) Location(sites []string, a scope.Alternative) {
	switch a.Mode {
	case scope.Cross:
		p.Plan.Summary = "What is created is spread over " + shape.List(sites) + " and behaves as one; reads and lists are of all parts."
		for _, s := range sites {
			p.step(s, "holds a part, or a replica of one")
		}
		return
	case scope.ExactlyOne:
		p.Plan.Summary = "What is created is at exactly one of " + shape.List(sites) + ", the nearest; whoever asks later finds it there."
		for _, s := range sites {
			p.step(s, "knows who has the name")
		}
		return
	case scope.One:
		p.Plan.Summary = "Requests run at " + sites[0] + "."
		if sites[0] == p.self {
			p.Plan.Summary = "Requests run here, at " + p.self + "."
		}
		p.step(sites[0], "runs the request")
		return
	}
	p.Plan.Summary = "What is created gets a replica at each of " + shape.List(sites) + "; reads take the nearest, lists are of all."
	for _, s := range sites {
		p.step(s, "holds a replica")
	}
}

// Request tells who does what for a request.
func (p *Planner) Request(n shape.Names, m glue.Match, known bool, row *engine.ResourceRow, involved []string, bound bool) {
	read := known && (m.Verb == glue.VerbRead || m.Verb == glue.VerbList)
	if row != nil && !read {
		placement, added := n.Placement(row), []string(nil)
		for _, site := range involved {
			if grows := m.Type != engine.TypeDelete && m.Type != engine.TypeAction && len(involved) > 1; grows && !slices.Contains(placement, site) {
				added = append(added, site)
			}
		}
		p.write(placement, fmt.Sprintf("%s %s is replicated at %s: the change goes to every replica, whatever the scope says.",
			m.Kind.Name, row.ID, shape.List(placement)))
		if len(added) > 0 {
			p.Plan.Summary += " It is replicated at " + shape.List(added) + " as well from then on."
		}
		for _, site := range added {
			p.step(site, "makes the resource as it is then, when it hears of it", placement...)
		}
		return
	}
	switch {
	case row != nil && !bound:
		if _, here := row.Sites[n.ByName[p.self]]; !here {
			involved = n.Placement(row)
		}
		p.read(involved)
	case read && m.Verb == glue.VerbList && len(involved) > 1:
		p.Plan.Summary = "The lists of " + shape.List(involved) + " are asked for at once and joined; sites that do not answer are named."
		for _, s := range involved {
			p.step(s, "answers with its list")
		}
	case read:
		p.read(involved)
	case len(involved) > 1 && p.adopts(m, involved):
		p.Plan.Summary = fmt.Sprintf("If the application of %s has this %s and nobody replicates it, it becomes a resource of %s: "+
			"its create is made from what it shows, nothing is sent there but the request.", p.self, m.Kind.Name, shape.List(involved))
		p.step(p.self, "makes a resource of the object that it has, and runs the request")
		for _, s := range involved {
			if s != p.self {
				p.step(s, "makes the resource as it is then, copies declared content, and applies the request", p.self)
			}
		}
	case len(involved) > 1:
		p.write(involved, "A replica at each of "+shape.List(involved)+", all under one identifier.")
	case involved[0] == p.self:
		p.Plan.Summary = "The request goes to the application here, as if no agent stood in front of it."
		p.step(p.self, "runs the request")
	default:
		p.Plan.Summary = "The request is forwarded to " + involved[0] + " and runs only there."
		p.step(involved[0], "runs the request")
	}
}

// adopts reports whether a request has an object of this site adopted that nobody replicates.
func (p *Planner) adopts(m glue.Match, involved []string) bool {
	creates := m.Kind != nil && m.Kind.Natural() && m.Type == engine.TypeReplace
	return m.Verb == glue.VerbChange && !m.Below && m.Type != engine.TypeDelete && !creates && slices.Contains(involved, p.self)
}

func (p *Planner) read(from []string) {
	site := p.nearest(from)
	switch {
	case site == "":
		p.Plan.Summary = "None of " + shape.List(from) + " can be reached now: the read would be refused (503)."
	case site == p.self:
		p.Plan.Summary = "Read here: nothing waits for another site."
		p.step(site, "answers from its application")
	default:
		p.Plan.Summary = "Read from " + site + ", the nearest of the sites that can answer."
		p.step(site, "answers from its application")
	}
}

func (p *Planner) write(sites []string, summary string) {
	origin := p.nearest(sites)
	if origin == "" {
		p.Plan.Summary = summary + " None of them can be reached now: the request would be kept here, durable, and answered 202."
		for _, s := range sites {
			p.step(s, "applies the operation when it can be reached again")
		}
		return
	}
	p.Plan.Summary = summary
	p.step(origin, "runs the request first, with the caller's credentials; its application's answer is the answer")
	for _, s := range sites {
		switch {
		case s == origin:
		case p.sites[s].Reachable:
			p.step(s, "applies the operation when it hears of it", origin)
		default:
			p.step(s, "applies the operation when it can be reached again", origin)
		}
	}
}

// nearest returns this site when it is among the names, else the reachable one with the shortest round trip; empty
// when none can be reached.
func (p *Planner) nearest(names []string) string {
	if slices.Contains(names, p.self) {
		return p.self
	}
	reachable := slices.DeleteFunc(slices.Clone(names), func(s string) bool { return !p.sites[s].Reachable })
	if len(reachable) == 0 {
		return ""
	}
	rtt := func(s string) float64 {
		if r := p.sites[s].RTT; r != nil {
			return *r
		}
		return 1e9
	}
	return slices.MinFunc(reachable, func(x, y string) int {
		return cmp.Or(cmp.Compare(rtt(x), rtt(y)), cmp.Compare(x, y))
	})
}

// Warnings are about the sites of the steps as they are now.
func (p *Planner) Warnings() []string {
	var w []string
	for _, st := range p.Plan.Steps {
		s, known := p.sites[st.Site]
		switch {
		case !known:
			w = append(w, fmt.Sprintf("site %s is no member of the mesh any more", st.Site))
		case !s.Reachable && s.LastSeen == nil:
			w = append(w, fmt.Sprintf("site %s cannot be reached now and has not been seen since this agent started", s.Name))
		case !s.Reachable:
			w = append(w, fmt.Sprintf("site %s cannot be reached now; it was last seen %s", s.Name, s.LastSeen.UTC().Format("2006-01-02 15:04:05 UTC")))
		}
		if here := p.sites[p.self]; known && s.Catalog != here.Catalog {
			w = append(w, fmt.Sprintf("site %s has another catalog than %s: bring both to the same version", s.Name, p.self))
		}
	}
	return append(w, p.versions()...)
}

// versions warns when the sites of the steps say that they run different versions of the application.
func (p *Planner) versions() []string {
	at := map[string][]string{}
	for _, st := range p.Plan.Steps {
		if v := p.sites[st.Site].ApplicationVersion; v != nil && !slices.Contains(at[*v], st.Site) {
			at[*v] = append(at[*v], st.Site)
		}
	}
	if len(at) < 2 {
		return nil
	}
	var told []string
	for _, v := range slices.Sorted(maps.Keys(at)) {
		told = append(told, v+" at "+shape.List(at[v]))
	}
	return []string{"the versions of the application differ: " + strings.Join(told, "; ")}
}
