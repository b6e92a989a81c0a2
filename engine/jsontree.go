package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parseJSON decodes one JSON value and keeps numbers as they are written. The error wraps ErrTooLarge for one that is nested more than
// maxDepth deep: each level has a path, which has all those above it in it.
func parseJSON(b []byte) (any, error) {
	if depthOf(b) > maxDepth && json.Valid(b) {
		return nil, fmt.Errorf("%w: JSON nested more than %d levels deep", ErrTooLarge, maxDepth)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}

// depthOf is how deep the brackets of a JSON text are nested.
func depthOf(b []byte) (most int) {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

// maxPaths is the most bytes that the paths of what a request sets may have.
const maxPaths = 8 * MaxDocument

// checkPaths refuses, before it is taken apart, what has more than maxPaths bytes of paths: a long name above many others is in each of theirs.
func checkPaths(v any) error {
	if pathsOf(v, 0) > maxPaths {
		return fmt.Errorf("%w: the paths of all that is in it have more than %d bytes", ErrTooLarge, maxPaths)
	}
	return nil
}

func pathsOf(v any, above int) (n int) {
	switch c := v.(type) {
	case map[string]any:
		for name, member := range c {
			n += pathsOf(member, above+1+len(name))
		}
	case *elements:
		for t, element := range c.by {
			n += pathsOf(element, above+1+len(t))
		}
	}
	return n + above
}

// compact encodes v with sorted members and without escaping for HTML, so that equal values have equal bytes.
func compact(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("encode a decoded JSON value: %v", err)) // v came from parseJSON
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// object is the value of a path that holds an object: its members have paths of their own.
var object = json.RawMessage("{}")

func isObject(v json.RawMessage) bool { return len(v) == 2 && v[0] == '{' }

// leaves collects the values of v by path: scalars and arrays as they are, every object below the root as an empty one,
// beside its members, and a keyed array as what keyedBy returns, beside its elements.
func leaves(v any, at Pointer, into map[Pointer]json.RawMessage) {
	switch c := v.(type) {
	case map[string]any:
		if at != "" {
			into[at] = object
		}
		for name, member := range c {
			leaves(member, at.Append(name), into)
		}
	case *elements:
		into[at] = keyedBy(c.member)
		for t, element := range c.by {
			leaves(element, at.Append(t), into)
			delete(into, at.Append(t).Append(c.member)) // the path tells it
		}
	default:
		into[at] = compact(v)
	}
}

// ensureObject makes what is at p an object, if it is none.
func ensureObject(tree any, p Pointer) any {
	if v, ok := valueAt(tree, p); ok {
		if _, ok := v.(map[string]any); ok {
			return tree
		}
	}
	return setAt(tree, p, map[string]any{})
}

// ensureElements makes what is at p an array keyed by member, if it is none.
func ensureElements(tree any, p Pointer, member string) any {
	if v, ok := valueAt(tree, p); ok {
		if e, ok := v.(*elements); ok && e.member == member {
			return tree
		}
	}
	return setAt(tree, p, &elements{member: member, by: map[string]any{}})
}

// setAt puts value at p in the tree, making the objects on the way. Elements of arrays are reached by index; a
// path that leads through a scalar replaces it by an object.
func setAt(tree any, p Pointer, value any) any {
	tokens := p.Tokens()
	if len(tokens) == 0 {
		return value
	}
	return setTokens(tree, tokens, value)
}

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

// unsetAt removes the member at p, if it is there.
func unsetAt(tree any, p Pointer) {
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

// unsetAll removes the members that a pointer of the catalog names.
func unsetAll(tree any, p Pointer) { overwrite(tree, p.Tokens(), nil) }

// overwrite puts by in the place of everything that a pointer of the catalog names, where something is there. With nil it
// removes members.
func overwrite(tree any, tokens []string, by any) {
	if len(tokens) == 0 {
		return
	}
	switch c := tree.(type) {
	case map[string]any:
		child, ok := c[tokens[0]]
		switch {
		case len(tokens) > 1:
			overwrite(child, tokens[1:], by)
		case ok && by != nil:
			c[tokens[0]] = by
		default:
			delete(c, tokens[0])
		}
	case *elements:
		for t, element := range c.by {
			switch {
			case !stands(tokens[0], t):
			case len(tokens) > 1:
				overwrite(element, tokens[1:], by)
			case by == nil:
				c.unset(t)
			}
		}
	case whole:
		overwrite(c.v, tokens, by)
	case []any:
		for i, element := range c {
			switch {
			case tokens[0] != anyElement && tokens[0] != strconv.Itoa(i):
			case len(tokens) > 1:
				overwrite(element, tokens[1:], by)
			case by != nil:
				c[i] = by
			}
		}
	}
}

// valueAt returns the value at p.
func valueAt(tree any, p Pointer) (any, bool) {
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

// parent returns the path above p; the root is above itself.
func (p Pointer) parent() Pointer { return p[:max(0, strings.LastIndexByte(string(p), '/'))] }

func sortedPointers[V any](m map[Pointer]V) []Pointer {
	ps := make([]Pointer, 0, len(m))
	for p := range m {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	return ps
}
