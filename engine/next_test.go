package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type request struct {
	typ        Type
	path, body string
}

var requests = []request{
	{TypeCreate, "/images", `{"name":"a","size":1}`},
	{TypeCreate, "/images", `{"name":"b","tags":["x"],"deep":{"er":1}}`},
	{TypeReplace, "/images/{id}", `{"name":"c","size":2}`},
	{TypeReplace, "/images/{id}", `{"name":"a","deep":{"er":2,"still":{"more":true}}}`},
	{TypeMerge, "/images/{id}", `{"size":3,"name":null}`},
	{TypeMerge, "/images/{id}", `{"deep":{"er":null,"est":4}}`},
	{TypeMerge, "/images/{id}", `{"deep":"flat"}`},
	{TypeAbsolute, "/images/{id}/file", "opaque bytes of "},
	{TypeAction, "/images/{id}/start", ""},
	{TypeDelete, "/images/{id}", ""},
	{TypeReplace, "/images/{id}", `{"name":"c","deep":{}}`},
}

// TestInvariantConvergence issues random requests at several sites, delivers the operations in any order, also while
// sites go on, and expects every site to show the fold, the same one, and every action to have run at most once.
func TestInvariantConvergence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sites := rapid.IntRange(2, 4).Draw(t, "sites")
		desks := make([]*desk, sites)
		for i := range desks {
			desks[i] = newDesk(SiteID(rune('a' + i)))
		}
		var all []*Operation
		heard := make([]map[OperationID]bool, sites)
		for i := range heard {
			heard[i] = map[OperationID]bool{}
		}
		for n := range rapid.IntRange(1, 14).Draw(t, "steps") {
			i := rapid.IntRange(0, sites-1).Draw(t, "site")
			if rapid.Bool().Draw(t, "deliver") && len(all) > 0 {
				o := rapid.SampledFrom(all).Draw(t, "operation")
				desks[i].history.Add(o)
				if rapid.Bool().Draw(t, "apply") {
					desks[i].catchUp(t)
				}
				continue
			}
			r := rapid.SampledFrom(requests).Draw(t, "request")
			body := r.body
			if r.typ == TypeAbsolute {
				body += fmt.Sprint(n)
			}
			clock := rapid.Int64Range(0, 20).Draw(t, "clock")
			if o := desks[i].issue(t, r.typ, r.path, body, clock); o != nil {
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
			deletes := 0
			for _, o := range all {
				if o.Type == TypeDelete {
					deletes += d.ran[o.ID]
				}
			}
			for _, o := range all {
				most := 1
				if o.Type == TypeCreate { // an object that has bytes of one which is deleted goes, and is made anew
					most += deletes
				}
				if d.ran[o.ID] > most && o.Type != TypeAbsolute { // bytes are put again where they count again
					t.Fatalf("%s: %s %s was sent %d times", d.site, o.Type, o.ID, d.ran[o.ID])
				}
			}
		}
		for _, d := range desks[1:] {
			if a, b := compact(desks[0].shows), compact(d.shows); !bytes.Equal(a, b) {
				t.Fatalf("%s shows %s, %s shows %s", desks[0].site, a, d.site, b)
			}
		}
	})
}

