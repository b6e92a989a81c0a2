package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

// The words of the core, for tests to be read.
type (
	Operation   = engine.Operation
	OperationID = engine.OperationID
	Pointer     = engine.Pointer
	Edit        = engine.Edit
	Kind        = engine.Kind
	Vector      = engine.Vector
)

var lab = &Kind{Service: "images", Name: "image", Collection: "/images", Item: "/images/{id}",
	ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}}

// failer is what the desks need of a test; *testing.T and *rapid.T have it.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// desk is one site without anything around it: a history, what is settled, and an application that is a JSON value.
type desk struct {
	site    engine.SiteID
	kind    *Kind
	history *merge.History
	settled map[OperationID]bool
	void    map[OperationID]bool
	again   map[OperationID]bool
	late    map[OperationID]bool // actions that ran, and whose effect is to be corrected
	shows   any                  // nil: the application has no such resource
	files   map[string]string    // opaque bytes that it has, by path
	ran     map[OperationID]int  // how often it got each
	issued  uint64
	watch   func() // called before each step; nil: nobody is
}

func newDesk(site engine.SiteID) *desk { return deskOf(site, lab) }

func deskOf(site engine.SiteID, k *Kind) *desk {
	return &desk{
		site: site, kind: k, history: historyOf(k, site), settled: map[OperationID]bool{}, void: map[OperationID]bool{},
		again: map[OperationID]bool{}, late: map[OperationID]bool{}, files: map[string]string{},
		ran: map[OperationID]int{},
	}
}

func historyOf(k *Kind, site engine.SiteID, ops ...*Operation) *merge.History {
	h := merge.New(k, engine.About{Collaboration: engine.Replication, Placement: []engine.SiteID{"a", "b", "c", "d"}}, site)
	for _, o := range ops {
		h.Add(o)
	}
	return h
}

func (d *desk) standing() Standing {
	return Standing{
		Settled: func(o *Operation) bool { return d.settled[o.ID] && !d.again[o.ID] },
		Void:    func(o *Operation) bool { return d.void[o.ID] },
		Blocked: none,
		Gone:    d.shows == nil,
		Ran:     func(o *Operation) bool { return d.late[o.ID] },
		Alike:   func(a, b *Operation) bool { return a.Asker.Same(b.Asker) },
	}
}

func none(*Operation) bool { return false }

// issue runs a request here first and makes an operation of it, as a site does. Nil: the application would refuse it.
func (d *desk) issue(t failer, typ engine.Type, path, body string, clock int64) *Operation {
	t.Helper()
	d.catchUp(t)
	before := d.history.Whole(d.standing().Shown())
	if before.Exists == (typ == engine.TypeCreate) || (d.shows == nil) != (typ == engine.TypeCreate) {
		return nil
	}
	deleted := slices.ContainsFunc(d.history.Ordered(), func(o *Operation) bool { return o.Type == engine.TypeDelete })
	if typ == engine.TypeCreate && (deleted || d.history.Base() != nil) {
		return nil // the next incarnation has a document of its own
	}
	edit, err := merge.EditOf(d.kind, typ, []byte(body), before, func() ([]byte, error) { return tree.Compact(d.shows), nil })
	if err != nil {
		t.Fatal(err)
	}
	o := &Operation{ID: OperationID(fmt.Sprintf("%s-%d", d.site, d.issued)), Type: typ, Path: path, Body: []byte(body), Edit: edit,
		Line: engine.Line(d.site), Origin: d.site, Number: d.issued + 1, Time: clock, Seen: Vector{}, Asker: &engine.Asker{User: []string{"alice", "bob"}[d.issued%2]}}
	if typ == engine.TypeAction {
		o.Method = "POST"
	}
	for _, p := range d.history.Ordered() {
		if d.settled[p.ID] {
			o.Seen[p.Line] = max(o.Seen[p.Line], p.Number)
			o.Time = max(o.Time, p.Time+1)
		}
	}
	if b := d.history.Base(); b != nil { // everything that it stands for is settled here
		o.Seen.Join(b.Seen)
		o.Time = max(o.Time, b.Time+1)
	}
	delete(o.Seen, o.Line)
	d.issued++
	shown := tree.Compact(d.shows)
	d.send(t, o)
	Witness(d.kind, o, before, shown, tree.Compact(d.shows))
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	d.history.Add(o)
	d.settled[o.ID] = true
	return o
}

