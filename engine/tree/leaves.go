package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/skerry/skerry/engine"
)

// Object is the value of a path that holds an object: its members have paths of their own.
var Object = json.RawMessage("{}")

// IsObject reports whether v is an object without members, which stands for one of any.
func IsObject(v json.RawMessage) bool { return len(v) == 2 && v[0] == '{' }

// KeyedBy is the value of a path that holds a keyed array: its elements have paths of their own. No other value looks like
// this, since an object is set as an empty one.
func KeyedBy(member string) json.RawMessage { return Compact(map[string]any{"key": member}) }

// ContainerAt is what stands at p when only something below it is known.
func ContainerAt(k *engine.Kind, p engine.Pointer) json.RawMessage {
	if member, ok := KeyAt(k, p); ok {
		return KeyedBy(member)
	}
	return Object
}

var keyedBegins = []byte(`{"key":"`)

// memberOf returns by which member the array is keyed that v stands for; ok is false when v stands for none.
func memberOf(v json.RawMessage) (member string, ok bool) {
	if !bytes.HasPrefix(v, keyedBegins) {
		return "", false
	}
	var c map[string]string
	if json.Unmarshal(v, &c) != nil || len(c) != 1 {
		return "", false
	}
	return c["key"], true
}

// IsKeyed reports whether v stands for a keyed array.
func IsKeyed(v json.RawMessage) bool {
	_, ok := memberOf(v)
	return ok
}

// IsContainer reports whether v stands for an object or a keyed array: what is in it has paths of its own.
func IsContainer(v json.RawMessage) bool { return IsObject(v) || IsKeyed(v) }

// Holds reports whether a part of a tree is the container that v stands for.
func Holds(v json.RawMessage, part any) bool {
	switch c := part.(type) {
	case map[string]any:
		return IsObject(v)
	case *elements:
		member, ok := memberOf(v)
		return ok && member == c.member
	}
	return false
}

// Leaves collects the values of v by path: scalars and arrays as they are, every object below the root as an empty one,
// beside its members, and a keyed array as what KeyedBy returns, beside its elements.
func Leaves(v any, at engine.Pointer, into map[engine.Pointer]json.RawMessage) {
	switch c := v.(type) {
	case map[string]any:
		if at != "" {
			into[at] = Object
		}
		for name, member := range c {
			Leaves(member, at.Append(name), into)
		}
	case *elements:
		into[at] = KeyedBy(c.member)
		for t, element := range c.by {
			p := at.Append(t)
			Leaves(element, p, into)
			delete(into, p.Append(c.member)) // the path tells it
		}
	default:
		into[at] = Compact(v)
	}
}

// maxPaths is the most bytes that the paths of all that is in a body may have.
const maxPaths = 8 * engine.MaxLooked

// CheckPaths refuses, before Leaves takes it apart, what has too many bytes of paths: a long name above many others is in each of theirs. The
// error wraps engine.ErrTooLarge.
func CheckPaths(v any) error {
	if pathsOf(v, 0) > maxPaths {
		return fmt.Errorf("%w: the paths of all that is in it have more than %d bytes", engine.ErrTooLarge, maxPaths)
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

// Fields returns what a representation of the kind shows by path: scalars, arrays and what is empty. Elements of keyed
// arrays have paths of their own. ok is false for what is not JSON.
func Fields(k *engine.Kind, representation []byte) (fields map[engine.Pointer]json.RawMessage, ok bool) {
	tree, err := Parse(k, representation)
	if err != nil {
		return nil, false
	}
	fields = map[engine.Pointer]json.RawMessage{}
	Leaves(tree, "", fields)
	filled := map[engine.Pointer]bool{}
	for p := range fields {
		if p != "" && IsContainer(fields[p.Parent()]) {
			filled[p.Parent()] = true
		}
	}
	maps.DeleteFunc(fields, func(p engine.Pointer, _ json.RawMessage) bool { return filled[p] })
	return fields, true
}
