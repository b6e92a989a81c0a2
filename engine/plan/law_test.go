package plan

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

type request struct {
	typ        engine.Type
	path, body string
}

var requests = []request{
	{engine.TypeCreate, "/images", `{"name":"a","size":1}`},
	{engine.TypeCreate, "/images", `{"name":"b","tags":["x"],"deep":{"er":1}}`},
	{engine.TypeReplace, "/images/{id}", `{"name":"c","size":2}`},
	{engine.TypeReplace, "/images/{id}", `{"name":"a","deep":{"er":2,"still":{"more":true}}}`},
	{engine.TypeMerge, "/images/{id}", `{"size":3,"name":null}`},
	{engine.TypeMerge, "/images/{id}", `{"deep":{"er":null,"est":4}}`},
	{engine.TypeMerge, "/images/{id}", `{"deep":"flat"}`},
	{engine.TypeAbsolute, "/images/{id}/file", "opaque bytes of "},
	{engine.TypeAction, "/images/{id}/start", ""},
	{engine.TypeDelete, "/images/{id}", ""},
	{engine.TypeReplace, "/images/{id}", `{"name":"c","deep":{}}`},
}

// issueAny has a desk issue one of some requests.
func (d *desk) issueAny(t *rapid.T, requests []request, n int) *Operation {
	r := rapid.SampledFrom(requests).Draw(t, "request")
	body := r.body
	if r.typ == engine.TypeAbsolute {
		body += fmt.Sprint(n)
	}
	return d.issue(t, r.typ, r.path, body, rapid.Int64Range(0, 20).Draw(t, "clock"))
}

// TestInvariantConvergence issues random requests at several sites, delivers the operations in any order, also while sites go
// on, and expects every site to show the fold, the same one, and every action to have run at most once.
func TestInvariantConvergence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		desks := make([]*desk, rapid.IntRange(2, 4).Draw(t, "sites"))
		for i := range desks {
			desks[i] = newDesk(engine.SiteID(rune('a' + i)))
		}
		var all []*Operation
		for n := range rapid.IntRange(1, 14).Draw(t, "steps") {
			d := rapid.SampledFrom(desks).Draw(t, "site")
			if rapid.Bool().Draw(t, "deliver") && len(all) > 0 {
				d.history.Add(rapid.SampledFrom(all).Draw(t, "operation"))
				if rapid.Bool().Draw(t, "apply") {
					d.catchUp(t)
				}
				continue
			}
			if o := d.issueAny(t, requests, n); o != nil {
				all = append(all, o)
			}
		}
		for _, d := range desks {
			for _, o := range rapid.Permutation(all).Draw(t, "order") {
				d.history.Add(o)
				if rapid.Bool().Draw(t, "apply") {
					d.catchUp(t)
				}
			}
			d.catchUp(t)
			d.lawful(t)
			d.sentOnce(t, all)
		}
		sameEverywhere(t, desks)
	})
}

// sentOnce checks that nothing was sent more often than it may be.
func (d *desk) sentOnce(t failer, all []*Operation) {
	t.Helper()
	deletes := 0
	for _, o := range all {
		if o.Type == engine.TypeDelete {
			deletes += d.ran[o.ID]
		}
	}
	for _, o := range all {
		most := 1
		if o.Type == engine.TypeCreate { // an object that has bytes of one which is deleted goes, and is made anew
			most += deletes
		}
		if d.ran[o.ID] > most && o.Type != engine.TypeAbsolute { // bytes are put again where they count again
			t.Fatalf("%s: %s %s was sent %d times", d.site, o.Type, o.ID, d.ran[o.ID])
		}
	}
}

// TestEveryInterleaving delivers small histories to a fresh site in every order.
func TestEveryInterleaving(t *testing.T) {
	a, b := newDesk("a"), newDesk("b")
	create := a.issue(t, engine.TypeCreate, "/images", `{"name":"n","size":1,"deep":{"x":1}}`, 1)
	b.hears(t, create)
	all := []*Operation{
		create,
		a.issue(t, engine.TypeReplace, "/images/{id}", `{"name":"put","size":1}`, 2),
		b.issue(t, engine.TypeMerge, "/images/{id}", `{"size":2}`, 3),
		a.issue(t, engine.TypeMerge, "/images/{id}", `{"deep":{"y":5}}`, 4),
		b.issue(t, engine.TypeAction, "/images/{id}/start", "", 5),
	}
	count := 0
	permute(all, func(order []*Operation) {
		count++
		c := newDesk("c")
		for _, o := range order {
			c.hears(t, o)
		}
		c.lawful(t)
		if c.ran[all[4].ID] != 1 {
			t.Errorf("the action ran %d times", c.ran[all[4].ID])
		}
	})
	if count != 120 {
		t.Fatalf("%d orders", count)
	}
}

func permute(ops []*Operation, visit func([]*Operation)) {
	if len(ops) == 0 {
		visit(nil)
		return
	}
	for i := range ops {
		rest := slices.Delete(slices.Clone(ops), i, i+1)
		permute(rest, func(o []*Operation) { visit(append([]*Operation{ops[i]}, o...)) })
	}
}

