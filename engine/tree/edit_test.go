package tree

import (
	"encoding/json"
	"slices"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

// TestInvariantEditsLeadThere: the difference between two representations, applied to one as a whole, as a JSON Patch or as a merge
// patch, makes the other of it; and nothing is missing then.
func TestInvariantEditsLeadThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := Compact(drawObject(t, 3)), Compact(drawObject(t, 3))
		e, err := Difference(disked, before, after)
		if err != nil {
			t.Fatal(err)
		}
		if (compactAs(t, disked, before) == compactAs(t, disked, after)) && !e.Empty() {
			t.Fatalf("nothing is to change, and the difference is %+v", e)
		}
		want, _ := Comparable(disked, after)
		check := func(how string, b []byte, err error) {
			got, ok := Comparable(disked, b)
			if err != nil || !ok || string(got) != string(want) {
				t.Fatalf("%s makes %s of %s, not %s: %v", how, got, before, want, err)
			}
			if left := Missing(disked, e, b); len(left.Set)+len(left.Unset) > 0 {
				t.Fatalf("after %s %+v is missing", how, left)
			}
		}
		b, err := Apply(disked, e, before)
		check("the edit", b, err)
		body, err := JSONPatch(disked, e, before)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := ParsePatch(body)
		if err != nil {
			t.Fatal(err)
		}
		b, err = patch.Apply([]byte(compactAs(t, disked, before)))
		check("the patch", b, err)
		if e.Empty() && len(patch) > 0 {
			t.Fatalf("nothing is to change, and the patch is %s", body)
		}
		if slices.ContainsFunc(Sorted(e.Set), func(p Pointer) bool { return string(e.Set[p]) == "null" }) {
			return // a merge patch cannot say that
		}
		if body, err = MergePatch(disked, e, before); err != nil {
			t.Fatal(err)
		}
		b, err = jsonpatch.MergePatch(before, body)
		check("the merge patch "+string(body), b, err)
	})
}

func TestTouches(t *testing.T) {
	e := &Edit{Set: map[Pointer]json.RawMessage{"/a": Object, "/a/b": json.RawMessage("1")}, Unset: []Pointer{"/c"},
		Add: map[Pointer]engine.Increment{"/n": {By: "1"}}}
	for p, want := range map[Pointer]bool{"/a": true, "/a/b": true, "/a/b/c": true, "/a/x": false, "/c": true, "/c/d": true, "/n": true, "/nn": false, "": true} {
		if Touches(e, p) != want {
			t.Errorf("%q is touched: %v", p, !want)
		}
	}
}

func TestEditsTogether(t *testing.T) {
	e := And(&Edit{Set: map[Pointer]json.RawMessage{"/a": json.RawMessage("1")}, Unset: []Pointer{"/z"}},
		&Edit{Set: map[Pointer]json.RawMessage{"/a": json.RawMessage("2"), "/b": json.RawMessage("3")}, Unset: []Pointer{"/y", "/z"}})
	if string(e.Set["/a"]) != "1" || string(e.Set["/b"]) != "3" || !slices.Equal(e.Unset, []Pointer{"/y", "/z"}) {
		t.Errorf("together they are %+v", e)
	}
}

// TestAnArrayInTheWay corrects an element where the application shows something else than an array.
func TestAnArrayInTheWay(t *testing.T) {
	e := &Edit{Set: map[Pointer]json.RawMessage{"/disks/sda/size": json.RawMessage("2")}}
	for _, shows := range []string{`{"disks":"none"}`, `{}`, `{"disks":[{"size":1}]}`} {
		got, err := Apply(disked, e, []byte(shows))
		if want := `{"disks":[{"name":"sda","size":2}]}`; err != nil || string(got) != want {
			t.Errorf("%s becomes %s, %v; want %s", shows, got, err, want)
		}
	}
}

func TestUnorderedArrays(t *testing.T) {
	e, err := Difference(disked, []byte(`{"tags":["b","a"],"list":[1,2]}`), []byte(`{"tags":["a","b"],"list":[2,1]}`))
	if err != nil || len(e.Set) != 1 || string(e.Set["/list"]) != "[2,1]" {
		t.Errorf("%+v %v", e, err)
	}
}
