package sim

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// disks are those that a client was shown, of which it changes or adds one.
func (q *request) disks(shown map[string]any) []any {
	list, _ := shown["disks"].([]any)
	name := cmp.Or(q.step.Disk, "p")
	i := slices.IndexFunc(list, func(d any) bool { return nameOf(d) == name })
	if i < 0 {
		return append(list, map[string]any{"name": name, "size": q.n})
	}
	disk := maps.Clone(list[i].(map[string]any)) // it has a name
	disk["size"] = q.n
	list[i] = disk
	return list
}

func nameOf(disk any) string {
	d, _ := disk.(map[string]any)
	name, _ := d["name"].(string)
	return name
}

// steps are those of a JSON Patch.
func (q *request) steps(k *engine.Kind) []byte {
	steps := []any{map[string]any{"op": "add", "path": "/" + q.field(), "value": q.n}}
	switch {
	case len(k.Keys) > 0 && q.step.Disk != "":
		steps = append(steps, map[string]any{"op": "add", "path": "/disks/0", "value": map[string]any{"name": q.step.Disk, "size": q.n}})
	case q.n%2 == 0:
		steps = append(steps, map[string]any{"op": "copy", "from": "/" + q.field(), "path": "/" + q.step.Field})
	default:
		steps = append(steps, map[string]any{"op": "add", "path": "/" + q.step.Field, "value": q.n})
	}
	return encode(steps)
}

// patched is what a JSON Patch makes of an object, nil where it does not apply.
func patched(o map[string]any, patch []byte) (after map[string]any) {
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil
	}
	b, err := p.Apply(encode(o))
	if err != nil || json.Unmarshal(b, &after) != nil {
		return nil
	}
	return after
}

// unmark takes the agent's marker out. An empty text in its place is as good as none.
func unmark(o map[string]any) {
	if mark, ok := o["mark"].(string); ok {
		if o["mark"] = tree.TrimMarker(mark); o["mark"] == "" {
			delete(o, "mark")
		}
	}
}

// alike returns the fields of an object that are the same at all sites, its disks in one order.
func alike(o map[string]any) map[string]any {
	o = maps.Clone(o)
	delete(o, "id")
	unmark(o)
	disks, _ := o["disks"].([]any)
	members := map[string]any{}
	for _, d := range disks {
		members[nameOf(d)] = d
	}
	if len(members) == len(disks) && len(disks) > 0 { // else it is one value
		o["disks"] = members
	}
	return o
}
