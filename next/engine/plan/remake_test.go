package plan

import (
	"testing"

	"github.com/skerry/skerry/next/engine"
	"github.com/skerry/skerry/next/engine/tree"
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

// TestCreatesThatHaveLostTheirEffectMakeTheObject has two sites create one name, and an application that takes neither create
// together with a change of the other's. What is left of both is the changes, and the object is there, also where it is made anew
// and where it is made late.
func TestCreatesThatHaveLostTheirEffectMakeTheObject(t *testing.T) {
	a, b := newDesk("a"), newDesk("b")
	all := []*Operation{a.issue(t, engine.TypeCreate, "/images", `{"name":"a"}`, 1), b.issue(t, engine.TypeCreate, "/images", `{"name":"b"}`, 1),
		a.issue(t, engine.TypeMerge, "/images/{id}", `{"size":1}`, 2), b.issue(t, engine.TypeMerge, "/images/{id}", `{"kind":"x"}`, 2)}
	facts := []engine.Fact{{Earlier: all[0].ID, Later: all[3].ID}, {Earlier: all[1].ID, Later: all[2].ID}}
	late := newDesk("c")
	for _, d := range []*desk{a, b, late} {
		for _, f := range facts {
			d.history.AddFact(f)
		}
		d.hears(t, all...)
		d.lawful(t)
	}
	b.vanish()
	b.catchUp(t)
	b.lawful(t)
	if want := `{"kind":"x","made":"by the application","size":1}`; string(tree.Compact(late.shows)) != want {
		t.Errorf("it shows %s, want %s", tree.Compact(late.shows), want)
	}
	sameEverywhere(t, []*desk{a, b, late})
}
