package plan

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// TestObservedPatch: what a patch of the application's own sets is what was seen of it, so that it may be sent again and
// corrected.
func TestObservedPatch(t *testing.T) {
	k := &Kind{Name: "pod", Item: "/pods/{id}", Ignore: []Pointer{"/status"}, Keys: []engine.Key{{At: "/containers", Member: "name"}},
		ObservedPatches: []string{"application/own-patch+json"}}
	o := &Operation{Type: engine.TypePatch, Method: http.MethodPatch, Path: k.Item, Body: []byte(`{"containers":[{"name":"a","image":"2"}]}`),
		Header: map[string]string{"Content-Type": "application/own-patch+json; charset=utf-8"}}
	if !NeedsBefore(k, o) || !NeedsAfter(k, o) || !Resendable(k, o) {
		t.Error("it is not observed, or may not be sent again")
	}
	Witness(k, o, merge.Fold{}, []byte(`{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}],"status":1}`),
		[]byte(`{"containers":[{"name":"a","image":"2"},{"name":"b","image":"1"}],"status":2}`))
	if len(o.Edit.Set) != 1 || string(o.Edit.Set["/containers/a/image"]) != `"2"` || len(o.Edit.Unset) != 0 {
		t.Errorf("it was seen to set %+v", o.Edit)
	}
	o.Header["Content-Type"] = "application/json-patch+json"
	if NeedsBefore(k, o) || Resendable(k, o) {
		t.Error("a JSON Patch is observed")
	}
}

// TestACounterThatAPutDoesNotMention: what the application makes of it is part of what the PUT sets.
func TestACounterThatAPutDoesNotMention(t *testing.T) {
	k := kinds()["default"]
	before := merge.Fold{Cells: map[Pointer]merge.Cell{"/count": {Value: json.RawMessage("5")}}}
	for _, c := range []struct{ body, shows, set, unset string }{
		{`{"name":"n"}`, `{"name":"n","count":5}`, "", ""},
		{`{"name":"n"}`, `{"name":"n","count":0}`, "0", ""},
		{`{"name":"n"}`, `{"name":"n"}`, "", "/count"},
		{`{"count":7}`, `{"count":7}`, "7", ""},
	} {
		e, err := merge.EditOf(k, engine.TypeReplace, []byte(c.body), before, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := &Operation{Type: engine.TypeReplace, Path: k.Item, Body: []byte(c.body), Edit: e}
		if NeedsAfter(k, o) {
			Witness(k, o, before, nil, []byte(c.shows))
		}
		unset := ""
		if len(o.Edit.Unset) > 0 {
			unset = string(o.Edit.Unset[0])
		}
		if got := string(o.Edit.Set["/count"]); got != c.set || unset != c.unset {
			t.Errorf("%s where %s is shown then sets %q and removes %q", c.body, c.shows, got, unset)
		}
	}
}

// TestWhatIsAdded: an increment is exact, and what is no number stays undeclared.
func TestWhatIsAdded(t *testing.T) {
	n := &engine.NamedOperation{Counter: "/n"}
	for _, c := range []struct{ shown, shows, by, from string }{
		{`{"n":1}`, `{"n":3}`, "2", "1"},
		{`{}`, `{"n":3}`, "3", ""},
		{`{"n":0.1}`, `{"n":0.3}`, "0.2", "0.1"},
		{`{"n":5}`, `{}`, "-5", "5"},
		{`{"n":"x"}`, `{"n":3}`, "none", ""},
		{`{"n":1}`, `gone`, "none", ""},
	} {
		got, from := "none", ""
		if e := Declared(lab, n, []byte(c.shown), []byte(c.shows)); e != nil {
			got, from = string(e.Add["/n"].By), string(e.Add["/n"].From)
		}
		if got != c.by || from != c.from {
			t.Errorf("from %s to %s: %q was added to %q", c.shown, c.shows, got, from)
		}
	}
}

func TestWhichContentIsPut(t *testing.T) {
	k := &Kind{Content: []engine.Content{{Read: "/images/{id}/file", Method: http.MethodPut, Write: "/images/{id}/file",
		BusyAt: "/status", Busy: []json.RawMessage{json.RawMessage(`"saving"`)}}}}
	part := ContentOf(k, &Operation{Type: engine.TypeAbsolute, Method: http.MethodPut, Path: "/images/{id}/file"})
	if part != &k.Content[0] || ContentOf(k, &Operation{Type: engine.TypeAction, Method: http.MethodPut, Path: "/images/{id}/file"}) != nil {
		t.Fatal("the part is not found, or for what puts nothing")
	}
	for shown, busy := range map[string]bool{`{"status":"saving"}`: true, `{"status":"active"}`: false, `{}`: false, `<x/>`: false} {
		if Busy(part, []byte(shown)) != busy {
			t.Errorf("%s: busy is not %v", shown, busy)
		}
	}
}

// TestTraces: what an action without an answer has done is seen where the catalog declares it.
func TestTraces(t *testing.T) {
	sets := &engine.NamedOperation{Sets: map[Pointer]json.RawMessage{"/power": json.RawMessage(`"on"`)}}
	counts, observed := &engine.NamedOperation{Counter: "/n"}, &engine.NamedOperation{Observed: true}
	for _, c := range []struct {
		n           *engine.NamedOperation
		shown, show string
		want        Trace
	}{
		{sets, `{"power":"off"}`, `{"power":"on"}`, TraceThere},
		{sets, `{"power":"off"}`, `{"power":"off"}`, TraceAbsent},
		{sets, `{"power":"on"}`, `{"power":"on"}`, TraceNone},
		{counts, `{"n":1}`, `{"n":2}`, TraceThere},
		{counts, `{"n":1}`, `{"n":1.0}`, TraceAbsent},
		{counts, `{"n":1}`, `{"n":"x"}`, TraceNone},
		{observed, `{"n":1}`, `{"n":2}`, TraceThere},
		{observed, `{"n":1}`, `{"n":1}`, TraceNone},
		{observed, `{"n":1}`, `<x/>`, TraceNone},
	} {
		if got := TraceOf(lab, c.n, []byte(c.shown), []byte(c.show)); got != c.want {
			t.Errorf("%+v from %s to %s: %d, want %d", c.n, c.shown, c.show, got, c.want)
		}
	}
}
