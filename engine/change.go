package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// Change is what an operation sets: values and absences by path, each path for itself. An object is set as an empty
// one, beside its members, so that two operations that touch different members do not touch each other.
type Change struct {
	Set   map[Pointer]json.RawMessage `json:"set,omitempty"` // in compact form
	Unset []Pointer                   `json:"unset,omitempty"`
	// Order tells in which order the operation had the elements of keyed arrays that it adds elements to.
	Order map[Pointer][]string `json:"order,omitempty"`
	// Add is what it adds to numbers. No path of it is in Set or Unset.
	Add map[Pointer]Increment `json:"add,omitempty"`
	// Whole says that Set is all there is: everything else is removed.
	Whole bool `json:"whole,omitempty"`
}

// Validate checks what a Change from another site must fulfil.
func (c *Change) Validate() error {
	for p, v := range c.Set {
		if err := checkPath(p); err != nil {
			return err
		}
		if !json.Valid(v) {
			return fmt.Errorf("the value at %q is not JSON", p)
		}
		if strings.Count(string(p), "/")+depthOf(v) > maxDepth && !isContainer(v) {
			return fmt.Errorf("a value is more than %d levels deep", maxDepth)
		}
	}
	for _, p := range c.Unset {
		if err := checkPath(p); err != nil {
			return err
		}
	}
	for p := range c.Order {
		if err := checkPath(p); err != nil {
			return err
		}
	}
	for p, i := range c.Add {
		if err := checkPath(p); err != nil {
			return err
		}
		if err := i.check(); err != nil {
			return fmt.Errorf("what is added at %q: %w", p, err)
		}
		if _, set := c.Set[p]; set || slices.Contains(c.Unset, p) {
			return fmt.Errorf("%q is set and added to", p)
		}
	}
	return nil
}

// maxDepth is how deep a path of a Change may lead: a fold costs time with the depth.
const maxDepth = 200

func checkPath(p Pointer) error {
	if strings.Count(string(p), "/") > maxDepth {
		return fmt.Errorf("a path is more than %d levels deep", maxDepth)
	}
	_, err := ParsePointer(string(p))
	return err
}

// ChangeOf computes what a request of type t with this body sets, before is the fold that its application shows
// when the request reaches it. Representation reads what the application shows; only a JSON Patch that touches
// fields which no client has set needs it. It returns nil for types that set nothing by themselves. Errors are the
// caller's: the body is not what the type says.
func ChangeOf(k *Kind, t Type, body []byte, before Fold, representation func() ([]byte, error)) (*Change, error) {
	switch t {
	case TypeAbsolute, TypeAction, TypeDelete:
		return nil, nil
	case TypePatch:
		return patchChange(k, body, before, representation)
	}
	v, err := k.parse(body)
	if err == nil {
		err = checkPaths(v)
	}
	if err != nil {
		if t == TypeCreate && errors.Is(err, ErrTooLarge) {
			return &Change{}, err
		}
		if t == TypeCreate { // an opaque body: nothing to fold, the request itself creates
			return &Change{}, nil
		}
		return nil, fmt.Errorf("the body is not JSON that is looked into: %w", err)
	}
	switch t {
	case TypeMerge:
		c := &Change{Set: map[Pointer]json.RawMessage{}}
		was := before.paths()
		mergeLeaves(v, "", was, before, c)
		c.arrange(v, was)
		return c.without(k), nil
	case TypeReplace:
		if k.ReplaceWhole {
			c := &Change{Set: map[Pointer]json.RawMessage{}, Whole: true}
			leaves(v, "", c.Set)
			c.arrange(v, nil)
			return c.without(k), nil
		}
		return replaceChange(v, before).without(k), nil
	default:
		c := &Change{Set: map[Pointer]json.RawMessage{}}
		leaves(v, "", c.Set)
		c.arrange(v, nil)
		return c.without(k), nil
	}
}

// arrange notes the order of the keyed arrays of v to which c adds elements. What was there before is in was.
func (c *Change) arrange(v any, was map[Pointer]json.RawMessage) {
	found := map[Pointer][]string{}
	orders(v, "", found)
	for p, tokens := range found {
		if slices.ContainsFunc(tokens, func(t string) bool { return was[p.Append(t)] == nil }) {
			if c.Order == nil {
				c.Order = map[Pointer][]string{}
			}
			c.Order[p] = tokens
		}
	}
}

// replaceChange is the difference between the fold and a whole new representation.
func replaceChange(v any, before Fold) *Change {
	was, now := before.paths(), map[Pointer]json.RawMessage{}
	leaves(v, "", now)
	c := &Change{Set: map[Pointer]json.RawMessage{}}
	for p, value := range now {
		if !bytes.Equal(was[p], value) || before.implies(p) {
			c.Set[p] = value
		}
	}
	for _, p := range sortedPointers(was) {
		if _, ok := now[p]; !ok && !before.Cells[p].Counted { // what no client has set is the application's own
			c.Unset = append(c.Unset, p)
		}
	}
	c.arrange(v, was)
	return c
}

