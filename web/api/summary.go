package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// Summary answers whether all is well as far as this site knows, and what is not.
type Summary struct {
	Site      string `json:"site"`
	Converged bool   `json:"converged"` // every resource is, and nothing waits for a person
	Sentence  string `json:"sentence"`
	Isolated  bool   `json:"isolated"`
	Sites     int    `json:"sites"`
	Reachable int    `json:"reachable"` // of them, this one included
	// Resources and Operations count by state.
	Resources  map[string]int `json:"resources"`
	Operations map[string]int `json:"operations"`
	// Oldest is the operation that has waited longest to be applied everywhere; nil: none waits.
	Oldest *Waiting `json:"oldest"`
	// Decisions is how many things wait for a person, as far as this site is concerned; Elsewhere how many more wait at others, as these
	// have told.
	Decisions int `json:"decisions"`
	Elsewhere int `json:"elsewhere"`
	// Causes are why decisions wait as far as this site is concerned, the worst first, at most causesToldOf; Held is what sites hold of deletions.
	Causes []shape.Cause   `json:"causes"`
	Held   []shape.Holding `json:"held"`
	// Worries are what else is not well, the worst first, at most worriesOfEach of each sort: what a cause tells of is not among them.
	Worries []Worry `json:"worries"`
}

// Worry is one thing that is not well, and why.
type Worry struct {
	About   string    `json:"about"` // resource, operation or site
	ID      string    `json:"id"`    // of the resource or operation, or the site's name
	Label   string    `json:"label"` // what people call the resource; empty where that is not known
	Service string    `json:"service"`
	Kind    string    `json:"kind"`
	State   string    `json:"state"` // of the resource or operation; unreachable, clock-off, failing, decide
	Reason  string    `json:"reason"`
	Since   time.Time `json:"since,omitzero"`
}

// Waiting is an operation that some sites have not applied yet.
type Waiting struct {
	ID       string    `json:"id"`
	Resource string    `json:"resource"`
	Label    string    `json:"label"` // what people call it; empty where that is not known
	Service  string    `json:"service"`
	Kind     string    `json:"kind"`
	IssuedAt time.Time `json:"issued_at"`
	At       []string  `json:"at"` // the sites that it waits for
}

const (
	worriesOfEach = 20
	causesToldOf  = 50
)

// Summary counts and lists what is not well.
func (a *API) Summary(ctx context.Context) (Summary, error) {
	s, _, err := a.Overview(ctx)
	return s, err
}

