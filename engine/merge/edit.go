package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// EditOf computes what a request of type t with this body sets; before is the fold that its application shows when the
// request reaches it. Representation reads what the application shows; only a JSON Patch, and a PUT or a whole array with fields which no client
// has set, need it, and an error of it is returned wrapped. Nil: such a body sets all of it. It returns nil for types that set nothing
// by themselves. Other errors are the caller's: the body is not what the type says.
func EditOf(
	k *engine.Kind, t engine.Type, body []byte, before Fold, representation func() ([]byte, error),
) (*engine.Edit, error) {
	switch t {
	case engine.TypeAbsolute, engine.TypeAction, engine.TypeDelete, engine.TypePlace:
		return nil, nil
	case engine.TypePatch:
		return patchEdit(k, body, before, representation)
	}
	v, err := tree.Parse(k, body)
	if err != nil {
		switch {
		case errors.Is(err, engine.ErrTooLarge) && json.Valid(body):
			return nil, err
		case t == engine.TypeCreate: // an opaque body: nothing to fold, the request itself creates
			return &engine.Edit{}, nil
		}
		return nil, fmt.Errorf("the body is not JSON: %w", err)
	}
	if err := tree.CheckPaths(v); err != nil {
		return nil, err
	}
	e := &engine.Edit{Set: map[engine.Pointer]json.RawMessage{}}
	switch {
	case t == engine.TypeMerge:
		m := merging{was: before.Paths(), before: before, edit: e}
		m.leaves(v, "")
		tree.NoteOrder(e, v, before.Order())
		if representation != nil && len(m.arrays) > 0 && saysMoreIn(m.arrays, e, before) {
			shown, err := representation()
			if err != nil {
				return nil, fmt.Errorf("read the array that the body replaces: %w", err)
			}
			leaveOutOf(m.arrays, k, e, before, shown)
		}
	case t == engine.TypeReplace && !k.ReplaceWhole:
		e = without(k, replaceEdit(v, before), saying(v, before))
		if representation == nil || !saysMore(e, before) {
			return e, nil
		}
		shown, err := representation()
		if err != nil {
			return nil, fmt.Errorf("read what the body replaces: %w", err)
		}
		leaveOut(k, e, before, shown)
		return e, nil
	default:
		e.Whole = t == engine.TypeReplace
		tree.Leaves(v, "", e.Set)
		tree.NoteOrder(e, v, nil)
	}
	if t != engine.TypeMerge {
		return tree.Without(k, e, saying(v, before)), nil
	}
	return without(k, e, saying(v, before)), nil
}

// without is tree.Without. An array that is given whole has with its elements what a site has for itself in them, and is not what other sites
// are asked for.
func without(k *engine.Kind, e *engine.Edit, says func(engine.Pointer) any) *engine.Edit {
	said := tree.Sorted(e.Set)
	e = tree.Without(k, e, says)
	e.Partial = e.Partial || slices.ContainsFunc(said, func(p engine.Pointer) bool {
		at, inArray := tree.KeyedAbove(k, p)
		return e.Set[p] == nil && inArray && at != p
	})
	return e
}

// saying tells what stands where once a request has set v, which may be a part of the object, on what before folds.
func saying(v any, before Fold) func(engine.Pointer) any {
	return func(p engine.Pointer) any {
		if said, there := tree.ValueAt(v, p); there {
			return said
		}
		was, _ := tree.ParseJSON(before.Cells[p].Value)
		return was
	}
}

// replaceEdit is the difference between the fold and a whole new representation.
func replaceEdit(v any, before Fold) *engine.Edit {
	was, now := before.Paths(), map[engine.Pointer]json.RawMessage{}
	tree.Leaves(v, "", now)
	e := &engine.Edit{Set: map[engine.Pointer]json.RawMessage{}}
	for p, value := range now {
		if !bytes.Equal(was[p], value) || before.implies(p) {
			e.Set[p] = value
		}
	}
	for _, p := range tree.Sorted(was) {
		if _, ok := now[p]; !ok && !before.Cells[p].Counted { // what no client has set is the application's own
			e.Unset = append(e.Unset, p)
		}
	}
	tree.NoteOrder(e, v, before.Order())
	return e
}