// send is the application's part: it does what a request asks for.
func (d *desk) send(t failer, o *Operation) {
	t.Helper()
	d.ran[o.ID]++
	var v any
	if o.Type == engine.TypeCreate && o.Edit.Empty() {
		v = map[string]any{}
	} else if len(o.Body) > 0 && o.Type != engine.TypeAbsolute && o.Type != engine.TypeAction {
		v = parsed(t, o.Body)
	}
	if exists := d.shows != nil; exists == (o.Type == engine.TypeCreate) && o.Type != engine.TypeDelete {
		t.Fatalf("%s: %s %s is sent to an application that shows %s", d.site, o.Type, o.ID, tree.Compact(d.shows))
	}
	switch o.Type {
	case engine.TypeCreate:
		v.(map[string]any)["made"] = "by the application"
		d.shows = v
	case engine.TypeReplace:
		v.(map[string]any)["made"] = d.shows.(map[string]any)["made"]
		d.shows = v
	case engine.TypeMerge:
		d.shows = mergePatch(d.shows, v)
	case engine.TypePatch:
		patch, err := jsonpatch.DecodePatch(o.Body)
		if err != nil {
			t.Fatal(err)
		}
		after, err := patch.Apply(tree.Compact(d.shows))
		if err != nil {
			t.Fatal(err)
		}
		d.shows = parsed(t, after)
	case engine.TypeAbsolute:
		d.files[o.Path] = string(o.Body)
	case engine.TypeAction:
		d.act(t, o)
	case engine.TypeDelete:
		d.vanish()
	}
}

