package merge

import (
	"encoding/json"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// The effect of some operations is seen from what the application shows, and that shows one part of a cross resource. Where
// their body states the value of a divided field, which is that of all parts, it counts for what it says.

// Stated are the divided fields, with their values for all parts, that the body of an operation has whose effect is seen from
// what the application shows.
func (d *Division) Stated(o *engine.Operation) map[engine.Pointer]json.RawMessage {
	if d == nil {
		return nil
	}
	return stated(d.kind, o)
}

func stated(k *engine.Kind, o *engine.Operation) map[engine.Pointer]json.RawMessage {
	if n := Effect(k, o); n == nil || !n.States {
		return nil
	}
	root, err := tree.ParseJSON(o.Body)
	if err != nil {
		return nil
	}
	found := map[engine.Pointer]json.RawMessage{}
	for _, p := range k.Divide {
		v, _ := tree.ValueAt(root, p)
		steps, _ := root.([]any) // of a JSON Patch
		for _, step := range steps {
			if at, kind := stepAt(step); at == p && (kind == "add" || kind == "replace") {
				v, _ = tree.ValueAt(step, "/value")
			}
		}
		if v == nil {
			continue
		}
		if _, divisible := tree.ShareOf(tree.Compact(v), 1, 0); divisible {
			found[p] = tree.Compact(v)
		}
	}
	return found
}

// stating is such a body for this part, which is to show mine.
func (d *Division) stating(body []byte, mine, before Fold) []byte {
	if root, err := tree.ParseJSON(body); err == nil {
		if steps, ok := root.([]any); ok {
			return d.steps(steps, mine, before)
		}
	}
	return d.put(mine, body)
}

// Restate makes what was seen to be set here, this part's share, what was stated for all. It changes the Edit of o, which is
// being made.
func (d *Division) Restate(o *engine.Operation) {
	if o.Edit == nil {
		return
	}
	for p, v := range d.Stated(o) {
		tree.Set(o.Edit, p, v)
	}
}
