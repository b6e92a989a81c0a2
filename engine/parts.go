package engine

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
)

// Replication is the Collaboration of a resource that is the same at all of its sites.
const Replication = "replication"

// Cross is the Collaboration of a resource that is spread over its sites: each holds a part of it, or a replica of one.
const Cross = "cross"

// Parts are the sites that hold each part of a cross resource, in the order of the parts. No site is in it twice.
type Parts [][]SiteID

// of returns the number of the part that a site holds; negative when it holds none.
func (p Parts) of(s SiteID) int {
	return slices.IndexFunc(p, func(part []SiteID) bool { return slices.Contains(part, s) })
}

// Sites are all sites that hold a part, sorted: the placement of the resource.
func (p Parts) Sites() []SiteID {
	sites := slices.Concat(p...)
	slices.Sort(sites)
	return sites
}

// place returns the parts after a placement operation. A site that is added takes the place of a part that the same operation
// leaves without a site, so that a part can move; otherwise it becomes a part of its own, the last.
func (p Parts) place(c *PlacementChange) Parts {
	add := slices.DeleteFunc(slices.Clone(c.Add), func(s SiteID) bool { return p.of(s) >= 0 })
	var next Parts
	for _, part := range p {
		part = slices.DeleteFunc(slices.Clone(part), func(s SiteID) bool { return slices.Contains(c.Remove, s) })
		if len(part) == 0 && len(add) > 0 {
			part, add = add[:1:1], add[1:]
		}
		if len(part) > 0 {
			next = append(next, part)
		}
	}
	for _, s := range add {
		next = append(next, []SiteID{s})
	}
	return next
}

// spread is how a cross resource lies over its sites, as one of them sees it; nil for a resource that is replicated.
type spread struct {
	self   SiteID
	parts  Parts // with which it began
	fields []Pointer
}

// partsAt folds what the operations for which in is true do to the parts. A site that they have removed goes on holding what it
// held.
func (h *History) partsAt(in func(*Operation) bool) Parts {
	now := h.placementOf(in).Parts
	if now.of(h.spread.self) >= 0 {
		return now
	}
	return h.placementOf(func(o *Operation) bool {
		return in(o) && (o.Place == nil || !slices.Contains(o.Place.Remove, h.spread.self))
	}).Parts
}

// fold is what this site's application shows once the operations that p picks are settled there: of a cross resource its own
// share of what they fold to.
func (h *History) fold(p pick) Fold {
	f := foldOf(h, p)
	if h.spread == nil {
		return f
	}
	return h.spread.share(f, h.partsAt(p.in))
}

// share is what this site is to show of a cross resource that is spread over parts: its share of every divided integer, and
// all else as it is.
func (x *spread) share(f Fold, parts Parts) Fold {
	at := parts.of(x.self)
	if at < 0 || !f.Exists {
		return f
	}
	f.Cells = maps.Clone(f.Cells)
	for _, p := range x.fields {
		cell, ok := f.Cells[p]
		if mine, whole := shareOf(cell.Value, len(parts), at); ok && whole {
			cell.Value = mine
			f.Cells[p] = cell
		}
	}
	return f
}

// spreadOut adds to the states of the sites which part of a cross resource each holds, and its share of what is divided.
func (v *view) spreadOut(sites map[SiteID]ReplicaStatus) {
	if v.history.spread == nil {
		return
	}
	whole, parts := foldOf(v.history, everything), v.placement().Parts
	for i, part := range parts {
		for _, s := range part {
			st := sites[s]
			st.Part, st.Share = i+1, map[Pointer]json.RawMessage{}
			for _, p := range v.kind.Divide {
				if share, ok := shareOf(whole.Cells[p].Value, len(parts), i); ok {
					st.Share[p] = share
				}
			}
			sites[s] = st
		}
	}
}