func parsed(t failer, b []byte) any {
	t.Helper()
	v, err := tree.ParseJSON(b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// vanish takes the object from the application, also behind the agent's back.
func (d *desk) vanish() { d.shows, d.files = nil, map[string]string{} }

// act is what the application does when an action runs on it.
func (d *desk) act(t failer, o *Operation) {
	t.Helper()
	n := d.kind.Named(o.Method, o.Path, o.Body)
	if n == nil {
		return
	}
	for p, v := range n.Sets {
		d.shows = tree.SetAt(d.shows, p, v)
	}
	if n.Counter != "" {
		d.shows = tree.SetAt(d.shows, n.Counter, json.Number(fmt.Sprint(d.count(t, n.Counter)+13)))
	}
	d.shows = parsed(t, tree.Compact(d.shows))
}

func (d *desk) count(t failer, p Pointer) int64 {
	t.Helper()
	v, _ := tree.ValueAt(d.shows, p)
	number, ok := v.(json.Number)
	if !ok {
		return 0
	}
	n, err := number.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func mergePatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	o, ok := target.(map[string]any)
	if !ok {
		o = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(o, k)
		} else {
			o[k] = mergePatch(o[k], v)
		}
	}
	return o
}

// correct is the application's part: it takes a correction, as the request that Correction makes of what is left of it.
func (d *desk) correct(t failer, step Step) {
	t.Helper()
	if d.shows == nil {
		t.Fatalf("%s: a correction is sent to an application that has no such resource", d.site)
	}
	shown := engine.Reply{Status: 200, Body: tree.Compact(d.shows)}
	left := Left(d.kind, step, shown.Body)
	if left.Empty() {
		return
	}
	call, err := Correction(d.kind, tree.DefaultMergeType, left, shown, "1")
	if err != nil {
		t.Fatal(err)
	}
	if d.kind.MergePatch {
		d.shows = mergePatch(d.shows, parsed(t, call.Body))
		return
	}
	d.shows = parsed(t, call.Body)
}

// settleMixed does what a person does who is asked about a delete: sets the object right and says that it is done.
func (d *desk) settleMixed(t failer, o *Operation) {
	t.Helper()
	st := d.standing()
	e := st.Fold(d.history).Difference(d.history.Whole(st.Shown().Or(o)))
	d.correct(t, Step{Correction: e})
	for _, left := range Remains(d.history, st, o) {
		delete(d.files, left.Path)
	}
}

// catchUp does what Next says until nothing is left.
func (d *desk) catchUp(t failer) {
	t.Helper()
	for range 1000 {
		if d.watch != nil {
			d.watch()
		}
		step := Next(d.history, d.standing())
		if step.Kind == StepNothing {
			return
		}
		d.do(t, step)
	}
	t.Fatalf("%s: no end", d.site)
}

// do does one step, and notes what came of it as a site does.
func (d *desk) do(t failer, step Step) {
	t.Helper()
	d.rightful(t, step)
	switch step.Kind {
	case StepHold:
		if step.Reason != HoldMixed {
			t.Fatalf("%s: held at %s", d.site, step.Operations[0].ID)
		}
		d.settleMixed(t, step.Operations[0])
		step.Operations = step.Operations[:1]
	case StepSkip:
		d.void[step.Operations[0].ID] = true
	case StepMake:
		d.send(t, step.Make)
	case StepRun:
		d.send(t, step.Operations[0])
		if step.Late {
			d.late[step.Operations[0].ID] = true
			return
		}
	case StepCorrect:
		d.correct(t, step)
	}
	for _, o := range step.Again {
		d.again[o.ID] = true
		d.late[o.ID] = o.Type == engine.TypeAction
	}
	for _, o := range step.Operations {
		delete(d.late, o.ID)
		d.settled[o.ID] = true
		delete(d.again, o.ID)
		if step.Kind != StepSkip {
			delete(d.void, o.ID)
		}
	}
	for _, o := range step.Voided {
		d.void[o.ID] = true
	}
}

// rightful expects of a step that asks for something that one user has asked for all of it.
func (d *desk) rightful(t failer, step Step) {
	t.Helper()
	asks := step.Kind == StepRun || step.Kind == StepCorrect || step.Kind == StepMake
	for _, o := range step.Operations {
		if asks && (!o.Asker.Same(step.Operations[0].Asker) || step.Make != nil && !o.Asker.Same(step.Make.Asker)) {
			t.Fatalf("%s: one request does what several users have asked for: %s", d.site, ids(step.Operations))
		}
	}
}

// tree is what the application shows, with keyed arrays.
func (d *desk) tree(t failer) any {
	t.Helper()
	root, err := tree.Parse(d.kind, tree.Compact(d.shows))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// lawful checks the law: what was sent leaves the folded value at every path that the fold sets.
func (d *desk) lawful(t failer) {
	t.Helper()
	fold := d.history.Whole(merge.Any)
	if fold.Exists != (d.shows != nil) {
		t.Fatalf("%s: exists is %v in the fold, and the application shows %s", d.site, fold.Exists, tree.Compact(d.shows))
	}
	if !fold.Exists {
		return
	}
	root, shown := d.tree(t), fold.Paths()
	for p, c := range fold.Cells {
		got, ok := tree.ValueAt(root, p)
		switch {
		case c.Value == nil && ok && shown[p] == nil:
			t.Fatalf("%s: %s is removed in the fold, and the application shows %s", d.site, p, tree.Compact(got))
		case tree.IsContainer(c.Value):
			if !tree.Holds(c.Value, got) {
				t.Fatalf("%s: %s is %s in the fold, and the application shows %s", d.site, p, c.Value, tree.Compact(d.shows))
			}
		case c.Value != nil && (!ok || !bytes.Equal(tree.Compact(got), c.Value)):
			t.Fatalf("%s: %s is %s in the fold, and the application shows %s", d.site, p, c.Value, tree.Compact(d.shows))
		}
	}
	for p, tokens := range fold.Order() {
		if !tree.Arranged(root, p, tokens) {
			t.Fatalf("%s: the elements of %s are %q in the fold, and the application shows %s", d.site, p, tokens, tree.Compact(d.shows))
		}
	}
	for path, o := range fold.Absolute {
		if want := string(o.Body); d.files[path] != want {
			t.Fatalf("%s: %s is %q in the fold, and the application has %q", d.site, path, want, d.files[path])
		}
	}
}

// sameEverywhere checks that all desks show the same.
func sameEverywhere(t failer, desks []*desk) {
	t.Helper()
	form := func(d *desk) []byte {
		if d.shows == nil {
			return nil
		}
		form, ok := tree.Comparable(d.kind, tree.Compact(d.shows))
		if !ok {
			t.Fatalf("%s shows no JSON", d.site)
		}
		return form
	}
	for _, d := range desks[1:] {
		if a, b := form(desks[0]), form(d); !bytes.Equal(a, b) {
			t.Fatalf("%s shows %s, %s shows %s", desks[0].site, a, d.site, b)
		}
	}
}

func set(p Pointer, v string) *Edit {
	return &Edit{Set: map[Pointer]json.RawMessage{p: json.RawMessage(v)}}
}

func ids(ops []*Operation) (list []OperationID) {
	for _, o := range ops {
		list = append(list, o.ID)
	}
	return list
}

// hears has a desk take in operations and do what follows.
func (d *desk) hears(t failer, ops ...*Operation) {
	t.Helper()
	for _, o := range ops {
		if o != nil {
			d.history.Add(o)
		}
	}
	d.catchUp(t)
}
