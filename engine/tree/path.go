package tree

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/skerry/skerry/engine"
)

// ValueAt returns the value at p.
func ValueAt(tree any, p engine.Pointer) (any, bool) {
	for _, t := range p.Tokens() {
		switch v := tree.(type) {
		case map[string]any:
			m, ok := v[t]
			if !ok {
				return nil, false
			}
			tree = m
		case *elements:
			m, ok := v.by[t]
			if !ok {
				return nil, false
			}
			tree = m
		case []any:
			i, err := strconv.Atoi(t)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			tree = v[i]
		default:
			return nil, false
		}
	}
	return tree, true
}

// SetAt puts value at p in the tree, making the objects on the way, and returns the tree. Elements of arrays are reached by
// index; a path that leads through a scalar replaces it by an object.
func SetAt(tree any, p engine.Pointer, value any) any { return setTokens(tree, p.Tokens(), value) }

func setTokens(tree any, tokens []string, value any) any {
	if len(tokens) == 0 {
		return value
	}
	if array, ok := tree.([]any); ok {
		if i, err := strconv.Atoi(tokens[0]); err == nil && i >= 0 && i < len(array) {
			array[i] = setTokens(array[i], tokens[1:], value)
			return array
		}
	}
	if e, ok := tree.(*elements); ok {
		e.set(tokens[0], setTokens(e.by[tokens[0]], tokens[1:], value))
		return e
	}
	members, ok := tree.(map[string]any)
	if !ok {
		members = map[string]any{}
	}
	members[tokens[0]] = setTokens(members[tokens[0]], tokens[1:], value)
	return members
}

// UnsetAt removes the member at p, if it is there.
func UnsetAt(tree any, p engine.Pointer) {
	tokens := p.Tokens()
	if len(tokens) == 0 {
		return
	}
	last := tokens[len(tokens)-1]
	for _, t := range tokens[:len(tokens)-1] {
		switch c := tree.(type) {
		case map[string]any:
			tree = c[t]
		case *elements:
			tree = c.by[t]
		default:
			return
		}
	}
	switch c := tree.(type) {
	case map[string]any:
		delete(c, last)
	case *elements:
		c.unset(last)
	}
}

// UnsetAll removes the members that a pointer of the catalog names, and an object that had nothing else.
func UnsetAll(tree any, p engine.Pointer) { overwrite(tree, p.Tokens(), nil) }

// Overwrite puts by in the place of everything that a pointer of the catalog names, where something is there.
func Overwrite(tree any, p engine.Pointer, by any) { overwrite(tree, p.Tokens(), by) }

// overwrite removes members when by is nil. It reports whether an object is left empty.
func overwrite(tree any, tokens []string, by any) (emptied bool) {
	if len(tokens) == 0 {
		return false
	}
	switch c := tree.(type) {
	case map[string]any:
		child, ok := c[tokens[0]]
		switch {
		case !ok, len(tokens) > 1 && !overwrite(child, tokens[1:], by):
			return false
		case by != nil:
			c[tokens[0]] = by
			return false
		}
		delete(c, tokens[0])
		return len(c) == 0
	case *elements:
		for t, element := range c.by {
			switch {
			case !engine.Stands(tokens[0], t):
			case len(tokens) > 1:
				overwrite(element, tokens[1:], by)
			case by == nil:
				c.unset(t)
			}
		}
	case whole:
		return overwrite(c.v, tokens, by)
	case []any:
		for i, element := range c {
			switch {
			case tokens[0] != engine.AnyElement && tokens[0] != strconv.Itoa(i):
			case len(tokens) > 1:
				overwrite(element, tokens[1:], by)
			case by != nil:
				c[i] = by
			}
		}
	}
	return false
}

// SetPath sets one path of an Edit in a tree: what stands for an object or a keyed array leaves what is in one that is there.
func SetPath(tree any, p engine.Pointer, v json.RawMessage) any {
	if IsObject(v) {
		return ensureObject(tree, p)
	}
	if member, ok := memberOf(v); ok {
		return ensureElements(tree, p, member)
	}
	return SetAt(tree, p, v)
}

func ensureObject(tree any, p engine.Pointer) any {
	if v, ok := ValueAt(tree, p); ok {
		if _, ok := v.(map[string]any); ok {
			return tree
		}
	}
	return SetAt(tree, p, map[string]any{})
}

func ensureElements(tree any, p engine.Pointer, member string) any {
	if v, ok := ValueAt(tree, p); ok {
		if e, ok := v.(*elements); ok && e.member == member {
			return tree
		}
	}
	return SetAt(tree, p, &elements{member: member, by: map[string]any{}})
}

// Representation returns the representation that shows these values and nothing else.
func Representation(values map[engine.Pointer]json.RawMessage) json.RawMessage {
	var tree any = map[string]any{}
	for _, p := range Sorted(values) {
		tree = SetPath(tree, p, values[p])
	}
	return Compact(tree)
}

// Sorted lists the paths of a map in order: each after those above it.
func Sorted[V any](m map[engine.Pointer]V) []engine.Pointer {
	ps := make([]engine.Pointer, 0, len(m))
	for p := range m {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	return ps
}
