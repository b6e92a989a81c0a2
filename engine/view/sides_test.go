package view

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

func TestSides(t *testing.T) {
	paris, nantes := lineOf("paris"), lineOf("nantes")
	v := of("paris")
	v.take(t, paris.op(engine.TypeCreate, 1, nil, set("/a", "1"), nil),
		paris.op(engine.TypeMerge, 2, nil, set("/a", "2"), nil),
		nantes.op(engine.TypeMerge, 3, engine.Vector{"paris": 1}, &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/b": json.RawMessage("3")},
			Unset: []engine.Pointer{"/a"}}, nil))
	for id, want := range map[engine.OperationID]string{
		"paris-1":  "map[] map[/b:3] [/b]",
		"paris-2":  "map[/a:1] map[/b:3] [/a]",
		"nantes-1": "map[/a:1] map[/b:3] [/a /b]",
		"unknown":  "map[/b:3] map[/b:3] [/b]",
	} {
		base, wanted, paths := v.Sides(id)
		for _, side := range []map[engine.Pointer]json.RawMessage{base, wanted} { // the object itself
			delete(side, "")
		}
		if len(paths) > 0 && paths[0] == "" {
			paths = paths[1:]
		}
		if got := fmt.Sprintf("%s %s %s", base, wanted, paths); got != want {
			t.Errorf("%s: got %s, want %s", id, got, want)
		}
	}
}

// TestFoundation makes a view begin with what another one keeps of epochs that are over.
func TestFoundation(t *testing.T) {
	paris, nantes := lineOf("paris"), lineOf("nantes")
	a := of("paris")
	a.take(t, paris.op(engine.TypeCreate, 1, nil, set("/a", "1"), nil), paris.op(engine.TypeMerge, 2, nil, set("/a", "2"), nil),
		nantes.op(engine.TypeMerge, 3, engine.Vector{"paris": 1}, set("/a", "3"), nil),
		nantes.write(engine.Entry{Map: engine.MapDecisions, Value: engine.Encode(&engine.Decision{Conflict: "c", By: "nantes", For: 7})}))
	a.Me.Settled = engine.Vector{"paris": 2, "nantes": 1}
	a.status(t, "nantes", engine.Status{Number: 1, Changes: 2, Issued: 1, Settled: a.Me.Settled})
	if _, news := a.Compact(0); !news {
		t.Fatal("nothing was folded away")
	}
	_, b, err := a.Found()
	if err != nil {
		t.Fatal(err)
	}
	v := of("nantes")
	if err := v.Begin(b); err != nil {
		t.Fatal(err)
	}
	x, y := a.History.Whole(merge.Everything), v.History.Whole(merge.Everything)
	if string(x.Representation()) != string(y.Representation()) || len(y.Superseded) != 1 {
		t.Errorf("it amounts to %s, %d values lost; want %s", y.Representation(), len(y.Superseded), x.Representation())
	}
	if v.Accepted("c", 7) == nil || v.Accepted("c", 8) != nil {
		t.Error("what was decided is another thing now")
	}
	if err := of("nantes").Begin([]byte("nonsense")); err == nil {
		t.Error("nonsense is taken for a foundation")
	}
}
