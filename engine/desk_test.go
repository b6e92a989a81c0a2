package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

var lab = &Kind{Service: "images", Name: "image", Collection: "/images", Item: "/images/{id}", ID: IDRule{From: IDFromBody, At: "/id"}}

// desk is one site without anything around it: a history, what is settled, and an application that is a JSON value.
type desk struct {
	site    SiteID
	history *History
	settled map[OperationID]bool
	void    map[OperationID]bool
	shows   any // nil: the application has no such resource
	again   map[OperationID]bool
	late    map[OperationID]bool // actions that ran, and whose effect is to be corrected
	facts   map[Fact]bool        // those that are executed
	kind    *Kind
	files   map[string]string
	ran     map[OperationID]int
	seq     uint64
	watch   func() // called before each step; nil: nobody is
}

func newDesk(site SiteID) *desk { return deskOf(site, lab) }

func deskOf(site SiteID, k *Kind) *desk {
	h := HistoryOf(k)
	h.folded.step = 1 // so that each fold is made from one before
	return &desk{site: site, history: h, kind: k, late: map[OperationID]bool{}, facts: map[Fact]bool{}, settled: map[OperationID]bool{}, void: map[OperationID]bool{},
		files: map[string]string{}, ran: map[OperationID]int{}, again: map[OperationID]bool{}}
}

func (d *desk) standing() Standing {
	return Standing{
		Settled:  func(o *Operation) bool { return d.settled[o.ID] && !d.again[o.ID] },
		Void:     func(o *Operation) bool { return d.void[o.ID] },
		Blocked:  func(*Operation) bool { return false },
		Gone:     d.shows == nil,
		Ran:      func(o *Operation) bool { return d.late[o.ID] },
		Executed: func(f Fact) bool { return d.facts[f] },
	}
}

// issue runs a request here first and makes an operation of it, as a site does.
func (d *desk) issue(t failer, typ Type, path, body string, clock int64) *Operation {
	t.Helper()
	d.catchUp(t)
	before := FoldOf(d.history, d.standing().shows)
	if before.Exists == (typ == TypeCreate) || (d.shows == nil) != (typ == TypeCreate) {
		return nil // the application would refuse it
	}
	deleted := slices.ContainsFunc(d.history.Ordered(), func(o *Operation) bool { return o.Type == TypeDelete })
	if typ == TypeCreate && (deleted || d.history.base != nil) {
		return nil // the next incarnation has a document of its own
	}
	change, err := ChangeOf(d.kind, typ, []byte(body), before, func() ([]byte, error) { return compact(d.shows), nil })
	if err != nil {
		t.Fatal(err)
	}
	method := ""
	if typ == TypeAction {
		method = "POST"
	}
	o := &Operation{ID: OperationID(fmt.Sprintf("%s-%d", d.site, d.seq)), Type: typ, Path: path, Body: []byte(body), Change: change,
		Origin: d.site, Seq: d.seq + 1, Time: clock, Seen: map[Line]uint64{}}
	for _, p := range d.history.Ordered() {
		if d.settled[p.ID] {
			o.Seen[p.Line()] = max(o.Seen[p.Line()], p.Seq)
			o.Time = max(o.Time, p.Time+1)
		}
	}
	if b := d.history.base; b != nil { // everything that it stands for is settled here
		for name, n := range b.Seen {
			o.Seen[name] = max(o.Seen[name], n)
		}
		o.Time = max(o.Time, b.Time+1)
	}
	delete(o.Seen, o.Line())
	d.seq++
	o.Method = method
	if n := d.kind.named(o.Method, o.Path); n != nil {
		o.Name = n.Name
	}
	shown := compact(d.shows)
	d.send(t, o)
	witness(d.kind, o, before, shown, compact(d.shows))
	d.history.Add(o)
	d.settled[o.ID] = true
	return o
}

// send is the application's part: it does what a request asks for.
func (d *desk) send(t failer, o *Operation) {
	t.Helper()
	d.ran[o.ID]++
	var v any
	if o.Type == TypeCreate && o.Change.Empty() {
		v = map[string]any{}
	} else if len(o.Body) > 0 && o.Type != TypeAbsolute && o.Type != TypeAction {
		var err error
		if v, err = parseJSON(o.Body); err != nil {
			t.Fatal(err)
		}
	}
	switch o.Type {
	case TypeCreate:
		if d.shows != nil {
			t.Fatalf("%s: %s is sent to an application that has the resource", d.site, o.ID)
		}
		v.(map[string]any)["made"] = "by the application"
		d.shows = v
	case TypeReplace:
		d.need(t, o)
		v.(map[string]any)["made"] = d.shows.(map[string]any)["made"]
		d.shows = v
	case TypeMerge:
		d.need(t, o)
		d.shows = mergePatch(d.shows, v)
	case TypePatch:
		d.need(t, o)
		patch, err := jsonpatch.DecodePatch(o.Body)
		if err != nil {
			t.Fatal(err)
		}
		after, err := patch.Apply(compact(d.shows))
		if err != nil {
			t.Fatal(err)
		}
		if d.shows, err = parseJSON(after); err != nil {
			t.Fatal(err)
		}
	case TypeAbsolute:
		d.need(t, o)
		d.files[o.Path] = string(o.Body)
	case TypeAction:
		d.need(t, o)
		d.act(t, o)
	case TypeDelete:
		d.shows, d.files = nil, map[string]string{}
	}
}

