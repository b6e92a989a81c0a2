package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// Cell is the value of one path in a Fold. A nil Value says that the path was removed.
type Cell struct {
	Value json.RawMessage
	By    OperationID
	by    *Operation
	// Counted says that no client has set the value: it is what was added to what the application had.
	Counted bool
	idle    bool // of what was added, nothing counts
}

// Superseded is a value that a concurrent, later operation took the place of. It is kept to be shown.
type Superseded struct {
	Path  Pointer
	Value json.RawMessage // nil: that the path is removed
	By    OperationID     // who had set it
	Over  OperationID     // who took its place
	Rule  string          // by which rule, in words
}

// byOrder is the rule where the catalog has none.
const byOrder = "the later value of a field counts"

// Fold is what a set of operations amounts to. Cells holds the paths that clients have set, each for itself; only
// below a path that holds a scalar or an array there is none.
type Fold struct {
	// Exists says that the resource was created and not deleted.
	Exists bool
	Cells  map[Pointer]Cell
	// Absolute holds for each path under the item the last operation that put opaque bytes there.
	Absolute   map[string]*Operation
	Superseded []Superseded
	below      map[Pointer]int      // how many cells are below a path
	order      map[Pointer][]string // which elements keyed arrays show, in their order
	whole      *Operation           // the last operation that set everything at once, nil for none
	kind       *Kind
}

func newFold(h *History) Fold {
	return Fold{Cells: map[Pointer]Cell{}, Absolute: map[string]*Operation{}, below: map[Pointer]int{}, order: map[Pointer][]string{}, kind: h.kind}
}

// FoldOf folds those operations of h for which in is true. Operations that a delete has ended count for nothing, and so do
// those that have lost their effect to a later one.
func FoldOf(h *History, in func(*Operation) bool) Fold { return foldOf(h, pick{in: in}) }

func foldOf(h *History, p pick) Fold {
	counting, lost := h.effective(p)
	based := 0
	for i, o := range counting {
		if h.base.has(o) {
			based = i + 1
		}
	}
	f, n, slot := h.folded.begin(h, counting)
	for i := n; i < len(counting); i++ {
		o := counting[i]
		f.Exists = f.Exists || o.Type == TypeCreate
		f.apply(h, o)
		if i+1 == based && h.base.Order != nil {
			f.order = maps.Clone(h.base.Order)
			f.arrange(&Change{})
		}
	}
	h.folded.keep(f, counting, n, slot)
	if based > 0 { // what the checkpoint stands for lives and ends as one
		f.Superseded = append(f.Superseded, h.lostBefore(counting, lost)...)
	}
	for o := range lost {
		f.Exists = f.Exists || o.Type == TypeCreate
	}
	if f.Exists {
		f.count(h, p.in, within(counting))
	}
	for o, l := range lost {
		if !h.base.has(l.by) {
			f.lose(o, l)
		}
	}
	slices.SortFunc(f.Superseded, compareSuperseded)
	return f
}

func (f *Fold) apply(h *History, o *Operation) {
	if o.Type == TypeAbsolute {
		f.Absolute[o.Path] = o
	}
	if o.Change == nil {
		return
	}
	if o.Change.Whole {
		f.clear(h, o)
	}
	for _, p := range o.Change.Unset {
		f.put(h, p, Cell{By: o.ID, by: o})
	}
	for _, p := range sortedPointers(o.Change.Set) {
		f.put(h, p, Cell{Value: o.Change.Set[p], By: o.ID, by: o})
	}
	f.arrange(o.Change)
}

// clear removes everything for an operation that sets all at once.
func (f *Fold) clear(h *History, o *Operation) {
	for _, p := range sortedPointers(f.Cells) {
		f.supersede(h, p, f.Cells[p], Cell{Value: o.Change.Set[p], By: o.ID, by: o}, "a PUT counts whole")
	}
	f.Cells, f.below, f.order, f.whole = map[Pointer]Cell{}, map[Pointer]int{}, map[Pointer][]string{}, o
}

// put sets one path. A scalar or an array ends what is below it, and whatever is set below a scalar ends that; an
// object, a keyed array and an absence leave the other paths alone, unless a keyed array and an object take each other's place.
// Where an ended value is a concurrent operation's, it is kept as superseded.
func (f *Fold) put(h *History, p Pointer, c Cell) {
	old, known := f.Cells[p]
	if known {
		f.supersede(h, p, old, c, byOrder)
	}
	for q := p; q != ""; {
		q = q.parent()
		if other := f.Cells[q]; other.Value != nil && !isContainer(other.Value) {
			if c.Value == nil {
				return // there is nothing to remove below a scalar
			}
			f.supersede(h, q, other, c, byOrder)
			f.remove(q)
		}
	}
	ends := c.Value != nil && (!isContainer(c.Value) || isContainer(old.Value) && !bytes.Equal(old.Value, c.Value))
	if ends && f.below[p] > 0 {
		for _, q := range sortedPointers(f.Cells) {
			if q != p && p.Contains(q) {
				f.supersede(h, q, f.Cells[q], c, byOrder)
				f.remove(q)
			}
		}
	}
	if !known {
		f.tally(p, 1)
	}
	f.Cells[p] = c
}

