package replica

import (
	"encoding/json"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// choosy is an env in which something is waited for.
type choosy struct {
	env
	why  string
	sees *engine.Operation
}

func (c *choosy) Awaits(_ *engine.Kind, _ engine.ResourceID, o *engine.Operation) string {
	c.sees = o
	return c.why
}

// refersHere is a replica at a of a resource that b has made, which refers to something.
func refersHere() *Replica {
	k := &engine.Kind{Service: "lab", Name: "server", Collection: "/servers", Item: "/servers/{id}", ID: engine.IDRule{From: engine.IDFromPath, At: "/id"}}
	about := engine.About{Service: "lab", Kind: "server", Key: "s", Collaboration: engine.Replication, Placement: []engine.SiteID{"a", "b"}}
	v := view.New("a", "doc", about, nil, k, siteName)
	v.Epochs = []*view.Epoch{view.NewEpoch(0, firstTip(about, 0))}
	v.AddOperation(&engine.Operation{ID: "b-1", Type: engine.TypeCreate, Method: "POST", Path: "/servers", Body: []byte(`{"id":"s","net":"n"}`), Line: "b", Origin: "b", Number: 1,
		Time: began.UnixMicro(), Edit: &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/net": json.RawMessage(`"n"`)}},
		Whereabouts: []engine.Whereabouts{{Target: engine.Target{Service: "lab", Kind: "net", ID: "n"}, Sites: []engine.SiteID{"a"}, Replicated: true}}})
	return New(v, Limits{}, false)
}

// TestAnOperationWaitsForWhatItRefersTo, says so to all sites, and goes out as soon as that is there.
func TestAnOperationWaitsForWhatItRefersTo(t *testing.T) {
	e := &choosy{env: env{newWorld("a", "b").sites["a"]}, why: "waits for net n"}
	r := refersHere()
	out := r.Step(e, Wake{})
	if w := r.Me.Wait(engine.WaitReference); len(out.Calls) > 0 || w == nil || w.Reason != e.why || w.Operation != "b-1" || !out.Wake.After(began) {
		t.Fatalf("it makes %d calls and waits so: %+v, to be woken at %s", len(out.Calls), w, out.Wake)
	}
	e.why = ""
	if out = r.Step(e, &News{Hurry: true}); len(out.Calls) != 1 || out.Calls[0].Call.Path != "/servers" {
		t.Errorf("it makes the calls %v", out.Calls)
	}
}

// TestWhatIsMadeOrCorrectedWaitsAsWell: what is asked for is the body that goes out, with all that is known of its references.
func TestWhatIsMadeOrCorrectedWaitsAsWell(t *testing.T) {
	r := refersHere()
	o := r.History.Get("b-1")
	edit := &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/net": json.RawMessage(`"n"`)}}
	for name, c := range map[string]struct {
		step   plan.Step
		refers bool
		body   string
	}{
		"made anew":            {plan.Step{Kind: plan.StepMake, Make: &engine.Operation{ID: "b-1", Body: []byte(`{"net":"n"}`)}}, true, `{"net":"n"}`},
		"corrected":            {plan.Step{Kind: plan.StepCorrect, Operations: []*engine.Operation{o}, Correction: edit}, true, `{"net":"n"}`},
		"corrected by itself":  {plan.Step{Kind: plan.StepCorrect, Correction: edit}, true, `{"net":"n"}`},
		"what counts no more":  {plan.Step{Kind: plan.StepCorrect, Operations: []*engine.Operation{o}, Correction: edit, Void: true}, false, ""},
		"what is there by now": {plan.Step{Kind: plan.StepVacuous, Operations: []*engine.Operation{o}}, false, ""},
	} {
		if o := view.Refers(r.View, c.step); (o != nil) != c.refers || o != nil && (string(o.Body) != c.body || len(o.Whereabouts) != 1) {
			t.Errorf("%s: what refers is %+v", name, o)
		}
	}
}

// TestWhatIsLackedIsInTheRow until it is there again.
func TestWhatIsLackedIsInTheRow(t *testing.T) {
	e := &choosy{env: env{newWorld("a", "b").sites["a"]}}
	r := refersHere()
	r.Step(e, Wake{})
	if out := r.Step(e, &Lacks{Why: "relies on net n"}); !out.Changed {
		t.Error("nothing is to be stored")
	}
	if row := report.Row(r.View, began, nil, plan.Step{}, false); row.State != engine.StateDegraded || row.Sites["a"].Reason != "relies on net n" {
		t.Errorf("the row says %s: %+v", row.State, row.Sites["a"])
	}
	if out := r.Step(e, &Lacks{Why: "relies on net n"}); out.Changed {
		t.Error("the same is stored again")
	}
	r.Step(e, &Lacks{})
	if row := report.Row(r.View, began, nil, plan.Step{}, false); row.State == engine.StateDegraded {
		t.Errorf("the row says still: %s", row.Reason)
	}
}

// TestWhyABodyIsNotHereIsShown, and how much of it is, until all of it is here.
func TestWhyABodyIsNotHereIsShown(t *testing.T) {
	e := &choosy{env: env{newWorld("a", "b").sites["a"]}, why: "waits for net n"}
	r := refersHere()
	o := r.History.Get("b-1")
	r.Step(e, &News{Body: o.ID, Why: "waits for its body", Bytes: 5, NoBody: o.ID})
	if st := report.OperationRow(r.View, o).Sites["a"]; st.Error != "waits for its body" || st.Fetched != 5 || r.Idle() {
		t.Errorf("shown is %+v; it may be forgotten: %t", st, r.Idle())
	}
	r.Step(e, &News{Body: o.ID})
	if st := report.OperationRow(r.View, o).Sites["a"]; st.Error != e.why || st.Fetched != 0 || r.unavailable[o.ID] {
		t.Errorf("shown is %+v; nobody has it: %t", st, r.unavailable[o.ID])
	}
}
