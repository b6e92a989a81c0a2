package engine

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// Key says that an array is a set of objects that a member of each tells apart: each element then is a value of its own,
// and pointers lead to it by the value of that member. The order of the elements is no value.
type Key struct {
	// At is where the array stands. A token * stands for every element of a keyed array above it.
	At Pointer
	// Member has the key: a string that is not empty, or a whole number, no two alike.
	Member string
}

// keyAt returns the member that tells the elements of an array at p apart.
func (k *Kind) keyAt(p Pointer) (member string, ok bool) {
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

// container is what stands at p when only something below it is known.
func (k *Kind) container(p Pointer) json.RawMessage {
	if member, ok := k.keyAt(p); ok {
		return keyedBy(member)
	}
	return object
}

// keyedAbove returns the uppermost keyed array that p is in, or is.
func (k *Kind) keyedAbove(p Pointer) (at Pointer, ok bool) {
	if k == nil || len(k.Keys) == 0 {
		return "", false
	}
	for i := 1; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		if _, ok := k.keyAt(p[:i]); ok {
			return p[:i], true
		}
	}
	return "", false
}

// keyedBy is the value of a path that holds a keyed array: its elements have paths of their own. No other value looks like
// this, since an object is set as an empty one.
func keyedBy(member string) json.RawMessage {
	return compact(map[string]any{"key": member})
}

// memberOf returns by which member the array is keyed that v stands for; ok is false when v stands for none.
func memberOf(v json.RawMessage) (member string, ok bool) {
	if !strings.HasPrefix(string(v), `{"key":"`) {
		return "", false
	}
	var c struct {
		Key string `json:"key"`
	}
	return c.Key, decodeStrict(v, &c) == nil
}

// isContainer reports whether v stands for an object or a keyed array, what is in it has paths of its own.
func isContainer(v json.RawMessage) bool {
	if isObject(v) {
		return true
	}
	_, ok := memberOf(v)
	return ok
}

// holds reports whether a part of a tree is the container that v stands for.
func holds(v json.RawMessage, part any) bool {
	switch c := part.(type) {
	case map[string]any:
		return isObject(v)
	case *elements:
		member, ok := memberOf(v)
		return ok && member == c.member
	}
	return false
}

// elements is a keyed array in a tree.
type elements struct {
	member string
	order  []string // tokens
	by     map[string]any
}

// whole is what stands where a keyed array should and is none: one value, whatever is in it.
type whole struct{ v any }

func (w whole) MarshalJSON() ([]byte, error) { return compact(w.v), nil }

