package merge

import (
	"encoding/json"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// count sets the cells of counters: what the last operation that set the path has set, and everything that was added and
// that this one had not seen. Where no client has set it, it begins with what the application was seen to show. Of the
// operations for which in is true those for which counts is true are in the sum. What a delete has ended tells nothing: what it builds on may be gone.
func (f *Fold) count(h *History, in, counts func(*engine.Operation) bool) {
	adding := h.addingTo(Among(h.Living(in)))
	if len(adding) == 0 {
		return
	}
	known := h.addingTo(Among(h.Living(Any)))
	*f = f.clone() // what is counted depends on more than what counts
	for _, p := range tree.Sorted(adding) {
		f.countAt(h, p, adding[p], known[p], counts)
	}
}

// addingTo lists by path the operations that add to a number there.
func (h *History) addingTo(in func(*engine.Operation) bool) map[engine.Pointer][]*engine.Operation {
	adding := map[engine.Pointer][]*engine.Operation{}
	for _, o := range h.ordered {
		if o.Edit == nil || len(o.Edit.Add) == 0 || o.Copy || !in(o) {
			continue
		}
		for p := range o.Edit.Add {
			adding[p] = append(adding[p], o)
		}
	}
	return adding
}

// uncounted returns who has set what stands at p, nil for nobody, and those of adding that it had not seen.
func (f *Fold) uncounted(p engine.Pointer, adding []*engine.Operation) (setter *engine.Operation, unseen []*engine.Operation) {
	cell, set := f.Cells[p]
	if setter = cell.By; !set {
		setter = f.whole
	}
	for _, o := range adding {
		if setter == nil || !before(o, setter) {
			unseen = append(unseen, o)
		}
	}
	return setter, unseen
}

// countAt sets the cell of one counter. Where it began all that are known tell, also those that have never run here because
// they had lost their effect.
func (f *Fold) countAt(h *History, p engine.Pointer, adding, all []*engine.Operation, counts func(*engine.Operation) bool) {
	cell, set := f.Cells[p]
	setter, unseen := f.uncounted(p, adding)
	if len(unseen) == 0 || f.underScalar(p) || cell.Value == nil && f.shows(p) {
		return
	}
	var (
		sum   tree.Decimal
		known bool
	)
	if set && cell.Value != nil {
		from, err := tree.ParseDecimal(string(cell.Value))
		if err != nil {
			return // it is no number any more, as where something is below it: there is nothing to add to
		}
		sum, known = from, true
	} else {
		_, all = f.uncounted(p, all)
		sum, known = h.firstSeen(p, setter, all)
	}
	by := setter
	for _, o := range unseen {
		if !counts(o) {
			continue
		}
		if add, err := tree.ParseDecimal(string(o.Edit.Add[p].By)); err == nil {
			sum, known, by = sum.Plus(add), true, o
		}
	}
	idle := by == setter
	if idle && set && cell.Value == nil {
		return // it stays removed
	}
	if by == nil {
		by = unseen[0]
	}
	c := Cell{By: by, Idle: idle, Counted: !set || cell.Value == nil || cell.Counted}
	if known {
		c.Value = json.RawMessage(sum.Number())
	}
	if !set {
		f.tally(p, 1)
	}
	f.Cells[p] = c
}

// firstSeen is what the application showed at p when setter, which set no number there, had run: what the first operation that
// adds to it and has seen setter saw, less what others had added until then that counted there. One that has seen what still
// another one had set there tells nothing, nor does one for which setter had lost its effect.
func (h *History) firstSeen(p engine.Pointer, setter *engine.Operation, adding []*engine.Operation) (tree.Decimal, bool) {
	for _, o := range adding {
		if h.base.Reduces(o) && (setter == nil || h.base.Reduces(setter)) { // that is what it says
			from, err := tree.ParseDecimal(string(o.Edit.Add[p].From))
			return from, err == nil
		}
	}
	for _, o := range adding {
		if setter != nil && !before(setter, o) {
			continue
		}
		from, err := tree.ParseDecimal(string(o.Edit.Add[p].From))
		if err != nil {
			return tree.Decimal{}, false
		}
		seen := Pick(func(q *engine.Operation) bool { return before(q, o) })
		counted, _ := h.Effective(seen)
		if setter != nil && !slices.Contains(counted, setter) {
			continue
		}
		if from, tells := lessAdded(from, p, setter, counted); tells {
			return from, true
		}
	}
	return tree.Decimal{}, false
}

// lessAdded takes from a number what counted operations have added at p since setter; tells is false where one has set it.
func lessAdded(
	from tree.Decimal, p engine.Pointer, setter *engine.Operation, counted []*engine.Operation,
) (n tree.Decimal, tells bool) {
	for _, o := range counted {
		if o.Edit == nil || o == setter || setter != nil && before(o, setter) {
			continue
		}
		if setsAt(o.Edit, p) {
			return n, false
		}
		if by, err := tree.ParseDecimal(string(o.Edit.Add[p].By)); err == nil {
			from = from.Minus(by)
		}
	}
	return from, true
}

// setsAt reports whether e says what stands at p.
func setsAt(e *engine.Edit, p engine.Pointer) bool {
	_, set := e.Set[p]
	return set || e.Whole || slices.Contains(e.Unset, p)
}

// countable returns the number in a cell, zero for one that is removed.
func countable(c Cell) (tree.Decimal, bool) {
	if c.Value == nil {
		return tree.Decimal{}, true
	}
	d, err := tree.ParseDecimal(string(c.Value))
	return d, err == nil
}

// underScalar reports whether something that is no object stands above p.
func (f *Fold) underScalar(p engine.Pointer) bool {
	for p = p.Parent(); p != ""; p = p.Parent() {
		if c, ok := f.Cells[p]; ok && c.Value != nil && !tree.IsContainer(c.Value) {
			return true
		}
	}
	return false
}
