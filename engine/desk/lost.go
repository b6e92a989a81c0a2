package desk

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/view"
)

// Superseded lists the values of a resource that concurrent, later operations took the place of and that nobody has set again,
// sorted by path. Sensitive values are hidden. engine.ErrNotFound: there is no such document here.
func (d *Desk) Superseded(ctx context.Context, id engine.DocumentID) ([]engine.Superseded, error) {
	var lost []engine.Superseded
	err := d.cfg.Site.Look(ctx, id, func(r *replica.Replica) {
		lost = report.LostValues(r.View)
		for i, l := range lost {
			if l.Value != nil && r.Kind.Hides(l.Path) {
				lost[i].Value = tree.Compact(report.Hidden)
			}
		}
	})
	return lost, at("list superseded values", err)
}

// Restore sets a value again that a concurrent, later operation took the place of. It is a request like any client's: it runs at this
// site's application first and is an operation then. engine.ErrNotFound: the document is not here; otherwise the error may be a
// *engine.Refusal.
func (d *Desk) Restore(ctx context.Context, id engine.DocumentID, q engine.RestoreRequest) (engine.Answer, error) {
	var k *engine.Kind
	if err := d.cfg.Site.Look(ctx, id, func(r *replica.Replica) { k = r.Kind }); err != nil {
		return engine.Answer{}, at("restore a value", err)
	}
	given, err := d.cfg.Site.Ask(ctx, id, nil, &replica.Ask{Operation: engine.OperationID(d.cfg.NewID()), Restore: &q,
		Request: engine.Request{Kind: k, User: q.User, Credentials: q.Credentials}})
	switch {
	case err != nil:
		return engine.Answer{}, at("restore a value", err)
	case given.Err != nil:
		return engine.Answer{}, given.Err
	}
	return d.cfg.Site.Present(ctx, k, given)
}

// Decided lists what people have decided about a resource, newest first, as far as that is remembered. engine.ErrNotFound: the document is not here.
func (d *Desk) Decided(ctx context.Context, id engine.DocumentID) (made []engine.Decision, err error) {
	err = d.cfg.Site.Look(ctx, id, func(r *replica.Replica) { made = r.Decisions.Made() })
	slices.Reverse(made)
	return made, at("list decisions", err)
}

// Compacted tells what this site has folded away of a resource's history. engine.ErrNotFound: there is no such document here.
func (d *Desk) Compacted(ctx context.Context, id engine.DocumentID) (c engine.Compacted, err error) {
	err = d.cfg.Site.Look(ctx, id, func(r *replica.Replica) {
		if base := r.History.Base(); base != nil && base.Count > 0 {
			c = engine.Compacted{Operations: int(base.Count), Until: engine.Time(base.Time)}
		}
	})
	return c, at("tell what is folded away", err)
}

// LastShown returns what is known here of what the parts of a cross resource showed last, by site. engine.ErrNotFound: the document is
// not here.
func (d *Desk) LastShown(ctx context.Context, id engine.DocumentID) (map[engine.SiteID]json.RawMessage, error) {
	known := map[engine.SiteID]json.RawMessage{}
	err := d.cfg.Site.Look(ctx, id, func(r *replica.Replica) {
		for _, site := range r.Placement().Sites {
			if shown := lastShown(r.View, site); shown != nil {
				known[site] = shown
			}
		}
	})
	return known, at("what parts showed last", err)
}

// lastShown is what a site's part of a cross resource showed last, nil for nothing. Where the site has settled something since it
// looked, what is divided is its share of that: how a part is divided needs no look.
func lastShown(v *view.View, s engine.SiteID) json.RawMessage {
	st := v.At(s)
	if st.Summary == nil || st.Shown != nil {
		return st.Summary
	}
	at := v.Standing(s)
	settled := merge.Pick(func(o *engine.Operation) bool { return at.Shows(o) && !at.Refused(o) })
	return v.History.ShareAt(s, settled, st.Summary)
}