// act is what the application does when an action runs on it.
func (d *desk) act(t failer, o *Operation) {
	t.Helper()
	n := d.kind.named(o.Method, o.Path)
	if n == nil {
		return
	}
	for p, v := range n.Sets {
		d.shows = setAt(d.shows, p, v)
	}
	if n.Counter != "" {
		is := d.count(t, n.Counter)
		is += 13
		d.shows = setAt(d.shows, n.Counter, is)
	}
	var err error
	if d.shows, err = parseJSON(compact(d.shows)); err != nil {
		t.Fatal(err)
	}
}

func (d *desk) count(t failer, p Pointer) int {
	t.Helper()
	v, _ := valueAt(d.shows, p)
	number, ok := v.(json.Number)
	if !ok {
		return 0
	}
	n, err := number.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

func (d *desk) need(t failer, o *Operation) {
	t.Helper()
	if d.shows == nil {
		t.Fatalf("%s: %s is sent to an application that has no such resource", d.site, o.ID)
	}
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

// correct is the application's part: it takes a correction.
func (d *desk) correct(t failer, c *Change) {
	t.Helper()
	if d.shows == nil {
		t.Fatalf("%s: a correction is sent to an application that has no such resource", d.site)
	}
	b, err := c.ApplyTo(d.kind, compact(d.shows))
	if d.kind.MergePatch {
		b, err = c.MergePatch(d.kind, compact(d.shows))
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := parseJSON(b)
	if err != nil {
		t.Fatal(err)
	}
	if d.kind.MergePatch {
		v = mergePatch(d.shows, v)
	}
	d.shows = v
}

// settleMixed does what a person does who is asked about a delete: sets the object right and says that it is done.
func (d *desk) settleMixed(t failer, o *Operation) {
	t.Helper()
	st := d.standing()
	if c := st.fold(d.history).Difference(foldOf(d.history, st.shown().or(o))); !c.Empty() {
		d.correct(t, c)
	}
	for _, left := range d.history.remains(st, o) {
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
		for _, p := range []pick{everything, {in: d.standing().shows, fact: d.standing().Executed}} {
			sameAsFromScratch(t, d.history, p)
		}
		step := Next(d.history, d.standing())
		switch step.Kind {
		case StepNothing:
			return
		case StepHold:
			if step.Reason != HoldMixed {
				t.Fatalf("%s: held at %s", d.site, step.Operations[0].ID)
			}
			d.settleMixed(t, step.Operations[0])
			step.Operations = step.Operations[:1]
		case StepSkip:
			d.void[step.Operations[0].ID] = true
		case StepMake:
			for f := range d.history.facts {
				d.facts[f] = true
			}
			d.send(t, step.Make)
		case StepRun:
			d.send(t, step.Operations[0])
			if step.Late {
				d.late[step.Operations[0].ID] = true
				continue
			}
		case StepCorrect:
			d.correct(t, step.Correction)
		}
		for _, o := range step.Again {
			d.again[o.ID] = true
			d.late[o.ID] = o.Type == TypeAction
		}
		for _, f := range step.Facts {
			d.facts[f] = true
		}
		if len(step.Facts) > 0 {
			continue
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
	t.Fatalf("%s: no end", d.site)
}

// tree is what the application shows, with keyed arrays.
func (d *desk) tree(t failer) any {
	t.Helper()
	tree, err := d.kind.parse(compact(d.shows))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// lawful checks the law: what was sent leaves the folded value at every path that the fold sets.
func (d *desk) lawful(t failer) {
	t.Helper()
	fold := FoldOf(d.history, func(*Operation) bool { return true })
	if fold.Exists != (d.shows != nil) {
		t.Fatalf("%s: exists is %v in the fold, and the application shows %s", d.site, fold.Exists, compact(d.shows))
	}
	if !fold.Exists {
		return
	}
	tree := d.tree(t)
	for p, c := range fold.Cells {
		got, ok := valueAt(tree, p)
		switch {
		case c.Value == nil && ok && fold.paths()[p] == nil:
			t.Fatalf("%s: %s is removed in the fold, and the application shows %s", d.site, p, compact(got))
		case isContainer(c.Value):
			if !holds(c.Value, got) {
				t.Fatalf("%s: %s is %s in the fold, and the application shows %s", d.site, p, c.Value, compact(d.shows))
			}
		case c.Value != nil && (!ok || !bytes.Equal(compact(got), c.Value)):
			t.Fatalf("%s: %s is %s in the fold, and the application shows %s", d.site, p, c.Value, compact(d.shows))
		}
	}
	for path, o := range fold.Absolute {
		if want := string(o.Body); d.files[path] != want {
			t.Fatalf("%s: %s is %q in the fold, and the application has %q", d.site, path, want, d.files[path])
		}
	}
}
