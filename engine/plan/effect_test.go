package plan

import (
	"encoding/json"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// TestWhatAnOperationOfAnotherSiteHasLeft: what its origin has seen it set, or what there was before, tells whether it has run here.
func TestWhatAnOperationOfAnotherSiteHasLeft(t *testing.T) {
	made := &Operation{ID: "a-1", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: set("/power", `"off"`)}
	adds := &Operation{ID: "b-1", Type: engine.TypeAction, Line: "b", Origin: "b", Number: 1, Time: 2, Seen: Vector{"a": 1},
		Edit: &engine.Edit{Add: map[engine.Pointer]engine.Increment{"/count": {By: "1", From: "4"}}}}
	starts := &Operation{ID: "b-1", Type: engine.TypeAction, Line: "b", Origin: "b", Number: 1, Time: 2, Seen: Vector{"a": 1}, Edit: set("/power", `"on"`)}
	stops := &Operation{ID: "b-1", Type: engine.TypeAction, Line: "b", Origin: "b", Number: 1, Time: 2, Seen: Vector{"a": 1}, Edit: set("/power", `"off"`)}
	opaque := &Operation{ID: "b-1", Type: engine.TypeAction, Line: "b", Origin: "b", Number: 1, Time: 2, Seen: Vector{"a": 1}}
	s := Standing{Settled: merge.Among([]*Operation{made}), Void: none, Blocked: none}
	for _, c := range []struct {
		o     *Operation
		shows string
		want  Trace
	}{
		{adds, `{"count":5,"power":"off"}`, TraceThere},
		{adds, `{"count":4,"power":"off"}`, TraceAbsent},
		{adds, `{"count":7,"power":"off"}`, TraceNone},
		{adds, `{"power":"off"}`, TraceNone},
		{starts, `{"power":"on"}`, TraceThere},
		{starts, `{"power":"off"}`, TraceAbsent},
		{starts, `{"power":"broken"}`, TraceNone},
		{stops, `{"power":"off"}`, TraceNone},
		{opaque, `{"power":"off"}`, TraceNone},
	} {
		if got := TraceHere(historyOf(lab, "x", made, c.o), s, c.o, []byte(c.shows)); got != c.want {
			encoded, _ := json.Marshal(c.o.Edit)
			t.Errorf("%s, and it shows %s: %d, want %d", encoded, c.shows, got, c.want)
		}
	}
	gone := s
	gone.Gone = true
	if got := TraceHere(historyOf(lab, "x", made, adds), gone, adds, []byte(`{"count":5}`)); got != TraceNone {
		t.Errorf("of an object that is gone it tells %d", got)
	}
}
