package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// FieldDifference is one field of a resource that a conflict is about. Nil: there is no such field.
type FieldDifference struct {
	Path Pointer
	// Base is what whoever issued the operation saw, Here what the application of the conflict's site shows, Wanted what all
	// known operations amount to: what resolving the conflict without giving up would bring about.
	Base, Here, Wanted json.RawMessage
}

// PreviewConflict reads, at the conflict's own site, what its application shows, and returns the fields that differ from what they
// are to be. Local is the object that is looked at where the site has no replica yet, as in AdoptObject. It returns
// ErrNotFound when there is no such conflict or no such object, and a *Refusal when there is nothing to compare.
func (s *Site) PreviewConflict(ctx context.Context, id ConflictID, local LocalID) ([]FieldDifference, error) {
	c, err := s.cfg.Store.Conflict(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("preview conflict %s: %w", id, err)
	}
	k := s.known.Load().by[kindKey{c.Service, c.KindName}]
	if c.Document == "" || k == nil || c.Site != s.cfg.Self {
		return nil, &Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: c.Operation, Detail: "there is nothing to compare"}
	}
	base, wanted, paths, at, err := s.sides(ctx, c)
	if err != nil {
		return nil, err
	}
	if at == "" {
		if at = local; at == "" && k.Natural() {
			at = s.here(ctx, k, string(c.Resource))
		}
	}
	if at == "" {
		return nil, &Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: c.Operation,
			Detail: fmt.Sprintf("the site has no replica, and it assigns the identifiers of its %ss: say which object to look at", c.KindName)}
	}
	shown, err := s.representation(ctx, k, at)
	if err != nil {
		return nil, &Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err, Detail: fmt.Sprintf(
			"what the application of %s shows of %s %s could not be read", s.name(s.cfg.Self), c.KindName, at)}
	}
	tree, err := k.parse(shown)
	if err != nil {
		return nil, &Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Err: err, Detail: "the application shows no JSON that could be compared"}
	}
	list := []FieldDifference{}
	for _, p := range paths {
		d := FieldDifference{Path: p, Base: base[p], Wanted: wanted[p]}
		if v, ok := valueAt(tree, p); ok {
			if d.Here = compact(v); holds(d.Wanted, v) { // what is in it has rows of its own
				continue
			}
		}
		if d.Wanted != nil && d.Here != nil && bytes.Equal(canonical(d.Wanted), d.Here) || d.Wanted == nil && d.Here == nil {
			continue
		}
		if k.Hides(p) {
			d.hide()
		}
		list = append(list, d)
	}
	return list, nil
}

func (d *FieldDifference) hide() {
	for _, v := range []*json.RawMessage{&d.Base, &d.Here, &d.Wanted} {
		if *v != nil {
			*v = compact(Hidden)
		}
	}
}

// sides returns what the issuer of a conflict's operation saw and what is wanted now, by path, the paths that the conflict is
// about, and this site's identifier of the resource.
func (s *Site) sides(ctx context.Context, c Conflict) (base, wanted map[Pointer]json.RawMessage, paths []Pointer, local LocalID, err error) {
	_, v, unlock, err := s.locked(ctx, c.Document)
	defer unlock()
	if err != nil {
		return nil, nil, nil, "", fmt.Errorf("preview conflict %s: %w", c.ID, err)
	}
	wanted = v.history.fold(everything).paths()
	o := v.history.Get(c.Operation)
	if o == nil { // what it has set, if it has run, is what differs from all others
		return wanted, wanted, sortedPointers(wanted), v.local(), nil
	}
	base = v.history.fold(pick{in: func(e *Operation) bool { return v.history.Before(e, o) }}).paths()
	if o.Type == TypeCreate || o.Change == nil { // of what else an opaque request sets nobody knows
		return base, wanted, sortedPointers(wanted), v.local(), nil
	}
	set := map[Pointer]bool{}
	for p := range o.Change.Set {
		set[p] = true
	}
	for _, p := range o.Change.Unset {
		set[p] = true
	}
	return base, wanted, sortedPointers(set), v.local(), nil
}
