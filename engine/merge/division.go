package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// Division is how one site's part of a cross resource shares what is divided with the other parts. Operations say what all
// parts together are to show; each part shows its share. A nil *Division divides nothing: its methods may be called.
type Division struct {
	kind  *engine.Kind
	self  engine.SiteID
	parts engine.Parts
}

// NewDivision returns how what a resource begins with is divided; nil where nothing is.
func NewDivision(k *engine.Kind, about engine.About, self engine.SiteID) *Division {
	return New(k, about, self).Division(Any)
}

// Division returns how this site shares what the operations for which in is true have made of the resource, as it is once the
// sites grows are added: nil where nothing is divided.
func (h *History) Division(in func(*engine.Operation) bool, grows ...engine.SiteID) *Division {
	if len(h.kind.Divide) == 0 {
		return nil
	}
	parts := h.PartsAt(in)
	if parts == nil {
		return nil
	}
	if len(grows) > 0 {
		parts = placeParts(parts, &engine.PlacementChange{Add: grows})
	}
	return &Division{h.kind, h.self, parts}
}

// PartsAt folds what the operations for which in is true make of the parts; nil: with these the resource is no cross one. A site that
// they have removed goes on holding what it held.
func (h *History) PartsAt(in func(*engine.Operation) bool) engine.Parts {
	if h.parts == nil && h.divides == 0 && (h.base == nil || h.base.Placed == nil || h.base.Placed.Parts == nil) {
		return nil
	}
	now := h.placementOf(in)
	if now.Has(h.self) {
		return now.Parts
	}
	return h.placementOf(func(o *engine.Operation) bool {
		return in(o) && (o.Place == nil || !slices.Contains(o.Place.Remove, h.self))
	}).Parts
}

// Fold is what this site's application shows once the operations that p picks are settled there: of a cross resource its own
// share of what they fold to.
func (h *History) Fold(p Pick) Fold { return h.Division(p).Share(h.Whole(p)) }

// Divides reports whether a request that is sent as it is would set another value of a divided field than this site's share.
func (d *Division) Divides(o *engine.Operation) bool { return d != nil && divides(d.kind, o) }

func divides(k *engine.Kind, o *engine.Operation) bool {
	switch {
	case o.Type == engine.TypeReplace, o.Type == engine.TypeCreate:
		return true
	case o.Edit == nil:
		return false
	}
	return slices.ContainsFunc(k.Divide, func(p engine.Pointer) bool { return tree.Touches(o.Edit, p) })
}

// Fields are the fields of which this site shows its share only.
func (d *Division) Fields() []engine.Pointer {
	if d == nil {
		return nil
	}
	return d.kind.Divide
}

// Share is what this site is to show of what all parts together show: its share of every divided integer, and all else as it
// is.
func (d *Division) Share(f Fold) Fold {
	if d == nil || !f.Exists {
		return f
	}
	at := PartOf(d.parts, d.self)
	if at < 0 {
		return f
	}
	f.Cells = maps.Clone(f.Cells)
	for _, p := range d.kind.Divide {
		cell, ok := f.Cells[p]
		if mine, whole := tree.ShareOf(cell.Value, len(d.parts), at); ok && whole {
			cell.Value = mine
			f.Cells[p] = cell
		}
	}
	return f
}

// ShareOfEdit is what an Edit that is made good at every part sets here: of divided fields what f, this site's fold, holds.
func (d *Division) ShareOfEdit(e *engine.Edit, f Fold) *engine.Edit {
	if d == nil {
		return e
	}
	mine := &engine.Edit{Set: maps.Clone(e.Set), Unset: e.Unset, Order: e.Order, Placed: e.Placed}
	for _, p := range d.kind.Divide {
		if v := f.Cells[p].Value; v != nil && mine.Set[p] != nil {
			mine.Set[p] = v
		}
	}
	return mine
}

// Complete gives the body of a PUT the divided fields that it does not mention: they stay as they are. It changes o, which is
// being made.
func (d *Division) Complete(o *engine.Operation, before Fold) {
	if d == nil || o.Type != engine.TypeReplace {
		return
	}
	root, err := tree.ParseJSON(o.Body)
	if err != nil {
		return
	}
	for _, p := range d.kind.Divide {
		if _, has := tree.ValueAt(root, p); !has && before.Cells[p].Value != nil {
			root = tree.SetAt(root, p, before.Cells[p].Value)
		}
	}
	o.Body = tree.Compact(root)
}

// Total is what all parts together show once o has run on what before folds.
func (d *Division) Total(o *engine.Operation, before Fold) Fold {
	f := alone(d.kind, o)
	if before.Exists {
		f = before.After(o, before)
	}
	f.Exists = true
	return f
}

// Body is what this site's application gets in place of the body of o: its own share of what is divided.
func (d *Division) Body(o *engine.Operation, before Fold) ([]byte, error) {
	if d == nil {
		return o.Body, nil
	}
	if stated := d.Stated(o); len(stated) > 0 {
		all := Fold{Exists: true, Cells: map[engine.Pointer]Cell{}}
		for p, v := range stated {
			all.Cells[p] = Cell{Value: v}
		}
		return d.stating(o.Body, d.Share(all), before), nil
	}
	if o.Edit == nil {
		return o.Body, nil
	}
	mine := d.Share(d.Total(o, before))
	switch o.Type {
	case engine.TypeCreate, engine.TypeReplace, engine.TypeMerge:
		return d.put(mine, o.Body), nil
	case engine.TypePatch:
		return d.patch(o, mine, before)
	}
	return o.Body, nil
}