// mergeLeaves collects what a JSON merge patch (RFC 7396) sets, was is what the fold before it shows: a null removes a member and
// all that is known below it, an object goes on inside and is made where there is none. An array is all that there is of it,
// so that elements which it does not have go.
func mergeLeaves(v any, at Pointer, was map[Pointer]json.RawMessage, before Fold, c *Change) {
	members, ok := v.(map[string]any)
	_, keyed := v.(*elements)
	switch {
	case v == nil && at != "":
		c.Unset = append(c.Unset, at)
		for _, p := range sortedPointers(was) {
			if p != at && at.Contains(p) {
				c.Unset = append(c.Unset, p)
			}
		}
	case keyed:
		now := map[Pointer]json.RawMessage{}
		leaves(v, at, now)
		for p, value := range now {
			if !bytes.Equal(was[p], value) || before.implies(p) {
				c.Set[p] = value
			}
		}
		for _, p := range sortedPointers(was) {
			if now[p] == nil && at.Contains(p) {
				c.Unset = append(c.Unset, p)
			}
		}
	case !ok:
		c.Set[at] = compact(v)
	default:
		if at != "" && (!isObject(was[at]) || before.implies(at)) {
			c.Set[at] = object
		}
		for name, member := range members {
			mergeLeaves(member, at.Append(name), was, before, c)
		}
	}
}

// patchChange evaluates a JSON Patch (RFC 6902) on the fold and, where it reaches beyond what clients have set, on the
// representation. Positions in a keyed array are those that the caller was shown.
func patchChange(k *Kind, body []byte, before Fold, representation func() ([]byte, error)) (*Change, error) {
	if depthOf(body) > maxDepth && json.Valid(body) {
		return nil, fmt.Errorf("%w: JSON nested more than %d levels deep", ErrTooLarge, maxDepth)
	}
	patch, err := jsonpatch.DecodePatch(body)
	if err != nil {
		return nil, fmt.Errorf("the body is not a JSON patch: %w", err)
	}
	options := jsonpatch.NewApplyOptions()
	options.EscapeHTML = false
	options.AccumulatedCopySizeLimit = MaxDocument // each copy could double what is there
	base := before.Representation()
	after, err := patch.ApplyWithOptions(base, options)
	if copies := (*jsonpatch.AccumulatedCopySizeError)(nil); errors.As(err, &copies) {
		return nil, fmt.Errorf("%w: the JSON patch copies more than %d bytes", ErrTooLarge, MaxDocument)
	}
	if err != nil || k.positional(patch) {
		if base, err = representation(); err != nil {
			return nil, fmt.Errorf("read what the patch applies to: %w", err)
		}
		after, err = patch.ApplyWithOptions(base, options)
		if copies := (*jsonpatch.AccumulatedCopySizeError)(nil); errors.As(err, &copies) {
			return nil, fmt.Errorf("%w: the JSON patch copies more than %d bytes", ErrTooLarge, MaxDocument)
		}
		if err != nil {
			return nil, fmt.Errorf("apply the JSON patch: %w", err)
		}
	}
	c, err := difference(k, base, after)
	if err != nil {
		return nil, err
	}
	if err := c.restate(k, patch, after); err != nil {
		return nil, err
	}
	return c.without(k), nil
}

// restate adds what a JSON Patch sets to the value that it has already: whoever asks for that does not want another one.
func (c *Change) restate(k *Kind, patch jsonpatch.Patch, after []byte) error {
	t, err := k.parse(after)
	if err != nil {
		return fmt.Errorf("the representation is not JSON: %w", err)
	}
	now := map[Pointer]json.RawMessage{}
	leaves(t, "", now)
	for _, step := range patch {
		path, err := step.Path()
		at := Pointer(path)
		above, inArray := k.keyedAbove(at)
		if err != nil || step.Kind() == "test" || step.Kind() == "remove" || inArray && above != at {
			continue
		}
		for p, v := range now {
			if at.Contains(p) {
				c.set(p, v)
			}
		}
	}
	return nil
}

// difference returns the change that leads from one representation to another.
func difference(k *Kind, from, to []byte) (*Change, error) {
	f, err := k.parse(from)
	if err != nil {
		return nil, fmt.Errorf("the representation is not JSON: %w", err)
	}
	t, err := k.parse(to)
	if err != nil {
		return nil, fmt.Errorf("the representation is not JSON: %w", err)
	}
	if err := checkPaths(t); err != nil {
		return nil, err
	}
	cells := map[Pointer]json.RawMessage{}
	leaves(f, "", cells)
	before := Fold{Cells: make(map[Pointer]Cell, len(cells))}
	for p, v := range cells {
		before.Cells[p] = Cell{Value: v}
	}
	return replaceChange(t, before), nil
}

// without leaves out what the kind's rules keep out of changes.
func (c *Change) without(k *Kind) *Change {
	for p := range c.Set {
		if k.Ignored(p) {
			delete(c.Set, p)
		}
	}
	kept := c.Unset[:0]
	for _, p := range c.Unset {
		if !k.Ignored(p) {
			kept = append(kept, p)
		}
	}
	c.Unset = kept
	maps.DeleteFunc(c.Order, func(p Pointer, _ []string) bool { return k.Ignored(p) })
	return c
}
