package desk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/view"
)

// PreviewConflict reads, at the conflict's own site, what its application shows, and returns the fields that differ from what they
// are to be. Local is the object that is looked at instead of the site's own, where one may be adopted, as in AdoptObject. engine.ErrNotFound: there is
// no such conflict; a *engine.Refusal: there is nothing to compare.
func (d *Desk) PreviewConflict(ctx context.Context, id engine.ConflictID, local engine.LocalID) ([]engine.FieldDifference, error) {
	c, err := d.cfg.Store.Conflict(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("preview conflict %s: %w", id, err)
	}
	k := d.cfg.Site.Kind(c.Service, c.KindName)
	if c.Document == "" || k == nil || c.Site != d.self() {
		return nil, refuseToSettle(c, "there is nothing to compare")
	}
	var s sides
	err = d.cfg.Site.Look(ctx, c.Document, func(r *replica.Replica) {
		s.base, s.wanted, s.paths = sidesOf(r.View, c.Operation)
		s.local = r.Mine.Local
	})
	if err != nil {
		return nil, fmt.Errorf("preview conflict %s: %w", id, err)
	}
	switch {
	case local != "" && local != s.local && !slices.Contains(c.Actions, engine.ActionAdopt):
		return nil, refuseToSettle(c, "no object can be adopted for it: there is nothing to compare %s %s with", k.Name, local)
	case local != "":
		s.local = local
	case s.local == "" && k.Natural():
		s.local = d.cfg.Site.Here(ctx, k, string(c.Resource))
	}
	if s.local == "" {
		return nil, refuseToSettle(c, "the site has no replica, and its application assigns the identifiers of its %ss: say which object to look at", k.Name)
	}
	shows, err := d.representation(ctx, k, s.local)
	if err != nil {
		return nil, &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err, Detail: fmt.Sprintf(
			"what the application of %s shows of %s %s could not be read", d.cfg.Members.Name(d.self()), k.Name, s.local)}
	}
	root, err := tree.Parse(k, shows)
	if err != nil {
		return nil, &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Err: err, Detail: "the application shows no JSON that could be compared"}
	}
	return s.differences(k, root), nil
}

// representation reads what this site's application shows, as clients see it.
func (d *Desk) representation(ctx context.Context, k *engine.Kind, local engine.LocalID) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.CallTimeout)
	defer cancel()
	reply, err := d.cfg.App.Do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: k.Item, Local: local,
		Header: map[string]string{"Accept": "application/json"}})
	if err == nil && reply.Status != http.StatusOK {
		err = fmt.Errorf("read %s: %s", local, plan.Tell(reply, nil))
	}
	if err != nil {
		return nil, err
	}
	presented, err := d.cfg.App.Present(ctx, k, reply)
	return presented.Body, err
}

// sides are what a conflict is between, by path.
type sides struct {
	base, wanted map[engine.Pointer]json.RawMessage
	paths        []engine.Pointer
	local        engine.LocalID
}

// differences are the fields at which an application that shows a tree does not show what is wanted.
func (s *sides) differences(k *engine.Kind, root any) []engine.FieldDifference {
	list := []engine.FieldDifference{}
	for _, p := range s.paths {
		f := engine.FieldDifference{Path: p, Base: s.base[p], Wanted: s.wanted[p]}
		if v, ok := tree.ValueAt(root, p); ok {
			if tree.Holds(f.Wanted, v) { // what is in it has rows of its own
				continue
			}
			f.Here = tree.Compact(v)
		}
		if f.Wanted == nil && f.Here == nil || f.Wanted != nil && f.Here != nil && bytes.Equal(tree.ByValue(f.Wanted), tree.ByValue(f.Here)) {
			continue
		}
		if k.Hides(p) {
			hide(&f)
		}
		list = append(list, f)
	}
	return list
}

func hide(f *engine.FieldDifference) {
	for _, v := range []*json.RawMessage{&f.Base, &f.Here, &f.Wanted} {
		if *v != nil {
			*v = tree.Compact(report.Hidden)
		}
	}
}

// sidesOf tells of a conflict about an operation what whoever issued that saw (base) and what all that is known amounts to at this
// site (wanted), by path, and which paths the conflict is about, sorted.
func sidesOf(v *view.View, id engine.OperationID) (base, wanted map[engine.Pointer]json.RawMessage, paths []engine.Pointer) {
	wanted = v.History.Fold(merge.Any).Paths()
	o := v.History.Get(id)
	if o == nil { // what it has set, if it has run, is what differs from all others
		return wanted, wanted, tree.Sorted(wanted)
	}
	base = v.History.Fold(func(p *engine.Operation) bool { return v.History.Before(p, o) }).Paths()
	if o.Type == engine.TypeCreate || o.Edit == nil { // of what else an opaque request sets nobody knows
		return base, wanted, tree.Sorted(wanted)
	}
	set := map[engine.Pointer]bool{}
	for p := range o.Edit.Set {
		set[p] = true
	}
	for p := range o.Edit.Add {
		set[p] = true
	}
	for _, p := range o.Edit.Unset {
		set[p] = true
	}
	return base, wanted, tree.Sorted(set)
}
