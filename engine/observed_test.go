package engine

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestNumbersByValue(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "1.0": "1", "10e-1": "1", "100": "1e2", "1E+2": "1e2", "-0": "0", "0.00": "0", "-1.50": "-15e-1",
		"12345678901234567890123": "12345678901234567890123", "0.1": "1e-1", "1e999999999999": "1e999999999999",
	} {
		got := numberByValue(json.Number(text))
		if string(got) != want || !json.Valid([]byte(got)) {
			t.Errorf("%s is written as %s, want %s", text, got, want)
		}
	}
}

// TestWhatIsCompared lists representations that are the same resource, or are not.
func TestWhatIsCompared(t *testing.T) {
	k := &Kind{ID: IDRule{At: "/id"}, Ignore: []Pointer{"/updated_at", "/status/seen"}, Sensitive: []Pointer{"/password"}}
	hash := func(d DocumentID, text string) string { return observe(k, d, []byte(text), Fold{}, Fold{}, nil).Hash }
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
	if o := observe(k, "d", []byte("<x/>"), Fold{}, Fold{}, nil); o.Unseen != UnseenOpaque || o.Hash != "" {
		t.Errorf("what is not JSON is %+v", o)
	}
}

func TestWhereAnApplicationShowsSomethingElse(t *testing.T) {
	k := &Kind{ID: IDRule{At: "/id"}, Ignore: []Pointer{"/updated_at"}}
	fold := Fold{Cells: map[Pointer]Cell{
		"/name": {Value: json.RawMessage(`"Debian"`)}, "/size": {Value: json.RawMessage(`1.50`)}, "/box": {Value: object},
		"/box/a": {Value: json.RawMessage(`1`)}, "/box/b": {Value: json.RawMessage(`2`)}, "/old": {}, "/updated_at": {Value: json.RawMessage(`1`)},
	}}
	for text, want := range map[string][]Pointer{
		`{"id":7,"name":"Debian","size":1.5,"box":{"a":1,"b":2,"c":3},"more":1}`: nil,
		`{"name":"debian","size":1.5,"box":{"a":1},"old":1}`:                     {"/box/b", "/name", "/old"},
		`{"name":"Debian","size":1.5,"old":null}`:                                {"/box"},
	} {
		if got := observe(k, "d", []byte(text), fold, fold, nil).Differs; !slices.Equal(got, want) {
			t.Errorf("%s differs at %v, want %v", text, got, want)
		}
	}
}

// TestAnEqualFoldHasOneDigest sees to it that the digest tells folds apart by what they set, not by who set it.
func TestAnEqualFoldHasOneDigest(t *testing.T) {
	one := Fold{Exists: true, Cells: map[Pointer]Cell{"/a": {Value: json.RawMessage(`1`), By: "x"}, "/b": {By: "x"}}}
	same := Fold{Exists: true, Cells: map[Pointer]Cell{"/a": {Value: json.RawMessage(`1`), By: "y"}}}
	other := Fold{Exists: true, Cells: map[Pointer]Cell{"/a": {Value: json.RawMessage(`2`), By: "x"}}}
	if one.digest("d") != same.digest("d") || one.digest("d") == other.digest("d") {
		t.Error("the digests do not tell the folds apart")
	}
}
