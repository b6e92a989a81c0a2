package tree

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
)

// Set adds a value to an Edit.
func Set(e *engine.Edit, p engine.Pointer, v json.RawMessage) {
	if e.Set == nil {
		e.Set = map[engine.Pointer]json.RawMessage{}
	}
	e.Set[p] = v
}

// And adds to e what other sets and removes beside it.
func And(e, other *engine.Edit) *engine.Edit {
	for p, v := range other.Set {
		if _, ok := e.Set[p]; !ok {
			Set(e, p, v)
		}
	}
	e.Unset = slices.Concat(e.Unset, other.Unset)
	slices.Sort(e.Unset)
	e.Unset = slices.Compact(e.Unset)
	for p, tokens := range other.Order {
		if e.Order[p] == nil {
			SetOrder(e, p, tokens)
		}
	}
	return e
}

// SetOrder adds to an Edit the order of a keyed array, with all of its elements put where they stand.
func SetOrder(e *engine.Edit, p engine.Pointer, tokens []string) {
	if e.Order == nil {
		e.Order = map[engine.Pointer][]string{}
	}
	e.Order[p] = tokens
	delete(e.Placed, p)
}

// Touches reports whether e sets, removes or adds to p, or something above or below it.
func Touches(e *engine.Edit, p engine.Pointer) bool {
	near := func(q engine.Pointer) bool { return p.Contains(q) || !IsObject(e.Set[q]) && q.Contains(p) }
	for q := range e.Set {
		if near(q) {
			return true
		}
	}
	for q := range e.Add {
		if near(q) {
			return true
		}
	}
	return slices.ContainsFunc(e.Unset, near)
}

// Without leaves out of e, a change of an object of which says tells what stands where, what the kind's rules keep out of changes, and returns it.
func Without(k *engine.Kind, e *engine.Edit, says func(engine.Pointer) any) *engine.Edit {
	own := k.IgnoredWhere(says)
	ignored := func(p engine.Pointer) bool {
		return k.Ignored(p) || slices.ContainsFunc(own, func(i engine.Pointer) bool { return i.Covers(p) })
	}
	maps.DeleteFunc(e.Set, func(p engine.Pointer, _ json.RawMessage) bool { return ignored(p) })
	e.Unset = slices.DeleteFunc(e.Unset, ignored)
	for _, of := range []map[engine.Pointer][]string{e.Order, e.Placed} {
		maps.DeleteFunc(of, func(p engine.Pointer, _ []string) bool { return ignored(p) })
	}
	return e
}

// NoteOrder notes the order of the keyed arrays of a tree in which somebody has put elements where they stand who had the arrays in this
// order before.
func NoteOrder(e *engine.Edit, tree any, before map[engine.Pointer][]string) {
	found := map[engine.Pointer][]string{}
	Orders(tree, "", found)
	for p, tokens := range found {
		NotePlaces(e, p, before[p], tokens)
	}
}

// NotePlaces notes the order of one array, likewise.
func NotePlaces(e *engine.Edit, p engine.Pointer, before, tokens []string) {
	moved := Moved(before, tokens)
	if len(moved) == 0 {
		return
	}
	SetOrder(e, p, tokens)
	if len(moved) < len(tokens) {
		if e.Placed == nil {
			e.Placed = map[engine.Pointer][]string{}
		}
		e.Placed[p] = moved
	}
}

// Difference returns what leads from one representation to another.
func Difference(k *engine.Kind, from, to []byte) (*engine.Edit, error) {
	f, err := Parse(k, from)
	if err != nil {
		return nil, err
	}
	t, err := Parse(k, to)
	if err != nil {
		return nil, err
	}
	was, now := map[engine.Pointer]json.RawMessage{}, map[engine.Pointer]json.RawMessage{}
	Leaves(f, "", was)
	Leaves(t, "", now)
	e := &engine.Edit{Set: map[engine.Pointer]json.RawMessage{}}
	for p, v := range now {
		if !bytes.Equal(was[p], v) {
			e.Set[p] = v
		}
	}
	for _, p := range Sorted(was) {
		if _, ok := now[p]; !ok {
			e.Unset = append(e.Unset, p)
		}
	}
	before := map[engine.Pointer][]string{}
	Orders(f, "", before)
	NoteOrder(e, t, before)
	return e, nil
}

// Apply returns representation with e applied, as a whole new representation.
func Apply(k *engine.Kind, e *engine.Edit, representation []byte) ([]byte, error) {
	tree, err := applied(k, e, representation)
	if err != nil {
		return nil, err
	}
	return Compact(tree), nil
}

