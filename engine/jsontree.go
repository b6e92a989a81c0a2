package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// parseJSON decodes one JSON value and keeps numbers as they are written.
func parseJSON(b []byte) (any, error) {
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

// leaves collects the scalars, arrays and empty objects of v by path.
func leaves(v any, at Pointer, into map[Pointer]json.RawMessage) {
	object, ok := v.(map[string]any)
	if !ok || (len(object) == 0 && at != "") {
		into[at] = compact(v)
		return
	}
	for name, member := range object {
		leaves(member, at.Append(name), into)
	}
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
	object, ok := tree.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	object[tokens[0]] = setTokens(object[tokens[0]], tokens[1:], value)
	return object
}

// unsetAt removes the member at p, if it is there.
func unsetAt(tree any, p Pointer) {
	tokens := p.Tokens()
	if len(tokens) == 0 {
		return
	}
	for _, t := range tokens[:len(tokens)-1] {
		object, ok := tree.(map[string]any)
		if !ok {
			return
		}
		tree = object[t]
	}
	if object, ok := tree.(map[string]any); ok {
		delete(object, tokens[len(tokens)-1])
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

func sortedPointers[V any](m map[Pointer]V) []Pointer {
	ps := make([]Pointer, 0, len(m))
	for p := range m {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	return ps
}
