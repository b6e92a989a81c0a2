package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/report"
)

// previewOrder is the order in which a preview lists what is done.
var previewOrder = []string{engine.DoesDelete, engine.DoesCreate, engine.DoesCorrect, engine.DoesRun, engine.DoesWait, engine.DoesSettle}

const (
	// maxPreview is how many resources one preview examines. Held deletions are always the first of them.
	maxPreview = 1000
	// usualPreview is how many it lists unless it is told.
	usualPreview = 100
)

// Preview tells what this site is about to do, of resources that the site with shares, deletions first, at most limit of them (0:
// 100, at most 1000). Nothing changes by it. What comes after the first step of a resource is not looked at.
func (d *Desk) Preview(ctx context.Context, with engine.SiteID, limit int) (engine.Preview, error) {
	pending, err := d.cfg.Store.Pending(ctx)
	if err != nil {
		return engine.Preview{}, fmt.Errorf("preview: %w", err)
	}
	if limit = min(limit, maxPreview); limit <= 0 {
		limit = usualPreview
	}
	ids, ran := d.cfg.Site.Held()
	held := make(map[engine.DocumentID]bool, len(ids))
	for _, id := range ids {
		held[id] = true
	}
	ids = slices.Concat(ids, slices.DeleteFunc(pending, func(id engine.DocumentID) bool { return held[id] }))
	p := engine.Preview{Steps: map[string]int{}}
	for _, o := range ran {
		row, err := d.cfg.Store.Operation(ctx, o)
		if _, shares := row.Sites[with]; err == nil && shares {
			p.Ran = append(p.Ran, o)
		}
	}
	for _, id := range ids {
		if len(p.Items) >= maxPreview {
			if with == d.self() { // the rest is not opened, so what of it others share is not known
				p.Waiting = len(ids)
			}
			break
		}
		step, ok, err := d.planned(ctx, id, with)
		if err != nil {
			return engine.Preview{}, fmt.Errorf("preview: %w", err)
		}
		if !ok {
			continue
		}
		if step.Held = held[id]; step.Held {
			p.Held++
		}
		p.Items = append(p.Items, step)
		p.Steps[step.Does]++
	}
	p.Examined = len(p.Items)
	p.Waiting = max(p.Waiting, p.Examined)
	slices.SortStableFunc(p.Items, func(a, b engine.Planned) int {
		return cmp.Or(cmp.Compare(slices.Index(previewOrder, a.Does), slices.Index(previewOrder, b.Does)),
			cmp.Compare(a.Service, b.Service), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Resource, b.Resource))
	})
	p.Items = p.Items[:min(limit, len(p.Items))]
	return p, nil
}

// planned is the next step of a document. It is not ok when nothing is left, or the site with has no part in it.
func (d *Desk) planned(ctx context.Context, id engine.DocumentID, with engine.SiteID) (p engine.Planned, ok bool, err error) {
	err = d.cfg.Site.Look(ctx, id, func(r *replica.Replica) {
		if r.Holds(with) {
			p, ok = report.Planned(r.View, &r.Flights)
		}
	})
	if errors.Is(err, engine.ErrNotFound) { // it is gone meanwhile
		err = nil
	}
	return p, ok, err
}

// Confirm lets the deletions run that are held here, as far as the site of by shares their resources, and returns how many. Only are those that
// are meant; nil: all.
func (d *Desk) Confirm(ctx context.Context, by engine.Decider, only []engine.OperationID) (int, error) {
	ids, err := d.heldOf(ctx, only)
	if err != nil {
		return 0, fmt.Errorf("confirm deletions: %w", err)
	}
	n := 0
	for _, x := range ids {
		_, err := d.decide(ctx, x.document, &replica.Decide{What: replica.VerbConfirm, By: by, Operation: x.operation})
		switch {
		case err == nil:
			n++
		case !errors.Is(err, engine.ErrSettled) && !errors.Is(err, engine.ErrNotFound): // else it is not for by to confirm, or not held any more
			return n, fmt.Errorf("confirm deletions: %w", err)
		}
	}
	return n, nil
}

// deletion is one of a document; without an operation whichever is held.
type deletion struct {
	document  engine.DocumentID
	operation engine.OperationID
}

// heldOf finds the deletions that are meant: all that are held where only is nil.
func (d *Desk) heldOf(ctx context.Context, only []engine.OperationID) (all []deletion, err error) {
	if only == nil {
		ids, _ := d.cfg.Site.Held()
		for _, id := range ids {
			all = append(all, deletion{document: id})
		}
	}
	for _, o := range only {
		row, err := d.cfg.Store.Operation(ctx, o)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return nil, err
		}
		if row.Document != "" {
			all = append(all, deletion{row.Document, o})
		}
	}
	return all, nil
}
