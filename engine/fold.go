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
}

// Superseded is a value that a concurrent, later operation took the place of. It is kept to be shown.
type Superseded struct {
	Path  Pointer
	Value json.RawMessage
	By    OperationID // who had set it
	Over  OperationID // who took its place
}

// Fold is what a set of operations amounts to. Cells holds the paths that clients have set; none is below another
// one.
type Fold struct {
	// Exists says that the resource was created and not deleted.
	Exists bool
	Cells  map[Pointer]Cell
	// Absolute holds for each path under the item the last operation that put opaque bytes there.
	Absolute   map[string]OperationID
	Superseded []Superseded
}

// FoldOf folds those operations of h for which in is true. Operations that a delete has ended count for nothing.
func FoldOf(h *History, in func(*Operation) bool) Fold {
	f := Fold{Cells: map[Pointer]Cell{}, Absolute: map[string]OperationID{}}
	for _, o := range h.Living(in) {
		f.apply(h, o)
	}
	return f
}

// Living returns, in order, the operations of h for which in is true and that no such delete has ended. A delete
// ends what happened before it and what is concurrent with it, except a create that it did not see and what builds
// on that: a delete never discards a create it did not see.
func (h *History) Living(in func(*Operation) bool) []*Operation {
	var deletes, creates, living []*Operation
	for _, o := range h.ordered {
		if !in(o) {
			continue
		}
		switch o.Type {
		case TypeDelete:
			deletes = append(deletes, o)
		case TypeCreate:
			creates = append(creates, o)
		}
	}
	for _, o := range h.ordered {
		if o.Type == TypeDelete || !in(o) {
			continue
		}
		if !slices.ContainsFunc(deletes, func(d *Operation) bool { return h.ends(d, o, creates) }) {
			living = append(living, o)
		}
	}
	return living
}

func (h *History) ends(d, o *Operation, creates []*Operation) bool {
	if h.Before(d, o) {
		return false
	}
	if h.Before(o, d) {
		return true
	}
	if o.Type == TypeCreate {
		return false
	}
	return !slices.ContainsFunc(creates, func(c *Operation) bool { return h.Before(c, o) && !h.Before(c, d) })
}

func (f *Fold) apply(h *History, o *Operation) {
	switch o.Type {
	case TypeCreate:
		f.Exists = true
	case TypeAbsolute:
		f.Absolute[o.Path] = o.ID
	}
	if o.Change == nil {
		return
	}
	for _, p := range o.Change.Unset {
		f.put(h, p, Cell{By: o.ID})
	}
	for _, p := range sortedPointers(o.Change.Set) {
		f.put(h, p, Cell{Value: o.Change.Set[p], By: o.ID})
	}
}

// put sets one path. What it replaces at, above and below the path is gone from the fold; where the replaced value
// is a concurrent operation's, it is kept as superseded.
func (f *Fold) put(h *History, p Pointer, c Cell) {
	if old, ok := f.Cells[p]; ok { // then nothing is above or below it
		f.supersede(h, p, old, c)
		f.Cells[p] = c
		return
	}
	for q, old := range f.Cells {
		if q.Contains(p) || p.Contains(q) {
			f.supersede(h, q, old, c)
			delete(f.Cells, q)
		}
	}
	f.Cells[p] = c
}

func (f *Fold) supersede(h *History, p Pointer, old, by Cell) {
	if old.By == by.By || bytes.Equal(old.Value, by.Value) {
		return
	}
	a, b := h.Get(old.By), h.Get(by.By)
	if a != nil && b != nil && h.Concurrent(a, b) {
		f.Superseded = append(f.Superseded, Superseded{Path: p, Value: old.Value, By: old.By, Over: by.By})
	}
}

// has reports whether the fold holds a value at p or below it.
func (f Fold) has(p Pointer) bool {
	for q, c := range f.Cells {
		if c.Value != nil && p.Contains(q) {
			return true
		}
	}
	return false
}

// Representation returns the folded values as one JSON document.
func (f Fold) Representation() []byte {
	var tree any = map[string]any{}
	for _, p := range sortedPointers(f.Cells) {
		if v := f.Cells[p].Value; v != nil {
			tree = setAt(tree, p, v)
		}
	}
	return compact(tree)
}

// Difference returns what has to be set and removed to get from f to g. A path that only f holds is removed: no
// operation that counts sets it any more.
func (f Fold) Difference(g Fold) *Change {
	c := &Change{Set: map[Pointer]json.RawMessage{}}
	for p, cell := range g.Cells {
		old, ok := f.Cells[p]
		switch {
		case cell.Value == nil && (!ok || old.Value != nil):
			c.Unset = append(c.Unset, p)
		case cell.Value != nil && (!ok || !bytes.Equal(old.Value, cell.Value)):
			c.Set[p] = cell.Value
		}
	}
	for p, cell := range f.Cells {
		if _, ok := g.Cells[p]; !ok && cell.Value != nil && !g.covers(p) {
			c.Unset = append(c.Unset, p)
		}
	}
	slices.Sort(c.Unset)
	return c
}

// covers reports whether a path of f is above p or below it, so that setting it settles p.
func (f Fold) covers(p Pointer) bool {
	for q := range f.Cells {
		if q.Contains(p) || p.Contains(q) {
			return true
		}
	}
	return false
}

// Empty reports whether c sets and removes nothing.
func (c *Change) Empty() bool { return c == nil || len(c.Set) == 0 && len(c.Unset) == 0 }

// ApplyTo returns representation with c applied, as a whole new representation.
func (c *Change) ApplyTo(representation []byte) ([]byte, error) {
	tree, err := parseJSON(representation)
	if err != nil {
		return nil, err
	}
	for _, p := range c.Unset {
		unsetAt(tree, p)
	}
	for _, p := range sortedPointers(c.Set) {
		v, err := parseJSON(c.Set[p])
		if err != nil {
			return nil, err
		}
		tree = setAt(tree, p, v)
	}
	return compact(tree), nil
}

// MergePatch returns c as a JSON merge patch (RFC 7396). An empty object is no part of it: a patch cannot say
// "empty", only the members that go.
func (c *Change) MergePatch() []byte {
	var tree any = map[string]any{}
	for _, p := range c.Unset {
		tree = setAt(tree, p, nil)
	}
	for _, p := range sortedPointers(c.Set) {
		tree = setAt(tree, p, c.Set[p])
	}
	return compact(tree)
}
