package merge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

func TestEditsOfJSONPatch(t *testing.T) {
	fold := Fold{Cells: map[Pointer]Cell{"/name": {Value: json.RawMessage(`"n"`)}, "/tags": {Value: json.RawMessage(`["a"]`)}}}
	e, err := EditOf(lab, engine.TypePatch, []byte(`[{"op":"add","path":"/tags/-","value":"b"},{"op":"remove","path":"/name"}]`), fold, nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(e.Set["/tags"]) != `["a","b"]` || !slices.Equal(e.Unset, []Pointer{"/name"}) {
		t.Errorf("got %+v", e)
	}
	// What no client has set is read from the application.
	shown := func() ([]byte, error) { return []byte(`{"name":"n","tags":["a"],"count":5}`), nil }
	e, err = EditOf(lab, engine.TypePatch, []byte(`[{"op":"replace","path":"/count","value":6}]`), fold, shown)
	if err != nil || string(e.Set["/count"]) != "6" || len(e.Set) != 1 {
		t.Errorf("got %+v, %v", e, err)
	}
	if _, err := EditOf(lab, engine.TypePatch, []byte(`[{"op":"replace","path":"/none","value":6}]`), fold, shown); err == nil {
		t.Error("a patch of a path that is nowhere is accepted")
	}
	// Whoever asks for the value that is there does not want another one.
	e, err = EditOf(lab, engine.TypePatch, []byte(`[{"op":"replace","path":"/name","value":"n"}]`), fold, nil)
	if err != nil || string(e.Set["/name"]) != `"n"` {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestEdits(t *testing.T) {
	k := *lab
	k.Ignore = []Pointer{"/seen"}
	whole := k
	whole.ReplaceWhole = true
	before := historyOf(&k, op("a-1", engine.TypeCreate, 1, nil, &Edit{Set: map[Pointer]json.RawMessage{
		"/name": json.RawMessage(`"n"`), "/deep": tree.Object, "/deep/er": json.RawMessage("1")}})).Whole(Any)
	for _, c := range []struct {
		k     *Kind
		typ   engine.Type
		body  string
		set   string
		unset string
	}{
		{&k, engine.TypeCreate, `{"name":"m","seen":1,"a":{"b":[1]}}`, `{"/a":{},"/a/b":[1],"/name":"m"}`, "[]"},
		{&k, engine.TypeCreate, `opaque`, `{}`, "[]"},
		{&k, engine.TypeReplace, `{"name":"m","deep":{"er":1}}`, `{"/name":"m"}`, "[]"},
		{&k, engine.TypeReplace, `{"name":"n"}`, `{}`, "[/deep /deep/er]"},
		{&whole, engine.TypeReplace, `{"name":"n"}`, `{"/name":"n"}`, "[]"},
		{&k, engine.TypeMerge, `{"deep":{"er":null,"est":2},"id":7}`, `{"/deep/est":2}`, "[/deep/er]"},
		{&k, engine.TypeMerge, `{"deep":null}`, `{}`, "[/deep /deep/er]"},
		{&k, engine.TypeMerge, `{"name":{"first":"f"}}`, `{"/name":{},"/name/first":"f"}`, "[]"},
		{&k, engine.TypeMerge, `7`, `{"":7}`, "[]"},
	} {
		e, err := EditOf(c.k, c.typ, []byte(c.body), before, nil)
		if err != nil {
			t.Errorf("%s %s: %v", c.typ, c.body, err)
			continue
		}
		set, err := json.Marshal(e.Set)
		if e.Set == nil {
			set = []byte("{}")
		}
		if err != nil || string(set) != c.set || fmt.Sprint(e.Unset) != c.unset || e.Whole != (c.k == &whole) {
			t.Errorf("%s %s sets %s and removes %v, want %s and %s", c.typ, c.body, set, e.Unset, c.set, c.unset)
		}
	}
	for _, typ := range []engine.Type{engine.TypeAbsolute, engine.TypeAction, engine.TypeDelete} {
		if e, err := EditOf(&k, typ, []byte(`{"name":"m"}`), before, nil); e != nil || err != nil {
			t.Errorf("%s sets %+v, %v", typ, e, err)
		}
	}
	if _, err := EditOf(&k, engine.TypeReplace, []byte(`<x/>`), before, nil); err == nil {
		t.Error("what is no JSON replaces something")
	}
}

// TestEditsAreBounded: neither depth nor what a patch copies takes more than there is.
func TestEditsAreBounded(t *testing.T) {
	deep := strings.Repeat(`{"a":`, engine.MaxDepth+1) + "1" + strings.Repeat("}", engine.MaxDepth+1)
	for _, typ := range []engine.Type{engine.TypeCreate, engine.TypeReplace, engine.TypeMerge} {
		if _, err := EditOf(lab, typ, []byte(deep), Fold{}, nil); !errors.Is(err, engine.ErrTooLarge) {
			t.Errorf("%s of any depth: %v", typ, err)
		}
	}
	if e, err := EditOf(lab, engine.TypeCreate, []byte(strings.Repeat("[", 2*engine.MaxDepth)), Fold{}, nil); err != nil || !e.Empty() {
		t.Errorf("a create of what is no JSON is not opaque: %v", err)
	}
	steps := []string{`{"op":"add","path":"/a","value":["` + strings.Repeat("x", 1000) + `"]}`}
	for range 30 {
		steps = append(steps, `{"op":"copy","from":"/a","path":"/a/-"}`)
	}
	_, err := EditOf(lab, engine.TypePatch, []byte("["+strings.Join(steps, ",")+"]"), Fold{}, func() ([]byte, error) { return []byte("{}"), nil })
	if err == nil {
		t.Error("a patch doubles a value as often as it likes")
	}
	wide := `{"` + strings.Repeat("n", engine.MaxLooked/16) + `":{`
	for i := range 200 {
		wide += fmt.Sprintf(`"%d":1,`, i)
	}
	wide += `"last":1}}`
	for _, typ := range []engine.Type{engine.TypeCreate, engine.TypeReplace, engine.TypeMerge} {
		if _, err := EditOf(lab, typ, []byte(wide), Fold{}, nil); !errors.Is(err, engine.ErrTooLarge) {
			t.Errorf("%s of a long name above many others: %v", typ, err)
		}
	}
	added := `[{"op":"add","path":"/a","value":` + wide + `}]`
	if _, err := EditOf(lab, engine.TypePatch, []byte(added), Fold{}, nil); !errors.Is(err, engine.ErrTooLarge) {
		t.Errorf("a patch that adds a long name above many others: %v", err)
	}
	nested := `[{"op":"add","path":"/a","value":` + deep + `}]`
	if _, err := EditOf(lab, engine.TypePatch, []byte(nested), Fold{}, nil); !errors.Is(err, engine.ErrTooLarge) {
		t.Errorf("a patch of any depth: %v", err)
	}
}

// TestWhatIsIgnoredInElements: it is no part of what an operation sets.
func TestWhatIsIgnoredInElements(t *testing.T) {
	k := *lab
	k.Keys, k.Ignore = []engine.Key{{At: "/disks", Member: "name"}}, []Pointer{"/disks/*/serial"}
	e, err := EditOf(&k, engine.TypeCreate, []byte(`{"disks":[{"name":"a","serial":1,"size":2}]}`), Fold{}, nil)
	if err != nil || e.Set["/disks/a/serial"] != nil || string(e.Set["/disks/a/size"]) != "2" {
		t.Errorf("it sets %v, %v", e, err)
	}
}

// TestWhatASiteAssignsIsNoChange: of objects that say so a field is each site's own, whoever sends it back, and is compared in no other one.
func TestWhatASiteAssignsIsNoChange(t *testing.T) {
	k := *lab
	k.IgnoreIn = []engine.IgnoredIn{{At: "/data", In: "/type", Equals: "token"}}
	token := historyOf(&k, op("a-1", engine.TypeCreate, 1, nil, &Edit{Set: map[Pointer]json.RawMessage{"/type": json.RawMessage(`"token"`)}})).Whole(Any)
	for _, c := range []struct {
		typ          engine.Type
		before       Fold
		body         string
		data, others bool
	}{
		{engine.TypeCreate, Fold{}, `{"type":"token","data":{"t":"1"},"n":1}`, false, true},
		{engine.TypeCreate, Fold{}, `{"type":"other","data":{"t":"1"},"n":1}`, true, true},
		{engine.TypeReplace, token, `{"type":"token","data":{"t":"1"},"n":1}`, false, true},
		{engine.TypeMerge, token, `{"data":{"t":"1"},"n":1}`, false, true},
		{engine.TypeMerge, token, `{"type":"other","data":{"t":"1"}}`, true, false},
		{engine.TypePatch, token, `[{"op":"add","path":"/data","value":{"t":"1"}},{"op":"add","path":"/n","value":1}]`, false, true},
	} {
		e, err := EditOf(&k, c.typ, []byte(c.body), c.before, nil)
		if err != nil {
			t.Fatal(err)
		}
		if data := e.Set["/data/t"] != nil; data != c.data || (e.Set["/n"] != nil) != c.others {
			t.Errorf("%s %s sets %s", c.typ, c.body, e.Set)
		}
	}
	for body, same := range map[string]bool{`{"type":"token","data":{"t":"%s"}}`: true, `{"type":"other","data":{"t":"%s"}}`: false} {
		one, _ := tree.Comparable(&k, fmt.Appendf(nil, body, "1"))
		two, _ := tree.Comparable(&k, fmt.Appendf(nil, body, "2"))
		if (string(one) == string(two)) != same {
			t.Errorf("%s and %s compare wrong", one, two)
		}
	}
}
