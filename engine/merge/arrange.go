package merge

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// ByPlace is the rule by which one order of an array takes the place of another one. Both were wanted, and not both can be: it is a conflict.
const ByPlace = "the later order of an array counts where two cannot both be kept"

// The order of a keyed array is what comes of the operations that count when each of them, one after the other in their order, puts the elements
// that it has moved where it has them (tree.Place). It is the same at every site that knows the same operations:
//
//   - Which operations count, and in which order, follows from their set alone, and so does what they put where. When they came does not count.
//   - A checkpoint tells the list as it is before the first operation that arranges something and may yet come to count or not. All before that one
//     is decided for good. It keeps that one as it is, and all that arrange something after it (findLate): these put their elements in anew.
//   - Of an element that is removed the list keeps the place, for who has not seen that may bring it back. That it is there moves no other one.
//     A checkpoint lets go of it only where all that comes later has seen it go, and who has seen that puts it in anew (displace).
//
// What one operation has put after another element and what a concurrent one has put before it cannot always both be: contest tells where.

// arrange brings keyed arrays into order after o. What o has put somewhere stands there, and all else stays where it stood. What o sets in an
// element without saying where it stands comes last if it is not there yet.
func (f *Fold) arrange(base *Checkpoint, o *engine.Operation) {
	e := o.Edit
	if f.kind == nil || len(f.kind.Keys) == 0 {
		return
	}
	f.forget()
	for _, p := range tree.Sorted(e.Order) {
		if !tree.Ordered(f.kind, p) {
			continue
		}
		placed, last := placedBy(e, p), f.order[p]
		f.place(p, e.Order[p], func(t string) bool { return placed(t) && f.shows(p.Append(t)) })
		f.contest(base, p, o, last)
	}
	for p, tokens := range f.placeless(e) {
		f.place(p, tokens, func(string) bool { return true })
	}
}

// placeless lists the elements of keyed arrays that an edit sets something in and that have no place yet.
func (f *Fold) placeless(e *engine.Edit) map[engine.Pointer][]string {
	has, found := map[engine.Pointer]map[string]bool{}, map[engine.Pointer][]string{}
	for _, q := range tree.Sorted(e.Set) {
		for p := q; p != ""; {
			t := p
			p = p.Parent()
			tokens, known := has[p]
			if !known && tree.Ordered(f.kind, p) {
				tokens = map[string]bool{}
				for _, t := range f.order[p] {
					tokens[t] = true
				}
			}
			has[p] = tokens
			if token := t[len(p):].Tokens()[0]; tokens != nil && !tokens[token] && f.shows(t) {
				tokens[token] = true
				found[p] = append(found[p], token)
			}
		}
	}
	return found
}

// placedBy tells which elements of the array at p an edit has put where they stand.
func placedBy(e *engine.Edit, p engine.Pointer) func(string) bool {
	placed := e.Placed[p]
	if placed == nil {
		return func(string) bool { return true }
	}
	set := make(map[string]bool, len(placed))
	for _, t := range placed {
		set[t] = true
	}
	return func(t string) bool { return set[t] }
}

// place puts elements of the array at p where stated has them.
func (f *Fold) place(p engine.Pointer, stated []string, moved func(string) bool) {
	if list := tree.Place(f.order[p], stated, moved); len(list) > 0 {
		if f.order == nil {
			f.order = map[engine.Pointer][]string{}
		}
		f.order[p] = list
	}
}

// displace takes their places from elements that were removed, where o, which is to be applied, names them and either has seen that or puts
// them somewhere anew.
func (f *Fold) displace(o *engine.Operation) {
	for p, list := range f.order {
		sets, stated, placed := setIn(o.Edit, p), o.Edit.Order[p], placedBy(o.Edit, p)
		if len(sets)+len(stated) == 0 {
			continue
		}
		f.order[p] = slices.DeleteFunc(slices.Clone(list), func(t string) bool {
			at, states := p.Append(t), slices.Contains(stated, t)
			return (states || sets[t]) && !f.shows(at) && (states && placed(t) && sets[t] || f.ended(at, o))
		})
	}
}

// setIn returns the elements of the array at p that an edit sets something in.
func setIn(e *engine.Edit, p engine.Pointer) map[string]bool {
	var elements map[string]bool
	for q := range e.Set {
		if q != p && p.Contains(q) {
			put(&elements, q[len(p):].Tokens()[0], true)
		}
	}
	return elements
}

// ended reports whether o has seen everything go that there was of an element, which the fold does not show.
func (f *Fold) ended(at engine.Pointer, o *engine.Operation) bool {
	gone := func(c Cell) bool { return c.By == nil || c.By == o || before(c.By, o) }
	if !gone(f.Cells[at]) {
		return false
	}
	return !f.filled(at) || !slices.ContainsFunc(f.under(at), func(q engine.Pointer) bool { return !gone(f.Cells[q]) })
}

// arranges reports whether an operation may have to do with which elements a keyed array has, and in which order.
func arranges(kind *engine.Kind, o *engine.Operation) bool {
	e := o.Edit
	if e == nil {
		return false
	}
	near := func(p engine.Pointer) bool {
		return slices.ContainsFunc(kind.Keys, func(k engine.Key) bool { return k.At.Covers(p) || p.Covers(k.At) })
	}
	if e.Whole || len(e.Order) > 0 || slices.ContainsFunc(e.Unset, near) {
		return true
	}
	for p := range e.Set {
		if near(p) {
			return true
		}
	}
	return false
}