// Mine is what an operation sets at this site's part, and what that part showed before.
func (d *Division) Mine(o *engine.Operation, before Fold) (*engine.Operation, Fold) {
	if d == nil || o.Edit == nil {
		return o, before
	}
	shared := *o
	shared.Edit = d.ShareOfEdit(o.Edit, d.Share(d.Total(o, before)))
	return &shared, d.Share(before)
}

// Present returns the body of an answer to a caller with the values of all parts together.
func (d *Division) Present(o *engine.Operation, before Fold, body []byte) []byte {
	if d == nil || o.Edit == nil {
		return body
	}
	return d.put(d.Total(o, before), body)
}

// Base makes what one part was seen to show of counters that no client has set what all parts showed, as each began with the
// application's own value. It changes the Edit of o, which is being made.
func (d *Division) Base(o *engine.Operation, before Fold) {
	if d == nil || o.Edit == nil {
		return
	}
	for p, i := range o.Edit.Add {
		from, err := tree.ParseDecimal(string(i.From))
		if _, set := before.Cells[p]; !set && err == nil && slices.Contains(d.kind.Divide, p) {
			i.From = from.Times(len(d.parts)).Number()
			o.Edit.Add[p] = i
		}
	}
}

// Kept returns what this site's application shows, a tree, with what all parts together show of each divided field if the
// others show their shares: what one part has more or less than its own counts for the whole. It changes the tree.
func (d *Division) Kept(root any, before Fold) any {
	if d == nil {
		return root
	}
	mine := d.Share(before)
	for _, p := range d.kind.Divide {
		v, _ := tree.ValueAt(root, p)
		shows, errShows := tree.ParseDecimal(string(tree.Compact(v)))
		share, errShare := tree.ParseDecimal(string(mine.Cells[p].Value))
		all, errAll := tree.ParseDecimal(string(before.Cells[p].Value))
		if errShows == nil && errShare == nil && errAll == nil {
			root = tree.SetAt(root, p, all.Plus(shows.Minus(share)).Number())
		}
	}
	return root
}

// Whole makes a body that has what one part shows one that has what all show: of each divided field what Kept says, all holding what that was.
// A field that no client has set goes, since it is each application's own.
func (d *Division) Whole(body []byte, all map[engine.Pointer]Cell) []byte {
	root, err := tree.ParseJSON(body)
	if d == nil || err != nil {
		return body
	}
	root = d.Kept(root, Fold{Exists: true, Cells: all})
	for _, p := range d.kind.Divide {
		if all[p].Value == nil {
			tree.UnsetAt(root, p)
		}
	}
	return tree.Compact(root)
}

// put writes the values that f has of the divided fields into a representation that has them.
func (d *Division) put(f Fold, representation []byte) []byte {
	root, err := tree.ParseJSON(representation)
	if err != nil {
		return representation
	}
	changed := false
	for _, p := range d.kind.Divide {
		was, ok := tree.ValueAt(root, p)
		if now := f.Cells[p].Value; ok && now != nil && !bytes.Equal(tree.Compact(was), now) {
			root, changed = tree.SetAt(root, p, now), true
		}
	}
	if !changed {
		return representation
	}
	return tree.Compact(root)
}

// ShareAt returns what a site's part has shown with, in place of the divided fields, that site's share of what the operations that p
// picks fold to.
func (h *History) ShareAt(site engine.SiteID, p Pick, representation []byte) []byte {
	parts := h.placementOf(p).Parts
	if len(h.kind.Divide) == 0 || PartOf(parts, site) < 0 {
		return representation
	}
	d := &Division{h.kind, site, parts}
	return d.put(d.Share(h.Whole(p)), representation)
}

// patch makes a JSON Patch (RFC 6902) that was evaluated on what all parts show one for this part alone.
func (d *Division) patch(o *engine.Operation, mine, before Fold) ([]byte, error) {
	if !divides(d.kind, o) {
		return o.Body, nil
	}
	sets := Fold{Exists: true, Cells: map[engine.Pointer]Cell{}}
	for _, p := range d.kind.Divide {
		if o.Edit.Set[p] != nil {
			sets.Cells[p] = mine.Cells[p]
		}
	}
	root, err := tree.ParseJSON(o.Body)
	steps, ok := root.([]any)
	if err != nil || !ok {
		return nil, fmt.Errorf("divide operation %s: its body is no JSON Patch", o.ID)
	}
	return d.steps(steps, sets, before), nil
}

// steps makes the steps of a JSON Patch on what all parts show those for this part, which is to show mine in the end. Where
// they compare a divided field with what all parts show, there is nothing to compare here; a comparison with anything else
// fails here as well.
func (d *Division) steps(steps []any, mine, before Fold) []byte {
	now := map[engine.Pointer]json.RawMessage{}
	for _, p := range d.kind.Divide {
		now[p] = before.Cells[p].Value
	}
	own := []any{}
	for _, step := range steps {
		p, kind := stepAt(step)
		v, _ := tree.ValueAt(step, "/value")
		switch was, divided := now[p]; {
		case !divided:
		case kind == "test" && (was == nil || bytes.Equal(was, tree.Compact(v))):
			continue
		case kind == "test":
			step = tree.SetAt(step, "/value", nil)
		default:
			now[p] = tree.Compact(v)
		}
		own = append(own, step)
	}
	for _, p := range d.kind.Divide {
		if v := mine.Cells[p].Value; v != nil {
			own = append(own, map[string]any{"op": "add", "path": string(p), "value": v})
		}
	}
	return tree.Compact(own)
}

// stepAt is what a step of a JSON Patch is about, and what it does.
func stepAt(step any) (engine.Pointer, string) {
	op, _ := tree.ValueAt(step, "/op")
	path, _ := tree.ValueAt(step, "/path")
	kind, _ := op.(string)
	at, _ := path.(string)
	return engine.Pointer(at), kind
}
