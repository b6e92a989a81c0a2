package plan

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// TestWhatWasSentWithoutAnAnswerLeavesNothing lets a correction reach the application without an answer. Then its operations
// become void, or fold to what was there before: the application has to show the fold all the same.
func TestWhatWasSentWithoutAnAnswerLeavesNothing(t *testing.T) {
	create := &Operation{ID: "c1", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: set(`/name`, `"n"`)}
	merge := &Operation{ID: "m1", Type: engine.TypeMerge, Line: "a", Origin: "a", Number: 2, Time: 2, Edit: set(`/a`, `7`)}
	remove := &Operation{ID: "d1", Type: engine.TypeDelete, Line: "a", Origin: "a", Number: 3, Time: 9}
	other := &Operation{ID: "c2", Type: engine.TypeCreate, Line: "b", Origin: "b", Number: 1, Time: 3, Edit: set(`/a`, `1`)}
	again := &Operation{ID: "m2", Type: engine.TypeMerge, Line: "c", Origin: "c", Number: 1, Time: 8, Seen: Vector{"a": 1, "b": 1}, Edit: set(`/a`, `1`)}
	below := &Operation{ID: "c3", Type: engine.TypeCreate, Line: "b", Origin: "b", Number: 1, Time: 3, Edit: &Edit{Set: set("/a", "{}").Set}}
	below.Edit.Set["/a/b"] = []byte("1")
	for name, c := range map[string]struct {
		settled, known []*Operation
		left, want     string // what the application shows, before and after
	}{
		"void":          {[]*Operation{other}, []*Operation{create, merge, remove}, `{"a":7,"name":"n"}`, `{"a":1}`},
		"the same":      {[]*Operation{create, other}, []*Operation{merge, again}, `{"a":7,"name":"n"}`, `{"a":1,"name":"n"}`},
		"what it ended": {[]*Operation{below}, []*Operation{create, merge, remove}, `{"a":7,"name":"n"}`, `{"a":{"b":1}}`},
	} {
		h := historyOf(lab, "x", slices.Concat(c.settled, c.known)...)
		if len(h.Ordered()) != len(c.settled)+len(c.known) {
			t.Fatalf("%s: of the operations %d are held back", name, h.Held())
		}
		settled, void := map[*Operation]bool{}, map[*Operation]bool{}
		for _, o := range c.settled {
			settled[o] = true
		}
		s := Standing{
			Settled: func(o *Operation) bool { return settled[o] },
			Void:    func(o *Operation) bool { return void[o] },
			Blocked: none,
			Unsure:  func(o *Operation) bool { return o == create || o == merge },
		}
		shows := []byte(c.left)
		for range 9 {
			step := Next(h, s)
			if step.Kind == StepNothing {
				break
			}
			if step.Kind == StepCorrect {
				var err error
				if shows, err = tree.Apply(lab, step.Correction, shows); err != nil {
					t.Fatal(err)
				}
			} else if step.Kind != StepSkip && step.Kind != StepVacuous {
				t.Fatalf("%s: the next step is to %s", name, step.Kind)
			}
			for _, o := range step.Operations {
				settled[o], void[o] = true, step.Void || step.Kind == StepSkip
			}
		}
		if string(shows) != c.want {
			t.Errorf("%s: the application shows %s, want %s", name, shows, c.want)
		}
	}
}

// TestWhatWasNeverSentTakesNothingAway has an agent start again with an operation that is not settled and does not count, such as one that has not
// seen what it changes. It may have been sent. What it has set is taken back, and what the application has there by itself stays: at sites whose
// agents were not stopped the operation is passed over.
func TestWhatWasNeverSentTakesNothingAway(t *testing.T) {
	create := &Operation{ID: "c1", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: set(`/name`, `"n"`)}
	blind := &Operation{ID: "m1", Type: engine.TypeMerge, Line: "b", Origin: "b", Number: 1, Time: 2, Edit: set(`/about`, `"told"`)}
	later := &Operation{ID: "m2", Type: engine.TypeMerge, Line: "a", Origin: "a", Number: 2, Time: 3, Edit: set(`/size`, `7`)}
	for name, known := range map[string][]*Operation{"alone": {create, blind}, "before another": {create, blind, later}} {
		for shows, want := range map[string]string{
			`{"about":"","name":"n","size":7}`:       `{"about":"","name":"n","size":7}`,
			`{"about":"told","name":"n","size":7}`:   `{"name":"n","size":7}`,
			`{"about":["told"],"name":"n","size":7}`: `{"about":["told"],"name":"n","size":7}`,
			`{"name":"n","other":"told","size":7}`:   `{"name":"n","other":"told","size":7}`,
		} {
			h, settled, now := historyOf(lab, "x", known...), map[*Operation]bool{create: true}, []byte(shows)
			s := Standing{Settled: func(o *Operation) bool { return settled[o] }, Void: func(o *Operation) bool { return o == blind }, Blocked: none,
				Unsure: func(*Operation) bool { return true }}
			for range 4 {
				step := Next(h, s)
				if step.Kind == StepCorrect {
					var err error
					if now, err = tree.Apply(lab, Left(lab, step, now), now); err != nil {
						t.Fatal(err)
					}
				}
				for _, o := range step.Operations {
					settled[o] = true
				}
			}
			if len(settled) != len(known) || string(now) != want {
				t.Errorf("%s: of %s there is %s, want %s; %d of %d are settled", name, shows, now, want, len(settled), len(known))
			}
		}
	}
}