func TestBothFieldChangesSurviveACut(t *testing.T) {
	a, b := newDesk("a"), newDesk("b")
	b.hears(t, a.issue(t, engine.TypeCreate, "/images", `{"name":"debian","size":1,"status":"new"}`, 1))
	put := a.issue(t, engine.TypeReplace, "/images/{id}", `{"name":"debian 12","size":1,"status":"new"}`, 2)
	a.hears(t, b.issue(t, engine.TypeMerge, "/images/{id}", `{"status":"active"}`, 2))
	b.hears(t, put)
	for _, d := range []*desk{a, b} {
		d.lawful(t)
		want := `{"made":"by the application","name":"debian 12","size":1,"status":"active"}`
		if got := string(tree.Compact(d.shows)); got != want {
			t.Errorf("%s shows %s, want %s", d.site, got, want)
		}
	}
}

func TestALaterValueSupersedesAndTheLostOneIsKept(t *testing.T) {
	a, b := newDesk("a"), newDesk("b")
	b.hears(t, a.issue(t, engine.TypeCreate, "/images", `{"name":"n"}`, 1))
	x := a.issue(t, engine.TypeMerge, "/images/{id}", `{"name":"x"}`, 2)
	y := b.issue(t, engine.TypeMerge, "/images/{id}", `{"name":"y"}`, 3)
	a.hears(t, y)
	b.hears(t, x)
	for _, d := range []*desk{a, b} {
		f := d.history.Whole(merge.Any)
		if got := string(f.Cells["/name"].Value); got != `"y"` {
			t.Errorf("%s: the name is %s", d.site, got)
		}
		if len(f.Superseded) != 1 || string(f.Superseded[0].Value) != `"x"` || f.Superseded[0].By != x.ID || f.Superseded[0].Over != y.ID {
			t.Errorf("%s: superseded %+v", d.site, f.Superseded)
		}
	}
}

func TestADeleteNeverDiscardsACreateItDidNotSee(t *testing.T) {
	a, b := newDesk("a"), newDesk("b")
	first := a.issue(t, engine.TypeCreate, "/images", `{"name":"first"}`, 1)
	second := b.issue(t, engine.TypeCreate, "/images", `{"name":"second","size":1}`, 2)
	gone := a.issue(t, engine.TypeDelete, "/images/{id}", "", 3)
	for _, d := range []*desk{a, b} {
		d.hears(t, first, second, gone)
		d.lawful(t)
		if d.shows == nil || d.shows.(map[string]any)["name"] != "second" {
			t.Errorf("%s shows %s", d.site, tree.Compact(d.shows))
		}
	}
}

// TestAnActionIsDoneOnAnObjectThatIsGone has a person say that an action has been done whose object has vanished meanwhile: the
// object is made anew, and what the action has set is set on it.
func TestAnActionIsDoneOnAnObjectThatIsGone(t *testing.T) {
	d := deskOf("a", kinds()["default"])
	d.issue(t, engine.TypeCreate, "/images", `{"name":"n"}`, 1)
	start := d.issue(t, engine.TypeAction, "/images/{id}/start", "", 2)
	st := d.standing()
	st.Gone, st.Settled = true, func(o *Operation) bool { return o != start }
	if !Leaves(d.history, st, start) {
		t.Error("the action leaves nothing to be done")
	}
	st.Ran = func(o *Operation) bool { return o == start }
	if step := Next(d.history, st); step.Kind != StepMake {
		t.Errorf("next is %s", step.Kind)
	}
	st.Gone = false
	if step := Next(d.history, st); step.Kind != StepCorrect || string(step.Correction.Set["/power"]) != `"on"` {
		t.Errorf("after that it is %s, of %+v", step.Kind, step.Correction)
	}
}

// TestNothingIsPutOverWhatCame lets content have been copied that ends with large bytes. Earlier ones that are heard of before
// these are settled are not put over them.
func TestNothingIsPutOverWhatCame(t *testing.T) {
	create := &Operation{ID: "c", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: set(`/name`, `"n"`)}
	small := &Operation{ID: "s", Type: engine.TypeAbsolute, Line: "b", Origin: "b", Number: 1, Time: 2, Path: "/file", Seen: Vector{"a": 1}}
	large := &Operation{ID: "l", Type: engine.TypeAbsolute, Line: "a", Origin: "a", Number: 2, Time: 3, Path: "/file", Blob: &engine.BlobRef{}}
	h := historyOf(lab, "c", create, small, large)
	step := Next(h, Standing{Settled: merge.Among([]*Operation{create}), Void: none, Blocked: none, Carried: merge.Among([]*Operation{large})})
	if h.Held() > 0 || step.Kind != StepSkip || step.Operations[0] != small {
		t.Errorf("the next step is to %s %v, want to skip the small one", step.Kind, ids(step.Operations))
	}
}