// Overview is the summary with the sites that it is made of, counted once.
func (a *API) Overview(ctx context.Context) (s Summary, sites []shape.Site, err error) {
	s = Summary{Isolated: a.Network.Isolated(), Resources: map[string]int{}, Operations: map[string]int{}, Worries: []Worry{}}
	here, oldest, err := a.now(ctx)
	if err != nil {
		return s, nil, err
	}
	s.Oldest = oldest
	operations := here.Operations
	resources, err := a.withUnknown(ctx, maps.Clone(here.Resources))
	if err != nil {
		return s, nil, err
	}
	living := 0
	for _, st := range ResourceStates {
		s.Resources[string(st)] = resources[st]
		if st != engine.StateDeleted {
			living += resources[st]
		}
	}
	for _, st := range OperationStates {
		s.Operations[string(st)] = operations[st]
	}
	if err := a.worryOverWhatIsShared(ctx, &s); err != nil {
		return s, nil, err
	}
	at, err := a.decisionsAt(ctx)
	if err != nil {
		return s, nil, err
	}
	sites = a.Sites()
	a.bulletins(sites, here)
	for _, site := range sites {
		known := at[engine.SiteID(site.PeerID)]
		s.Decisions += known
		a.worryOverSite(&s, site, known)
		s.Sites++
		if site.Self {
			s.Site = site.Name
		}
		if site.Cloned {
			s.Worries = append(s.Worries, Worry{About: "site", ID: site.Name, State: "cloned",
				Reason: "two agents run with its key, from copies of one data directory: both have stopped writing until one is left and is restarted"})
		}
		if site.RemovedAt != nil {
			w := Worry{About: "site", ID: site.Name, State: "removed", Since: *site.RemovedAt,
				Reason: "taken out of the mesh for good; it is waited for until it has brought in what it had accepted"}
			if site.Revoked {
				w.State, w.Reason = "revoked", "its key was revoked: nobody talks to it any more; every placement drops it"
			} else if site.Self {
				w.Reason = "this site was taken out of the mesh for good: it brings in what it had accepted and goes on alone, without scopes"
			}
			s.Worries = append(s.Worries, w)
		}
		if w := site.Ending(a.Now()); w != "" {
			s.Worries = append(s.Worries, Worry{About: "site", ID: site.Name, State: "expires", Since: *site.CertifiedUntil, Reason: w})
		}
		if far := site.ClockFarOff(); far != "" {
			s.Worries = append(s.Worries, Worry{About: "site", ID: site.Name, State: "clock-off", Reason: far})
		}
		if site.Reachable {
			s.Reachable++
			continue
		}
		w := Worry{About: "site", ID: site.Name, State: "unreachable", Reason: "not seen since this agent started"}
		if site.LastSeen != nil {
			w.Reason, w.Since = "no answer to pings; local work goes on, changes will be exchanged when it is back", *site.LastSeen
		}
		s.Worries = append(s.Worries, w)
	}
	waiting := resources[engine.StateConflict] + resources[engine.StateDegraded] + operations[engine.StateUncertain] + s.Decisions + s.Elsewhere
	s.Converged = waiting == 0 && living == resources[engine.StateConverged]
	s.Sentence = sentence(living, resources, operations)
	if attention := resources[engine.StateConflict] + resources[engine.StateDegraded] + operations[engine.StateUncertain]; s.Decisions > 0 && attention == 0 {
		s.Sentence = shape.Count(s.Decisions, "decision waits", "decisions wait") + " for somebody." + unknownToo(resources)
	}
	if s.Elsewhere > 0 {
		s.Sentence += " " + shape.Count(s.Elsewhere, "decision waits", "decisions wait") + " at other sites."
	}
	return s, sites, nil
}

// worryOverWhatIsShared tells what is not well with resources and operations: why decisions wait, what is held, and what is in no decision.
func (a *API) worryOverWhatIsShared(ctx context.Context, s *Summary) error {
	causes, err := a.Causes(ctx)
	if err != nil {
		return err
	}
	s.Causes = causes[:min(len(causes), causesToldOf)]
	if s.Held, err = a.holdings(ctx); err != nil {
		return err
	}
	n := a.names()
	for _, st := range []engine.State{engine.StateConflict, engine.StateDegraded} {
		rows, _, err := a.Store.Resources(ctx, engine.ResourceFilter{State: st, Silent: slices.Sorted(maps.Keys(n.Silent)), Limit: worriesOfEach})
		if err != nil {
			return fmt.Errorf("list what is not well: %w", err)
		}
		for _, row := range rows {
			waits, _, err := a.Store.Conflicts(ctx, engine.ConflictFilter{Document: row.Document, Limit: 1})
			if err != nil {
				return fmt.Errorf("look up what waits for a person: %w", err)
			}
			if r := n.Resource(row); len(waits) == 0 {
				s.Worries = append(s.Worries, Worry{"resource", r.ID, r.Label, r.Service, r.Kind, r.State, r.Reason, r.UpdatedAt})
			}
		}
	}
	l, err := a.Operations(ctx, OperationQuery{State: string(engine.StatePaused), Limit: worriesOfEach})
	if err != nil {
		return err
	}
	for _, o := range l.Items {
		s.Worries = append(s.Worries, worryOf(o))
	}
	return nil
}

