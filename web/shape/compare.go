package shape

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// Comparison is what the application of each site shows of one resource now.
type Comparison struct {
	ID      string `json:"id"`
	Service string `json:"service"`
	Kind    string `json:"kind"`
	// Equal is nil when fewer than two sites could be compared.
	Equal *bool           `json:"equal"`
	Sites map[string]View `json:"sites"` // by site name
	// Differences lists the fields that are not the same at all sites that answered, by path.
	Differences []Difference `json:"differences"`
}

// View is one site's representation.
type View struct {
	Status int `json:"status"` // of the application's answer; 0: none
	// Shown is the representation without its ignored fields, identifiers translated, sensitive fields hidden.
	Shown any `json:"shown"`
	// Ignored are the fields that differ between replicas by nature, by path.
	Ignored map[string]any `json:"ignored"`
	Pending int            `json:"pending"` // operations known there and not yet applied there
	Error   string         `json:"error"`   // why there is nothing to show
	TookMS  float64        `json:"took_ms"`
	compare map[engine.Pointer]string
}

// Difference is one field that is not the same everywhere. A site without the field is not in Values. Sensitive
// values are hidden, and still compared.
type Difference struct {
	Path   string         `json:"path"`
	Values map[string]any `json:"values"` // by site name
}

// Take splits a representation into what is compared, what is shown and what is ignored.
func (v *View) Take(k *engine.Kind, body []byte) {
	doc, ok := DecodeJSON(body)
	if !ok {
		v.Shown, _ = ShowBody(k, body)
		v.compare = map[engine.Pointer]string{"": string(body)}
		return
	}
	for _, p := range k.Ignore {
		cut(doc, "", p.Tokens(), func(at engine.Pointer, value any) {
			if k.Hides(at) {
				value = Hidden
			}
			v.Ignored[string(at)] = value
		})
	}
	v.compare = map[engine.Pointer]string{}
	rest, err := json.Marshal(doc)
	if err == nil { // what was decoded from JSON can be encoded
		fields, _ := tree.Fields(k, rest)
		for p, value := range fields {
			if slices.ContainsFunc(k.Ignore, func(i engine.Pointer) bool { return i.Covers(p) }) { // in a keyed array
				v.Ignored[string(p)] = value
				if k.Hides(p) {
					v.Ignored[string(p)] = Hidden
				}
				continue
			}
			v.compare[p] = string(value)
		}
	}
	v.Shown = Hide(k, doc)
}

// cut takes the values at a path of the catalog out of a document.
func cut(doc any, at engine.Pointer, tokens []string, taken func(engine.Pointer, any)) {
	switch c := doc.(type) {
	case map[string]any:
		value, ok := c[tokens[0]]
		switch {
		case !ok:
		case len(tokens) > 1:
			cut(value, at.Append(tokens[0]), tokens[1:], taken)
		default:
			delete(c, tokens[0])
			taken(at.Append(tokens[0]), value)
		}
	case []any:
		for i, element := range c {
			if tokens[0] == "*" && len(tokens) > 1 {
				cut(element, at.Append(strconv.Itoa(i)), tokens[1:], taken)
			}
		}
	}
}

// Compare finds the paths at which the sites that showed something are not the same. Of parts of something cross, what is divided is no
// difference.
func (c *Comparison) Compare(k *engine.Kind, parts bool) {
	paths := map[engine.Pointer]bool{}
	compared := 0
	for _, v := range c.Sites {
		if v.compare == nil {
			continue
		}
		if parts {
			maps.DeleteFunc(v.compare, func(at engine.Pointer, _ string) bool {
				return slices.ContainsFunc(k.Divide, func(p engine.Pointer) bool { return p.Contains(at) })
			})
		}
		compared++
		for p := range v.compare {
			paths[p] = true
		}
	}
	if compared < 2 {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if d, differs := c.at(k, p); differs {
			c.Differences = append(c.Differences, d)
		}
	}
	equal := len(c.Differences) == 0
	c.Equal = &equal
}

func (c *Comparison) at(k *engine.Kind, p engine.Pointer) (Difference, bool) {
	d := Difference{Path: string(p), Values: map[string]any{}}
	seen, absent := map[string]bool{}, false
	for name, v := range c.Sites {
		if v.compare == nil {
			continue
		}
		value, ok := v.compare[p]
		if !ok {
			absent = true
			continue
		}
		seen[value] = true
		switch {
		case k.Hides(p):
			d.Values[name] = Hidden
		case json.Valid([]byte(value)):
			d.Values[name] = json.RawMessage(value)
		default:
			d.Values[name] = value
		}
	}
	return d, len(seen) > 1 || absent
}
