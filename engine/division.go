package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// division is how the site where a request runs first shares what it sets with the other parts. Nil: nothing is divided.
type division struct {
	*spread
	parts Parts
	kind  *Kind
}

// divisionOf returns how what c sets is divided: by the parts that there are once the sites are added that c adds. Res is nil
// for a resource that does not exist yet.
func (s *Site) divisionOf(ctx context.Context, res *resource, k *Kind, c *crossing) (*division, error) {
	if c.Plain || len(k.Divide) == 0 {
		return nil, nil
	}
	if res != nil {
		res.mu.Lock()
		defer res.mu.Unlock()
		v, err := s.open(ctx, res)
		switch {
		case err == nil && v.history.spread == nil:
			return nil, nil
		case err == nil:
			st := v.standing()
			parts := v.history.partsAt(st.Settled)
			return &division{v.history.spread, parts.place(&PlacementChange{Add: c.Grows}), k}, nil
		case !errors.Is(err, ErrNotFound):
			return nil, err
		}
	}
	if c.About == nil || c.About.Collaboration != Cross {
		return nil, nil
	}
	x := &spread{self: s.cfg.Self, parts: c.About.Parts, fields: k.Divide}
	return &division{x, x.parts, k}, nil
}

// complete gives the body of a PUT the divided fields that it does not mention: they stay as they are.
func (d *division) complete(o *Operation, before Fold) {
	if d == nil || o.Type != TypeReplace {
		return
	}
	tree, err := parseJSON(o.Body)
	if err != nil {
		return
	}
	for _, p := range d.fields {
		if _, has := valueAt(tree, p); !has && before.Cells[p].Value != nil {
			tree = setAt(tree, p, before.Cells[p].Value)
		}
	}
	o.Body = compact(tree)
}

// total is what all parts together show once o has run on what before folds.
func (d *division) total(o *Operation, before Fold) Fold {
	f := alone(o)
	if before.Exists {
		f = before.after(o, before)
	}
	f.Exists = true
	return f
}

// body is what this site's application gets in place of the body of o: its own share of what is divided.
func (d *division) body(o *Operation, before Fold) ([]byte, error) {
	if d == nil {
		return o.Body, nil
	}
	if stated := d.stated(o); len(stated) > 0 {
		whole := Fold{Exists: true, Cells: map[Pointer]Cell{}}
		for p, v := range stated {
			whole.Cells[p] = Cell{Value: v}
		}
		return d.stating(o.Body, d.share(whole, d.parts), before), nil
	}
	if o.Change == nil {
		return o.Body, nil
	}
	mine := d.share(d.total(o, before), d.parts)
	switch o.Type {
	case TypeCreate, TypeReplace, TypeMerge:
		return d.put(mine, o.Body), nil
	case TypePatch:
		return d.patch(o, mine, before)
	}
	return o.Body, nil
}

// mine is what an operation sets at this site's part, and what that part showed before.
func (d *division) mine(o *Operation, before Fold) (*Operation, Fold) {
	if d == nil || o.Change == nil {
		return o, before
	}
	shared := *o
	shared.Change = d.shareOfChange(o.Change, d.share(d.total(o, before), d.parts))
	return &shared, d.share(before, d.parts)
}

// patch makes a JSON Patch (RFC 6902) that was evaluated on what all parts show one for this part alone.
func (d *division) patch(o *Operation, mine, before Fold) ([]byte, error) {
	if !d.divides(o) {
		return o.Body, nil
	}
	sets := Fold{Exists: true, Cells: map[Pointer]Cell{}}
	for _, p := range d.fields {
		if o.Change.Set[p] != nil {
			sets.Cells[p] = mine.Cells[p]
		}
	}
	tree, err := parseJSON(o.Body)
	steps, ok := tree.([]any)
	if err != nil || !ok {
		return nil, fmt.Errorf("divide operation %s: its body is no JSON Patch", o.ID)
	}
	return d.steps(steps, sets, before), nil
}

// steps makes the steps of a JSON Patch on what all parts show those for this part, which is to show mine in the end. Where they compare a
// divided field with what all parts show, there is nothing to compare here; a comparison with anything else fails here as well.
func (d *division) steps(steps []any, mine, before Fold) []byte {
	now := map[Pointer]json.RawMessage{}
	for _, p := range d.fields {
		now[p] = before.Cells[p].Value
	}
	var own []any
	for _, step := range steps {
		p, kind := stepAt(step)
		v, _ := valueAt(step, "/value")
		switch was, divided := now[p]; {
		case !divided:
		case kind == "test" && (was == nil || bytes.Equal(was, compact(v))):
			continue
		case kind == "test":
			step = setAt(step, "/value", nil)
		default:
			now[p] = compact(v)
		}
		own = append(own, step)
	}
	for _, p := range d.fields {
		if v := mine.Cells[p].Value; v != nil {
			own = append(own, map[string]any{"op": "add", "path": p, "value": v})
		}
	}
	return compact(own)
}

// stepAt is what a step of a JSON Patch is about, and what it does.
func stepAt(step any) (Pointer, string) {
	op, _ := valueAt(step, "/op")
	path, _ := valueAt(step, "/path")
	kind, _ := op.(string)
	at, _ := path.(string)
	return Pointer(at), kind
}

// base makes what one part was seen to show of counters that no client has set what all parts showed, as each began with the
// application's own value.
func (d *division) base(o *Operation, before Fold) {
	if d == nil || o.Change == nil {
		return
	}
	for p, i := range o.Change.Add {
		from, err := parseDecimal(string(i.From))
		if _, set := before.Cells[p]; !set && err == nil && slices.Contains(d.fields, p) {
			i.From = decimal{new(big.Int).Mul(from.unscaled, big.NewInt(int64(len(d.parts)))), from.scale}.number()
			o.Change.Add[p] = i
		}
	}
}

// present returns an answer to a caller with the values of all parts together.
func (d *division) present(o *Operation, before Fold, a Answer) Answer {
	if d != nil && o.Change != nil {
		a.Body = d.put(d.total(o, before), a.Body)
	}
	return a
}

// sharedAnew is what this site publishes with a placement operation of its own: its share may be another one from then on, and
// it still shows the old one.
func (s *Site) sharedAnew(v *view, place *Operation) []Entry {
	if v.history.spread == nil || len(v.kind.Divide) == 0 {
		return nil
	}
	return []Entry{s.outcomeEntry(place, Outcome{State: StatePending, Again: true})}
}

// keptWhole returns what this site's application shows with, for each divided field, what all parts together show if the others
// show their shares: what one part has more or less than its own counts for the whole.
func (s *Site) keptWhole(ctx context.Context, res *resource, k *Kind, tree any, before Fold) (any, error) {
	d, err := s.divisionOf(ctx, res, k, &crossing{})
	if d == nil || err != nil {
		return tree, err
	}
	mine := d.share(before, d.parts)
	for _, p := range d.fields {
		v, _ := valueAt(tree, p)
		shows, errShows := parseDecimal(string(compact(v)))
		share, errShare := parseDecimal(string(mine.Cells[p].Value))
		whole, errWhole := parseDecimal(string(before.Cells[p].Value))
		if errShows == nil && errShare == nil && errWhole == nil {
			tree = setAt(tree, p, whole.plus(shows.minus(share)).number())
		}
	}
	return tree, nil
}