// worryOverSite takes in what a site has told of itself that this one does not know by itself: known is how many decisions wait there of
// which it does.
func (a *API) worryOverSite(s *Summary, site shape.Site, known int) {
	if site.State == nil {
		return
	}
	told := *site.State
	told.Decisions = max(told.Decisions-known, 0)
	if !site.Self {
		s.Elsewhere += told.Decisions
	}
	w := Worry{About: "site", ID: site.Name, State: "decide", Reason: told.Needs()}
	if len(told.Failing) > 0 {
		w.State = "failing"
		for service := range told.Failing {
			if q := site.Queues[service]; q.Since != nil && (w.Since.IsZero() || q.Since.Before(w.Since)) {
				w.Since = *q.Since
			}
		}
	}
	if w.Reason != "" && (site.Self || site.Reachable) {
		s.Worries = append(s.Worries, w)
	}
}

// oldest finds the operation that has waited longest.
func (a *API) oldest(ctx context.Context) (*Waiting, error) {
	rows, _, err := a.Store.Operations(ctx, engine.OperationFilter{State: engine.StatePending, Oldest: true, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("find the oldest operation that waits: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	o, n := rows[0], a.teller()
	w := &Waiting{ID: string(o.ID), Resource: string(o.Resource), Label: a.label(ctx, n, o.Document), Service: string(o.Service), Kind: string(o.Kind), IssuedAt: o.IssuedAt, At: []string{}}
	for site, at := range o.Sites {
		if at.State == engine.StatePending {
			w.At = append(w.At, n.Of(site))
		}
	}
	slices.Sort(w.At)
	return w, nil
}

// worryOf takes the reason from the site that has the operation's state.
func worryOf(o shape.Operation) Worry {
	w := Worry{"operation", o.ID, o.Label, o.Service, o.Kind, o.State, "", o.IssuedAt}
	for name, at := range o.Sites {
		if at.State != o.State || w.Reason != "" && at.Error == "" {
			continue
		}
		w.Reason, w.Since = "at "+name, at.At
		if at.Error != "" {
			w.Reason += ": " + at.Error
		}
	}
	return w
}

// sentence says whether the sites agree: what is not well, and of how many nobody knows.
func sentence(living int, resources, operations map[engine.State]int) string {
	attention := resources[engine.StateConflict] + resources[engine.StateDegraded]
	settle := operations[engine.StateUncertain]
	under := resources[engine.StateConverging] + resources[engine.StateDeleting]
	unknown := resources[engine.StateUnknown]
	said := ""
	switch {
	case attention > 0 && under > 0:
		said = fmt.Sprintf("%s, %s more under way, of %s.", shape.Count(attention, "resource needs attention", "resources need attention"), shape.InNumbers(under), shape.InNumbers(living))
	case attention > 0:
		said = fmt.Sprintf("%s, of %s.", shape.Count(attention, "resource needs attention", "resources need attention"), shape.InNumbers(living))
	case settle > 0:
		said = fmt.Sprintf("%s for someone to settle.", shape.Count(settle, "operation waits", "operations wait"))
	case under > 0:
		said = fmt.Sprintf("Converging: %s under way, of %s.", shape.Count(under, "resource is", "resources are"), shape.InNumbers(living))
	case unknown > 0:
		return fmt.Sprintf("%s unknown, of %s: %s", shape.Count(unknown, "resource is", "resources are"), shape.InNumbers(living), notSince)
	case living == 0:
		return "Nothing is shared between sites yet."
	case living == 1:
		return "The one resource is converged."
	default:
		return fmt.Sprintf("All %s resources are converged.", shape.InNumbers(living))
	}
	return said + unknownToo(resources)
}

// unknownToo says of how many nobody knows beside what is said already; empty: of none.
func unknownToo(resources map[engine.State]int) string {
	if resources[engine.StateUnknown] == 0 {
		return ""
	}
	return fmt.Sprintf(" %s unknown: %s", shape.Count(resources[engine.StateUnknown], "more is", "more are"), notSince)
}

const notSince = "not every site that has them has answered since."
