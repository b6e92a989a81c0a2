package tree

import (
	"encoding/json"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

// The words of the core, for tests to be read.
type (
	Pointer = engine.Pointer
	Edit    = engine.Edit
	Kind    = engine.Kind
)

// disked is a kind whose disks are told apart by name, the partitions of each by number, and whose tags have no order.
var disked = &Kind{
	ID:        engine.IDRule{From: engine.IDFromBody, At: "/id"},
	Keys:      []engine.Key{{At: "/disks", Member: "name"}, {At: "/disks/*/parts", Member: "n"}},
	Unordered: []Pointer{"/tags"},
	Ignore:    []Pointer{"/disks/*/serial"},
}

// drawObject draws a representation of disked.
func drawObject(t *rapid.T, depth int) map[string]any {
	object := map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b/c", "d~e", "tags", "disks", "é\u2028"}), 0, 4, rapid.ID).Draw(t, "names") {
		switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
		case name == "disks":
			list := []any{}
			for _, disk := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "7", `"q"`}), 0, 3, rapid.ID).Draw(t, "disks") {
				list = append(list, map[string]any{"name": disk, "size": json.Number("1")})
			}
			object[name] = list
		case name == "tags", kind == 0:
			list := []any{}
			for _, v := range rapid.SliceOfN(rapid.SampledFrom([]string{"p", "q", "r"}), 0, 3).Draw(t, "list") {
				list = append(list, v)
			}
			object[name] = list
		case kind == 1 && depth > 0:
			object[name] = drawObject(t, depth-1)
		default:
			object[name] = rapid.SampledFrom([]any{"v", "w<&>\x00\"", true, json.Number("7"), json.Number("7.0e0"), nil}).Draw(t, "value")
		}
	}
	return object
}

func compactAs(t interface{ Fatal(...any) }, k *Kind, b []byte) string {
	root, err := Parse(k, b)
	if err != nil {
		t.Fatal(err)
	}
	return string(Compact(root))
}
