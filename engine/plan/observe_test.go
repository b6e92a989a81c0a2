package plan

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

// TestWhatIsCompared lists representations that are the same resource, or are not.
func TestWhatIsCompared(t *testing.T) {
	k := &Kind{ID: engine.IDRule{At: "/id"}, Ignore: []Pointer{"/updated_at", "/status/seen"}, Sensitive: []Pointer{"/password"}}
	hash := func(d engine.DocumentID, text string) string {
		return Observe(k, d, []byte(text), merge.Fold{}, merge.Fold{}, nil).Hash
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"id":1,"a":1,"b":[1,2]}`, `{"b":[1.0,2],"a":1e0,"id":"x"}`, true},
		{`{"a":1,"updated_at":"now","status":{"seen":1,"up":true}}`, `{"a":1,"status":{"up":true,"seen":2}}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":null}`, `{}`, false},
		{`{"a":"1"}`, `{"a":1}`, false},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		{`{"password":"a"}`, `{"password":"b"}`, false},
		{`{"a":"é"}`, `{"a":"\u00e9"}`, true},
	} {
		if same := hash("d", c.a) == hash("d", c.b); same != c.same {
			t.Errorf("%s and %s are the same: %v", c.a, c.b, same)
		}
	}
	if hash("d", `{"a":1}`) == hash("e", `{"a":1}`) {
		t.Error("equal representations in two documents show to be equal")
	}
	if o := Observe(k, "d", []byte("<x/>"), merge.Fold{}, merge.Fold{}, nil); o.Unseen != engine.UnseenOpaque || o.Hash != "" {
		t.Errorf("what is not JSON is %+v", o)
	}
}

func TestWhereAnApplicationShowsSomethingElse(t *testing.T) {
	k := &Kind{ID: engine.IDRule{At: "/id"}, Ignore: []Pointer{"/updated_at"}}
	fold := merge.Fold{Cells: map[Pointer]merge.Cell{
		"/name": {Value: json.RawMessage(`"Debian"`)}, "/size": {Value: json.RawMessage(`1.50`)}, "/box": {Value: tree.Object},
		"/box/a": {Value: json.RawMessage(`1`)}, "/box/b": {Value: json.RawMessage(`2`)}, "/old": {}, "/updated_at": {Value: json.RawMessage(`1`)},
	}}
	for text, want := range map[string][]Pointer{
		`{"id":7,"name":"Debian","size":1.5,"box":{"a":1,"b":2,"c":3},"more":1}`: nil,
		`{"name":"debian","size":1.5,"box":{"a":1},"old":1}`:                     {"/box/b", "/name", "/old"},
		`{"name":"Debian","size":1.5,"old":null}`:                                {"/box"},
	} {
		if got := Observe(k, "d", []byte(text), fold, fold, nil).Differs; !slices.Equal(got, want) {
			t.Errorf("%s differs at %v, want %v", text, got, want)
		}
	}
}

// TestAPartShowsItsShare: what is divided is compared with this part's share, and left out of what is compared between sites.
func TestAPartShowsItsShare(t *testing.T) {
	cell := func(v string) merge.Fold {
		return merge.Fold{Exists: true, Cells: map[Pointer]merge.Cell{"/n": {Value: json.RawMessage(v)}, "/name": {Value: json.RawMessage(`"x"`)}}}
	}
	one := Observe(lab, "d", []byte(`{"name":"x","n":3}`), cell("5"), cell("3"), []Pointer{"/n"})
	two := Observe(lab, "d", []byte(`{"name":"x","n":2}`), cell("5"), cell("2"), []Pointer{"/n"})
	if one.Hash != two.Hash || one.Fold != two.Fold || one.Apart || two.Apart {
		t.Errorf("%+v and %+v are to be the same", one, two)
	}
	if other := Observe(lab, "d", []byte(`{"name":"x","n":4}`), cell("5"), cell("2"), []Pointer{"/n"}); !other.Apart || other.Hash != one.Hash {
		t.Errorf("a part that shows another share is %+v", other)
	}
}
