package conform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// representation is what an application shows of an object, as it would be if the site called everything as all sites do: by path, arrays
// by position. What is left out is what the catalog says that each site has for itself.
type representation struct {
	values map[engine.Pointer]json.RawMessage
	// document is all of it, as it was shown.
	document any
}

// text is the value at a path, as it was shown.
func (x *representation) text(at engine.Pointer) string {
	if x == nil {
		return ""
	}
	v, ok := tree.ValueAt(x.document, at)
	if !ok {
		return ""
	}
	return string(tree.Compact(v))
}

// same reports whether two representations agree at and below a path, an order that is no value apart.
func (x *representation) same(y *representation, at engine.Pointer) bool {
	return !slices.ContainsFunc(differences(x, y), at.Contains)
}

// assigned tells which fields are left out, and why.
func assigned(k *engine.Kind) (all []LeftOut) {
	if k.ID.At != "" && !k.Natural() {
		all = append(all, LeftOut{string(k.ID.At), "the identifier, which each application assigns"})
	}
	for _, p := range k.Ignore {
		all = append(all, LeftOut{string(p), cmp.Or(k.Reasons[p], "`ignore`")})
	}
	for _, p := range k.Unordered {
		all = append(all, LeftOut{string(p), "its order alone: `unordered`"})
	}
	return all
}

// read takes a representation apart. What is no JSON is one value.
func (s *site) read(k *engine.Kind, local, id string, body []byte) *representation {
	x := &representation{values: map[engine.Pointer]json.RawMessage{}}
	document, err := tree.ParseJSON(body)
	if err != nil {
		x.values[""] = compact(string(body))
		return x
	}
	x.document = document
	s.walk(k, local, id, document, "", x.values)
	return x
}

// walk takes one value apart.
func (s *site) walk(k *engine.Kind, local, id string, v any, at engine.Pointer, into map[engine.Pointer]json.RawMessage) {
	if k.ID.At == at && at != "" && !k.Natural() || slices.ContainsFunc(k.Ignore, func(p engine.Pointer) bool { return p.Covers(at) }) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			into[at] = compact(v)
		}
		for _, name := range sortedNames(v) {
			s.walk(k, local, id, v[name], at.Append(name), into)
		}
	case []any:
		s.walkList(k, local, id, v, at, into)
	default:
		into[at] = compact(s.meant(k, local, id, v, at))
	}
}

func (s *site) walkList(k *engine.Kind, local, id string, v []any, at engine.Pointer, into map[engine.Pointer]json.RawMessage) {
	if len(v) == 0 {
		into[at] = compact(v)
	}
	token, keyed := func(i int, _ any) string { return fmt.Sprint(i) }, false
	loose := slices.ContainsFunc(k.Unordered, func(p engine.Pointer) bool { return p.Covers(at) })
	if loose {
		v = slices.Clone(v)
		slices.SortStableFunc(v, func(a, b any) int { return strings.Compare(string(compact(a)), string(compact(b))) })
	}
	for _, key := range k.Keys {
		if key.At.Covers(at) && strings.Count(string(key.At), "/") == strings.Count(string(at), "/") {
			keyed = true
			token = func(i int, element any) string {
				if m, ok := element.(map[string]any); ok {
					return strings.Trim(string(compact(m[key.Member])), `"`)
				}
				return fmt.Sprint(i)
			}
		}
	}
	var order []any
	for i, element := range v {
		t := token(i, element)
		order = append(order, t)
		s.walk(k, local, id, element, at.Append(t), into)
	}
	if keyed && !loose { // of keyed elements the order counts beside what each of them shows
		into[at] = compact(order)
	}
}

// meant is a value with what the site calls things in the place of what they are called by all.
func (s *site) meant(k *engine.Kind, local, id string, v any, at engine.Pointer) any {
	text, isText := v.(string)
	if n, number := v.(json.Number); number {
		text = string(n)
	}
	for _, ref := range k.Refs {
		if !ref.At.Covers(at) && ref.At != at.Parent() {
			continue
		}
		if id := s.common(string(ref.Service)+"/"+string(ref.Kind), text); id != "" {
			return id
		}
	}
	for _, l := range k.Links {
		if l.At.Covers(at) && isText {
			return s.address(k, local, id, text)
		}
	}
	if at == k.Marker && isText {
		return tree.TrimMarker(text)
	}
	return v
}

// address is a link without the host of the site's application, and with the identifiers that all sites use.
func (s *site) address(k *engine.Kind, local, id, text string) string {
	for _, base := range s.upstreams {
		text = strings.TrimPrefix(text, strings.TrimSuffix(base, "/"))
	}
	_, own := k.Split(local)
	_, all := k.Split(id)
	segments := strings.Split(text, "/")
	for i, segment := range segments {
		if segment == own {
			segments[i] = all
		}
	}
	return strings.Join(segments, "/")
}

// differences are the paths at which two representations differ.
func differences(x, y *representation) (at []engine.Pointer) {
	switch {
	case x == nil && y == nil:
		return nil
	case x == nil || y == nil:
		return []engine.Pointer{""}
	}
	all := maps.Clone(x.values)
	maps.Copy(all, y.values)
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if string(x.values[p]) != string(y.values[p]) {
			at = append(at, p)
		}
	}
	return at
}

func sortedNames(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