func applied(k *engine.Kind, e *engine.Edit, representation []byte) (any, error) {
	tree, err := Parse(k, representation)
	if err != nil {
		return nil, err
	}
	for _, p := range e.Unset {
		UnsetAt(tree, p)
	}
	for _, p := range Sorted(e.Set) {
		if at, ok := KeyedAbove(k, p); ok && at != p { // whatever the application shows there
			member, _ := KeyAt(k, at)
			tree = ensureElements(tree, at, member)
		}
		tree = SetPath(tree, p, e.Set[p])
	}
	Arrange(tree, e.Order)
	return tree, nil
}

// DefaultMergeType is the registered media type of JSON merge patches (RFC 7396).
const DefaultMergeType = "application/merge-patch+json"

// MergeForm is how the merge patches of a kind are sent, as far as its catalog says: PATCH and the registered media type if that says nothing.
func MergeForm(k *engine.Kind) (method, mediaType string) {
	return cmp.Or(k.MergeMethod, http.MethodPatch), cmp.Or(k.MergeType, DefaultMergeType)
}

// MergePatch returns what makes representation show e as a JSON merge patch (RFC 7396). A keyed array is in it as a whole,
// as arrays are in a merge patch.
func MergePatch(k *engine.Kind, e *engine.Edit, representation []byte) ([]byte, error) {
	after, err := applied(k, e, representation)
	if err != nil {
		return nil, err
	}
	var tree any = map[string]any{}
	arrays := map[engine.Pointer]bool{}
	inArray := func(p engine.Pointer) bool {
		at, ok := KeyedAbove(k, p)
		if v, there := ValueAt(after, at); ok && there && Keyed(v) {
			arrays[at] = true
			return true
		}
		return false
	}
	last := engine.Pointer("/") // leads nowhere
	for _, p := range slices.Sorted(slices.Values(e.Unset)) {
		if !inArray(p) && !last.Contains(p) { // below what goes, a null would make it an object
			tree, last = SetAt(tree, p, nil), p
		}
	}
	for _, p := range Sorted(e.Set) {
		if !inArray(p) {
			tree = SetPath(tree, p, e.Set[p])
		}
	}
	for p := range e.Order {
		inArray(p)
	}
	for at := range arrays {
		v, _ := ValueAt(after, at)
		tree = SetAt(tree, at, v)
	}
	return Compact(tree), nil
}

// JSONPatch returns what makes representation show e as a JSON Patch (RFC 6902). It goes into objects; anything else it
// gives as a whole.
func JSONPatch(k *engine.Kind, e *engine.Edit, representation []byte) ([]byte, error) {
	before, err := Parse(k, representation)
	if err != nil {
		return nil, err
	}
	after, err := applied(k, e, representation)
	if err != nil {
		return nil, err
	}
	return Compact(steps([]any{}, "", before, after)), nil
}

// steps appends what leads from one value at a path to another.
func steps(list []any, at engine.Pointer, before, after any) []any {
	was, object := before.(map[string]any)
	is, still := after.(map[string]any)
	if !object || !still {
		if v := Compact(after); !bytes.Equal(Compact(before), v) {
			list = append(list, map[string]any{"op": "replace", "path": string(at), "value": v})
		}
		return list
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, ok := is[name]; !ok {
			list = append(list, map[string]any{"op": "remove", "path": string(at.Append(name))})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if _, ok := was[name]; !ok {
			list = append(list, map[string]any{"op": "add", "path": string(at.Append(name)), "value": Compact(is[name])})
			continue
		}
		list = steps(list, at.Append(name), was[name], is[name])
	}
	return list
}

// Missing returns that part of e which a representation does not show.
func Missing(k *engine.Kind, e *engine.Edit, representation []byte) *engine.Edit {
	tree, err := Parse(k, representation)
	if err != nil {
		return e
	}
	left := &engine.Edit{Set: map[engine.Pointer]json.RawMessage{}}
	for p, want := range e.Set {
		if got, ok := ValueAt(tree, p); !ok || !Holds(want, got) && !bytes.Equal(Compact(got), Recompact(want)) {
			left.Set[p] = want
		}
	}
	for _, p := range e.Unset {
		if _, ok := ValueAt(tree, p); ok {
			left.Unset = append(left.Unset, p)
		}
	}
	within := func(at engine.Pointer) bool {
		for p := range left.Set {
			if at.Contains(p) || p.Contains(at) {
				return true
			}
		}
		return false
	}
	for p, tokens := range e.Order {
		if !Arranged(tree, p, tokens) || within(p) {
			SetOrder(left, p, tokens)
		}
	}
	return left
}
