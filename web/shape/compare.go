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
	// LeftOut lists the fields that are not compared, by path, each with the reason.
	LeftOut []LeftOut `json:"left_out"`
}

// LeftOut is a field that is not compared. A site without it is not in Values; sensitive values are hidden.
type LeftOut struct {
	Path   string         `json:"path"`
	Reason string         `json:"reason"`
	Values map[string]any `json:"values"` // by site name
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
	orders  map[engine.Pointer][]string // in which order keyed arrays are shown, where that is a value
	reasons map[string]string           // why fields are ignored, by path
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
	ignored := k.IgnoredWhere(tree.Says(doc))
	v.reasons = map[string]string{}
	leave := func(at, by engine.Pointer, value any) {
		if k.Hides(at) {
			value = Hidden
		}
		v.Ignored[string(at)], v.reasons[string(at)] = value, k.Reason(by)
	}
	covering := func(p engine.Pointer) int {
		return slices.IndexFunc(ignored, func(i engine.Pointer) bool { return i.Covers(p) })
	}
	found := map[engine.Pointer]bool{} // those of elements that their keys tell apart
	fields, _ := tree.Fields(k, body)
	for p, value := range fields {
		if i := covering(p); i >= 0 {
			_, found[ignored[i]] = tree.KeyedAbove(k, p)
			if found[ignored[i]] {
				leave(p, ignored[i], value)
			}
		}
	}
	for _, p := range ignored {
		cut(doc, "", p.Tokens(), func(at engine.Pointer, value any) {
			if !found[p] {
				leave(at, p, value)
			}
		})
	}
	v.compare, v.orders = map[engine.Pointer]string{}, map[engine.Pointer][]string{}
	rest, err := json.Marshal(doc)
	if err == nil { // what was decoded from JSON can be encoded
		fields, _ := tree.Fields(k, rest)
		for p, value := range fields {
			if covering(p) < 0 {
				v.compare[p] = string(value)
			}
		}
		if root, err := tree.Parse(k, rest); err == nil {
			tree.Orders(root, "", v.orders)
		}
	}
	v.Shown = Hide(k, doc)
}

// cut takes the values at a path of the catalog out of a document, and an object that had nothing else. It reports whether an object is left empty.
func cut(doc any, at engine.Pointer, tokens []string, taken func(engine.Pointer, any)) (emptied bool) {
	switch c := doc.(type) {
	case map[string]any:
		value, ok := c[tokens[0]]
		switch {
		case !ok, len(tokens) > 1 && !cut(value, at.Append(tokens[0]), tokens[1:], taken):
			return false
		case len(tokens) == 1:
			taken(at.Append(tokens[0]), value)
		}
		delete(c, tokens[0])
		return len(c) == 0
	case []any:
		for i, element := range c {
			if tokens[0] == "*" && len(tokens) > 1 {
				cut(element, at.Append(strconv.Itoa(i)), tokens[1:], taken)
			}
		}
	}
	return false
}

// Compare finds the paths at which the sites that showed something are not the same. Of parts of something cross, what is divided is no
// difference.
func (c *Comparison) Compare(k *engine.Kind, parts bool) {
	paths := map[engine.Pointer]bool{}
	compared := 0
	left := map[string]LeftOut{}
	leave := func(site, path, reason string, value any) {
		l, known := left[path]
		if !known {
			l = LeftOut{Path: path, Reason: reason, Values: map[string]any{}}
		}
		l.Values[site] = value
		left[path] = l
	}
	for site, v := range c.Sites {
		if v.compare == nil {
			continue
		}
		for path, reason := range v.reasons {
			leave(site, path, reason, v.Ignored[path])
		}
		if parts {
			maps.DeleteFunc(v.compare, func(at engine.Pointer, value string) bool {
				divided := slices.ContainsFunc(k.Divide, func(p engine.Pointer) bool { return p.Contains(at) })
				if divided {
					leave(site, string(at), "each part has a share of it (divide)", shown(k, at, value))
				}
				return divided
			})
		}
		compared++
		for p := range v.compare {
			paths[p] = true
		}
	}
	c.LeftOut = []LeftOut{}
	for _, path := range slices.Sorted(maps.Keys(left)) {
		c.LeftOut = append(c.LeftOut, left[path])
	}
	if compared < 2 {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if d, differs := c.at(k, p); differs {
			c.Differences = append(c.Differences, d)
		}
	}
	c.orders()
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
		d.Values[name] = shown(k, p, value)
	}
	return d, len(seen) > 1 || absent
}

// shown is a value as it is shown to people.
func shown(k *engine.Kind, p engine.Pointer, value string) any {
	switch {
	case k.Hides(p):
		return Hidden
	case json.Valid([]byte(value)):
		return json.RawMessage(value)
	}
	return value
}

// orders adds the arrays whose elements the sites show in different orders: of each, the keys of those elements that all have.
func (c *Comparison) orders() {
	sites := map[engine.Pointer][]string{}
	for name, v := range c.Sites {
		for p := range v.orders {
			sites[p] = append(sites[p], name)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(sites)) {
		has := map[string]int{}
		for _, name := range sites[p] {
			for _, t := range c.Sites[name].orders[p] {
				has[t]++
			}
		}
		d, seen := Difference{Path: string(p), Values: map[string]any{}}, map[string]bool{}
		for _, name := range sites[p] {
			keys := tree.KeysOf(slices.DeleteFunc(slices.Clone(c.Sites[name].orders[p]), func(t string) bool { return has[t] < len(sites[p]) }))
			d.Values[name], seen[string(keys)] = keys, true
		}
		if len(seen) > 1 {
			c.Differences = append(c.Differences, d)
		}
	}
}