// TestACounterThatActionsHaveRaisedStaysRaised has an agent start again with an operation that is not settled: it may have been
// sent. What actions of unknown effect have made of a number that the create set is not set back, under whatever rule.
func TestACounterThatActionsHaveRaisedStaysRaised(t *testing.T) {
	for name, k := range kinds() {
		h := historyOf(k, "x",
			&Operation{ID: "c", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: &Edit{Set: set("/count", "0").Set}},
			&Operation{ID: "up", Type: engine.TypeAction, Method: "POST", Path: "/images/{id}/raise", Line: "a", Origin: "a", Number: 2, Time: 2},
			&Operation{ID: "m", Type: engine.TypeMerge, Line: "b", Origin: "b", Number: 1, Time: 3, Seen: Vector{"a": 1}, Edit: set("/name", `"n"`)},
			&Operation{ID: "w", Type: engine.TypeReplace, Line: "c", Origin: "c", Number: 1, Time: 4, Seen: Vector{"a": 1}, Edit: set("/size", `2`)},
		)
		settled := map[OperationID]bool{"c": true, "up": true}
		s := Standing{Settled: func(o *Operation) bool { return settled[o.ID] }, Void: none, Blocked: none,
			Unsure: func(o *Operation) bool { return !settled[o.ID] }}
		for range 9 {
			step := Next(h, s)
			if step.Kind == StepNothing {
				break
			}
			if e := step.Correction; e != nil && tree.Touches(e, "/count") {
				t.Errorf("%s: a correction for %v says %s where an action has counted", name, ids(step.Operations), e.Set["/count"])
			}
			for _, o := range step.Operations {
				settled[o.ID] = true
			}
		}
	}
}

// crash is a desk whose agent stops now and then after the application has done what it was sent, and before that is recorded.
// After it has, all that is not settled may have been sent.
type crash struct {
	*desk
	stopped bool
}

func (c *crash) standing() Standing {
	s := c.desk.standing()
	if c.stopped {
		s.Unsure = func(o *Operation) bool { return !s.Settled(o) }
	}
	return s
}

// step does what Next says, and may lose that it was done. It returns false when nothing is left.
func (c *crash) step(t *rapid.T) bool {
	step := Next(c.history, c.standing())
	if step.Kind == StepNothing {
		return false
	}
	c.touchesOnlyWhatMayDiffer(t, step)
	lost := step.Kind == StepCorrect || step.Kind == StepRun && Resendable(c.kind, step.Operations[0]) && !step.Makes()
	if lost && rapid.IntRange(0, 3).Draw(t, "stop") == 0 {
		if step.Kind == StepCorrect {
			c.correct(t, step)
		} else if step.Operations[0].Type != engine.TypeDelete { // whose object is looked for first
			c.send(t, step.Operations[0])
		}
		c.stopped = true
		return true
	}
	c.do(t, step)
	return true
}

// touchesOnlyWhatMayDiffer checks that a correction writes nothing but what differs by what is settled, and what operations that
// are not settled touch.
func (c *crash) touchesOnlyWhatMayDiffer(t *rapid.T, step Step) {
	if step.Correction == nil {
		return
	}
	s := c.standing()
	was, is := s.Fold(c.history), c.history.Fold(s.Shown().Or(step.Operations...))
	before, after := was.Paths(), is.Paths()
	check := func(p Pointer) {
		_, had := was.Cells[p]
		_, has := is.Cells[p]
		if string(before[p]) != string(after[p]) || had != has || len(step.Voided) > 0 || len(step.Again) > 0 {
			return
		}
		touches := func(o *Operation) bool { return o.Edit != nil && !s.Settled(o) && tree.Touches(o.Edit, p) }
		if !slices.ContainsFunc(c.history.Ordered(), touches) {
			t.Fatalf("%s: a correction for %v writes %s, which shows %s, and no operation in doubt touches it", c.site,
				ids(step.Operations), p, before[p])
		}
	}
	for p := range step.Correction.Set {
		check(p)
	}
	for _, p := range step.Correction.Unset {
		check(p)
	}
}

