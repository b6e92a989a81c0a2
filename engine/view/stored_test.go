package view

import (
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// TestFoundation makes a view begin with what another one keeps of epochs that are over.
func TestFoundation(t *testing.T) {
	paris, nantes := lineOf("paris"), lineOf("nantes")
	a := of("paris")
	a.take(t, paris.op(engine.TypeCreate, 1, nil, set("/a", "1"), nil), paris.op(engine.TypeMerge, 2, nil, set("/a", "2"), nil),
		nantes.op(engine.TypeMerge, 3, engine.Vector{"paris": 1}, set("/a", "3"), nil),
		nantes.write(engine.Entry{Map: engine.MapDecisions, Value: engine.Encode(&engine.Decision{Conflict: "c", Action: engine.ActionDismiss, By: "nantes", For: 7})}))
	a.Me.Settled = engine.Vector{"paris": 2, "nantes": 1}
	a.status(t, "nantes", engine.Status{Number: 1, Lines: map[engine.Line]engine.Wrote{"nantes": {Changes: 2, Issued: 1}}, Settled: a.Me.Settled})
	if never := func(*engine.Operation) bool { return false }; !a.History.Compact(a.Me.Settled, never, never) {
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
	x, y := a.History.Whole(merge.Any), v.History.Whole(merge.Any)
	if string(x.Representation()) != string(y.Representation()) || len(y.Superseded) != 1 {
		t.Errorf("it amounts to %s, %d values lost; want %s", y.Representation(), len(y.Superseded), x.Representation())
	}
	if v.Decisions.Accepted("c", 7) == nil || v.Decisions.Accepted("c", 8) != nil {
		t.Error("what was decided is another thing now")
	}
	if err := of("nantes").Begin([]byte("nonsense")); err == nil {
		t.Error("nonsense is taken for a foundation")
	}
}
