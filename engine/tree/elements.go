package tree

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// elements is a keyed array in a tree: objects that one member of each tells apart.
type elements struct {
	member string
	loose  bool     // its order is no value
	order  []string // tokens
	by     map[string]any
}

// whole is what stands where a keyed array should and is none: one value, whatever is in it.
type whole struct{ v any }

// append writes the array. An element has its key, whatever else is known of it.
func (e *elements) append(b []byte) []byte {
	b = append(b, '[')
	for i, t := range e.order {
		if i > 0 {
			b = append(b, ',')
		}
		members, ok := e.by[t].(map[string]any)
		if !ok {
			members = map[string]any{}
		}
		members[e.member] = keyOf(t)
		b = appendMembers(b, members)
	}
	return append(b, ']')
}

func (e *elements) set(token string, v any) {
	if _, ok := e.by[token]; !ok {
		e.order = append(e.order, token)
	}
	e.by[token] = v
}

func (e *elements) unset(token string) {
	delete(e.by, token)
	e.order = slices.DeleteFunc(e.order, func(t string) bool { return t == token })
}

// Keyed reports whether a part of a tree is a keyed array.
func Keyed(part any) bool {
	_, ok := part.(*elements)
	return ok
}

// KeyAt returns the member that tells the elements of an array at p apart.
func KeyAt(k *engine.Kind, p engine.Pointer) (member string, ok bool) {
	if k == nil {
		return "", false
	}
	for _, key := range k.Keys {
		if key.At.Covers(p) && p.Covers(key.At) {
			return key.Member, true
		}
	}
	return "", false
}

// KeyedAbove returns the uppermost keyed array that p is in, or is.
func KeyedAbove(k *engine.Kind, p engine.Pointer) (at engine.Pointer, ok bool) {
	if k == nil || len(k.Keys) == 0 {
		return "", false
	}
	for i := 1; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		if _, ok := KeyAt(k, p[:i]); ok {
			return p[:i], true
		}
	}
	return "", false
}

// tokenOf returns how a pointer names the element with this key: by the text of it, which is quoted where a string could
// be taken for a number.
func tokenOf(key any) (token string, ok bool) {
	switch key := key.(type) {
	case json.Number:
		return string(key), IsWhole(string(key))
	case string:
		if IsWhole(key) || strings.HasPrefix(key, `"`) {
			return string(Compact(key)), true
		}
		return key, key != ""
	}
	return "", false
}

// keyOf is the key of the element that a token names.
func keyOf(token string) any {
	if IsWhole(token) {
		return json.Number(token)
	}
	var quoted string
	if strings.HasPrefix(token, `"`) && json.Unmarshal([]byte(token), &quoted) == nil {
		return quoted
	}
	return token
}

// IsWhole reports whether s is a whole number in its only form.
func IsWhole(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return digits != "" && (digits[0] != '0' || s == "0") && strings.Trim(digits, "0123456789") == ""
}

// Positional reports whether a JSON Patch names elements of a keyed or unordered array by their position, which can be
// another one at another site.
func Positional(k *engine.Kind, patch Patch) bool {
	if k == nil || len(k.Keys)+len(k.Unordered) == 0 {
		return false
	}
	for _, step := range patch {
		for _, p := range []engine.Pointer{step.Path, step.From} {
			if at, ok := KeyedAbove(k, p); ok && at != p {
				return true
			}
			if slices.ContainsFunc(k.Unordered, func(at engine.Pointer) bool { return at.Covers(p) && !p.Covers(at) }) {
				return true
			}
		}
	}
	return false
}

// Parse decodes a representation of the kind into a tree in which the arrays that the catalog says so of are keyed.
func Parse(k *engine.Kind, b []byte) (any, error) {
	tree, err := ParseJSON(b)
	if err != nil || k == nil {
		return tree, err
	}
	for _, key := range k.Keys { // the outer ones come first
		tree = keyed(tree, key.At.Tokens(), key.Member)
	}
	for _, at := range k.Unordered {
		unordered(tree, at.Tokens())
	}
	return tree, nil
}

// unordered takes the order away from the arrays that a pointer of the catalog names.
func unordered(v any, tokens []string) {
	if len(tokens) == 0 {
		switch c := v.(type) {
		case []any:
			slices.SortFunc(c, func(x, y any) int { return bytes.Compare(Compact(x), Compact(y)) })
		case *elements:
			c.loose = true
		}
		return
	}
	switch c := v.(type) {
	case map[string]any:
		unordered(c[tokens[0]], tokens[1:])
	case *elements:
		for t, element := range c.by {
			if engine.Stands(tokens[0], t) {
				unordered(element, tokens[1:])
			}
		}
	}
}

// keyed makes the array at a path, when it is there, one of elements.
func keyed(v any, tokens []string, member string) any {
	if len(tokens) == 0 {
		return elementsOf(v, member)
	}
	switch c := v.(type) {
	case map[string]any:
		if child, ok := c[tokens[0]]; ok {
			c[tokens[0]] = keyed(child, tokens[1:], member)
		}
	case *elements:
		for t, child := range c.by {
			if tokens[0] == engine.AnyElement || tokens[0] == t {
				c.by[t] = keyed(child, tokens[1:], member)
			}
		}
	}
	return v
}

func elementsOf(v any, member string) any {
	list, ok := v.([]any)
	if !ok {
		if _, object := v.(map[string]any); object {
			return whole{v}
		}
		return v
	}
	e := &elements{member: member, by: make(map[string]any, len(list))}
	for _, element := range list {
		members, _ := element.(map[string]any)
		token, ok := tokenOf(members[member])
		if _, twice := e.by[token]; !ok || twice {
			return whole{v}
		}
		e.set(token, members)
	}
	return e
}
