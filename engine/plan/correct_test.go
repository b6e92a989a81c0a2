package plan

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestCorrectionRequests: a correction goes out as the kind takes it, on top of what the application shows.
func TestCorrectionRequests(t *testing.T) {
	e := &Edit{Set: set("/size", "2").Set, Unset: []Pointer{"/old"}}
	shown := engine.Reply{Status: 200, Header: http.Header{"Etag": {`"7"`}}, Body: []byte(`{"size":1,"old":1,"own":true}`)}
	for _, c := range []struct {
		kind              Kind
		method, typ, body string
	}{
		{Kind{Item: "/i/{id}"}, "PUT", "application/json", `{"own":true,"size":2}`},
		{Kind{Item: "/i/{id}", MergePatch: true}, "PATCH", "application/own+json", `{"old":null,"size":2}`},
		{Kind{Item: "/i/{id}", MergePatch: true, MergeMethod: "PUT"}, "PUT", "application/own+json", `{"old":null,"size":2}`},
		{Kind{Item: "/i/{id}", JSONPatch: "application/patch+json"}, "PATCH", "application/patch+json",
			`[{"op":"remove","path":"/old"},{"op":"replace","path":"/size","value":2}]`},
	} {
		call, err := Correction(&c.kind, "application/own+json", e, shown, "7")
		if err != nil || call.Method != c.method || call.Header["Content-Type"] != c.typ || string(call.Body) != c.body ||
			call.Path != "/i/{id}" || call.Local != "7" || call.Header["If-Match"] != `"7"` {
			t.Errorf("got %s %s %v %s, %v", call.Method, call.Path, call.Header, call.Body, err)
		}
	}
	weak := shown
	weak.Header = http.Header{"Etag": {`W/"7"`}}
	enveloped := engine.Kind{Item: "/boats/{id}", MergePatch: true, PatchHas: []engine.Pointer{"/data/type", "/data/id", "/none"}}
	named := engine.Reply{Body: []byte(`{"data":{"type":"boats","id":"7","attributes":{"a":1,"b":2}}}`)}
	if call, err := Correction(&enveloped, "", set("/data/attributes/a", `3`), named, "7"); err != nil || string(call.Body) != `{"data":{"attributes":{"a":3},"id":"7","type":"boats"}}` {
		t.Errorf("in an envelope it sends %s, %v", call.Body, err)
	}
	if call, err := Correction(lab, "", e, weak, "7"); err != nil || call.Header["If-Match"] != "" {
		t.Errorf("a weak validator is a precondition: %v, %v", call.Header, err)
	}
	if _, err := Correction(lab, "", e, engine.Reply{Body: []byte("<x/>")}, "7"); err == nil {
		t.Error("what is not JSON is corrected")
	}
}

// TestWhatIsKeptIsAllThereIs: making good what one site shows takes away what nobody has set.
func TestWhatIsKeptIsAllThereIs(t *testing.T) {
	create := &Operation{ID: "c", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: set("/name", `"n"`)}
	keep := &Operation{ID: "k", Type: engine.TypeReplace, Line: "a", Origin: "a", Number: 2, Time: 2, Keep: true, Edit: set("/name", `"n"`)}
	h := historyOf(lab, "b", create, keep)
	step := Next(h, Standing{Settled: func(o *Operation) bool { return o == create }, Void: none, Blocked: none})
	if step.Kind != StepCorrect || step.Operations[0] != keep {
		t.Fatalf("the next step is to %s", step.Kind)
	}
	for shows, want := range map[string]Edit{
		`{"id":1,"name":"n"}`:                   {},
		`{"id":1,"name":"m"}`:                   {Set: set("/name", `"n"`).Set},
		`{"id":1,"name":"n","own":{"stray":1}}`: {Unset: []Pointer{"/own"}},
	} {
		left := Left(lab, step, []byte(shows))
		if len(left.Set) != len(want.Set) || len(left.Unset) != len(want.Unset) || len(want.Unset) > 0 && left.Unset[0] != want.Unset[0] {
			t.Errorf("%s: left is %+v", shows, left)
		}
	}
}

// TestShows: an object is what an operation has made where it shows all that this sets, whatever else.
func TestShows(t *testing.T) {
	e := &Edit{Set: map[Pointer]json.RawMessage{"/a": json.RawMessage("1"), "/b": json.RawMessage("{}"), "/b/c": json.RawMessage(`"x"`)}}
	for shown, want := range map[string]bool{
		`{"a":1,"b":{"c":"x"},"d":2}`: true, `{"a":1,"b":{"c":"y"}}`: false, `{"a":1,"b":[]}`: false, `<x/>`: false,
	} {
		if got := Shows(lab, []byte(shown), e); got != want {
			t.Errorf("%s: %v", shown, got)
		}
	}
	if Shows(lab, []byte(`{}`), nil) {
		t.Error("nothing is known of it, and it shows that")
	}
}