// failer is what the desks need of a test; *testing.T and *rapid.T have it.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// TestEveryInterleaving delivers small histories to a fresh site in every order.
func TestEveryInterleaving(t *testing.T) {
	a, b := newDesk("a"), newDesk("b")
	create := a.issue(t, TypeCreate, "/images", `{"name":"n","size":1,"deep":{"x":1}}`, 1)
	b.history.Add(create)
	b.catchUp(t)
	all := []*Operation{
		create,
		a.issue(t, TypeReplace, "/images/{id}", `{"name":"put","size":1}`, 2),
		b.issue(t, TypeMerge, "/images/{id}", `{"size":2}`, 3),
		a.issue(t, TypeMerge, "/images/{id}", `{"deep":{"y":5}}`, 4),
		b.issue(t, TypeAction, "/images/{id}/start", "", 5),
	}
	count := 0
	permute(all, func(order []*Operation) {
		count++
		c := newDesk("c")
		for _, o := range order {
			c.history.Add(o)
			c.catchUp(t)
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
	create := a.issue(t, TypeCreate, "/images", `{"name":"debian","size":1,"status":"new"}`, 1)
	b.history.Add(create)
	b.catchUp(t)
	put := a.issue(t, TypeReplace, "/images/{id}", `{"name":"debian 12","size":1,"status":"new"}`, 2)
	patch := b.issue(t, TypeMerge, "/images/{id}", `{"status":"active"}`, 2)
	a.history.Add(patch)
	b.history.Add(put)
	for _, d := range []*desk{a, b} {
		d.catchUp(t)
		d.lawful(t)
		want := `{"made":"by the application","name":"debian 12","size":1,"status":"active"}`
		if got := string(compact(d.shows)); got != want {
			t.Errorf("%s shows %s, want %s", d.site, got, want)
		}
	}
}

func TestALaterValueSupersedesAndTheLostOneIsKept(t *testing.T) {
	a, b := newDesk("a"), newDesk("b")
	create := a.issue(t, TypeCreate, "/images", `{"name":"n"}`, 1)
	b.history.Add(create)
	b.catchUp(t)
	x := a.issue(t, TypeMerge, "/images/{id}", `{"name":"x"}`, 2)
	y := b.issue(t, TypeMerge, "/images/{id}", `{"name":"y"}`, 3)
	a.history.Add(y)
	b.history.Add(x)
	for _, d := range []*desk{a, b} {
		d.catchUp(t)
		f := FoldOf(d.history, func(*Operation) bool { return true })
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
	first := a.issue(t, TypeCreate, "/images", `{"name":"first"}`, 1)
	second := b.issue(t, TypeCreate, "/images", `{"name":"second","size":1}`, 2)
	gone := a.issue(t, TypeDelete, "/images/{id}", "", 3)
	for _, o := range []*Operation{first, second, gone} {
		a.history.Add(o)
		b.history.Add(o)
	}
	for _, d := range []*desk{a, b} {
		d.catchUp(t)
		d.lawful(t)
		if d.shows == nil || d.shows.(map[string]any)["name"] != "second" {
			t.Errorf("%s shows %s", d.site, compact(d.shows))
		}
	}
}

func TestChangesOfJSONPatch(t *testing.T) {
	fold := Fold{Cells: map[Pointer]Cell{"/name": {Value: json.RawMessage(`"n"`)}, "/tags": {Value: json.RawMessage(`["a"]`)}}}
	c, err := ChangeOf(lab, TypePatch, []byte(`[{"op":"add","path":"/tags/-","value":"b"},{"op":"remove","path":"/name"}]`), fold, nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(c.Set["/tags"]) != `["a","b"]` || !slices.Equal(c.Unset, []Pointer{"/name"}) {
		t.Errorf("got %+v", c)
	}
	// What no client has set is read from the application.
	shown := func() ([]byte, error) { return []byte(`{"name":"n","tags":["a"],"count":5}`), nil }
	c, err = ChangeOf(lab, TypePatch, []byte(`[{"op":"replace","path":"/count","value":6}]`), fold, shown)
	if err != nil || string(c.Set["/count"]) != "6" || len(c.Set) != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err := ChangeOf(lab, TypePatch, []byte(`[{"op":"replace","path":"/none","value":6}]`), fold, shown); err == nil {
		t.Error("a patch of a path that is nowhere is accepted")
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		typ    Type
		status int
		err    error
		want   verdict
	}{
		{TypeCreate, 201, nil, verdictDone},
		{TypeDelete, 404, nil, verdictDone},
		{TypeDelete, 410, nil, verdictDone},
		{TypeMerge, 404, nil, verdictRefused},
		{TypeMerge, 409, nil, verdictConflict},
		{TypeMerge, 412, nil, verdictConflict},
		{TypeMerge, 422, nil, verdictRefused},
		{TypeMerge, 401, nil, verdictDenied},
		{TypeMerge, 429, nil, verdictLater},
		{TypeMerge, 503, nil, verdictLater},
		{TypeMerge, 500, nil, verdictUnknown},
		{TypeMerge, 504, nil, verdictUnknown},
		{TypeMerge, 0, ErrUnreachable, verdictUnsent},
		{TypeMerge, 0, http.ErrHandlerTimeout, verdictUnknown},
	} {
		if got := judge(c.typ, Reply{Status: c.status}, c.err); got != c.want {
			t.Errorf("%s %d %v: verdict %d, want %d", c.typ, c.status, c.err, got, c.want)
		}
	}
}

// TestAnActionIsDoneOnAnObjectThatIsGone has a person say that an action has been done whose object has vanished meanwhile: the object
// is made anew, and what the action has set is set on it.
func TestAnActionIsDoneOnAnObjectThatIsGone(t *testing.T) {
	d := deskOf("a", kinds()["default"])
	d.issue(t, TypeCreate, "/images", `{"name":"n"}`, 1)
	start := d.issue(t, TypeAction, "/images/{id}/start", "", 2)
	st := d.standing()
	st.Gone, st.Settled = true, func(o *Operation) bool { return o != start }
	if !d.history.leaves(st, start) {
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

// TestNothingIsPutOverWhatCame lets content have been copied that ends with large bytes. Earlier ones that are heard of before these
// are settled are not put over them.
func TestNothingIsPutOverWhatCame(t *testing.T) {
	create := &Operation{ID: "c", Type: TypeCreate, Origin: "a", Seq: 1, Time: 1, Seen: map[Line]uint64{}, Change: set(`/name`, `"n"`)}
	small := &Operation{ID: "s", Type: TypeAbsolute, Origin: "b", Seq: 1, Time: 2, Path: "/file", Seen: map[Line]uint64{create.Line(): 1}}
	large := &Operation{ID: "l", Type: TypeAbsolute, Origin: "a", Seq: 2, Time: 3, Path: "/file", Seen: map[Line]uint64{}, Blob: &BlobRef{}}
	h := HistoryOf(lab)
	for _, o := range []*Operation{create, small, large} {
		h.Add(o)
	}
	step := Next(h, Standing{
		Settled: func(o *Operation) bool { return o == create },
		Void:    func(*Operation) bool { return false },
		Blocked: func(*Operation) bool { return false },
		Carried: func(o *Operation) bool { return o == large },
	})
	if h.Held() > 0 || step.Kind != StepSkip || step.Operations[0] != small {
		t.Errorf("the next step is to %s %v, want to skip the small one", step.Kind, step.Operations)
	}
}

// TestBytesThatCountInTheEndArePutAgain has bytes put over others, and both lose their effect to what is heard of. What takes that away gives
// it back to both, but something else that is known is concurrent with the later ones: the earlier ones count, and are put again.
func TestBytesThatCountInTheEndArePutAgain(t *testing.T) {
	h := HistoryOf(kinds()["all one"])
	op := func(id OperationID, origin SiteID, typ Type, seq uint64, time int64, seen map[Line]uint64) *Operation {
		o := &Operation{ID: id, Type: typ, Path: "/images/{id}", Origin: origin, Seq: seq, Time: time, Seen: seen, Body: []byte(`{}`)}
		if typ == TypeAbsolute {
			o.Path = "/images/{id}/file"
		} else if typ != TypeDelete {
			o.Change = set("/name", `"`+string(id)+`"`)
		}
		h.Add(o)
		return o
	}
	made := op("c-0", "c", TypeCreate, 1, 0, nil)
	first, put, second := op("c-1", "c", TypeAbsolute, 2, 8, nil), op("c-2", "c", TypeReplace, 3, 9, nil), op("c-3", "c", TypeAbsolute, 4, 10, nil)
	beside, above := op("a-0", "a", TypeCreate, 1, 17, nil), op("a-1", "a", TypeMerge, 2, 18, nil)
	deleted := op("a-2", "a", TypeDelete, 3, 20, nil)
	op("b-0", "b", TypeAction, 1, 20, map[Line]uint64{made.Line(): 3})
	st := Standing{
		Settled: among([]*Operation{made, first, put, second, beside, above}),
		Void:    func(*Operation) bool { return false },
		Blocked: func(*Operation) bool { return false },
	}
	step := Next(h, st)
	if len(step.Operations) == 0 || step.Operations[0] != deleted || !slices.Equal(step.Again, []*Operation{first}) {
		t.Errorf("the next step is to %s %v and to put %v again, want %s again", step.Kind, idsOf(step.Operations), idsOf(step.Again), first.ID)
	}
}

// TestAnActionWithoutAnswerEndsWithItsObject has an action run without an answer on an object that is then deleted, while another site has
// created one of that name. The action is settled before the new object is made, which waits for open requests.
func TestAnActionWithoutAnswerEndsWithItsObject(t *testing.T) {
	h := HistoryOf(kinds()["default"])
	made := &Operation{ID: "a-1", Type: TypeCreate, Path: "/images", Body: []byte(`{}`), Origin: "a", Seq: 1, Time: 1, Change: &Change{}}
	saw := map[Line]uint64{made.Line(): 1}
	deleted := &Operation{ID: "b-1", Type: TypeDelete, Path: "/images/{id}", Origin: "b", Seq: 1, Time: 2, Seen: saw}
	other := &Operation{ID: "c-1", Type: TypeCreate, Path: "/images", Body: []byte(`{}`), Origin: "c", Seq: 1, Time: 3, Change: &Change{}}
	action := &Operation{ID: "d-1", Type: TypeAction, Method: "POST", Path: "/images/{id}/start", Origin: "d", Seq: 1, Time: 4, Seen: saw}
	for _, o := range []*Operation{made, deleted, other, action} {
		h.Add(o)
	}
	standing := Standing{
		Settled:  among([]*Operation{made, deleted}),
		Void:     func(*Operation) bool { return false },
		Blocked:  func(*Operation) bool { return false },
		Doubtful: among([]*Operation{action}),
		Gone:     true,
	}
	if step := Next(h, standing); step.Kind != StepSkip || step.Operations[0] != action {
		t.Errorf("first comes %s of %s", step.Kind, step.Operations[0].ID)
	}
	standing.Settled = among([]*Operation{made, deleted, action})
	standing.Void = among([]*Operation{action})
	if step := Next(h, standing); step.Kind != StepRun || step.Operations[0] != other {
		t.Errorf("then comes %s of %v", step.Kind, step.Operations)
	}
}
