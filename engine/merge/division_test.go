package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// divided is a kind whose replicas are shared by the parts of a cross resource.
var divided = &Kind{Item: "/sets/{id}", Divide: []Pointer{"/spec/replicas"}, ObservedPatches: []string{"application/strategic+json"},
	Operations: []engine.NamedOperation{{Name: "scale", Method: "PUT", Path: "/sets/{id}/scale", Observed: true, States: true},
		{Name: "grow", Method: "POST", Path: "/sets/{id}/grow", Observed: true}}}

var crossAbout = engine.About{Collaboration: engine.Cross, Placement: sites("a", "b"), Parts: engine.Parts{{"a"}, {"b"}}}

func showing(v string) Fold {
	return Fold{Exists: true, Cells: map[Pointer]Cell{"/spec/replicas": {Value: json.RawMessage(v)}}}
}

// TestStatedCounts: what a request whose effect is observed says of a divided field is that of all parts, and this part gets its
// share, also where it shows that already.
func TestStatedCounts(t *testing.T) {
	d := NewDivision(divided, crossAbout, "a")
	before := showing("5")
	strategic := map[string]string{"Content-Type": "application/strategic+json"}
	for _, c := range []struct {
		name  string
		o     *Operation
		sent  string // to this part
		shows string // this part, after that
		edit  string // of all
	}{
		{"scale", &Operation{Type: engine.TypeAction, Method: "PUT", Path: "/sets/{id}/scale", Body: []byte(`{"spec":{"replicas":8}}`)},
			`{"spec":{"replicas":4}}`, `{"spec":{"replicas":4}}`, "8"},
		{"a JSON patch to what this part shows", &Operation{Type: engine.TypeAction, Method: "PUT", Path: "/sets/{id}/scale",
			Body: []byte(`[{"op":"test","path":"/spec/replicas","value":5},{"op":"replace","path":"/spec/replicas","value":3}]`)},
			`[{"op":"replace","path":"/spec/replicas","value":3},{"op":"add","path":"/spec/replicas","value":2}]`, `{"spec":{"replicas":2}}`, "3"},
		{"a JSON patch that compares with this part", &Operation{Type: engine.TypeAction, Method: "PUT", Path: "/sets/{id}/scale",
			Body: []byte(`[{"op":"test","path":"/spec/replicas","value":3},{"op":"replace","path":"/spec/replicas","value":8}]`)},
			`[{"op":"test","path":"/spec/replicas","value":null},{"op":"replace","path":"/spec/replicas","value":8},{"op":"add","path":"/spec/replicas","value":4}]`,
			`{"spec":{"replicas":4}}`, "8"},
		{"a patch to what this part shows", &Operation{Type: engine.TypePatch, Method: "PATCH", Path: "/sets/{id}", Header: strategic, Body: []byte(`{"spec":{"replicas":3}}`)},
			`{"spec":{"replicas":2}}`, `{"spec":{"replicas":2}}`, "3"},
		{"a patch that leaves the share", &Operation{Type: engine.TypePatch, Method: "PATCH", Path: "/sets/{id}", Header: strategic, Body: []byte(`{"spec":{"replicas":6}}`)},
			`{"spec":{"replicas":3}}`, `{"spec":{"replicas":3}}`, "6"},
		{"a patch of something else", &Operation{Type: engine.TypePatch, Method: "PATCH", Path: "/sets/{id}", Header: strategic, Body: []byte(`{"spec":{"paused":true}}`)},
			`{"spec":{"paused":true}}`, `{"spec":{"paused":true,"replicas":3}}`, ""},
		{"no number", &Operation{Type: engine.TypePatch, Method: "PATCH", Path: "/sets/{id}", Header: strategic, Body: []byte(`{"spec":{"replicas":null}}`)},
			`{"spec":{"replicas":null}}`, `{"spec":{"replicas":1}}`, "1"},
		{"an action that states nothing", &Operation{Type: engine.TypeAction, Method: "POST", Path: "/sets/{id}/grow", Body: []byte(`{"spec":{"replicas":8}}`)},
			`{"spec":{"replicas":8}}`, `{"spec":{"replicas":8}}`, "8"},
	} {
		sent, err := d.Body(c.o, before)
		if err != nil || string(sent) != c.sent {
			t.Errorf("%s: this part gets %s, want %s: %v", c.name, sent, c.sent, err)
		}
		if c.o.Edit, err = tree.Difference(divided, []byte(`{"spec":{"replicas":3}}`), []byte(c.shows)); err != nil {
			t.Fatal(err)
		}
		d.Restate(c.o)
		if got := string(c.o.Edit.Set["/spec/replicas"]); got != c.edit {
			t.Errorf("%s: it sets %q, want %q", c.name, got, c.edit)
		}
	}
}

