package merge

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// Cell is the value of one path in a Fold. A nil Value says that the path was removed.
type Cell struct {
	Value json.RawMessage
	// By is the operation that has set it.
	By *engine.Operation
	// Counted says that no client has set the value: it is what was added to what the application had.
	Counted bool
	// Idle says that of what was added nothing counts: the value is where it began.
	Idle bool
}

// byOrder is the rule where the catalog has none.
const byOrder = "the later value of a field counts"

// Fold is what a set of operations amounts to. Cells holds the paths that clients have set, each for itself; only below a
// path that holds a scalar or an array there is none. What a History returns is shared and not to be changed.
type Fold struct {
	// Exists says that the resource was created and not deleted.
	Exists bool
	Cells  map[engine.Pointer]Cell
	// Absolute holds for each path under the item the last operation that put opaque bytes there.
	Absolute   map[string]*engine.Operation
	Superseded []engine.Superseded

	gone  map[engine.Pointer]taken    // the elements of keyed arrays that were taken away
	below map[engine.Pointer]int      // how many cells are below a path that is not the root
	order map[engine.Pointer][]string // the elements of keyed arrays in their order, with those that were removed
	// arranged are the operations that have put elements of an array where they stand, in order.
	arranged map[engine.Pointer][]*engine.Operation
	whole    *engine.Operation // the last operation that set everything at once, nil for none
	kind     *engine.Kind
}

func newFold(k *engine.Kind) Fold { return Fold{Cells: map[engine.Pointer]Cell{}, kind: k} }

// Nothing is the fold of no operations.
func (h *History) Nothing() Fold { return newFold(h.kind) }

// Whole folds the operations that p picks: of a cross resource what all parts show together. Operations that a delete has
// ended count for nothing, and so do those that have lost their effect to a later one.
func (h *History) Whole(p Pick) Fold {
	counting, lost := h.Effective(p)
	based := 0
	if h.base != nil {
		for i, o := range counting {
			if h.base.Has(o) {
				based = i + 1
			}
		}
	}
	f := h.foldOf(counting)
	if based > 0 { // what the checkpoint stands for lives and ends as one
		f.Superseded = append(slices.Clip(f.Superseded), h.lostBefore(counting, lost)...)
	}
	for o, l := range lost {
		f.Exists = f.Exists || o.Type == engine.TypeCreate
		if !h.base.Has(l.By) {
			f.lose(o, l)
		}
	}
	if len(f.arranged) > 0 {
		f.Superseded = slices.DeleteFunc(slices.Clone(f.Superseded), func(s engine.Superseded) bool { return f.rearranged(h.base, s) })
	}
	if based > 0 || len(lost) > 0 {
		slices.SortFunc(f.Superseded, compareSuperseded)
	}
	if f.Exists && h.adding > 0 {
		f.count(h, p, Within(counting))
	}
	return f
}

// apply adds what an operation sets. What the checkpoint base tells of lost values is not told again.
func (f *Fold) apply(base *Checkpoint, o *engine.Operation) {
	if o.Type == engine.TypeAbsolute {
		if f.Absolute == nil {
			f.Absolute = map[string]*engine.Operation{}
		}
		f.Absolute[o.Path] = o
	}
	if o.Edit == nil {
		return
	}
	if o.Edit.Whole {
		f.clear(base, o)
	}
	f.displace(o)
	elements := f.takeAway(o)
	for _, p := range o.Edit.Unset {
		f.put(base, p, Cell{By: o})
	}
	for _, p := range elements {
		if halved(f, p) {
			f.bringBack(p)
		}
	}
	for _, p := range tree.Sorted(o.Edit.Set) {
		f.put(base, p, Cell{Value: o.Edit.Set[p], By: o})
	}
	f.arrange(base, o)
}

// clear removes everything for an operation that sets all at once.
func (f *Fold) clear(base *Checkpoint, o *engine.Operation) {
	for _, p := range tree.Sorted(f.Cells) {
		f.supersede(base, p, f.Cells[p], Cell{Value: o.Edit.Set[p], By: o}, "a PUT counts whole")
	}
	f.Cells, f.gone, f.below, f.order, f.arranged, f.whole = map[engine.Pointer]Cell{}, nil, nil, nil, nil, o
}

// put sets one path. A scalar or an array ends what is below it, and whatever is set below a scalar ends that; an object, a
// keyed array and an absence leave the other paths alone, unless a keyed array and an object take each other's place. Where
// an ended value is a concurrent operation's, it is kept as superseded.
func (f *Fold) put(base *Checkpoint, p engine.Pointer, c Cell) {
	if c.Value != nil && len(f.gone) > 0 {
		f.bringsBack(p, c.By)
	}
	old, known := f.Cells[p]
	if known {
		f.supersede(base, p, old, c, byOrder)
	}
	for q := p; q != ""; {
		q = q.Parent()
		if other := f.Cells[q]; other.Value != nil && !tree.IsContainer(other.Value) {
			if c.Value == nil {
				return // there is nothing to remove below a scalar
			}
			f.supersede(base, q, other, c, byOrder)
			f.remove(q)
		}
	}
	ends := c.Value != nil && (!tree.IsContainer(c.Value) || tree.IsContainer(old.Value) && !bytes.Equal(old.Value, c.Value))
	if ends && f.filled(p) {
		for _, q := range f.under(p) {
			f.supersede(base, q, f.Cells[q], c, byOrder)
			f.remove(q)
		}
	}
	if !known {
		f.tally(p, 1)
	}
	f.Cells[p] = c
}

