package view

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

// accountOf is the account of a site that knows of three operations of paris, of which the first is settled here.
func accountOf() *Account {
	a, ops := &Account{Now: 7}, []*engine.Operation{}
	for n, id := range []engine.OperationID{"one", "two", "three"} {
		ops = append(ops, &engine.Operation{ID: id, Line: "paris", Origin: "paris", Number: uint64(n + 1)})
	}
	a.begin(document, "", func() []*engine.Operation { return ops })
	a.Settle(ops[0])
	a.Touched, a.Dirty = map[engine.OperationID]bool{}, false
	return a
}

// TestAnAccountTellsWhatIsNews: what is said again is none, and the rows that are written again are those of what is not settled.
func TestAnAccountTellsWhatIsNews(t *testing.T) {
	a := accountOf()
	denied := engine.Wait{Kind: engine.WaitDenied, Since: 1, Reason: "no"}
	failing := &engine.Wait{Since: 2, Reason: "the service fails"}
	for _, step := range []struct {
		name    string
		do      func()
		news    bool
		touched string
		waits   int
		here    bool
	}{
		{"it is halted, which others are told", func() { a.Halt(&denied) }, true, "[three two]", 1, false},
		{"again", func() { a.Halt(&engine.Wait{Kind: engine.WaitDenied, Since: 9, Reason: "no"}) }, false, "[]", 1, false},
		{"for another reason", func() { a.Halt(&engine.Wait{Kind: engine.WaitClock, Since: 3, Reason: "ahead"}) }, true, "[three two]", 1, false},
		{"for one that is nobody else's business", func() { a.Halt(failing) }, true, "[three two]", 0, true},
		{"again", func() { a.Halt(failing) }, false, "[]", 0, true},
		{"no more", func() { a.Halt(nil) }, true, "[three two]", 0, false},
		{"still not", func() { a.Halt(nil) }, false, "[]", 0, false},
		{"a person pauses it", func() { a.Say(engine.Wait{Kind: engine.WaitPaused}) }, true, "[three two]", 1, false},
		{"it goes on, and is paused all the same", func() { a.Halt(nil) }, false, "[]", 1, false},
		{"what is about another operation stays", func() { a.UnsayOf("two", engine.WaitPaused) }, false, "[]", 1, false},
		{"the pause ends", func() { a.Unsay(engine.WaitPaused) }, true, "[three two]", 0, false},
		{"one is refused", func() { a.Became("two", engine.Outcome{State: engine.StateRejected}) }, true, "[two]", 0, false},
		{"and applied after all", func() { a.Applied([]*engine.Operation{{ID: "one"}, {ID: "two"}}, 200) }, true, "[two]", 0, false},
	} {
		step.do()
		if got := slices.Sorted(maps.Keys(a.Touched)); a.Dirty != step.news || text(got) != step.touched || len(a.Me.Waits) != step.waits || (a.Mine.Halted != nil) != step.here {
			t.Errorf("%s: news %t, touched %v, waits %v, halted %v", step.name, a.Dirty, got, a.Me.Waits, a.Mine.Halted)
		}
		a.Touched, a.Dirty = map[engine.OperationID]bool{}, false
	}
	if out := a.Mine.Outcomes["two"]; out.At != 8 || out.Status != 200 { // later than what was told before
		t.Errorf("it became %+v", out)
	}
}

// TestTheLastTriesAreRemembered, and how many there were.
func TestTheLastTriesAreRemembered(t *testing.T) {
	a := accountOf()
	for status := range 2 * keptTries {
		a.Tried("two", status, "")
	}
	last, _ := a.LastTry("two")
	if tries := a.Mine.Tries["two"]; tries.Count != 2*keptTries || len(tries.Last) != keptTries || last.Status != 2*keptTries-1 {
		t.Errorf("remembered are %+v", tries)
	}
	a.Forget(func(id engine.OperationID) bool { return id != "two" })
	if _, ok := a.LastTry("two"); ok {
		t.Error("what is not known any more is remembered")
	}
}

// TestTheNewestOutcomesAreTold where there are more than a status takes.
func TestTheNewestOutcomesAreTold(t *testing.T) {
	all := map[engine.OperationID]engine.Outcome{"a": {At: 1}, "b": {At: 3}, "c": {At: 3}, "d": {At: 2}}
	if got := slices.Sorted(maps.Keys(newestOutcomes(all, 3))); text(got) != "[b c d]" {
		t.Errorf("told are %v", got)
	}
}

// TestContentsOfTwoEpochs: lines of two epochs come in any order, and what is in the later one counts.
func TestContentsOfTwoEpochs(t *testing.T) {
	var c Contents
	pod, early := engine.Inner{Kind: "pod", Local: "x", Name: "late"}, engine.Inner{Kind: "pod", Local: "x", Name: "early"}
	if err := errors.Join(c.take("paris", pod, place{epoch: 1}), c.take("paris", early, place{})); err != nil {
		t.Fatal(err)
	}
	if kept := c.kept()["paris"]; len(kept) != 1 || kept[0].Name != "late" {
		t.Errorf("kept is %+v", kept)
	}
	if again := c.News("paris", pod, false); len(again) != 0 {
		t.Error("what is known is news")
	}
	if gone := c.Gone("paris", "pod", "x"); len(gone) != 1 || len(c.Gone("nantes", "pod", "x")) != 0 {
		t.Error("only who holds it can say that it is gone")
	}
	if c.take("paris", engine.Inner{Kind: "pod"}, place{epoch: 2}) == nil {
		t.Error("a thing without a name is taken in")
	}
}
