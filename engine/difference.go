package engine

import (
	"bytes"
	"encoding/json"
	"maps"
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
		if parent := p.parent(); is && (parent == "" || isContainer(now[parent])) {
			c.Unset = append(c.Unset, p)
		}
	}
	slices.Sort(c.Unset)
	c.Order = g.order
	return c
}

// difference returns what has to be sent so that an application which was brought to before shows after. What it has refused is in before
// and not there, so it is sent where another operation sets or removes the same.
func (s Standing) difference(before, after Fold) *Change {
	c := before.Difference(after)
	if s.Refused == nil {
		return c
	}
	again := &Change{}
	now := after.paths()
	for p, cell := range after.Cells {
		was := before.Cells[p]
		switch parent := p.parent(); {
		case was.by == nil || was.By == cell.By || !s.Refused(was.by):
		case cell.Value != nil:
			again.set(p, cell.Value)
		case now[p] == nil && (parent == "" || isContainer(now[parent])):
			again.Unset = append(again.Unset, p)
		}
	}
	return c.and(again)
}

// Empty reports whether c sets and removes nothing.
func (c *Change) Empty() bool {
	return c == nil || len(c.Set) == 0 && len(c.Unset) == 0 && len(c.Add) == 0 && !c.Whole
}

// ApplyTo returns representation with c applied, as a whole new representation.
func (c *Change) ApplyTo(k *Kind, representation []byte) ([]byte, error) {
	tree, err := c.applied(k, representation)
	return compact(tree), err
}

func (c *Change) applied(k *Kind, representation []byte) (any, error) {
	tree, err := k.parse(representation)
	if err != nil {
		return nil, err
	}
	for _, p := range c.Unset {
		unsetAt(tree, p)
	}
	for _, p := range sortedPointers(c.Set) {
		if at, ok := k.keyedAbove(p); ok && at != p { // whatever the application shows there
			member, _ := k.keyAt(at)
			tree = ensureElements(tree, at, member)
		}
		tree = setPath(tree, p, c.Set[p])
	}
	arranged(tree, c.Order)
	return tree, nil
}

// MergePatch returns what makes representation show c as a JSON merge patch (RFC 7396). A keyed array is in it as a whole, as
// arrays are in a merge patch.
func (c *Change) MergePatch(k *Kind, representation []byte) ([]byte, error) {
	after, err := c.applied(k, representation)
	if err != nil {
		return nil, err
	}
	var tree any = map[string]any{}
	arrays := map[Pointer]bool{}
	inArray := func(p Pointer) bool {
		at, ok := k.keyedAbove(p)
		if v, there := valueAt(after, at); ok && there {
			if _, keyed := v.(*elements); keyed {
				arrays[at] = true
				return true
			}
		}
		return false
	}
	for _, p := range c.Unset {
		if !inArray(p) {
			tree = setAt(tree, p, nil)
		}
	}
	for _, p := range sortedPointers(c.Set) {
		if !inArray(p) {
			tree = setPath(tree, p, c.Set[p])
		}
	}
	for at := range arrays {
		v, _ := valueAt(after, at)
		tree = setAt(tree, at, v)
	}
	return compact(tree), nil
}

// JSONPatch returns what makes representation show c as a JSON Patch (RFC 6902). It goes into objects; anything else it gives as a whole.
func (c *Change) JSONPatch(k *Kind, representation []byte) ([]byte, error) {
	before, err := k.parse(representation)
	if err != nil {
		return nil, err
	}
	after, err := c.applied(k, representation)
	if err != nil {
		return nil, err
	}
	steps := []patchStep{}
	return compact(patchSteps(steps, "", before, after)), nil
}

// patchStep is one operation of a JSON Patch.
type patchStep struct {
	Op    string          `json:"op"`
	Path  Pointer         `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// patchSteps appends what leads from one value at a path to another.
func patchSteps(steps []patchStep, at Pointer, before, after any) []patchStep {
	was, object := before.(map[string]any)
	is, still := after.(map[string]any)
	if !object || !still {
		if v := compact(after); !bytes.Equal(compact(before), v) {
			steps = append(steps, patchStep{"replace", at, v})
		}
		return steps
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, ok := is[name]; !ok {
			steps = append(steps, patchStep{Op: "remove", Path: at.Append(name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if _, ok := was[name]; !ok {
			steps = append(steps, patchStep{"add", at.Append(name), compact(is[name])})
			continue
		}
		steps = patchSteps(steps, at.Append(name), was[name], is[name])
	}
	return steps
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