// taken is an element of a keyed array that an operation has taken away, with what was set in it.
type taken struct {
	by    *engine.Operation
	cells map[engine.Pointer]Cell
}

// takeAway notes which elements of keyed arrays an operation is about to take away, and what is in them: an element is there whole or not at all,
// for half of one is of no use to an application. What a concurrent operation sets in it later, or has set and the operation has not seen, brings
// it back. Who makes it anew says all that is to be in it.
func (f *Fold) takeAway(o *engine.Operation) (elements []engine.Pointer) {
	if f.kind == nil || len(f.kind.Keys) == 0 {
		return nil
	}
	for _, p := range o.Edit.Unset {
		if _, element := tree.KeyAt(f.kind, p.Parent()); !element || p == "" {
			continue
		}
		t := taken{o, map[engine.Pointer]Cell{}}
		for _, q := range append(f.under(p), p) {
			if f.Cells[q].Value != nil {
				t.cells[q] = f.Cells[q]
			}
		}
		if before, gone := f.gone[p]; gone && len(t.cells) == 0 {
			t.cells = before.cells
		}
		if f.gone == nil {
			f.gone = map[engine.Pointer]taken{}
		}
		f.gone[p] = t
		elements = append(elements, p)
	}
	return elements
}

// bringBack puts what was in an element that was taken away in its place again, as far as it has no other value by now.
func (f *Fold) bringBack(p engine.Pointer) {
	cells := f.gone[p].cells
	delete(f.gone, p)
	for q, cell := range cells {
		now, known := f.Cells[q]
		if now.Value != nil {
			continue
		}
		if !known {
			f.tally(q, 1)
		}
		f.Cells[q] = cell
	}
}

// halved reports whether something is set in an element that was taken away.
func halved(f *Fold, p engine.Pointer) bool {
	return slices.ContainsFunc(f.under(p), func(q engine.Pointer) bool { return f.Cells[q].Value != nil })
}

// bringsBack has what is set at p bring back the elements that it lies in, unless whoever sets it has seen them go.
func (f *Fold) bringsBack(p engine.Pointer, by *engine.Operation) {
	delete(f.gone, p)
	for q := p; len(f.gone) > 0 && q != ""; {
		q = q.Parent()
		if t, gone := f.gone[q]; gone && concurrent(t.by, by) {
			f.bringBack(q)
		}
	}
}

func (f *Fold) remove(p engine.Pointer) {
	delete(f.Cells, p)
	f.tally(p, -1)
}

// tally keeps below when a path comes or goes.
func (f *Fold) tally(p engine.Pointer, by int) {
	for {
		if p = p.Parent(); p == "" {
			return
		}
		if f.below == nil {
			f.below = map[engine.Pointer]int{}
		}
		f.below[p] += by
	}
}

// filled reports whether there are cells below p.
func (f *Fold) filled(p engine.Pointer) bool {
	if p != "" {
		return f.below[p] > 0
	}
	_, root := f.Cells[""]
	return len(f.Cells) > 1 || len(f.Cells) == 1 && !root
}

// under lists the cells below p.
func (f *Fold) under(p engine.Pointer) []engine.Pointer {
	var list []engine.Pointer
	for q := range f.Cells {
		if q != p && p.Contains(q) {
			list = append(list, q)
		}
	}
	return list
}

func (f *Fold) supersede(base *Checkpoint, p engine.Pointer, old, by Cell, rule string) {
	if old.By == nil || old.By == by.By || bytes.Equal(old.Value, by.Value) || tree.IsContainer(old.Value) {
		return
	}
	if base.Has(old.By) && base.Has(by.By) {
		return // the checkpoint tells it
	}
	if concurrent(old.By, by.By) {
		f.Superseded = append(f.Superseded, engine.Superseded{Path: p, Value: old.Value, By: old.By.ID, Over: by.By.ID, Rule: rule})
	}
}

// lostBefore lists what the checkpoint says is lost, as far as those that took the place still count.
func (h *History) lostBefore(counting []*engine.Operation, lost map[*engine.Operation]Loss) []engine.Superseded {
	counts := Within(counting)
	return slices.DeleteFunc(slices.Clone(h.base.Superseded), func(s engine.Superseded) bool {
		by, over := h.Get(s.By), h.Get(s.Over)
		_, loses := lost[by]
		return over != nil && !counts(over) || by != nil && !counts(by) && !loses
	})
}

// lose keeps what an operation would have set that has lost its effect.
func (f *Fold) lose(o *engine.Operation, l Loss) {
	if o.Edit == nil {
		return
	}
	for p, v := range o.Edit.Set {
		if !tree.IsContainer(v) {
			f.Superseded = append(slices.Clip(f.Superseded), engine.Superseded{Path: p, Value: v, By: o.ID, Over: l.By.ID, Rule: l.Rule})
		}
	}
}

func compareSuperseded(a, b engine.Superseded) int {
	if c := strings.Compare(string(a.Path), string(b.Path)); c != 0 {
		return c
	}
	if c := strings.Compare(string(a.By), string(b.By)); c != 0 {
		return c
	}
	return strings.Compare(string(a.Over), string(b.Over))
}

// alone is the fold of one operation by itself.
func alone(k *engine.Kind, o *engine.Operation) Fold {
	f := newFold(k)
	f.apply(nil, o)
	return f
}