// merging collects what a JSON merge patch (RFC 7396) sets; was is what the fold before it shows.
type merging struct {
	was    map[engine.Pointer]json.RawMessage
	before Fold
	edit   *engine.Edit
	arrays []engine.Pointer // keyed ones that it gives whole
}

// leaves goes through the patch: a null removes a member and all that is known below it, an object goes on inside and is made
// where there is none. An array is all that there is of it, so that elements which it does not have go.
func (m *merging) leaves(v any, at engine.Pointer) {
	members, ok := v.(map[string]any)
	switch {
	case v == nil && at != "":
		m.edit.Unset = append(m.edit.Unset, at)
		m.removeBelow(at, nil)
	case tree.Keyed(v):
		m.arrays = append(m.arrays, at)
		now := map[engine.Pointer]json.RawMessage{}
		tree.Leaves(v, at, now)
		for p, value := range now {
			if !bytes.Equal(m.was[p], value) || m.before.implies(p) {
				m.edit.Set[p] = value
			}
		}
		m.removeBelow(at, now)
	case !ok:
		m.edit.Set[at] = tree.Compact(v)
	default:
		if at != "" && (!tree.IsObject(m.was[at]) || m.before.implies(at)) {
			m.edit.Set[at] = tree.Object
		}
		for name, member := range members {
			m.leaves(member, at.Append(name))
		}
	}
}

// removeBelow removes what was below a path and is not there now.
func (m *merging) removeBelow(at engine.Pointer, now map[engine.Pointer]json.RawMessage) {
	for _, p := range tree.Sorted(m.was) {
		if p != at && at.Contains(p) && now[p] == nil {
			m.edit.Unset = append(m.edit.Unset, p)
		}
	}
}

// patchEdit evaluates a JSON Patch (RFC 6902) on the fold and, where it reaches beyond what clients have set, on the
// representation. Positions in a keyed array are those that the caller was shown.
func patchEdit(k *engine.Kind, body []byte, before Fold, representation func() ([]byte, error)) (*engine.Edit, error) {
	patch, err := tree.ParsePatch(body)
	if err != nil {
		return nil, fmt.Errorf("the body is not a JSON patch: %w", err)
	}
	base := before.Representation()
	after, err := patch.Apply(base)
	if err != nil || tree.Positional(k, patch) {
		if base, err = representation(); err != nil {
			return nil, fmt.Errorf("read what the patch applies to: %w", err)
		}
		if after, err = patch.Apply(base); err != nil {
			return nil, fmt.Errorf("apply the JSON patch: %w", err)
		}
	}
	if len(after) > engine.MaxLooked && len(after) > len(base) {
		return nil, fmt.Errorf("apply the JSON patch: %w: it makes %d bytes", engine.ErrTooLarge, len(after))
	}
	v, err := tree.Parse(k, after)
	if err == nil {
		err = tree.CheckPaths(v)
	}
	if err != nil {
		return nil, fmt.Errorf("apply the JSON patch: %w", err)
	}
	e, err := tree.Difference(k, base, after)
	if err != nil {
		return nil, fmt.Errorf("apply the JSON patch: %w", err)
	}
	restate(e, k, patch, v)
	return tree.Without(k, e, saying(v, before)), nil
}

// restate adds to e what a JSON Patch sets to the value that it has already: whoever asks for that does not want another one. After is what
// the patch makes, a tree.
func restate(e *engine.Edit, k *engine.Kind, patch tree.Patch, after any) {
	now := map[engine.Pointer]json.RawMessage{}
	tree.Leaves(after, "", now)
	named := make(map[engine.Pointer]bool, len(patch))
	for _, step := range patch {
		above, inArray := tree.KeyedAbove(k, step.Path)
		if step.Op != "test" && step.Op != "remove" && (!inArray || above == step.Path) {
			named[step.Path] = true
		}
	}
	for p, value := range now {
		for at := p; ; at = at.Parent() {
			if named[at] {
				tree.Set(e, p, value)
			}
			if at == "" {
				break
			}
		}
	}
}