// TestWhatOnePartGets: each part is sent its share of what a request sets for all, and the caller is shown the whole.
func TestWhatOnePartGets(t *testing.T) {
	before := showing("5")
	for site, share := range map[SiteID]string{"a": "4", "b": "3"} {
		d := NewDivision(divided, crossAbout, site)
		for _, typ := range []engine.Type{engine.TypeCreate, engine.TypeReplace, engine.TypeMerge} {
			o := &Operation{Type: typ, Body: []byte(`{"spec":{"replicas":7}}`)}
			was := before
			if typ == engine.TypeCreate {
				was = Fold{}
			}
			var err error
			if o.Edit, err = EditOf(divided, typ, o.Body, was, nil); err != nil {
				t.Fatal(err)
			}
			sent, err := d.Body(o, was)
			if want := `{"spec":{"replicas":` + share + `}}`; err != nil || string(sent) != want {
				t.Errorf("%s gets %s of a %s, want %s: %v", site, sent, typ, want, err)
			}
			if got := string(d.Present(o, was, sent)); got != string(o.Body) {
				t.Errorf("the caller of a %s is shown %s", typ, got)
			}
			if mine, _ := d.Mine(o, was); string(mine.Edit.Set["/spec/replicas"]) != share || string(o.Edit.Set["/spec/replicas"]) != "7" {
				t.Errorf("a %s sets %s at %s, and %s for all", typ, mine.Edit.Set["/spec/replicas"], site, o.Edit.Set["/spec/replicas"])
			}
		}
	}
}

// TestAPutThatDoesNotMentionWhatIsDivided leaves it as it is.
func TestAPutThatDoesNotMentionWhatIsDivided(t *testing.T) {
	d := NewDivision(divided, crossAbout, "a")
	o := &Operation{Type: engine.TypeReplace, Body: []byte(`{"name":"n"}`)}
	d.Complete(o, showing("5"))
	if want := `{"name":"n","spec":{"replicas":5}}`; string(o.Body) != want {
		t.Errorf("it becomes %s", o.Body)
	}
}

// TestWhatOnePartCounted: a counter of the application's own is seen at one part, and stands for as much at each.
func TestWhatOnePartCounted(t *testing.T) {
	d := NewDivision(divided, crossAbout, "a")
	o := &Operation{Type: engine.TypeAction, Edit: &Edit{Add: map[Pointer]engine.Increment{"/spec/replicas": {By: "1", From: "3"}}}}
	d.Base(o, Fold{Exists: true})
	if got := o.Edit.Add["/spec/replicas"].From; got != "6" {
		t.Errorf("two parts began with %s", got)
	}
}

// TestWhatIsKeptOfAPart: what one part shows more than its share counts for the whole.
func TestWhatIsKeptOfAPart(t *testing.T) {
	d := NewDivision(divided, crossAbout, "a")
	root, err := tree.ParseJSON([]byte(`{"spec":{"replicas":5}}`)) // its share is 3
	if err != nil {
		t.Fatal(err)
	}
	if got := string(tree.Compact(d.Kept(root, showing("5")))); got != `{"spec":{"replicas":7}}` {
		t.Errorf("kept is %s", got)
	}
}

