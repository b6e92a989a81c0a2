package plan

import (
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

func TestAVanishedObjectIsMadeAnewFromTheFold(t *testing.T) {
	d := newDesk("a")
	d.issue(t, engine.TypeCreate, "/images", `{"name":"n","size":1,"id":"kept as sent"}`, 1)
	d.issue(t, engine.TypeMerge, "/images/{id}", `{"size":2,"deep":{"er":3}}`, 2)
	old := d.issue(t, engine.TypeAbsolute, "/images/{id}/file", "old", 3)
	file := d.issue(t, engine.TypeAbsolute, "/images/{id}/file", "new", 4)
	d.vanish()
	step := Next(d.history, d.standing())
	if want := `{"deep":{"er":3},"id":"kept as sent","name":"n","size":2}`; step.Kind != StepMake || string(step.Make.Body) != want {
		t.Fatalf("%s %s, want %s", step.Kind, step.Make.Body, want)
	}
	if !step.Makes() || step.Sends() != step.Make {
		t.Error("the step does not say that it makes an object")
	}
	d.catchUp(t)
	d.lawful(t)
	if d.ran[file.ID] != 2 || d.ran[old.ID] != 1 {
		t.Errorf("the file was sent %d times, what it had replaced %d times; want 2 and 1", d.ran[file.ID], d.ran[old.ID])
	}
}

func TestAnObjectOfOpaqueBytesIsMadeAsItsCallerMadeItAndCorrected(t *testing.T) {
	d := newDesk("a")
	create := d.issue(t, engine.TypeCreate, "/images", "opaque", 1)
	d.issue(t, engine.TypeMerge, "/images/{id}", `{"name":"n"}`, 2)
	d.vanish()
	if step := Next(d.history, d.standing()); step.Kind != StepMake || string(step.Make.Body) != "opaque" {
		t.Fatalf("%s %+v", step.Kind, step.Make)
	}
	d.catchUp(t)
	d.lawful(t)
	if d.ran[create.ID] != 2 {
		t.Errorf("the create was sent %d times, want once for each object", d.ran[create.ID])
	}
}

func TestWhatIsUnheardGoesIntoTheNewObject(t *testing.T) {
	a, b := newDesk("a"), newDesk("b")
	b.hears(t, a.issue(t, engine.TypeCreate, "/images", `{"name":"n"}`, 1))
	b.history.Add(a.issue(t, engine.TypeReplace, "/images/{id}", `{"name":"put"}`, 2))
	start := a.issue(t, engine.TypeAction, "/images/{id}/start", "", 3)
	b.history.Add(start)
	b.vanish()
	b.catchUp(t)
	b.lawful(t)
	if b.ran[start.ID] != 1 {
		t.Errorf("an action that had not run yet ran %d times", b.ran[start.ID])
	}
}

func TestWhatAnUndeclaredActionHasRunOnIsNotMadeAnew(t *testing.T) {
	d := newDesk("a")
	d.issue(t, engine.TypeCreate, "/images", `{"name":"n"}`, 1)
	start := d.issue(t, engine.TypeAction, "/images/{id}/start", "", 2)
	d.vanish()
	step := Next(d.history, d.standing())
	if step.Kind != StepHold || step.Reason != HoldUndeclared || step.Operations[1] != start {
		t.Errorf("got %s %q", step.Kind, step.Reason)
	}
	lossy := d.standing()
	lossy.Lossy = true
	if step := Next(d.history, lossy); step.Kind != StepMake {
		t.Errorf("where somebody has accepted that, it is %s", step.Kind)
	}
}

func TestNothingIsMadeAnewWhereItsCreateWasDropped(t *testing.T) {
	a, b := newDesk("a"), newDesk("b")
	b.hears(t, a.issue(t, engine.TypeCreate, "/images", `{"name":"n"}`, 1))
	b.vanish()
	standing := b.standing()
	standing.Dropped = true
	if step := Next(b.history, standing); step.Kind != StepNothing {
		t.Errorf("got %s", step.Kind)
	}
	b.history.Add(a.issue(t, engine.TypeAction, "/images/{id}/start", "", 2))
	if step := Next(b.history, standing); step.Kind != StepRefuse {
		t.Errorf("got %s for a later operation", step.Kind)
	}
}

func TestNothingIsDoneWhereTheNameIsAnothers(t *testing.T) {
	d := newDesk("a")
	d.issue(t, engine.TypeCreate, "/images", `{"name":"n"}`, 1)
	d.vanish()
	standing := d.standing()
	standing.Yields = true
	if step := Next(d.history, standing); step.Kind != StepHold {
		t.Errorf("got %s", step.Kind)
	}
}

// TestADeleteThatLeavesWhatNothingTakesBack has a delete end one of two creates, whose opaque bytes are in the object that goes on.
// It is taken away, and made anew without them; where an action has run on it that counts, a person is asked first.
func TestADeleteThatLeavesWhatNothingTakesBack(t *testing.T) {
	file := func(id OperationID, number uint64, at int64) *Operation {
		return &Operation{ID: id, Type: engine.TypeAbsolute, Path: "/images/{id}/file", Body: []byte(id), Line: engine.Line(id[:1]), Origin: engine.SiteID(id[:1]), Number: number, Time: at}
	}
	made := &Operation{ID: "a-1", Type: engine.TypeCreate, Path: "/images", Body: []byte(`{"name":"a"}`), Line: "a", Origin: "a", Number: 1, Time: 1, Edit: set("/name", `"a"`)}
	other := &Operation{ID: "b-1", Type: engine.TypeCreate, Path: "/images", Body: []byte(`{"name":"b"}`), Line: "b", Origin: "b", Number: 1, Time: 2, Edit: set("/name", `"b"`)}
	bytes := file("a-2", 2, 3)
	start := &Operation{ID: "b-2", Type: engine.TypeAction, Method: "POST", Path: "/images/{id}/start", Line: "b", Origin: "b", Number: 2, Time: 4}
	gone := &Operation{ID: "a-3", Type: engine.TypeDelete, Path: "/images/{id}", Line: "a", Origin: "a", Number: 3, Time: 5}
	standing := func(ops ...*Operation) Standing {
		return Standing{Settled: merge.Among(ops), Void: none, Blocked: none}
	}
	step := Next(historyOf(lab, "x", made, other, bytes, gone), standing(made, other, bytes))
	if step.Kind != StepRun || step.Operations[0] != gone {
		t.Errorf("the next step is to %s %v", step.Kind, ids(step.Operations))
	}
	h := historyOf(lab, "x", made, other, bytes, start, gone)
	step = Next(h, standing(made, other, bytes, start))
	if step.Kind != StepHold || step.Reason != HoldMixed || step.Operations[0] != gone || step.Operations[1] != start {
		t.Errorf("with an action of unknown effect it is to %s %v %s", step.Kind, ids(step.Operations), step.Reason)
	}
	lossy := standing(made, other, bytes, start)
	lossy.Lossy = true
	if step = Next(h, lossy); step.Kind != StepRun {
		t.Errorf("where that may be lost it is to %s", step.Kind)
	}
	replaced := file("b-2", 2, 4)
	step = Next(historyOf(lab, "x", made, other, bytes, replaced, gone), standing(made, other, bytes, replaced))
	if step.Kind != StepCorrect && step.Kind != StepVacuous {
		t.Errorf("where other bytes have taken the place of these it is to %s", step.Kind)
	}
}

// TestADeleteThatWasRefusedIsDoneByTheNext: the application keeps the object, and another delete of it is sent.
func TestADeleteThatWasRefusedIsDoneByTheNext(t *testing.T) {
	made := &Operation{ID: "a-1", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: set("/name", `"a"`)}
	refused := &Operation{ID: "a-2", Type: engine.TypeDelete, Line: "a", Origin: "a", Number: 2, Time: 2}
	again := &Operation{ID: "b-1", Type: engine.TypeDelete, Line: "b", Origin: "b", Number: 1, Time: 3, Seen: Vector{"a": 1}}
	s := Standing{Settled: merge.Among([]*Operation{made, refused}), Void: none, Blocked: none}
	h := historyOf(lab, "x", made, refused, again)
	if step := Next(h, s); step.Kind != StepRun || step.Operations[0] != again {
		t.Errorf("the next step is to %s %v", step.Kind, ids(step.Operations))
	}
	s.Stays = merge.Among([]*Operation{refused})
	if step := Next(h, s); step.Kind != StepVacuous {
		t.Errorf("where somebody has decided that it stays it is to %s", step.Kind)
	}
	s.Stays, s.Gone = nil, true
	if step := Next(h, s); step.Kind != StepVacuous {
		t.Errorf("where the object is gone it is to %s", step.Kind)
	}
}

// TestWhatWasRefusedIsSentWithWhatComesNext: what an application has refused it does not show, so that an operation which sets the
// same is no repetition.
func TestWhatWasRefusedIsSentWithWhatComesNext(t *testing.T) {
	made := &Operation{ID: "a-1", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: set("/name", `"a"`)}
	refused := &Operation{ID: "a-2", Type: engine.TypeMerge, Line: "a", Origin: "a", Number: 2, Time: 2, Edit: &Edit{Set: set("/size", "2").Set, Unset: []Pointer{"/name"}}}
	same := &Operation{ID: "b-1", Type: engine.TypeMerge, Line: "b", Origin: "b", Number: 1, Time: 3, Seen: Vector{"a": 1}, Edit: &Edit{Set: set("/size", "2").Set, Unset: []Pointer{"/name"}}}
	s := Standing{Settled: merge.Among([]*Operation{made, refused}), Void: none, Blocked: none, Refused: merge.Among([]*Operation{refused})}
	step := Next(historyOf(lab, "x", made, refused, same), s)
	if step.Kind != StepCorrect || string(step.Correction.Set["/size"]) != "2" || len(step.Correction.Unset) != 1 {
		t.Errorf("the next step is to %s %+v", step.Kind, step.Correction)
	}
	s.Refused = nil
	if step = Next(historyOf(lab, "x", made, refused, same), s); step.Kind != StepVacuous {
		t.Errorf("where nothing was refused it is to %s", step.Kind)
	}
}
