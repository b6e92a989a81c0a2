package engine

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Difference returns what has to be set and removed to get from f to g. Where a whole object goes, only the object is
// named. A path that only f holds is removed: no operation that counts sets it any more.
func (f Fold) Difference(g Fold) *Change {
	c := &Change{Set: map[Pointer]json.RawMessage{}}
	was, now := f.paths(), g.paths()
	for p, v := range now {
		if !bytes.Equal(was[p], v) {
			c.Set[p] = v
		}
	}
	gone := map[Pointer]bool{}
	for p := range was {
		gone[p] = now[p] == nil
	}
	for p, cell := range g.Cells {
		if old, ok := f.Cells[p]; cell.Value == nil && now[p] == nil && (!ok || old.Value != nil) {
			gone[p] = true // a path that no fold showed, but the application may
		}
	}
	for p, is := range gone {
		if parent := p.parent(); is && (parent == "" || isObject(now[parent])) {
			c.Unset = append(c.Unset, p)
		}
	}
	slices.Sort(c.Unset)
	return c
}

// Empty reports whether c sets and removes nothing.
func (c *Change) Empty() bool {
	return c == nil || len(c.Set) == 0 && len(c.Unset) == 0 && len(c.Add) == 0 && !c.Whole
}

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
		tree = setPath(tree, p, c.Set[p])
	}
	return compact(tree), nil
}

// MergePatch returns c as a JSON merge patch (RFC 7396).
func (c *Change) MergePatch() []byte {
	var tree any = map[string]any{}
	for _, p := range c.Unset {
		tree = setAt(tree, p, nil)
	}
	for _, p := range sortedPointers(c.Set) {
		tree = setPath(tree, p, c.Set[p])
	}
	return compact(tree)
}

// assert adds what a repair sets, as far as the fold still says the same.
func (c *Change) assert(repair *Change, fold Fold) {
	shown := fold.paths()
	for p, v := range repair.Set {
		if bytes.Equal(shown[p], v) {
			c.set(p, v)
		}
	}
	for _, p := range repair.Unset {
		if shown[p] == nil && !slices.Contains(c.Unset, p) {
			c.Unset = append(c.Unset, p)
		}
	}
	slices.Sort(c.Unset)
}
