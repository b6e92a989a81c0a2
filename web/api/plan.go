package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/engine/tree"
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
}

// planner makes one plan.
type planner struct {
	sites map[string]shape.Site
	self  string
	plan  *Plan
}

func (a *API) planner() *planner {
	p := &planner{sites: map[string]shape.Site{}, plan: &Plan{Steps: []Step{}}}
	for _, s := range a.Sites() {
		p.sites[s.Name] = s
		if s.Self {
			p.self = s.Name
		}
	}
	return p
}

// plan adds the plan and the warnings to an explanation without errors so far.
func (a *API) plan(ctx context.Context, r ExplainRequest, service string, bound bool, p *planner, e *Explanation) error {
	now := today(e.Alternatives)
	involved := now.Sites
	read := glue.Safe(strings.ToUpper(r.Method))
	var row *engine.ResourceRow
	if r.Method != "" && r.Path != "" && service != "" {
		m, ok := a.route(service, strings.ToUpper(r.Method), r.Path)
		if !ok && len(involved) > 1 {
			e.Errors = append(e.Errors, ScopeError{scope.TypeError, fmt.Sprintf(
				"the catalog has no kind for %s of service %s, so it cannot run at several sites; name one site", r.Path, service), 0})
			return nil
		}
		if ok && m.Target != "" {
			found, err := a.row(ctx, ResourceRef{m.Target, service, string(m.Kind.Name)})
			switch {
			case err == nil && !found.State.Past():
				row = &found
			case err != nil && AsRefusal(err).Status >= 500:
				return err
			}
		}
		parts := partsOf(a.names(), row, now.Alternative)
		switch {
		case ok && now.Mode == scope.ExactlyOne && row == nil && m.Verb != glue.VerbList:
			if err := a.planOne(ctx, p, m, r, now.Sites); err != nil {
				return err
			}
		case !ok || !p.cross(m, row, bound && len(involved) == 1, parts, r.Body):
			p.request(a.names(), m, ok, row, involved, bound)
		}
		counted := involved
		if row != nil && !read {
			counted = a.names().Placement(row)
		}
		p.agreement(now, counted, read)
		if row == nil || read {
			p.others(e.Alternatives, now, read)
		}
		if ok {
			if err := a.typeReferences(ctx, r, m, row, e); err != nil || len(e.Errors) > 0 {
				return err
			}
		}
	} else {
		p.location(involved, now.Alternative)
		p.agreement(now, involved, false)
		p.others(e.Alternatives, now, false)
	}
	e.Plan = p.plan
	e.Warnings = append(e.Warnings, p.warnings()...)
	return nil
}

// planOne plans a request of a scope with "^", whose name is in its path or in its body.
func (a *API) planOne(ctx context.Context, p *planner, m glue.Match, r ExplainRequest, candidates []string) error {
	name, read := m.Target, glue.Safe(strings.ToUpper(r.Method))
	if name == "" {
		if name = tree.ChosenID(m.Kind, r.Body); name != "" && m.Within != "" {
			name = engine.Inside(m.Within, name)
		}
	}
	id, _, err := a.Operator.Chosen(ctx, m.Kind, name)
	if err != nil {
		return err
	}
	at := ""
	if id != "" {
		at = a.names().Of(id)
	}
	p.exactlyOne(m.Kind, m.Type == engine.TypeCreate, read, name, at, candidates)
	return nil
}

func (p *planner) step(site, does string, after ...string) {
	s, known := p.sites[site]
	st := Step{Site: site, Does: does, WaitsFor: append([]string{}, after...)}
	if known {
		st.Reachable, st.RTT = s.Reachable, s.RTT
	}
	p.plan.Steps = append(p.plan.Steps, st)
}

// location tells what a scope means when no request is known.
func (p *planner) location(sites []string, a scope.Alternative) {
	switch a.Mode {
	case scope.Cross:
		p.plan.Summary = "What is created is spread over " + list(sites) + " and behaves as one; reads and lists are of all parts."
		for _, s := range sites {
			p.step(s, "holds a part, or a replica of one")
		}
		return
	case scope.ExactlyOne:
		p.plan.Summary = "What is created is at exactly one of " + list(sites) + ", the nearest; whoever asks later finds it there."
		for _, s := range sites {
			p.step(s, "knows who has the name")
		}
		return
	case scope.One:
		p.plan.Summary = "Requests run at " + sites[0] + "."
		if sites[0] == p.self {
			p.plan.Summary = "Requests run here, at " + p.self + "."
		}
		p.step(sites[0], "runs the request")
		return
	}
	p.plan.Summary = "What is created gets a replica at each of " + list(sites) + "; reads take the nearest, lists are of all."
	for _, s := range sites {
		p.step(s, "holds a replica")
	}
}