// TestInvariantNothingElseIsWrittenInDoubt plays random histories at sites whose agents stop before they have recorded what the
// application has done. Where no rule has one operation take the effect of another, the application shows the fold in the end all
// the same; and in no case anything is written that nothing in doubt touches.
func TestInvariantNothingElseIsWrittenInDoubt(t *testing.T) {
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			requests := slices.DeleteFunc(slices.Clone(declaredRequests), func(r request) bool { return r.typ == engine.TypeAction })
			rapid.Check(t, func(t *rapid.T) { playCrashes(t, k, requests, name == "default") })
		})
	}
	t.Run("keyed arrays", func(t *testing.T) {
		requests := slices.DeleteFunc(slices.Clone(diskRequests), func(r request) bool { return r.typ == engine.TypeAction })
		rapid.Check(t, func(t *rapid.T) { playCrashes(t, disked(func(*Kind) {}), requests, true) })
	})
}

func playCrashes(t *rapid.T, k *Kind, requests []request, lawful bool) {
	desks := make([]*desk, rapid.IntRange(2, 3).Draw(t, "sites"))
	for i := range desks {
		desks[i] = deskOf(engine.SiteID(rune('a'+i)), k)
	}
	var all []*Operation
	for n := range rapid.IntRange(1, 10).Draw(t, "steps") {
		d := rapid.SampledFrom(desks).Draw(t, "site")
		if len(all) > 0 && rapid.Bool().Draw(t, "deliver") {
			d.hears(t, rapid.SampledFrom(all).Draw(t, "operation"))
		} else if o := d.issueAny(t, requests, n); o != nil {
			all = append(all, o)
		}
	}
	c := &crash{desk: deskOf("x", k)}
	for _, o := range rapid.Permutation(all).Draw(t, "order") {
		c.history.Add(o)
		for range rapid.IntRange(0, 3).Draw(t, "apply") {
			c.step(t)
		}
	}
	for i := 0; c.step(t); i++ {
		if i > 1000 {
			t.Fatal("no end")
		}
	}
	if lawful {
		c.lawful(t)
	}
}

// TestAnActionIsSettledBeforeWhatWouldHideIt has an action without an answer, and a change of what it has set: the application
// honours keys, so the action is sent again first. Where it does not, a request of a client waits.
func TestAnActionIsSettledBeforeWhatWouldHideIt(t *testing.T) {
	k := *kinds()["default"]
	create := &Operation{ID: "c", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: set("/name", `"n"`)}
	start := &Operation{ID: "s", Type: engine.TypeAction, Method: "POST", Path: "/images/{id}/start", Line: "a", Origin: "a", Number: 2, Time: 3, Edit: set("/power", `"on"`)}
	low := &Operation{ID: "m", Type: engine.TypeMerge, Line: "b", Origin: "b", Number: 1, Time: 2, Seen: Vector{"a": 1}, Edit: set("/power", `"low"`)}
	for _, honours := range []bool{true, false} {
		k.HonoursKey = honours
		s := Standing{Settled: func(o *Operation) bool { return o == create }, Void: none, Blocked: none,
			Unsure: func(o *Operation) bool { return o == start }, Doubtful: func(o *Operation) bool { return o == start }}
		step := Next(historyOf(&k, "x", create, low, start), s)
		if step.Kind != StepRun || step.Operations[0] != start || !step.Late {
			t.Errorf("keys honoured %v: the next step is to %s %v", honours, step.Kind, ids(step.Operations))
		}
	}
	s := Standing{Settled: func(o *Operation) bool { return o == create }, Void: none, Blocked: none,
		Uncertain: func(o *Operation) bool { return o == start }}
	h := historyOf(&k, "x", create, start)
	for body, want := range map[string]*Operation{`{"power":"low"}`: start, `{"name":"m"}`: nil} {
		e := set("/power", `"low"`)
		if want == nil {
			e = set("/name", `"m"`)
		}
		o := &Operation{Type: engine.TypeMerge, Edit: e}
		if got := InTheWay(h, s, Step{Kind: StepRun, Operations: []*Operation{Foreseen(&k, o, s.Fold(h))}}); got != want {
			t.Errorf("%s waits for %v", body, got)
		}
	}
	stop := &Operation{Type: engine.TypeAction, Method: "POST", Path: "/images/{id}/stop"}
	if got := InTheWay(h, s, Step{Kind: StepRun, Operations: []*Operation{Foreseen(&k, stop, s.Fold(h))}}); got != start {
		t.Errorf("an action that sets the same waits for %v", got)
	}
}

