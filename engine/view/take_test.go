package view

import (
	"errors"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestTakeChange(t *testing.T) {
	paris, nantes, lille := lineOf("paris"), lineOf("nantes"), lineOf("lille")
	create := paris.op(engine.TypeCreate, 1, nil, set("/a", "1"), nil)
	second := paris.op(engine.TypeMerge, 2, nil, set("/a", "2"), nil)
	third := paris.op(engine.TypeMerge, 3, nil, set("/a", "3"), nil)
	other := *second
	other.Hash[0]++
	theirs := nantes.op(engine.TypeMerge, 4, engine.Vector{"paris": 1}, set("/b", "1"), nil)
	added := lille.op(engine.TypeMerge, 9, engine.Vector{"paris": 1}, set("/c", "1"), nil)
	later := *third
	later.Epoch = 1

	v := of("nantes")
	for _, step := range []struct {
		name   string
		change *engine.Change
		want   Verdict
	}{
		{"the second before the first", second, Missing},
		{"the first", create, Taken},
		{"the first again", create, Known},
		{"the second", second, Taken},
		{"another second", &other, Forked},
		{"of an epoch that is not here", &later, Missing},
		{"of another author, who depends on nobody", theirs, Taken},
		{"of who has no part in it", added, Missing},
		{"the third", third, Taken},
	} {
		if got := v.TakeChange(step.change, admits, func(err error) { t.Error(err) }); got != step.want {
			t.Errorf("%s: got %d, want %d", step.name, got, step.want)
		}
	}
	if n := v.History.Len(); n != 4 {
		t.Errorf("%d operations are known", n)
	}
}

// A site may know that a line parts before it has what counts of it: what others have seen of that was cut, and is read anew.
func TestMoreOfALineThatEnds(t *testing.T) {
	v, paris := of("nantes"), lineOf("paris")
	create, second := paris.op(engine.TypeCreate, 1, nil, set("/a", "1"), nil), paris.op(engine.TypeMerge, 2, nil, set("/a", "2"), nil)
	third := paris.op(engine.TypeMerge, 3, nil, set("/a", "3"), nil)
	other := *third
	other.Hash[0]++
	theirs := lineOf("nantes").op(engine.TypeMerge, 4, engine.Vector{"paris": 2}, set("/b", "1"), nil)
	v.take(t, create)
	f := ForkOf(v, []*engine.Change{third, &other})
	if f == nil || f.Number != third.Number {
		t.Fatalf("the fork is %+v", f)
	}
	v.Fork(*f)
	if ForkOf(v, []*engine.Change{third, &other}) != nil {
		t.Error("it is news again")
	}
	v.take(t, theirs)
	if v.Stale {
		t.Error("it is stale with what no line of it ends")
	}
	v.take(t, second)
	if !v.Stale {
		t.Error("more of the line counts, and the view is not made anew")
	}
}

func TestTakeChangeLeavesOutWhatMakesNoSense(t *testing.T) {
	v, paris := of("nantes"), lineOf("paris")
	var noted []error
	c := paris.write(engine.Entry{Map: engine.MapOperations, Value: []byte("nonsense")},
		engine.Entry{Map: engine.MapDecisions, Value: engine.Encode(&engine.Decision{Conflict: "c", By: "nantes"})})
	if got := v.TakeChange(c, admits, func(err error) { noted = append(noted, err) }); got != Taken || len(noted) != 2 {
		t.Errorf("got %d, noted %v", got, noted)
	}
	for _, err := range noted {
		if !errors.Is(err, engine.ErrRefused) {
			t.Errorf("noted %v", err)
		}
	}
	refuses := func(*engine.Operation) bool { return false }
	v.TakeChange(paris.op(engine.TypeCreate, 1, nil, set("/a", "1"), nil), refuses, func(error) {})
	if v.Refused != 1 || HeldBack(v) != 1 || !v.Blank() {
		t.Errorf("what the catalog does not admit: %d refused, %d held back", v.Refused, HeldBack(v))
	}
}

func TestTakeStatus(t *testing.T) {
	v := of("nantes")
	for _, step := range []struct {
		number uint64
		news   bool
	}{{2, true}, {2, false}, {1, false}, {3, true}} {
		if got := v.status(t, "paris", engine.Status{Number: step.number}); got != step.news {
			t.Errorf("status %d is news: %t", step.number, got)
		}
	}
	if _, err := v.TakeStatus(&engine.Status{Document: document, Number: 1}, engine.SignedStatus{Site: "lille"}); !errors.Is(err, engine.ErrMissing) {
		t.Errorf("of who has no part in it: %v", err)
	}
}

// TestDigest compares what two sites have in whichever order it came.
func TestDigest(t *testing.T) {
	paris := lineOf("paris")
	create, change := paris.op(engine.TypeCreate, 1, nil, set("/a", "1"), nil), paris.op(engine.TypeMerge, 2, nil, set("/a", "2"), nil)
	a, b := of("nantes"), of("paris")
	a.take(t, create, change)
	a.Me.Settled = engine.Vector{"paris": 2}
	mine, news := a.Tell(start)
	if !news {
		t.Fatal("nothing to tell")
	}
	if _, again := a.Tell(start); again {
		t.Error("the same is told twice")
	}
	told := &engine.Status{}
	if err := engine.Decode(mine, told); err != nil {
		t.Fatal(err)
	}
	b.take(t, create)
	if a.Digest() == b.Digest() {
		t.Error("what is missing does not tell")
	}
	b.status(t, "nantes", *told)
	b.take(t, change)
	if a.Digest() != b.Digest() {
		t.Error("they have the same, and it does not tell")
	}

	// Stored, and read again.
	c := of("nantes")
	c.take(t, create, change)
	if _, err := c.Restore(a.Kept(nil)); err != nil {
		t.Fatal(err)
	}
	if c.Digest() != a.Digest() {
		t.Error("what is stored has another digest")
	}

	// Its disk was set back: others have a status of it that it has not.
	d := of("nantes")
	d.take(t, create, change)
	if !d.HeardOfMe(told.Number) || d.LastNumber() != told.Number {
		t.Errorf("the highest number is %d", d.LastNumber())
	}
	d.Me.Number = d.LastNumber()
	if d.Digest() != b.Digest() {
		t.Error("what others have of it is not counted")
	}
	d.Me.Settled = engine.Vector{"paris": 1}
	if again, news := d.Tell(start); !news || d.Me.Number <= told.Number {
		t.Errorf("it goes on with %d, %d bytes", d.Me.Number, len(again))
	}
}

// TestTwoRunsGiveNoNumberTwice: what a lost run has said under a number is not taken for what the next run says.
func TestTwoRunsGiveNoNumberTwice(t *testing.T) {
	a, b := of("nantes/1"), of("nantes/2")
	for _, v := range []*View{a, b} {
		v.Me.Settled = engine.Vector{"paris": 1}
		v.Tell(start)
	}
	if a.Me.Number/runs != b.Me.Number/runs || a.Me.Number == b.Me.Number {
		t.Errorf("two runs begin with %d and %d", a.Me.Number, b.Me.Number)
	}
}

// Lines of two epochs come in any order: what a site says in the later one counts.
func TestWhatIsSaidInALaterEpochCounts(t *testing.T) {
	v := of("nantes")
	v.Epochs = append(v.Epochs, NewEpoch(1, v.Epochs[0].First))
	early := lineOf("paris").write(engine.Entry{Map: engine.MapReplicas, Value: engine.Encode(&engine.Replica{Local: "old"})})
	late := lineOf("paris").write(engine.Entry{Map: engine.MapReplicas, Value: engine.Encode(&engine.Replica{Local: "new"})})
	late.Epoch = 1
	for _, c := range []*engine.Change{late, early} {
		if got := v.TakeChange(c, admits, func(err error) { t.Error(err) }); got != Taken {
			t.Errorf("got %d", got)
		}
	}
	if got := v.Said["paris"].Local; got != "new" {
		t.Errorf("paris calls it %q", got)
	}
}