// request tells who does what for a request.
func (p *planner) request(n shape.Names, m glue.Match, known bool, row *engine.ResourceRow, involved []string, bound bool) {
	read := known && (m.Verb == glue.VerbRead || m.Verb == glue.VerbList)
	if row != nil && !read {
		placement, added := n.Placement(row), []string(nil)
		for _, site := range involved {
			if grows := m.Type != engine.TypeDelete && m.Type != engine.TypeAction && len(involved) > 1; grows && !slices.Contains(placement, site) {
				added = append(added, site)
			}
		}
		p.write(placement, fmt.Sprintf("%s %s is replicated at %s: the change goes to every replica, whatever the scope says.",
			m.Kind.Name, row.ID, list(placement)))
		if len(added) > 0 {
			p.plan.Summary += " It is replicated at " + list(added) + " as well from then on."
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
		p.plan.Summary = "The lists of " + list(involved) + " are asked for at once and joined; sites that do not answer are named."
		for _, s := range involved {
			p.step(s, "answers with its list")
		}
	case read:
		p.read(involved)
	case len(involved) > 1 && p.adopts(m, involved):
		p.plan.Summary = fmt.Sprintf("If the application of %s has this %s and nobody replicates it, it becomes a resource of %s: "+
			"its create is made from what it shows, nothing is sent there but the request.", p.self, m.Kind.Name, list(involved))
		p.step(p.self, "makes a resource of the object that it has, and runs the request")
		for _, s := range involved {
			if s != p.self {
				p.step(s, "makes the resource as it is then, copies declared content, and applies the request", p.self)
			}
		}
	case len(involved) > 1:
		p.write(involved, "A replica at each of "+list(involved)+", all under one identifier.")
	case involved[0] == p.self:
		p.plan.Summary = "The request goes to the application here, as if no agent stood in front of it."
		p.step(p.self, "runs the request")
	default:
		p.plan.Summary = "The request is forwarded to " + involved[0] + " and runs only there."
		p.step(involved[0], "runs the request")
	}
}

// adopts reports whether a request has an object of this site adopted that nobody replicates.
func (p *planner) adopts(m glue.Match, involved []string) bool {
	creates := m.Kind != nil && m.Kind.Natural() && m.Type == engine.TypeReplace
	return m.Verb == glue.VerbChange && !m.Below && m.Type != engine.TypeDelete && !creates && slices.Contains(involved, p.self)
}

func (p *planner) read(from []string) {
	site := p.nearest(from)
	switch {
	case site == "":
		p.plan.Summary = "None of " + list(from) + " can be reached now: the read would be refused (503)."
	case site == p.self:
		p.plan.Summary = "Read here: nothing waits for another site."
		p.step(site, "answers from its application")
	default:
		p.plan.Summary = "Read from " + site + ", the nearest of the sites that can answer."
		p.step(site, "answers from its application")
	}
}

func (p *planner) write(sites []string, summary string) {
	origin := p.nearest(sites)
	if origin == "" {
		p.plan.Summary = summary + " None of them can be reached now: the request would be kept here, durable, and answered 202."
		for _, s := range sites {
			p.step(s, "applies the operation when it can be reached again")
		}
		return
	}
	p.plan.Summary = summary
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
func (p *planner) nearest(names []string) string {
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

// warnings are about the sites of the steps as they are now.
func (p *planner) warnings() []string {
	var w []string
	for _, st := range p.plan.Steps {
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
func (p *planner) versions() []string {
	at := map[string][]string{}
	for _, st := range p.plan.Steps {
		if v := p.sites[st.Site].ApplicationVersion; v != nil && !slices.Contains(at[*v], st.Site) {
			at[*v] = append(at[*v], st.Site)
		}
	}
	if len(at) < 2 {
		return nil
	}
	var told []string
	for _, v := range slices.Sorted(maps.Keys(at)) {
		told = append(told, v+" at "+list(at[v]))
	}
	return []string{"the versions of the application differ: " + strings.Join(told, "; ")}
}

// list joins names as a sentence does.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
