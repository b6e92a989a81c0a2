package webtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/skerry/skerry/engine"
)

// AddConflict puts a conflict in front.
func (s *Site) AddConflict(c engine.Conflict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.resources, func(r engine.ResourceRow) bool { return r.ID == c.Resource && r.Service == c.Service }); i >= 0 && c.Document == "" {
		c.Document = s.resources[i].Document
	}
	s.conflicts = append([]engine.Conflict{c}, s.conflicts...)
}

// SetPreview says what PreviewConflict finds.
func (s *Site) SetPreview(d []engine.FieldDifference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.preview = d
}

// Conflict implements api.Store.
func (s *Site) Conflict(_ context.Context, id engine.ConflictID) (engine.Conflict, error) {
	if err := s.fault("Conflict"); err != nil {
		return engine.Conflict{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.conflicts, func(c engine.Conflict) bool { return c.ID == id }); i >= 0 {
		return s.conflicts[i], nil
	}
	return engine.Conflict{}, fmt.Errorf("conflict %s: %w", id, engine.ErrNotFound)
}

// Conflicts implements api.Store.
func (s *Site) Conflicts(_ context.Context, f engine.ConflictFilter) ([]engine.Conflict, string, error) {
	if err := s.fault("Conflicts"); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []engine.Conflict
	for _, c := range s.conflicts {
		if c.Open() != f.Accepted && (f.Document == "" || f.Document == c.Document) && (f.Service == "" || f.Service == c.Service) && (f.Kind == "" || f.Kind == c.Kind) && (f.Site == "" || f.Site == c.Site) {
			list = append(list, c)
		}
	}
	return page(list, f.Limit, f.Cursor)
}

// CountConflicts implements api.Counter.
func (s *Site) CountConflicts(context.Context) (map[engine.Cause]engine.CauseTally, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[engine.Cause]engine.CauseTally{}
	for _, c := range s.conflicts {
		if c.Open() {
			t := n[c.Cause()]
			n[c.Cause()] = engine.CauseTally{Number: t.Number + 1, Newest: cmp.Or(t.Newest, c.ID)}
		}
	}
	return n, s.fault("CountConflicts")
}

// CountHeld implements api.Counter.
func (s *Site) CountHeld(context.Context) (map[[2]engine.SiteID]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[[2]engine.SiteID]int{}
	for _, o := range s.operations {
		for at, st := range o.Sites {
			if o.State == engine.StateHeld && st.State == engine.StateHeld {
				n[[2]engine.SiteID{at, o.Origin}]++
			}
		}
	}
	return n, s.fault("CountHeld")
}

// PreviewConflict implements api.Operator.
func (s *Site) PreviewConflict(_ context.Context, id engine.ConflictID, _ engine.LocalID) ([]engine.FieldDifference, error) {
	if err := s.fault("PreviewConflict"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.preview), nil
}

// Resolve implements api.Operator: the conflict is gone then, or accepted.
func (s *Site) Resolve(_ context.Context, id engine.ConflictID, action engine.Action, _ engine.LocalID, by engine.Decider) error {
	if err := s.fault("Resolve"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.conflicts, func(c engine.Conflict) bool { return c.ID == id })
	switch {
	case i < 0:
		return fmt.Errorf("conflict %s: %w", id, engine.ErrNotFound)
	case action == engine.ActionReopen:
		s.decide(i, action, by)
		s.conflicts[i].Accepted, s.conflicts[i].Actions = nil, []engine.Action{engine.ActionKeep, engine.ActionDismiss}
	case action == engine.ActionDrop || action == engine.ActionDismiss:
		s.decide(i, action, by)
		s.conflicts[i].Actions = map[engine.Action][]engine.Action{engine.ActionDrop: {engine.ActionRetry, engine.ActionDone},
			engine.ActionDismiss: {engine.ActionReopen}}[action]
		s.conflicts[i].Accepted = &engine.Decision{Action: action, By: s.self, At: s.Clock().UnixMicro(), For: s.conflicts[i].Since.UnixMicro()}
	default:
		s.decide(i, action, by)
		s.conflicts = slices.Delete(s.conflicts, i, i+1)
	}
	return nil
}

// decide takes note of what was decided about a conflict; the site is locked.
func (s *Site) decide(i int, action engine.Action, by engine.Decider) {
	c := s.conflicts[i]
	s.decisions[c.Document] = append([]engine.Decision{{Conflict: c.ID, Action: action, By: s.self, User: by.User, Said: by.Site, About: c.Kind, Operation: c.Operation,
		At: s.Clock().UnixMicro()}}, s.decisions[c.Document]...)
}

// AddDecision has somebody have decided something about a resource.
func (s *Site) AddDecision(resource engine.ResourceID, d engine.Decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.resources {
		if r.ID == resource {
			s.decisions[r.Document] = append([]engine.Decision{d}, s.decisions[r.Document]...)
		}
	}
}

// Decided implements api.Operator.
func (s *Site) Decided(_ context.Context, id engine.DocumentID) ([]engine.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.decisions[id]), s.fault("Decided")
}

// SetCandidates says which objects a conflict may be about.
func (s *Site) SetCandidates(id engine.ConflictID, list ...engine.Candidate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.candidates[id] = list
}

// Candidates implements api.Operator.
func (s *Site) Candidates(_ context.Context, id engine.ConflictID) ([]engine.Candidate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.candidates[id], s.fault("Candidates")
}