// TestBytesThatCountInTheEndArePutAgain has bytes put over others, and both lose their effect to what is heard of. What takes
// that away gives it back to both, but something else that is known is concurrent with the later ones: the earlier ones count,
// and are put again.
func TestBytesThatCountInTheEndArePutAgain(t *testing.T) {
	h := historyOf(kinds()["all one"], "x")
	op := func(id OperationID, typ engine.Type, number uint64, time int64, seen Vector) *Operation {
		o := &Operation{ID: id, Type: typ, Path: "/images/{id}", Line: engine.Line(id[:1]), Origin: engine.SiteID(id[:1]), Number: number, Time: time, Seen: seen, Body: []byte(`{}`)}
		if typ == engine.TypeAbsolute {
			o.Path = "/images/{id}/file"
		} else if typ != engine.TypeDelete {
			o.Edit = set("/name", `"`+string(id)+`"`)
		}
		h.Add(o)
		return o
	}
	made := op("c-0", engine.TypeCreate, 1, 0, nil)
	first, put, second := op("c-1", engine.TypeAbsolute, 2, 8, nil), op("c-2", engine.TypeReplace, 3, 9, nil), op("c-3", engine.TypeAbsolute, 4, 10, nil)
	beside, above := op("a-0", engine.TypeCreate, 1, 17, nil), op("a-1", engine.TypeMerge, 2, 18, nil)
	deleted := op("a-2", engine.TypeDelete, 3, 20, nil)
	op("b-0", engine.TypeAction, 1, 20, Vector{"c": 3})
	st := Standing{Settled: merge.Among([]*Operation{made, first, put, second, beside, above}), Void: none, Blocked: none}
	step := Next(h, st)
	if len(step.Operations) == 0 || step.Operations[0] != deleted || !slices.Equal(step.Again, []*Operation{first}) {
		t.Errorf("the next step is to %s %v and to put %v again, want %s again", step.Kind, ids(step.Operations), ids(step.Again), first.ID)
	}
}

// TestAnActionWithoutAnswerEndsWithItsObject has an action run without an answer on an object that is then deleted, while
// another site has created one of that name. The action is settled before the new object is made, which waits for open requests.
func TestAnActionWithoutAnswerEndsWithItsObject(t *testing.T) {
	saw := Vector{"a": 1}
	made := &Operation{ID: "a-1", Type: engine.TypeCreate, Path: "/images", Body: []byte(`{}`), Line: "a", Origin: "a", Number: 1, Time: 1, Edit: &Edit{}}
	deleted := &Operation{ID: "b-1", Type: engine.TypeDelete, Path: "/images/{id}", Line: "b", Origin: "b", Number: 1, Time: 2, Seen: saw}
	other := &Operation{ID: "c-1", Type: engine.TypeCreate, Path: "/images", Body: []byte(`{}`), Line: "c", Origin: "c", Number: 1, Time: 3, Edit: &Edit{}}
	action := &Operation{ID: "d-1", Type: engine.TypeAction, Method: "POST", Path: "/images/{id}/start", Line: "d", Origin: "d", Number: 1, Time: 4, Seen: saw}
	h := historyOf(kinds()["default"], "x", made, deleted, other, action)
	st := Standing{Settled: merge.Among([]*Operation{made, deleted}), Void: none, Blocked: none, Doubtful: merge.Among([]*Operation{action}), Gone: true}
	if step := Next(h, st); step.Kind != StepSkip || step.Operations[0] != action {
		t.Errorf("first comes %s of %v", step.Kind, ids(step.Operations))
	}
	st.Settled, st.Void = merge.Among([]*Operation{made, deleted, action}), merge.Among([]*Operation{action})
	if step := Next(h, st); step.Kind != StepRun || step.Operations[0] != other {
		t.Errorf("then comes %s of %v", step.Kind, ids(step.Operations))
	}
}

// TestAPlacementChangesShares has a third part added: what is divided is divided again when the placement change is settled.
func TestAPlacementChangesShares(t *testing.T) {
	k := *lab
	k.Divide = []Pointer{"/n"}
	about := engine.About{Collaboration: engine.Cross, Placement: []engine.SiteID{"a", "b"}, Parts: engine.Parts{{"a"}, {"b"}}}
	h := merge.New(&k, about, "a")
	create := &Operation{ID: "c", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Body: []byte(`{"n":12}`), Edit: set("/n", "12")}
	place := &Operation{ID: "p", Type: engine.TypePlace, Line: "a", Origin: "a", Number: 2, Time: 2, Place: &engine.PlacementChange{Add: []engine.SiteID{"c"}}}
	h.Add(create)
	st := Standing{Settled: merge.Among([]*Operation{create}), Void: none, Blocked: none}
	if got := string(st.Fold(h).Cells["/n"].Value); got != "6" {
		t.Errorf("one of two parts shows %s of 12", got)
	}
	h.Add(place)
	step := Next(h, st)
	if step.Kind != StepCorrect || string(step.Correction.Set["/n"]) != "4" || step.Operations[0] != place {
		t.Errorf("the next step is to %s %+v", step.Kind, step.Correction)
	}
	if got := string(st.Whole(h).Cells["/n"].Value); got != "12" {
		t.Errorf("all parts together show %s of 12", got)
	}
}
