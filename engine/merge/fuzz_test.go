package merge

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// FuzzOperation decodes operations, and folds those that are acceptable beside another one: nothing panics, and twice the same
// comes of it.
func FuzzOperation(f *testing.F) {
	create := op("a-1", engine.TypeCreate, 1, nil, &Edit{Set: map[Pointer]json.RawMessage{"/a": json.RawMessage("1"), "/b/c": tree.Object}})
	action := op("a-1", engine.TypeAction, 2, nil, &Edit{Add: map[Pointer]engine.Increment{"/n": {By: "1e9", From: "-0.5"}}, Unset: []Pointer{"/b"}})
	keyed := op("a-1", engine.TypeReplace, 2, nil, &Edit{Set: map[Pointer]json.RawMessage{"/a": tree.KeyedBy("name"), "/a/x": tree.Object},
		Order: map[Pointer][]string{"/a": {"x", "y"}}, Whole: true})
	for _, o := range []*Operation{create, action, keyed, placing("a-1", 2, sites("z"), sites("a")), op("a-1", engine.TypeDelete, 2, nil, nil)} {
		f.Add(engine.Encode(o))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var o Operation
		if engine.Decode(b, &o) != nil || o.Validate() != nil {
			return
		}
		for _, k := range []*Kind{kinds()["all one"], kinds()["default, keyed"]} {
			fold := func() string {
				h := historyOf(k, op("p-1", engine.TypeCreate, 1, nil, &Edit{Set: map[Pointer]json.RawMessage{"/n": json.RawMessage("1"), "/a": tree.KeyedBy("name"), "/a/y": tree.Object}}))
				second := o
				second.Origin, second.Number, second.Seen, second.Time = "q", 1, Vector{"p": 1}, 5
				h.Add(&second)
				h.Add(op("r-1", engine.TypeMerge, 7, Vector{"p": 1}, set("/a/y/z", "2")))
				whole := h.Whole(Any)
				h.Nothing().Difference(whole)
				h.Division(Any)
				told := string(whole.Representation()) + whole.Digest("d")
				if h.Compact(Vector{"p": 1, "q": 1}, none, nil) && h.Base().Validate() != nil {
					t.Fatalf("the checkpoint is none: %v", h.Base().Validate())
				}
				h.Whole(Any)
				return told
			}
			if one, two := fold(), fold(); one != two {
				t.Errorf("folded once %s and once %s", one, two)
			}
		}
	})
}

// FuzzEditOf computes what a body sets: nothing panics, what comes of it is valid unless it is too much, and where the body is a
// representation, that is what the fold shows with it.
func FuzzEditOf(f *testing.F) {
	f.Add(byte(0), []byte(`{"name":"m","a":[{"name":"x","size":1}],"seen":1}`))
	f.Add(byte(1), []byte(`{"name":"m","deep":{"er":2}}`))
	f.Add(byte(2), []byte(`{"deep":{"er":null},"a":[{"name":"x"},{"name":"x"}]}`))
	f.Add(byte(3), []byte(`[{"op":"add","path":"/a/0","value":{"name":"y"}},{"op":"copy","from":"/a","path":"/b"},{"op":"move","from":"/deep","path":"/d"},{"op":"test","path":"/name","value":"n"},{"op":"remove","path":"/a/-1"}]`))
	types := []engine.Type{engine.TypeCreate, engine.TypeReplace, engine.TypeMerge, engine.TypePatch}
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		k := kinds()["default, keyed"]
		typ := types[int(which)%len(types)]
		h := historyOf(k, op("a-1", engine.TypeCreate, 1, nil, &Edit{Set: map[Pointer]json.RawMessage{"/name": json.RawMessage(`"n"`),
			"/a": tree.KeyedBy("name"), "/a/x": tree.Object, "/a/x/size": json.RawMessage("1"), "/deep": tree.Object, "/deep/er": json.RawMessage("1")}}))
		before := h.Whole(Any)
		e, err := EditOf(k, typ, body, before, func() ([]byte, error) { return before.Representation(), nil })
		if err != nil {
			return
		}
		if err := e.Validate(); err != nil {
			return // too much
		}
		h.Add(op("a-2", typ, 2, nil, e))
		after := h.Whole(Any)
		root, err := tree.Parse(k, body)
		if _, object := root.(map[string]any); typ != engine.TypeReplace || err != nil || !object {
			return
		}
		tree.UnsetAt(root, k.ID.At)
		want, wantOK := tree.Comparable(k, tree.Compact(root))
		got, gotOK := tree.Comparable(k, after.Representation())
		if gotOK && wantOK && !bytes.Equal(got, want) {
			t.Errorf("a PUT of %s shows %s, not %s", body, got, want)
		}
	})
}

// FuzzCheckpoint decodes checkpoints, and has histories stand on those that are acceptable: nothing panics.
func FuzzCheckpoint(f *testing.F) {
	h := historyOf(kinds()["all one"], op("a-1", engine.TypeCreate, 1, nil, set("/n", "1")), op("a-2", engine.TypeMerge, 2, nil, set("/n", "2")),
		placing("a-3", 3, sites("d"), nil), op("b-1", engine.TypeMerge, 3, Vector{"a": 1}, set("/n", "3")), incr("b-2", 4, "5", "2", Vector{"a": 3}),
		op("c-1", engine.TypeMerge, 5, Vector{"a": 3, "b": 1}, set("/n", "9")))
	if !h.Compact(Vector{"a": 3, "b": 2}, Any, nil) {
		f.Fatal("nothing is compacted")
	}
	f.Add(engine.Encode(h.Base()))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Checkpoint
		if engine.Decode(b, &c) != nil || c.Validate() != nil {
			return
		}
		for _, k := range []*Kind{kinds()["all one"], kinds()["default, keyed"]} {
			h := historyOf(k, op("z-1", engine.TypeMerge, c.Time+1, c.Seen, set("/n", "4")))
			h.Stand(&c)
			h.Whole(Any)
			h.Placement()
			for _, o := range h.Ordered() {
				h.Parents(o)
			}
			h.Compact(h.Complete(), Any, nil)
			h.Whole(Any).Representation()
		}
	})
}