func (f *Fold) remove(p Pointer) {
	delete(f.Cells, p)
	f.tally(p, -1)
}

// tally keeps below when a path comes or goes.
func (f *Fold) tally(p Pointer, by int) {
	for p != "" {
		p = p.parent()
		f.below[p] += by
	}
}

func (f *Fold) supersede(h *History, p Pointer, old, by Cell, rule string) {
	if old.by == by.by || bytes.Equal(old.Value, by.Value) || isContainer(old.Value) {
		return
	}
	if h.base.has(old.by) && h.base.has(by.by) {
		return // the checkpoint tells it
	}
	if h.Concurrent(old.by, by.by) {
		f.Superseded = append(f.Superseded, Superseded{Path: p, Value: old.Value, By: old.By, Over: by.By, Rule: rule})
	}
}

// lostBefore lists what the checkpoint says is lost, as far as those that took the place still count.
func (h *History) lostBefore(counting []*Operation, lost map[*Operation]loss) []Superseded {
	counts := among(counting)
	return slices.DeleteFunc(slices.Clone(h.base.Superseded), func(s Superseded) bool {
		by, over := h.Get(s.By), h.Get(s.Over)
		_, loses := lost[by]
		return over != nil && !counts(over) || by != nil && !counts(by) && !loses
	})
}

// newest returns those of a list of lost values that were lost last, at most n of them and maxSupersededBytes: identifiers of operations
// rise with time.
func newest(lost []Superseded, n int) []Superseded {
	lost = slices.Clone(lost)
	slices.SortFunc(lost, func(a, b Superseded) int { return cmp.Or(cmp.Compare(a.Over, b.Over), compareSuperseded(a, b)) })
	lost = lost[max(0, len(lost)-n):]
	size := 0
	for i, s := range slices.Backward(lost) {
		if size += len(s.Value); size > maxSupersededBytes {
			lost = lost[i+1:]
			break
		}
	}
	slices.SortFunc(lost, compareSuperseded)
	return lost
}

// lose keeps what an operation would have set that has lost its effect.
func (f *Fold) lose(o *Operation, l loss) {
	if o.Change == nil {
		return
	}
	for p, v := range o.Change.Set {
		if !isContainer(v) {
			f.Superseded = append(f.Superseded, Superseded{Path: p, Value: v, By: o.ID, Over: l.by.ID, Rule: l.rule})
		}
	}
}

func compareSuperseded(a, b Superseded) int {
	return slices.Compare([]string{string(a.Path), string(a.By), string(a.Over)}, []string{string(b.Path), string(b.By), string(b.Over)})
}

// paths returns all that the fold shows, by path: an object or a keyed array is there when it was set, or something below it is.
func (f Fold) paths() map[Pointer]json.RawMessage {
	shown := make(map[Pointer]json.RawMessage, len(f.Cells))
	for p, c := range f.Cells {
		if c.Value == nil {
			continue
		}
		shown[p] = c.Value
		for p != "" {
			if p = p.parent(); p == "" || shown[p] != nil {
				break
			}
			shown[p] = f.kind.container(p)
		}
	}
	return shown
}

// implies reports whether what the fold shows at p is there only because something below it is: once that goes, it does.
func (f Fold) implies(p Pointer) bool { return f.Cells[p].Value == nil && f.below[p] > 0 }

// Representation returns the folded values as one JSON document.
func (f Fold) Representation() []byte {
	var tree any = map[string]any{}
	shown := f.paths()
	for _, p := range sortedPointers(shown) {
		tree = setPath(tree, p, shown[p])
	}
	arranged(tree, f.order)
	return compact(tree)
}

// after is what the application shows once u has run on what f folds: its effect is that of the last operation. With is
// the fold with u; it tells what f does not: the value of a counter that nobody has set before.
func (f Fold) after(u *Operation, with Fold) Fold {
	if u.Change == nil {
		return f
	}
	g := Fold{Cells: maps.Clone(f.Cells), Absolute: maps.Clone(f.Absolute), below: maps.Clone(f.below), order: maps.Clone(f.order), kind: f.kind}
	alone := *u
	alone.Change = &Change{Set: u.Change.Set, Unset: u.Change.Unset, Order: u.Change.Order}
	g.apply(NewHistory(), &alone)
	for p, i := range u.Change.Add {
		was, set := f.Cells[p]
		if !set {
			if was, set = with.Cells[p]; was.by == u && was.Counted && !was.idle { // it is the first that adds to it
				g.Cells[p] = was
				continue
			}
		}
		if base, ok := countable(was); set && ok {
			if by, err := parseDecimal(string(i.By)); err == nil {
				was.Value = json.RawMessage(base.plus(by).number())
				g.Cells[p] = was
			}
		}
	}
	return g
}

// setPath sets one path of a Change or a Fold in a tree.
func setPath(tree any, p Pointer, v json.RawMessage) any {
	if isObject(v) {
		return ensureObject(tree, p)
	}
	if member, ok := memberOf(v); ok {
		return ensureElements(tree, p, member)
	}
	return setAt(tree, p, v)
}
