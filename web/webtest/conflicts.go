package webtest

import (
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

// CountConflictsAt implements api.Counter.
func (s *Site) CountConflictsAt(context.Context) (map[engine.SiteID]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[engine.SiteID]int{}
	for _, c := range s.conflicts {
		if c.Open() {
			n[c.Site]++
		}
	}
	return n, s.fault("CountConflictsAt")
}

// CountConflicts implements api.Counter.
func (s *Site) CountConflicts(context.Context) (map[engine.ConflictKind]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[engine.ConflictKind]int{}
	for _, c := range s.conflicts {
		if c.Open() {
			n[c.Kind]++
		}
	}
	return n, s.fault("CountConflicts")
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
func (s *Site) Resolve(_ context.Context, id engine.ConflictID, action engine.Action, _ engine.LocalID) error {
	if err := s.fault("Resolve"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.conflicts, func(c engine.Conflict) bool { return c.ID == id })
	switch {
	case i < 0:
		return fmt.Errorf("conflict %s: %w", id, engine.ErrNotFound)
	case action == engine.ActionDrop || action == engine.ActionDismiss:
		s.conflicts[i].Accepted = &engine.Decision{Action: action, By: s.self, At: s.Clock().UnixMicro(), For: s.conflicts[i].Since.UnixMicro()}
	default:
		s.conflicts = slices.Delete(s.conflicts, i, i+1)
	}
	return nil
}
