package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// What a site is about to do for a resource, in the order in which a Preview lists it.
const (
	DoesDelete  = "delete"  // take it away from the application
	DoesCreate  = "create"  // make it
	DoesRun     = "run"     // send an operation as its caller sent it
	DoesCorrect = "correct" // set the paths that differ
	DoesSettle  = "settle"  // nothing at the application: its effect is there, or void
	DoesWait    = "wait"    // a person has to say
)

var previewOrder = []string{DoesDelete, DoesCreate, DoesCorrect, DoesRun, DoesWait, DoesSettle}

// Planned is the next step of one resource.
type Planned struct {
	Resource   ResourceID
	Service    ServiceName
	Kind       KindName
	Does       string
	Operations []OperationID // what the step settles
	// Set and Unset are the paths that a correction sets and removes.
	Set, Unset []Pointer
	// Waits says why it does not happen now; empty when nothing is in its way.
	Waits string
}

// Preview is what a site is about to do at its application.
type Preview struct {
	// Waiting counts the resources with something left to do, Examined those that Steps counts by what is done.
	Waiting, Examined int
	Steps             map[string]int
	Held              int // deletions that wait to be confirmed
	Items             []Planned
}

// maxPreview is how many resources one preview examines. Held deletions are always the first of them.
const maxPreview = 1000

// Preview tells what this site is about to do, of resources that the site with shares, deletions first, at most limit
// of them (0: 100, at most 1000). Nothing changes by it. What comes after the first step of a resource is not looked at.
func (s *Site) Preview(ctx context.Context, with SiteID, limit int) (Preview, error) {
	ids, err := s.cfg.Store.Pending(ctx)
	if err != nil {
		return Preview{}, fmt.Errorf("preview: %w", err)
	}
	if limit = min(limit, maxPreview); limit <= 0 {
		limit = 100
	}
	held := s.deletions.waiting()
	known := make(map[DocumentID]bool, len(held))
	for _, id := range held {
		known[id] = true
	}
	ids = append(held, slices.DeleteFunc(ids, func(id DocumentID) bool { return known[id] })...)
	p := Preview{Steps: map[string]int{}}
	for _, id := range ids {
		if len(p.Items) >= maxPreview {
			if with == s.cfg.Self { // the rest is not opened, so what of it others share is not known
				p.Waiting = len(ids)
			}
			break
		}
		step, ok, err := s.plannedOf(ctx, id, with)
		if err != nil {
			return Preview{}, fmt.Errorf("preview: %w", err)
		}
		if !ok {
			continue
		}
		p.Items = append(p.Items, step)
		p.Steps[step.Does]++
		if known[id] {
			p.Held++
		}
	}
	p.Examined = len(p.Items)
	p.Waiting = max(p.Waiting, p.Examined)
	slices.SortStableFunc(p.Items, func(a, b Planned) int {
		return cmp.Or(cmp.Compare(slices.Index(previewOrder, a.Does), slices.Index(previewOrder, b.Does)),
			cmp.Compare(a.Service, b.Service), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Resource, b.Resource))
	})
	p.Items = p.Items[:min(limit, len(p.Items))]
	return p, nil
}

// plannedOf is the next step of a document. It is not ok when nothing is left, or the site with has no part in it.
func (s *Site) plannedOf(ctx context.Context, id DocumentID, with SiteID) (Planned, bool, error) {
	_, v, unlock, err := s.locked(ctx, id)
	defer unlock()
	if errors.Is(err, ErrNotFound) {
		return Planned{}, false, nil
	}
	if err != nil {
		return Planned{}, false, err
	}
	if p := v.part(v.self); !v.holds(with) || p == partFormer || p == partNone {
		return Planned{}, false, nil
	}
	step := Next(v.history, s.standing(v))
	if step.Kind == StepNothing {
		return Planned{}, false, nil
	}
	return s.planned(v, step), true, nil
}

// planned says in words what a step is and what it waits for.
func (s *Site) planned(v *view, step Step) Planned {
	p := Planned{Resource: v.about.Key, Service: v.about.Service, Kind: v.about.Kind, Does: DoesRun}
	for _, o := range step.Operations {
		p.Operations = append(p.Operations, o.ID)
	}
	switch {
	case step.Kind == StepHold:
		p.Does = DoesWait
	case step.Kind == StepSkip || step.Kind == StepVacuous || step.Kind == StepRefuse:
		p.Does = DoesSettle
	case step.Kind == StepMake || step.Kind == StepRun && step.Operations[0].Type == TypeCreate:
		p.Does = DoesCreate
	case deletes(v, step):
		p.Does = DoesDelete
	case step.Kind == StepCorrect:
		p.Does = DoesCorrect
		p.Set, p.Unset = slices.Sorted(maps.Keys(step.Correction.Set)), step.Correction.Unset
	}
	p.Waits = s.waitsFor(v, step)
	return p
}

// waitsFor says what keeps a step from being taken.
func (s *Site) waitsFor(v *view, step Step) string {
	mine := v.replica(v.self)
	if mine.Paused != nil {
		return mine.Paused.String()
	}
	if len(step.Operations) == 0 { // the object is made anew, of operations that are settled
		return ""
	}
	first := step.Operations[0]
	out, known := v.outcomes[v.self][first.ID]
	switch {
	case mine.Held.waits() && mine.Held.Operation == first.ID:
		return unconfirmed(v.name(v.self))
	case known && out.Blocks:
		return v.explain(first, out)
	case known && out.State == StatePending && out.Error != "":
		return out.Error
	case step.Kind == StepHold && step.Reason != "":
		return s.whyHeld(step)
	case step.Kind == StepHold:
		return "the create that it builds on has not been applied here"
	}
	if a := v.attempts[first.ID]; a != nil {
		return a.last().Error
	}
	return ""
}