// shareOf is one of n shares of an integer: they differ by one at most, the first ones get what is left over, and together
// they are the integer. ok is false for what is none.
func shareOf(v json.RawMessage, n, at int) (share json.RawMessage, ok bool) {
	d, err := parseDecimal(string(v))
	if err != nil {
		return nil, false
	}
	whole, rest := new(big.Int).QuoRem(d.unscaled, power(d.scale), new(big.Int))
	if rest.Sign() != 0 {
		return nil, false
	}
	each, left := new(big.Int).DivMod(whole, big.NewInt(int64(n)), new(big.Int)) // left ≥ 0, whatever the sign
	if left.Cmp(big.NewInt(int64(at))) > 0 {
		each.Add(each, big.NewInt(1))
	}
	return json.RawMessage(each.String()), true
}

// Representation returns the representation that shows these values and nothing else.
func Representation(values map[Pointer]json.RawMessage) json.RawMessage {
	var tree any = map[string]any{}
	for _, p := range sortedPointers(values) {
		tree = setAt(tree, p, values[p])
	}
	return compact(tree)
}

// Shares are the values of the divided fields that a representation shows, for each of n parts; nil where it shows none.
func (k *Kind) Shares(representation []byte, n int) []map[Pointer]json.RawMessage {
	tree, err := parseJSON(representation)
	if err != nil {
		return nil
	}
	var shares []map[Pointer]json.RawMessage
	for _, p := range k.Divide {
		v, ok := valueAt(tree, p)
		if _, divisible := shareOf(compact(v), n, 0); !ok || !divisible {
			continue
		}
		if shares == nil {
			shares = make([]map[Pointer]json.RawMessage, n)
		}
		for i := range shares {
			if shares[i] == nil {
				shares[i] = map[Pointer]json.RawMessage{}
			}
			shares[i][p], _ = shareOf(compact(v), n, i)
		}
	}
	return shares
}

// divided are the fields of which this site shows its share only.
func (x *spread) divided() []Pointer {
	if x == nil {
		return nil
	}
	return x.fields
}

// divides reports whether a request that is sent as it is would set another value of a divided field than this site's share.
func (x *spread) divides(o *Operation) bool {
	if x == nil || len(x.fields) == 0 {
		return false
	}
	switch {
	case o.Type == TypeReplace, o.Type == TypeCreate:
		return true
	case o.Change == nil:
		return false
	}
	return slices.ContainsFunc(x.fields, func(p Pointer) bool { return o.Change.touches(p) })
}

// touches reports whether c sets, removes or adds to p, or something above or below it.
func (c *Change) touches(p Pointer) bool {
	near := func(q Pointer) bool { return p.Contains(q) || !isObject(c.Set[q]) && q.Contains(p) }
	return slices.ContainsFunc(sortedPointers(c.Set), near) || slices.ContainsFunc(c.Unset, near) ||
		slices.ContainsFunc(sortedPointers(c.Add), near)
}

// shareOfChange is what a change that is made good at every part sets here: of divided fields what f holds.
func (x *spread) shareOfChange(c *Change, f Fold) *Change {
	if x == nil {
		return c
	}
	mine := &Change{Set: maps.Clone(c.Set), Unset: c.Unset}
	for _, p := range x.fields {
		if v := f.Cells[p].Value; v != nil && mine.Set[p] != nil {
			mine.Set[p] = v
		}
	}
	return mine
}

// put writes the values that f has of the divided fields into a representation that has them.
func (x *spread) put(f Fold, representation []byte) []byte {
	if x == nil || len(x.fields) == 0 {
		return representation
	}
	tree, err := parseJSON(representation)
	if err != nil {
		return representation
	}
	changed := false
	for _, p := range x.fields {
		was, ok := valueAt(tree, p)
		if now := f.Cells[p].Value; ok && now != nil && !bytes.Equal(compact(was), now) {
			tree, changed = setAt(tree, p, now), true
		}
	}
	if !changed {
		return representation
	}
	return compact(tree)
}
