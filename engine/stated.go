package engine

import "encoding/json"

// The effect of some operations is seen from what the application shows, and that shows one part of a cross resource. Where their body
// states the value of a divided field, which is that of all parts, it counts for what it says.

// stated are the divided fields, with their values for all parts, that the body of an operation has whose effect is seen from what the
// application shows.
func (d *division) stated(o *Operation) map[Pointer]json.RawMessage {
	if d == nil {
		return nil
	}
	return d.spread.stated(d.kind, o)
}

func (x *spread) stated(k *Kind, o *Operation) map[Pointer]json.RawMessage {
	n := k.effect(o)
	if x == nil || n == nil || !n.States {
		return nil
	}
	tree, err := parseJSON(o.Body)
	if err != nil {
		return nil
	}
	found := map[Pointer]json.RawMessage{}
	for _, p := range x.fields {
		v, _ := valueAt(tree, p)
		steps, _ := tree.([]any) // of a JSON Patch
		for _, step := range steps {
			if at, kind := stepAt(step); at == p && (kind == "add" || kind == "replace") {
				v, _ = valueAt(step, "/value")
			}
		}
		if _, divisible := shareOf(compact(v), 1, 0); v != nil && divisible {
			found[p] = compact(v)
		}
	}
	return found
}

// stating is such a body for this part, which is to show mine.
func (d *division) stating(body []byte, mine, before Fold) []byte {
	if tree, err := parseJSON(body); err == nil {
		if steps, ok := tree.([]any); ok {
			return d.steps(steps, mine, before)
		}
	}
	return d.put(mine, body)
}

// restate makes what was seen to be set here, this part's share, what was stated for all.
func (d *division) restate(o *Operation) {
	if o.Change == nil {
		return
	}
	for p, v := range d.stated(o) {
		o.Change.set(p, v)
	}
}
