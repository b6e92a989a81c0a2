package engine

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Increment is what an operation was seen to add to a number where it ran first.
type Increment struct {
	By json.Number `json:"by"`
	// From is what the application showed before; empty where it showed nothing.
	From json.Number `json:"from,omitempty"`
}

func (i Increment) check() error {
	if _, err := parseDecimal(string(i.By)); err != nil {
		return err
	}
	if i.From == "" {
		return nil
	}
	_, err := parseDecimal(string(i.From))
	return err
}

// incrementOf is what was added at a path between two representations.
func incrementOf(at Pointer, before, after []byte) (Increment, error) {
	var i Increment
	from, err := numberAt(at, before)
	if err != nil {
		return i, err
	}
	to, err := numberAt(at, after)
	if err != nil {
		return i, err
	}
	return increment(from, to)
}

// increment is what was added from one number to another; empty is nothing.
func increment(from, to json.Number) (i Increment, err error) {
	was, is := zero, zero
	if from != "" {
		if was, err = parseDecimal(string(from)); err != nil {
			return i, err
		}
	}
	if to != "" {
		if is, err = parseDecimal(string(to)); err != nil {
			return i, err
		}
	}
	return Increment{By: is.minus(was).number(), From: from}, nil
}

// numberAt returns the number at a path of a representation, empty when there is nothing.
func numberAt(at Pointer, representation []byte) (json.Number, error) {
	tree, err := parseJSON(representation)
	if err != nil {
		return "", fmt.Errorf("the representation is not JSON: %w", err)
	}
	v, ok := valueAt(tree, at)
	if !ok || v == nil {
		return "", nil
	}
	n, ok := v.(json.Number)
	if !ok {
		return "", fmt.Errorf("there is no number at %q", at)
	}
	return n, nil
}

// count sets the cells of counters: what the last operation that set the path has set, and everything that was added and that
// this one had not seen. Where no client has set it, it begins with what the application was seen to show.
func (f *Fold) count(h *History, in, counts func(*Operation) bool) {
	adding := h.adding(in)
	if len(adding) == 0 {
		return
	}
	known := h.adding(anyOperation)
	for _, p := range sortedPointers(adding) {
		f.countAt(h, p, adding[p], known[p], counts)
	}
}

// adding lists by path the operations that add to a number there.
func (h *History) adding(in func(*Operation) bool) map[Pointer][]*Operation {
	adding := map[Pointer][]*Operation{}
	for _, o := range h.ordered {
		if o.Change == nil || len(o.Change.Add) == 0 || !in(o) {
			continue
		}
		for p := range o.Change.Add {
			adding[p] = append(adding[p], o)
		}
	}
	return adding
}

// uncounted returns who has set what stands at p, nil for nobody, and those of adding that it had not seen.
func (f *Fold) uncounted(h *History, p Pointer, adding []*Operation) (setter *Operation, unseen []*Operation) {
	cell, set := f.Cells[p]
	if setter = cell.by; !set {
		setter = f.whole
	}
	saw := func(o *Operation) bool { return setter != nil && h.Before(o, setter) }
	for _, o := range adding {
		if !saw(o) && !h.again(o, saw) {
			unseen = append(unseen, o)
		}
	}
	return setter, unseen
}

// once returns those of adding for which counts is true, of one request only the first.
func (h *History) once(adding []*Operation, counts func(*Operation) bool) []*Operation {
	var ops []*Operation
	taken := func(o *Operation) bool { return slices.Contains(ops, o) }
	for _, o := range adding {
		if counts(o) && !h.again(o, taken) {
			ops = append(ops, o)
		}
	}
	return ops
}

// countAt sets the cell of one counter. Of the operations that add to it those for which counts is true are in the sum. Where it began
// all that are known tell, also those that have never run here because they had lost their effect.
func (f *Fold) countAt(h *History, p Pointer, adding, all []*Operation, counts func(*Operation) bool) {
	cell, set := f.Cells[p]
	setter, unseen := f.uncounted(h, p, adding)
	if len(unseen) == 0 || f.underScalar(p) {
		return
	}
	var (
		sum   decimal
		known bool
	)
	if set && cell.Value != nil {
		base, err := parseDecimal(string(cell.Value))
		if err != nil {
			return // it is no number any more: there is nothing to add to
		}
		sum, known = base, true
	} else {
		_, all = f.uncounted(h, p, all)
		sum, known = firstSeen(h, p, setter, all)
	}
	by := setter
	for _, o := range h.once(unseen, counts) {
		if add, err := parseDecimal(string(o.Change.Add[p].By)); err == nil {
			sum, known, by = sum.plus(add), true, o
		}
	}
	idle := by == setter
	if idle && set && cell.Value == nil {
		return // it stays removed
	}
	if by == nil {
		by = unseen[0]
	}
	c := Cell{By: by.ID, by: by, idle: idle, Counted: !set || cell.Value == nil || cell.Counted}
	if known {
		c.Value = json.RawMessage(sum.number())
	}
	if !set {
		f.tally(p, 1)
	}
	f.Cells[p] = c
}

// firstSeen is what the application showed at p when setter, which set no number there, had run: what the first operation that
// adds to it and has seen setter saw, less what others had added until then that counted there. One that has seen what still
// another one had set there tells nothing, nor does one for which setter had lost its effect.
func firstSeen(h *History, p Pointer, setter *Operation, adding []*Operation) (decimal, bool) {
	for _, o := range adding {
		if h.base.reduces(o) { // that is what it says
			if base, err := parseDecimal(string(o.Change.Add[p].From)); err == nil {
				return base, true
			}
			return zero, false
		}
	}
next:
	for _, o := range adding {
		if setter != nil && !h.Before(setter, o) {
			continue
		}
		base, err := parseDecimal(string(o.Change.Add[p].From))
		if err != nil {
			return zero, false
		}
		counted, _ := h.effective(pick{in: func(p *Operation) bool { return h.Before(p, o) }, fact: func(Fact) bool { return false }})
		if setter != nil && !slices.Contains(counted, setter) {
			continue
		}
		for _, other := range counted {
			if other.Change == nil || other == setter || setter != nil && h.Before(other, setter) {
				continue
			}
			if _, set := other.Change.Set[p]; set || other.Change.Whole || slices.Contains(other.Change.Unset, p) {
				continue next
			}
			if by, err := parseDecimal(string(other.Change.Add[p].By)); err == nil {
				base = base.minus(by)
			}
		}
		return base, true
	}
	return zero, false
}

// countable returns the number in a cell, zero for one that is removed.
func countable(c Cell) (decimal, bool) {
	if c.Value == nil {
		return zero, true
	}
	d, err := parseDecimal(string(c.Value))
	return d, err == nil
}

// underScalar reports whether something that is no object stands above p.
func (f *Fold) underScalar(p Pointer) bool {
	for p != "" {
		if p = p.parent(); p != "" {
			if c, ok := f.Cells[p]; ok && c.Value != nil && !isContainer(c.Value) {
				return true
			}
		}
	}
	return false
}
