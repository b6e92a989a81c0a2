package engine

import (
	"encoding/json"
	"testing"
)

// TestStatedCounts: what a request whose effect is observed says of a divided field is that of all parts, and this part gets its share,
// also where it shows that already.
func TestStatedCounts(t *testing.T) {
	k := &Kind{Item: "/sets/{id}", Divide: []Pointer{"/spec/replicas"}, ObservedPatches: []string{"application/strategic+json"},
		Operations: []NamedOperation{{Name: "scale", Method: "PUT", Path: "/sets/{id}/scale", Observed: true, States: true},
			{Name: "grow", Method: "POST", Path: "/sets/{id}/grow", Observed: true}}}
	d := &division{&spread{self: "a", fields: k.Divide}, Parts{{"a"}, {"b"}}, k}
	before := Fold{Exists: true, Cells: map[Pointer]Cell{"/spec/replicas": {Value: json.RawMessage("5")}}}
	strategic := map[string]string{"Content-Type": "application/strategic+json"}
	for _, c := range []struct {
		name   string
		o      *Operation
		sent   string // to this part
		shows  string // this part, after that
		change string // of all
	}{
		{"scale", &Operation{Type: TypeAction, Method: "PUT", Path: "/sets/{id}/scale", Body: []byte(`{"spec":{"replicas":8}}`)},
			`{"spec":{"replicas":4}}`, `{"spec":{"replicas":4}}`, "8"},
		{"a JSON patch to what this part shows", &Operation{Type: TypeAction, Method: "PUT", Path: "/sets/{id}/scale",
			Body: []byte(`[{"op":"test","path":"/spec/replicas","value":5},{"op":"replace","path":"/spec/replicas","value":3}]`)},
			`[{"op":"replace","path":"/spec/replicas","value":3},{"op":"add","path":"/spec/replicas","value":2}]`, `{"spec":{"replicas":2}}`, "3"},
		{"a JSON patch that compares with this part", &Operation{Type: TypeAction, Method: "PUT", Path: "/sets/{id}/scale",
			Body: []byte(`[{"op":"test","path":"/spec/replicas","value":3},{"op":"replace","path":"/spec/replicas","value":8}]`)},
			`[{"op":"test","path":"/spec/replicas","value":null},{"op":"replace","path":"/spec/replicas","value":8},{"op":"add","path":"/spec/replicas","value":4}]`,
			`{"spec":{"replicas":4}}`, "8"},
		{"a patch to what this part shows", &Operation{Type: TypePatch, Method: "PATCH", Path: "/sets/{id}", Header: strategic, Body: []byte(`{"spec":{"replicas":3}}`)},
			`{"spec":{"replicas":2}}`, `{"spec":{"replicas":2}}`, "3"},
		{"a patch that leaves the share", &Operation{Type: TypePatch, Method: "PATCH", Path: "/sets/{id}", Header: strategic, Body: []byte(`{"spec":{"replicas":6}}`)},
			`{"spec":{"replicas":3}}`, `{"spec":{"replicas":3}}`, "6"},
		{"a patch of something else", &Operation{Type: TypePatch, Method: "PATCH", Path: "/sets/{id}", Header: strategic, Body: []byte(`{"spec":{"paused":true}}`)},
			`{"spec":{"paused":true}}`, `{"spec":{"paused":true,"replicas":3}}`, ""},
		{"no number", &Operation{Type: TypePatch, Method: "PATCH", Path: "/sets/{id}", Header: strategic, Body: []byte(`{"spec":{"replicas":null}}`)},
			`{"spec":{"replicas":null}}`, `{"spec":{"replicas":1}}`, "1"},
		{"an action that states nothing", &Operation{Type: TypeAction, Method: "POST", Path: "/sets/{id}/grow", Body: []byte(`{"spec":{"replicas":8}}`)},
			`{"spec":{"replicas":8}}`, `{"spec":{"replicas":8}}`, "8"},
	} {
		sent, err := d.body(c.o, before)
		if err != nil || string(sent) != c.sent {
			t.Errorf("%s: this part gets %s, want %s: %v", c.name, sent, c.sent, err)
		}
		witness(k, c.o, before, []byte(`{"spec":{"replicas":3}}`), []byte(c.shows))
		d.restate(c.o)
		if got := string(c.o.Change.Set["/spec/replicas"]); got != c.change {
			t.Errorf("%s: it sets %q, want %q", c.name, got, c.change)
		}
	}
}