// MarshalJSON writes the array. An element has its key, whatever else is known of it.
func (e *elements) MarshalJSON() ([]byte, error) {
	list := make([]any, 0, len(e.order))
	for _, t := range e.order {
		members, ok := e.by[t].(map[string]any)
		if !ok {
			members = map[string]any{}
		}
		members[e.member] = keyOf(t)
		list = append(list, members)
	}
	return compact(list), nil
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

// arrange puts the elements that first names in front, in its order; the others stay as they are among themselves.
func (e *elements) arrange(first []string) {
	rank := make(map[string]int, len(first))
	for i, t := range first {
		rank[t] = i - len(first)
	}
	slices.SortStableFunc(e.order, func(a, b string) int { return rank[a] - rank[b] })
}

// tokenOf returns how a pointer names the element with this key: by the text of it, which is quoted where a string could
// be taken for a number.
func tokenOf(key any) (token string, ok bool) {
	switch key := key.(type) {
	case json.Number:
		return string(key), isWhole(string(key))
	case string:
		if isWhole(key) || strings.HasPrefix(key, `"`) {
			return string(compact(key)), true
		}
		return key, key != ""
	}
	return "", false
}

// keyOf is the key of the element that a token names.
func keyOf(token string) any {
	if isWhole(token) {
		return json.Number(token)
	}
	var quoted string
	if strings.HasPrefix(token, `"`) && json.Unmarshal([]byte(token), &quoted) == nil {
		return quoted
	}
	return token
}

// isWhole reports whether s is a whole number in its only form.
func isWhole(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return digits != "" && (digits[0] != '0' || s == "0") && strings.Trim(digits, "0123456789") == ""
}

// positional reports whether a JSON Patch names elements of a keyed or unordered array by their position, which can be another one at
// another site.
func (k *Kind) positional(patch jsonpatch.Patch) bool {
	for _, op := range patch {
		path, _ := op.Path()
		from, _ := op.From()
		for _, p := range []string{path, from} {
			if at, ok := k.keyedAbove(Pointer(p)); ok && at != Pointer(p) {
				return true
			}
			if slices.ContainsFunc(k.Unordered, func(at Pointer) bool { return at.Contains(Pointer(p)) && at != Pointer(p) }) {
				return true
			}
		}
	}
	return false
}

// byPosition reports whether o is a JSON Patch that is positional, so that no other site may run it as it is.
func (k *Kind) byPosition(o *Operation) bool {
	if k == nil || len(k.Keys)+len(k.Unordered) == 0 || o.Type != TypePatch {
		return false
	}
	patch, err := jsonpatch.DecodePatch(o.Body)
	return err == nil && k.positional(patch)
}

// parse decodes a representation of the kind into a tree in which the arrays that the catalog says so of are keyed.
func (k *Kind) parse(b []byte) (any, error) {
	tree, err := parseJSON(b)
	if err != nil || k == nil {
		return tree, err
	}
	for _, key := range k.Keys { // the outer ones come first
		tree = keyed(tree, key.At.Tokens(), key.Member)
	}
	for _, at := range k.Unordered {
		if v, ok := valueAt(tree, at); ok {
			if list, ok := v.([]any); ok {
				slices.SortFunc(list, func(x, y any) int { return bytes.Compare(compact(x), compact(y)) })
			}
		}
	}
	return tree, nil
}

// Fields returns what a representation of the kind shows by path: scalars, arrays and what is empty. Elements of keyed
// arrays have paths of their own. ok is false for what is not JSON.
func (k *Kind) Fields(representation []byte) (fields map[Pointer]json.RawMessage, ok bool) {
	tree, err := k.parse(representation)
	if err != nil {
		return nil, false
	}
	fields = map[Pointer]json.RawMessage{}
	leaves(tree, "", fields)
	filled := map[Pointer]bool{}
	for p := range fields {
		if p != "" && isContainer(fields[p.parent()]) {
			filled[p.parent()] = true
		}
	}
	maps.DeleteFunc(fields, func(p Pointer, _ json.RawMessage) bool { return filled[p] })
	return fields, true
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
			if tokens[0] == anyElement || tokens[0] == t {
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

// orders collects in which order the keyed arrays of a tree have their elements.
func orders(v any, at Pointer, into map[Pointer][]string) {
	switch c := v.(type) {
	case map[string]any:
		for name, member := range c {
			orders(member, at.Append(name), into)
		}
	case *elements:
		into[at] = c.order
		for t, element := range c.by {
			orders(element, at.Append(t), into)
		}
	}
}

// arranged puts the elements of keyed arrays in a tree into order.
func arranged(tree any, order map[Pointer][]string) {
	for p, tokens := range order {
		if v, ok := valueAt(tree, p); ok {
			if e, ok := v.(*elements); ok {
				e.arrange(tokens)
			}
		}
	}
}

// sorted puts the elements of all keyed arrays in a tree into one order, which is the same for equal trees.
func sorted(v any) {
	switch c := v.(type) {
	case map[string]any:
		for _, member := range c {
			sorted(member)
		}
	case *elements:
		slices.Sort(c.order)
		for _, element := range c.by {
			sorted(element)
		}
	}
}

// arrange keeps the order of keyed arrays after c: the elements stay as they were, what was removed goes, and what is new
// comes last, in the order that c had it.
func (f *Fold) arrange(c *Change) {
	if len(f.order) == 0 && len(c.Order) == 0 && (f.kind == nil || len(f.kind.Keys) == 0) {
		return
	}
	for p, tokens := range f.order {
		if left := slices.DeleteFunc(slices.Clone(tokens), func(t string) bool { return !f.shows(p.Append(t)) }); len(left) > 0 {
			f.order[p] = left
		} else {
			delete(f.order, p)
		}
	}
	for p, tokens := range c.Order {
		for _, t := range tokens {
			f.place(p, t)
		}
	}
	for _, q := range sortedPointers(c.Set) { // an element that was removed meanwhile is there again
		for p := q; p != ""; {
			t := p
			p = p.parent()
			if _, ok := memberOf(f.at(p)); ok {
				f.place(p, Pointer(t[len(p):]).Tokens()[0])
			}
		}
	}
}

// place puts an element of the array at p last, if the fold shows it and has it nowhere yet.
func (f *Fold) place(p Pointer, token string) {
	if !slices.Contains(f.order[p], token) && f.shows(p.Append(token)) {
		f.order[p] = append(slices.Clip(f.order[p]), token)
	}
}

// at is the value at p, or what stands there because something below it is known.
func (f *Fold) at(p Pointer) json.RawMessage {
	if c := f.Cells[p]; c.Value != nil {
		return c.Value
	}
	return f.kind.container(p)
}

// shows reports whether there is something at p or below it.
func (f *Fold) shows(p Pointer) bool {
	if f.Cells[p].Value != nil {
		return true
	}
	if f.below[p] > 0 {
		for q, c := range f.Cells {
			if c.Value != nil && p.Contains(q) {
				return true
			}
		}
	}
	return false
}