// TestTheWholeOfWhatAPartShows: a body of one part has the values of all, and nothing of a field that nobody has set.
func TestTheWholeOfWhatAPartShows(t *testing.T) {
	d := NewDivision(divided, crossAbout, "a") // its share of five is 3
	for name, c := range map[string]struct {
		cells map[Pointer]Cell
		want  string
	}{
		"as it is":       {showing("5").Cells, `{"name":"n","spec":{"replicas":5}}`},
		"nobody set it":  {nil, `{"name":"n","spec":{}}`},
		"one more there": {showing("4").Cells, `{"name":"n","spec":{"replicas":5}}`}, // of four its share is 2
	} {
		if got := string(d.Whole([]byte(`{"name":"n","spec":{"replicas":3}}`), c.cells)); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	var none *Division
	if got := string(none.Whole([]byte(`{"a":1}`), nil)); got != `{"a":1}` {
		t.Errorf("of what is replicated: %s", got)
	}
}

// TestNothingIsDivided where the resource is replicated, or the kind divides nothing.
func TestNothingIsDivided(t *testing.T) {
	o := &Operation{Type: engine.TypeReplace, Body: []byte(`{"spec":{"replicas":7}}`), Edit: set("/spec/replicas", "7")}
	for name, d := range map[string]*Division{"replicated": NewDivision(divided, about, "a"), "of a kind": NewDivision(lab, crossAbout, "a")} {
		sent, err := d.Body(o, showing("5"))
		d.Complete(o, showing("5"))
		d.Base(o, showing("5"))
		d.Restate(o)
		if d != nil || err != nil || string(sent) != `{"spec":{"replicas":7}}` || string(d.Share(showing("5")).Cells["/spec/replicas"].Value) != "5" {
			t.Errorf("%s: sent is %s, %v", name, sent, err)
		}
	}
	h := New(divided, crossAbout, "a")
	d := h.Division(Any)
	if !d.Divides(o) || d.Divides(&Operation{Type: engine.TypeMerge, Edit: set("/name", `"n"`)}) || historyOf(divided).Division(Any).Divides(o) {
		t.Error("it does not tell what divides")
	}
}

// TestSharesAfterPlacementChanges: the parts of a removed site go to the others, and it goes on holding what it held.
func TestSharesAfterPlacementChanges(t *testing.T) {
	place := op("a-2", engine.TypePlace, 2, nil, nil)
	place.Place = &engine.PlacementChange{Remove: sites("b")}
	for site, want := range map[SiteID]string{"a": "8", "b": "4"} {
		h := New(divided, crossAbout, site)
		h.Add(op("a-1", engine.TypeCreate, 1, nil, set("/spec/replicas", "8")))
		if got := string(h.Fold(Any).Cells["/spec/replicas"].Value); got != "4" {
			t.Errorf("%s shows %s of 8", site, got)
		}
		h.Add(place)
		if got := string(h.Fold(Any).Cells["/spec/replicas"].Value); got != want {
			t.Errorf("%s shows %s of 8 then, want %s", site, got, want)
		}
		if got := string(h.Whole(Any).Cells["/spec/replicas"].Value); got != "8" {
			t.Errorf("all parts show %s of 8", got)
		}
		if d := h.Division(Any, "c"); site == "a" && string(d.Share(showing("8")).Cells["/spec/replicas"].Value) != "4" {
			t.Error("a site that is to be added has no share")
		}
	}
}

// dividing states the parts of a resource, which lives at their sites and at no other of those that it names to be removed.
func dividing(id string, at int64, parts engine.Parts, remove ...SiteID) *Operation {
	o := placing(id, at, slices.Sorted(slices.Values(slices.Concat(parts...))), remove)
	o.Method, o.Place.Parts = engine.MethodDivide, parts
	return o
}

// TestDividedAnew: an operation divides a replicated resource, and another one makes it one again. What is set counts for the whole.
func TestDividedAnew(t *testing.T) {
	create := op("a-1", engine.TypeCreate, 1, nil, set("/spec/replicas", "5"))
	divide := dividing("a-2", 3, engine.Parts{{"b"}, {"a"}})
	for name, c := range map[string]struct {
		about engine.About
		ops   []*Operation
		want  string // at a, b and c
		sites string
	}{
		"replicated":                        {about, nil, "5 5 5", "[]"},
		"divided":                           {about, []*Operation{divide}, "2 3 5", "[[b] [a]]"},
		"changed at the other side":         {about, []*Operation{divide, op("b-1", engine.TypeMerge, 2, Vector{"a": 1}, set("/spec/replicas", "8"))}, "4 4 8", "[[b] [a]]"},
		"changed there later":               {about, []*Operation{divide, op("b-1", engine.TypeMerge, 4, Vector{"a": 1}, set("/spec/replicas", "8"))}, "4 4 8", "[[b] [a]]"},
		"a site more":                       {about, []*Operation{divide, placing("b-1", 2, sites("c"), nil)}, "2 2 1", "[[b] [a] [c]]"},
		"a site more, later":                {about, []*Operation{divide, placing("b-1", 4, sites("c"), nil)}, "2 2 1", "[[b] [a] [c]]"},
		"a site less":                       {about, []*Operation{divide, placing("b-1", 4, nil, sites("b"))}, "5 3 5", "[[a]]"},
		"a site less, and named again":      {about, []*Operation{placing("b-1", 2, nil, sites("b")), divide}, "2 3 5", "[[b] [a]]"},
		"divided at both sides":             {about, []*Operation{divide, dividing("b-1", 4, engine.Parts{{"a"}, {"b", "c"}})}, "3 2 2", "[[a] [b c]]"},
		"divided, and made one":             {about, []*Operation{divide, dividing("b-1", 4, engine.Parts{{"a", "b"}})}, "5 5 5", "[]"},
		"a cross resource made one":         {crossAbout, []*Operation{dividing("a-2", 3, engine.Parts{{"a", "b"}})}, "5 5 5", "[]"},
		"and a site more":                   {crossAbout, []*Operation{dividing("a-2", 3, engine.Parts{{"a", "b"}}), placing("b-1", 2, sites("c"), nil)}, "5 5 5", "[]"},
		"a cross resource made one at one":  {crossAbout, []*Operation{dividing("a-2", 3, engine.Parts{{"a"}}, "b")}, "5 2 5", "[]"},
		"a cross resource divided in a new": {crossAbout, []*Operation{divide}, "2 3 5", "[[b] [a]]"},
	} {
		about := c.about
		about.Placement = sites("a", "b")
		var shown []string
		for _, site := range sites("a", "b", "c") {
			h := New(divided, about, site)
			for _, o := range append([]*Operation{create}, c.ops...) {
				h.Add(o)
			}
			shown = append(shown, string(h.Fold(Any).Cells["/spec/replicas"].Value))
			if p := h.Placement(); fmt.Sprint(p.Parts) != c.sites || (p.Collaboration(about.Collaboration) == engine.Cross) != (p.Parts != nil) {
				t.Errorf("%s: %s says that its parts are %v, and it is %s", name, site, p.Parts, p.Collaboration(about.Collaboration))
			}
		}
		if got := strings.Join(shown, " "); got != c.want {
			t.Errorf("%s: the sites show %s, want %s", name, got, c.want)
		}
	}
}

// TestDivisionOfACheckpoint: what a checkpoint says of the parts goes on, and an agent that knows of no divisions does not take it.
func TestDivisionOfACheckpoint(t *testing.T) {
	for name, c := range map[string]struct {
		about engine.About
		parts engine.Parts
		want  string
	}{"divided": {about, engine.Parts{{"a"}, {"b"}}, "3"}, "made one": {crossAbout, engine.Parts{{"a", "b"}}, "5"}} {
		about := c.about
		about.Placement = sites("a", "b")
		h := New(divided, about, "a")
		h.Add(op("a-1", engine.TypeCreate, 1, nil, set("/spec/replicas", "5")))
		h.Add(dividing("a-2", 2, c.parts))
		h.Add(op("a-3", engine.TypeMerge, 3, nil, set("/name", `"n"`)))
		if !h.Compact(h.Complete(), none, nil) {
			t.Fatal("nothing is compacted")
		}
		var again Checkpoint
		var older struct {
			Placed *Placed `cbor:"13,keyasint"`
		}
		b := engine.Encode(h.Base())
		if err := errors.Join(engine.Decode(b, &again), engine.Decode(b, &older), again.Validate()); err != nil || older.Placed != nil {
			t.Errorf("%s: an older agent reads %v, %v", name, older.Placed, err)
		}
		if other := engine.Encode(&again); !bytes.Equal(other, b) {
			t.Errorf("%s: %x is encoded as %x", name, b, other)
		}
		next := New(divided, about, "a")
		next.Stand(&again)
		if got := string(next.Fold(Any).Cells["/spec/replicas"].Value); got != c.want || !next.Placement().Divided {
			t.Errorf("%s: it shows %s then, in %v", name, got, next.Placement())
		}
	}
}