// decided are the first of some operations, in order, after which c.Order is what they amount to: those before the first that arranges
// something and is not decided.
func (c *Checkpoint) decided(k *engine.Kind, ops []*engine.Operation) []*engine.Operation {
	first := slices.IndexFunc(c.Late, func(o *engine.Operation) bool { return !o.Copy && arranges(k, o) })
	n := slices.IndexFunc(ops, func(o *engine.Operation) bool {
		return !c.Has(o) || first >= 0 && engine.Compare(o, c.Late[first]) >= 0
	})
	if n < 0 {
		return ops
	}
	return ops[:n]
}

// ordersUntil is after how many of the operations that count the order is that of the checkpoint. Zero: it tells of none that is left.
func (c *Checkpoint) ordersUntil(k *engine.Kind, counting []*engine.Operation) int {
	if c == nil {
		return 0
	}
	decided := c.decided(k, counting)
	if !slices.ContainsFunc(decided, c.Reduces) {
		return 0
	}
	return len(decided)
}

// contest notes with which concurrent operations o cannot have its order of the array at p, which was last arranged for it and had that list
// before: what one has put after or before another element stands the other way round.
func (f *Fold) contest(base *Checkpoint, p engine.Pointer, o *engine.Operation, last []string) {
	was, is := f.places(p, last), f.places(p, f.order[p])
	own, told := len(untrue(o.Edit, p, is)) > 0, false
	var other *engine.Operation // the last that is concurrent with o
	tell := func(u *engine.Operation) {
		told = true
		f.Superseded = append(f.Superseded, engine.Superseded{Path: p, Value: tree.KeysOf(u.Edit.Order[p]), By: u.ID, Over: o.ID, Rule: ByPlace})
	}
	for _, u := range f.arranged[p] {
		if base.Has(u) && base.Has(o) || !concurrent(u, o) {
			continue
		}
		if other = u; own && slices.ContainsFunc(o.Edit.Order[p], placedBy(u.Edit, p)) || len(untrue(u.Edit, p, is)) > len(untrue(u.Edit, p, was)) {
			tell(u)
		}
	}
	if own && !told && other != nil { // it has moved what o saw beside its own
		tell(other)
	}
	if f.arranged == nil {
		f.arranged = map[engine.Pointer][]*engine.Operation{}
	}
	f.arranged[p] = append(slices.Clip(f.arranged[p]), o)
}

// places tells where in a list of the array at p the elements stand that the fold shows.
func (f *Fold) places(p engine.Pointer, list []string) map[string]int {
	at := make(map[string]int, len(list))
	for i, t := range list {
		if f.shows(p.Append(t)) {
			at[t] = i
		}
	}
	return at
}

// untrue lists pairs of neighbours in an edit's order of which it has put one beside the other, and that stand the other way round.
func untrue(e *engine.Edit, p engine.Pointer, at map[string]int) (neighbours []string) {
	placed, last := placedBy(e, p), ""
	for _, t := range e.Order[p] {
		if _, there := at[t]; !there {
			continue
		}
		if last != "" && at[last] > at[t] && (placed(last) || placed(t)) {
			neighbours = append(neighbours, last, t)
		}
		last = t
	}
	return neighbours
}

// rearranged reports whether s is an order that is lost, and somebody who had seen both that one and the other has arranged the array since.
func (f *Fold) rearranged(base *Checkpoint, s engine.Superseded) bool {
	if s.Rule != ByPlace {
		return false
	}
	saw := func(w *engine.Operation, id engine.OperationID) bool {
		for _, o := range f.arranged[s.Path] {
			if o.ID == id {
				return before(o, w)
			}
		}
		return !base.Has(w) // all that comes after the checkpoint has seen what it has let go of
	}
	return slices.ContainsFunc(f.arranged[s.Path], func(w *engine.Operation) bool { return saw(w, s.By) && saw(w, s.Over) })
}

// forget lets go of the places of elements of which nothing is known any more.
func (f *Fold) forget() {
	for p, tokens := range f.order {
		left := slices.DeleteFunc(slices.Clone(tokens), func(t string) bool { return !f.knows(p.Append(t)) })
		if len(left) > 0 {
			f.order[p] = left
		} else {
			delete(f.order, p)
		}
	}
}

// rearrange takes the order that a checkpoint tells, as far as the elements are known.
func (f *Fold) rearrange(order map[engine.Pointer][]string) {
	if order != nil {
		f.order = maps.Clone(order)
		f.forget()
	}
}

// at is the value at p, or what stands there because something below it is known.
func (f *Fold) at(p engine.Pointer) json.RawMessage {
	if c := f.Cells[p]; c.Value != nil {
		return c.Value
	}
	return tree.ContainerAt(f.kind, p)
}

// shows reports whether there is something at p or below it.
func (f *Fold) shows(p engine.Pointer) bool {
	if f.Cells[p].Value != nil {
		return true
	}
	if f.filled(p) {
		for q, c := range f.Cells {
			if c.Value != nil && p.Contains(q) {
				return true
			}
		}
	}
	return false
}

// knows reports whether something was ever set at p or below it, and may come back.
func (f *Fold) knows(p engine.Pointer) bool {
	_, known := f.Cells[p]
	return known || f.filled(p)
}

// Order is in which order the keyed arrays that the fold shows have their elements.
func (f Fold) Order() map[engine.Pointer][]string {
	shown := map[engine.Pointer][]string{}
	for p, tokens := range f.order {
		if !tree.IsKeyed(f.at(p)) {
			continue
		}
		if left := slices.DeleteFunc(slices.Clone(tokens), func(t string) bool { return !f.shows(p.Append(t)) }); len(left) > 0 {
			shown[p] = left
		}
	}
	return shown
}
