package engine

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Cell is the value of one path in a Fold. A nil Value says that the path was removed.
type Cell struct {
	Value json.RawMessage
	By    OperationID
	by    *Operation
}

// Superseded is a value that a concurrent, later operation took the place of. It is kept to be shown.
type Superseded struct {
	Path  Pointer
	Value json.RawMessage
	By    OperationID // who had set it
	Over  OperationID // who took its place
}

// Fold is what a set of operations amounts to. Cells holds the paths that clients have set, each for itself; only
// below a path that holds a scalar or an array there is none.
type Fold struct {
	// Exists says that the resource was created and not deleted.
	Exists bool
	Cells  map[Pointer]Cell
	// Absolute holds for each path under the item the last operation that put opaque bytes there.
	Absolute   map[string]*Operation
	Superseded []Superseded
	below      map[Pointer]int // how many cells are below a path
}

// FoldOf folds those operations of h for which in is true. Operations that a delete has ended count for nothing.
func FoldOf(h *History, in func(*Operation) bool) Fold {
	f := Fold{Cells: map[Pointer]Cell{}, Absolute: map[string]*Operation{}, below: map[Pointer]int{}}
	living := h.Living(in)
	if slices.ContainsFunc(living, h.base.has) { // what it stands for lives and ends as one
		f.Superseded = slices.Clone(h.base.Superseded)
	}
	for _, o := range living {
		f.apply(h, o)
	}
	return f
}

func (f *Fold) apply(h *History, o *Operation) {
	switch o.Type {
	case TypeCreate:
		f.Exists = true
	case TypeAbsolute:
		f.Absolute[o.Path] = o
	}
	if o.Change == nil {
		return
	}
	for _, p := range o.Change.Unset {
		f.put(h, p, Cell{By: h.setBy(o, p), by: o})
	}
	for _, p := range sortedPointers(o.Change.Set) {
		f.put(h, p, Cell{Value: o.Change.Set[p], By: h.setBy(o, p), by: o})
	}
}

// put sets one path. A scalar or an array ends what is below it, and whatever is set below a scalar ends that; an
// object and an absence leave the other paths alone. Where an ended value is a concurrent operation's, it is kept as
// superseded.
func (f *Fold) put(h *History, p Pointer, c Cell) {
	old, known := f.Cells[p]
	if known {
		f.supersede(h, p, old, c)
	}
	for q := p; q != ""; {
		q = q.parent()
		if other := f.Cells[q]; other.Value != nil && !isObject(other.Value) {
			if c.Value == nil {
				return // there is nothing to remove below a scalar
			}
			f.supersede(h, q, other, c)
			f.remove(q)
		}
	}
	if ends := c.Value != nil && !isObject(c.Value); ends && f.below[p] > 0 {
		for _, q := range sortedPointers(f.Cells) {
			if q != p && p.Contains(q) {
				f.supersede(h, q, f.Cells[q], c)
				f.remove(q)
			}
		}
	}
	if !known {
		f.count(p, 1)
	}
	f.Cells[p] = c
}

func (f *Fold) remove(p Pointer) {
	delete(f.Cells, p)
	f.count(p, -1)
}

// count keeps below when a path comes or goes.
func (f *Fold) count(p Pointer, by int) {
	for p != "" {
		p = p.parent()
		f.below[p] += by
	}
}

func (f *Fold) supersede(h *History, p Pointer, old, by Cell) {
	if old.by == by.by || bytes.Equal(old.Value, by.Value) || isObject(old.Value) {
		return
	}
	if h.Concurrent(old.by, by.by) {
		f.Superseded = append(f.Superseded, Superseded{Path: p, Value: old.Value, By: old.By, Over: by.By})
	}
}

// paths returns all that the fold shows, by path: an object is there when it was set, or something below it is.
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
			shown[p] = object
		}
	}
	return shown
}

// Representation returns the folded values as one JSON document.
func (f Fold) Representation() []byte {
	var tree any = map[string]any{}
	shown := f.paths()
	for _, p := range sortedPointers(shown) {
		tree = setPath(tree, p, shown[p])
	}
	return compact(tree)
}

// setPath sets one path of a Change or a Fold in a tree.
func setPath(tree any, p Pointer, v json.RawMessage) any {
	if isObject(v) {
		return ensureObject(tree, p)
	}
	return setAt(tree, p, v)
}