// TestWhatMayHaveRunIsAskedFirst: what a person is asked about holds up what would hide the answer, and nothing else.
func TestWhatMayHaveRunIsAskedFirst(t *testing.T) {
	create := &Operation{ID: "c", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: set("/name", `"n"`)}
	start := &Operation{ID: "s", Type: engine.TypeAction, Method: "POST", Path: "/images/{id}/raise", Line: "a", Origin: "a", Number: 2, Time: 3}
	low := &Operation{ID: "m", Type: engine.TypeMerge, Line: "b", Origin: "b", Number: 1, Time: 2, Seen: Vector{"a": 1}, Edit: set("/power", `"low"`)}
	s := Standing{Settled: func(o *Operation) bool { return o == create }, Void: none, Blocked: none, Uncertain: func(o *Operation) bool { return o == start }}
	if step := Next(historyOf(kinds()["default"], "x", create, low, start), s); step.Kind != StepHold || step.Operations[0] != start {
		t.Errorf("the next step is to %s %s", step.Kind, fmt.Sprint(ids(step.Operations)))
	}
}

// TestWhatWasNeverSentIsNotTakenBack: nothing is written for an operation that counts for nothing and certainly was not sent.
func TestWhatWasNeverSentIsNotTakenBack(t *testing.T) {
	create := &Operation{ID: "c", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: set("/name", `"n"`)}
	other := &Operation{ID: "o", Type: engine.TypeCreate, Line: "b", Origin: "b", Number: 1, Time: 2, Edit: set("/a", "1")}
	change := &Operation{ID: "m", Type: engine.TypeMerge, Line: "b", Origin: "b", Number: 2, Time: 3, Edit: set("/b", "1")}
	gone := &Operation{ID: "d", Type: engine.TypeDelete, Line: "b", Origin: "b", Number: 3, Time: 4}
	h := historyOf(lab, "x", create, other, change, gone)
	for sent, want := range map[OperationID]StepKind{"m": StepCorrect, "none": StepSkip} {
		step := Next(h, Standing{Settled: func(o *Operation) bool { return o == create || o == other }, Void: func(o *Operation) bool { return o == other },
			Blocked: none, Unsure: func(o *Operation) bool { return o.ID == sent }})
		if step.Kind != want || step.Operations[0] != change || step.Void != (want == StepCorrect) {
			t.Errorf("where %s was sent, the next step is to %s %v", sent, step.Kind, ids(step.Operations))
		}
	}
}

// TestWhatIsBesideAMemberInDoubtStays: an operation in doubt that makes sure of an object, and sets one member of it, has not
// touched the others.
func TestWhatIsBesideAMemberInDoubtStays(t *testing.T) {
	inside := func(member string) *Edit {
		e := set("/deep", "{}")
		e.Set[Pointer("/deep/"+member)] = []byte("1")
		return e
	}
	h := historyOf(lab, "x",
		&Operation{ID: "c", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: inside("er")},
		&Operation{ID: "m", Type: engine.TypeMerge, Line: "b", Origin: "b", Number: 1, Time: 2, Seen: Vector{"a": 1}, Edit: inside("est")},
		&Operation{ID: "n", Type: engine.TypeMerge, Line: "d", Origin: "d", Number: 1, Time: 3, Seen: Vector{"a": 1}, Edit: set("/name", `"n"`)})
	step := Next(h, Standing{Settled: func(o *Operation) bool { return o.ID == "c" || o.ID == "n" }, Void: none, Blocked: none,
		Unsure: func(o *Operation) bool { return o.ID == "m" }})
	if e := step.Correction; step.Kind != StepCorrect || string(e.Set["/deep/est"]) != "1" || e.Set["/deep/er"] != nil {
		t.Errorf("the next step is to %s %+v", step.Kind, e)
	}
}

// TestWhatIsSetAgainCountsStill: a patch may have been sent, and what a client has set since is to stay.
func TestWhatIsSetAgainCountsStill(t *testing.T) {
	create := &Operation{ID: "c1", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: set(`/name`, `"n"`)}
	patch := &Operation{ID: "p1", Type: engine.TypePatch, Line: "a", Origin: "a", Number: 2, Time: 2, Edit: &Edit{Set: set("/a", "7").Set}}
	patch.Edit.Set["/b"] = []byte("7")
	later := &Operation{ID: "m1", Type: engine.TypeMerge, Line: "b", Origin: "b", Number: 1, Time: 3, Seen: Vector{"a": 1}, Edit: set(`/a`, `8`)}
	h := historyOf(lab, "x", create, patch, later)
	s := Standing{Settled: func(o *Operation) bool { return o != patch }, Void: none, Blocked: none}
	for _, shown := range []string{`{"a":8,"name":"n"}`, `{"a":8,"b":7,"name":"n"}`, `{"a":7,"b":7,"name":"n"}`} {
		step := SetAgain(h, s, patch)
		got, err := tree.Apply(lab, step.Correction, []byte(shown))
		if want := `{"a":8,"b":7,"name":"n"}`; err != nil || string(got) != want || step.Kind != StepCorrect || step.Operations[0] != patch {
			t.Errorf("%s becomes %s (%v), want %s", shown, got, err, want)
		}
	}
}
