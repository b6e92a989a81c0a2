package strictyaml

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Mapping is a value with keys. A reader asks for each key that it knows and calls Done at the end, which notes every
// key that nobody asked for.
type Mapping struct {
	value   Value
	what    string
	entries []Entry
	known   []string
}

// Entry is one key of a mapping with its value. At is the key itself, for problems with it.
type Entry struct {
	Key   string
	At    Value
	Value Value
}

// Mapping returns the value as a mapping; what names it in problems ("service", "kind"). The mapping is empty when
// the value is absent or something else, and then no key of it is missing.
func (v Value) Mapping(what string) *Mapping {
	m := &Mapping{what: what}
	if !v.Present() {
		return m
	}
	if v.node.Kind != yaml.MappingNode {
		v.Problem("expected a mapping, found %s", v.describe())
		return m
	}
	m.value = v
	first := map[string]Value{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := Value{v.document, v.node.Content[i]}
		if key.node.Kind != yaml.ScalarNode || key.tag() != "!!str" {
			if key.node.Kind == yaml.ScalarNode && key.tag() == "!!merge" {
				key.Problem("merge keys are not allowed: write the keys themselves")
				continue
			}
			key.Problem("expected a string as key, found %s", key.describe())
			continue
		}
		name := key.node.Value
		if at, ok := first[name]; ok {
			line, _ := at.Position()
			key.Problem("the key %q is there twice, first in line %d", name, line)
			continue
		}
		first[name] = key
		m.entries = append(m.entries, Entry{name, key, Value{v.document, v.node.Content[i+1]}})
	}
	return m
}

// Required returns the value of a key; that it is absent or empty is a problem.
func (m *Mapping) Required(key string) Value {
	v := m.Optional(key)
	if !v.Present() && m.value.Present() && !m.has(key) {
		m.value.Problem("the %s has no key %q", m.what, key)
	}
	return v
}

// Optional returns the value of a key, absent when there is no such key. A key without a value is a problem.
func (m *Mapping) Optional(key string) Value {
	m.known = append(m.known, key)
	for _, e := range m.entries {
		if e.Key != key {
			continue
		}
		if isNull(e.Value.node) {
			e.At.Problem("the key %q has no value", key)
			return Value{}
		}
		return e.Value
	}
	return Value{}
}

// Key returns the key itself, for a problem with its being there; absent when it is not.
func (m *Mapping) Key(key string) Value {
	for _, e := range m.entries {
		if e.Key == key {
			return e.At
		}
	}
	return Value{}
}

// Refuse notes a problem with each of the keys that is there, in words of its own instead of "unknown key".
func (m *Mapping) Refuse(why string, keys ...string) {
	for _, key := range keys {
		if at := m.Key(key); at.Present() {
			at.Problem("%s: %s", key, why)
		}
	}
	// Not among the known ones: nobody is to be led there.
	m.entries = slices.DeleteFunc(m.entries, func(e Entry) bool { return slices.Contains(keys, e.Key) })
}

// Exclusive notes a problem when more than one of the keys is there.
func (m *Mapping) Exclusive(keys ...string) {
	var there []string
	for _, e := range m.entries {
		if slices.Contains(keys, e.Key) {
			if there = append(there, e.Key); len(there) > 1 {
				e.At.Problem("%q and %q exclude each other", there[0], e.Key)
			}
		}
	}
}

// Together notes a problem when one of two keys is there without the other.
func (m *Mapping) Together(a, b string) {
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		if at := m.Key(pair[0]); at.Present() && !m.has(pair[1]) {
			at.Problem("%q needs %q beside it", pair[0], pair[1])
		}
	}
}

// Entries returns all keys in the order of the file, for mappings whose keys are names.
func (m *Mapping) Entries() []Entry { return m.entries }

// Empty reports whether the mapping is there and has no key.
func (m *Mapping) Empty() bool { return m.value.Present() && len(m.value.node.Content) == 0 }

// Done notes every key that was not asked for.
func (m *Mapping) Done() {
	for _, e := range m.entries {
		if !slices.Contains(m.known, e.Key) {
			e.At.Problem("unknown key %q in %s%s", e.Key, m.article(), DidYouMean(e.Key, m.known))
		}
	}
}

func (m *Mapping) has(key string) bool { return m.Key(key).Present() }

func (m *Mapping) article() string {
	if strings.ContainsRune("aeiou", rune(m.what[0])) {
		return "an " + m.what
	}
	return "a " + m.what
}