// TestSummaryOfWhatIsCounted: what the catalog counts over all parts is told to the others, though each application sets it by itself.
func TestSummaryOfWhatIsCounted(t *testing.T) {
	v := &view{kind: &Kind{Ignore: []Pointer{"/status", "/uid"}, Sensitive: []Pointer{"/secret"},
		Aggregate: []Aggregate{{"/status/ready", AggregateSum}}}, history: &History{spread: &spread{}}}
	got := v.summary(Replica{}, &Observed{Hash: "h"}, []byte(`{"uid":"1","secret":"s","n":1,"status":{"ready":2,"seen":"now"}}`))
	if string(got) != `{"n":1,"status":{"ready":2}}` {
		t.Errorf("the others are told %s", got)
	}
}

// TestAPartOutOfReachShowsTheShareThatItHasSettled: what is divided again is known of a part before it has looked.
func TestAPartOutOfReachShowsTheShareThatItHasSettled(t *testing.T) {
	about := About{Key: "web", Collaboration: Cross, Placement: []SiteID{"a", "b"}, Parts: Parts{{"a"}, {"b"}}}
	v := newView("a", func(id SiteID) SiteName { return SiteName(id) }, "d", about, nil, &Kind{Divide: []Pointer{"/n"}, Aggregate: []Aggregate{{"/ready", AggregateSum}}})
	for i, n := range []string{"5", "8", "12"} {
		typ := TypeMerge
		if i == 0 {
			typ = TypeCreate
		}
		v.history.Add(&Operation{ID: OperationID(n), Type: typ, Origin: "a", Run: "r", Seq: uint64(i + 1), Time: int64(i + 1),
			Change: &Change{Set: map[Pointer]json.RawMessage{"/n": json.RawMessage(n)}}, line: lineOf("a", "r", 0)})
	}
	for _, c := range []struct {
		what    string
		settled uint64
		looked  *Observed
		refused OperationID
		want    string
	}{
		{"as it was looked at", 2, &Observed{Hash: "h"}, "", `{"n":2,"ready":2}`},
		{"divided again since", 2, nil, "", `{"n":4,"ready":2}`},
		{"with one more to come", 1, nil, "", `{"n":2,"ready":2}`},
		{"divided twice since", 3, nil, "", `{"n":6,"ready":2}`},
		{"refused since", 3, nil, "12", `{"n":4,"ready":2}`},
	} {
		v.replicas["b"] = Replica{Local: "b-1", Settled: map[Line]uint64{lineOf("a", "r", 0): c.settled}, Observed: c.looked,
			Summary: json.RawMessage(`{"n":2,"ready":2}`)}
		v.outcomes["b"] = map[OperationID]Outcome{c.refused: {State: StateRejected}}
		if got := v.lastShown("b"); string(got) != c.want {
			t.Errorf("%s: it shows %s, want %s", c.what, got, c.want)
		}
	}
}

// TestBytesWhoseEffectIsSeen: what a PUT below an item was seen to set is part of what is shown once it has run.
func TestBytesWhoseEffectIsSeen(t *testing.T) {
	before := newFold(NewHistory())
	o := &Operation{Type: TypeAbsolute, Path: "/sets/{id}/scale", Change: &Change{Set: map[Pointer]json.RawMessage{"/n": json.RawMessage("4")}}}
	after := before.after(o, before)
	if string(after.Cells["/n"].Value) != "4" || len(before.Absolute) != 0 || len(before.Cells) != 0 {
		t.Errorf("after it %v is shown, and before it %v", after, before)
	}
}
