package merge

import (
	"encoding/json"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// parts are what still counts of edits, by operation.
type parts map[*engine.Operation]*engine.Edit

func (p parts) of(o *engine.Operation) *engine.Edit {
	if p[o] == nil {
		p[o] = &engine.Edit{Set: map[engine.Pointer]json.RawMessage{}}
	}
	return p[o]
}

// cells takes what the cells of a fold hold.
func (p parts) cells(fold Fold) {
	for at, cell := range fold.Cells {
		if cell.Value != nil {
			p.of(cell.By).Set[at] = cell.Value
		} else {
			p.of(cell.By).Unset = append(p.of(cell.By).Unset, at)
		}
	}
	if fold.whole != nil {
		p.of(fold.whole).Whole = true
	}
	for _, part := range p {
		slices.Sort(part.Unset)
	}
}

// tangled takes all that ops have set at and below paths where a value and what would be below it have taken each other's
// place: what stands there in the end depends on each of them, should something late come between.
func (p parts) tangled(fold Fold, ops, late []*engine.Operation) {
	if len(late) == 0 {
		return
	}
	roots := tangles(slices.Concat(ops, late))
	if len(roots) == 0 {
		return
	}
	in := func(at engine.Pointer) bool {
		return slices.ContainsFunc(roots, func(root engine.Pointer) bool { return root.Contains(at) })
	}
	for _, o := range ops {
		if o.Edit == nil || fold.whole != nil && engine.Compare(o, fold.whole) < 0 {
			continue
		}
		for at, v := range o.Edit.Set {
			if in(at) {
				p.of(o).Set[at] = v
			}
		}
		for _, at := range o.Edit.Unset {
			if in(at) && !slices.Contains(p.of(o).Unset, at) {
				p.of(o).Unset = append(p.of(o).Unset, at)
				slices.Sort(p.of(o).Unset)
			}
		}
	}
}

// taken takes what was in elements that an operation has taken away, where one of late that has not seen that brings it back.
func (p parts) taken(fold Fold, late []*engine.Operation) {
	for at, t := range fold.gone {
		brings := func(o *engine.Operation) bool {
			return o.Edit != nil && concurrent(o, t.by) && tree.Touches(o.Edit, at)
		}
		if !slices.ContainsFunc(late, brings) {
			continue
		}
		for in, cell := range t.cells {
			p.of(cell.By).Set[in] = cell.Value
		}
	}
}

// tangles lists the paths at which one of ops sets a value that has nothing below it, or another container than another one,
// and below which one of them sets or removes something.
func tangles(ops []*engine.Operation) []engine.Pointer {
	ends := map[engine.Pointer]bool{}
	containers := map[engine.Pointer]string{}
	found := map[engine.Pointer]bool{}
	below := func(at engine.Pointer) {
		for at != "" {
			if at = at.Parent(); ends[at] {
				found[at] = true
			}
		}
	}
	for _, o := range ops {
		for at, v := range edited(o).Set {
			if other, known := containers[at]; tree.IsContainer(v) && (!known || other == string(v)) {
				containers[at] = string(v)
			} else {
				ends[at] = true
			}
		}
	}
	for _, o := range ops {
		for at := range edited(o).Set {
			below(at)
		}
		for _, at := range edited(o).Unset {
			below(at)
		}
	}
	return tree.Sorted(found)
}

func edited(o *engine.Operation) engine.Edit {
	if o.Edit == nil {
		return engine.Edit{}
	}
	return *o.Edit
}

// counters takes what the operations for which in is true have added to numbers: the last one that has added to a number stands for all. Where it
// began all tell for which known is true: one that is late may come before the others.
func (p parts) counters(h *History, fold Fold, in, known, counts func(*engine.Operation) bool) {
	adding, all := h.addingTo(Among(h.Living(in))), h.addingTo(Among(h.Living(known)))
	for _, at := range tree.Sorted(adding) {
		setter, unseen := fold.uncounted(at, adding[at])
		if len(unseen) == 0 {
			continue
		}
		var sum tree.Decimal
		var last *engine.Operation
		for _, o := range unseen {
			if by, err := tree.ParseDecimal(string(o.Edit.Add[at].By)); err == nil && counts(o) {
				sum, last = sum.Plus(by), o
			}
		}
		if last == nil { // it tells where the number began
			last = unseen[0]
			sum, _ = tree.ParseDecimal(string(last.Edit.Add[at].By))
		}
		add := engine.Increment{By: sum.Number()}
		if cell, set := fold.Cells[at]; !set || cell.Value == nil {
			_, unseen = fold.uncounted(at, all[at])
			if from, told := h.firstSeen(at, setter, unseen); told {
				add.From = from.Number()
			}
		}
		put(&p.of(last).Add, at, add)
	}
}

// shed takes out of a fold for a checkpoint that paths were removed, but for those that were last: everything later has seen
// that, and all sites have done it. What one of late sets or adds to stays as it is: it is to stay removed.
func (f *Fold) shed(adding map[engine.Pointer][]*engine.Operation, late []*engine.Operation) {
	var removed []engine.Pointer
	for p, cell := range f.Cells {
		touches := func(o *engine.Operation) bool { return o.Edit != nil && (o.Edit.Whole || tree.Touches(o.Edit, p)) }
		if cell.Value == nil && adding[p] == nil && !slices.ContainsFunc(late, touches) {
			removed = append(removed, p)
		}
	}
	slices.Sort(removed)
	slices.SortStableFunc(removed, func(p, q engine.Pointer) int { return engine.Compare(f.Cells[p].By, f.Cells[q].By) })
	for _, p := range removed[:max(0, len(removed)-maxRemoved)] {
		f.remove(p)
	}
}
