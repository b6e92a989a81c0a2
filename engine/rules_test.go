package engine

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Kinds that differ in their rules from lab, by name.
func kinds() map[string]*Kind {
	declared := []NamedOperation{
		{Name: "start", Method: "POST", Path: "/images/{id}/start", Sets: map[Pointer]json.RawMessage{"/power": json.RawMessage(`"on"`)}},
		{Name: "stop", Method: "POST", Path: "/images/{id}/stop", Sets: map[Pointer]json.RawMessage{"/power": json.RawMessage(`"off"`)}},
		{Name: "incr", Method: "POST", Path: "/images/{id}/incr", Counter: "/count"},
	}
	with := func(change func(*Kind)) *Kind {
		k := *lab
		k.Operations = declared
		change(&k)
		return &k
	}
	return map[string]*Kind{
		"default":     with(func(*Kind) {}),
		"update wins": with(func(k *Kind) { k.UpdateWins = true }),
		"whole":       with(func(k *Kind) { k.ReplaceWhole = true }),
		"one": with(func(k *Kind) {
			k.Resolutions = []Resolution{
				{"start", "stop", TakeOne}, {"stop", "start", TakeOne}, {"replace", "merge", TakeOne}, {"merge", "incr", TakeOne},
				{"create", "create", TakeOne},
			}
		}),
		"all one": with(func(k *Kind) {
			for _, a := range []string{"create", "replace", "merge", "absolute", "action"} {
				for _, b := range []string{"create", "replace", "merge", "absolute", "action"} {
					k.Resolutions = append(k.Resolutions, Resolution{a, b, TakeOne})
				}
			}
			k.UpdateWins = true
		}),
		"last writer": with(func(k *Kind) {
			for _, u := range []string{"replace", "merge", "action", "absolute"} {
				k.Resolutions = append(k.Resolutions, Resolution{"delete", u, TakeOne}, Resolution{u, "delete", TakeOne})
			}
		}),
	}
}

var declaredRequests = append(slices.Clone(requests[:8]), []request{
	{TypeAction, "/images/{id}/start", ""},
	{TypeAction, "/images/{id}/stop", ""},
	{TypeAction, "/images/{id}/incr", ""},
	{TypeAction, "/images/{id}/incr", ""},
	{TypeReplace, "/images/{id}", `{"name":"n","count":29}`},
	{TypeMerge, "/images/{id}", `{"count":null,"power":"low"}`},
	{TypeDelete, "/images/{id}", ""},
}...)

// TestInvariantConvergenceUnderEveryRule plays random histories under every rule, with objects that vanish and applications
// that refuse what two operations amount to, and expects that every site shows the fold and every action has run once for an object.
func TestInvariantConvergenceUnderEveryRule(t *testing.T) {
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { playRules(t, k, declaredRequests) })
		})
	}
}

func playRules(t *rapid.T, k *Kind, requests []request) {
	desks := make([]*desk, rapid.IntRange(2, 3).Draw(t, "sites"))
	for i := range desks {
		desks[i] = deskOf(SiteID(rune('a'+i)), k)
	}
	var all []*Operation
	var facts []Fact
	for n := range rapid.IntRange(1, 14).Draw(t, "steps") {
		d := desks[rapid.IntRange(0, len(desks)-1).Draw(t, "site")]
		switch rapid.IntRange(0, 5).Draw(t, "what") {
		case 0, 1:
			if len(all) == 0 {
				continue
			}
			d.history.Add(rapid.SampledFrom(all).Draw(t, "operation"))
			if rapid.Bool().Draw(t, "apply") {
				d.catchUp(t)
			}
		case 2:
			if len(all) < 2 || !rapid.Bool().Draw(t, "refuse") {
				continue
			}
			a, b := rapid.SampledFrom(all).Draw(t, "earlier"), rapid.SampledFrom(all).Draw(t, "later")
			if a.Type == TypeDelete || b.Type == TypeDelete {
				continue
			}
			facts = append(facts, Fact{a.ID, b.ID})
			d.history.AddFact(facts[len(facts)-1])
		default:
			r := rapid.SampledFrom(requests).Draw(t, "request")
			body := r.body
			if r.typ == TypeAbsolute {
				body += fmt.Sprint(n)
			}
			if o := d.issue(t, r.typ, r.path, body, rapid.Int64Range(0, 20).Draw(t, "clock")); o != nil {
				all = append(all, o)
			}
		}
	}
	for _, d := range desks {
		for _, o := range rapid.Permutation(all).Draw(t, "order") {
			d.history.Add(o)
			if rapid.Bool().Draw(t, "apply") {
				d.catchUp(t)
			}
			if rapid.IntRange(0, 9).Draw(t, "vanish") == 0 && d.shows != nil {
				d.vanish()
			}
		}
		for _, f := range facts {
			d.history.AddFact(f)
		}
		d.catchUp(t)
		d.lawful(t)
		for _, o := range all {
			if o.Type == TypeAction && d.ran[o.ID] > 1 {
				t.Fatalf("%s: %s %s was sent %d times", d.site, o.Name, o.ID, d.ran[o.ID])
			}
		}
	}
	sameEverywhere(t, desks)
}

func sameEverywhere(t failer, desks []*desk) {
	t.Helper()
	for _, d := range desks[1:] {
		x, y := desks[0].tree(t), d.tree(t)
		sorted(x)
		sorted(y)
		if a, b := compact(x), compact(y); !bytes.Equal(a, b) {
			t.Fatalf("%s shows %s, %s shows %s", desks[0].site, a, d.site, b)
		}
	}
}

var every = flag.Bool("engine.every", false, "have two sites issue every three requests, not every two with a third")

// TestEveryInterleavingUnderEveryRule has two sites that are cut off after a create issue one and two requests of every kind, and
// delivers what they have issued to a third one in every order.
func TestEveryInterleavingUnderEveryRule(t *testing.T) {
	histories, orders := 0, 0
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			n := len(declaredRequests) - 2
			for x := range n {
				for y := range n {
					for z := range n {
						if *every || z == x*y%n {
							orders += interleave(t, k, x+2, y+2, z+2)
							histories++
						}
					}
				}
			}
		})
	}
	t.Logf("%d histories in %d orders", histories, orders)
}

// interleave returns in how many orders it has delivered.
func interleave(t *testing.T, k *Kind, first, other, second int) (orders int) {
	a, b := deskOf("a", k), deskOf("b", k)
	create := a.issue(t, TypeCreate, "/images", `{"name":"n","size":1,"deep":{"x":1}}`, 1)
	b.history.Add(create)
	b.catchUp(t)
	all := []*Operation{create}
	for i, n := range []int{first, other, second} {
		d, r := []*desk{a, b, a}[i], declaredRequests[n]
		if o := d.issue(t, r.typ, r.path, r.body, int64(2+i)); o != nil {
			all = append(all, o)
		}
	}
	for _, d := range []*desk{a, b} {
		for _, o := range all {
			d.history.Add(o)
			d.catchUp(t)
		}
		d.lawful(t)
	}
	permute(all, func(order []*Operation) {
		orders++
		c := deskOf("c", k)
		for _, o := range order {
			c.history.Add(o)
			c.catchUp(t)
		}
		c.lawful(t)
		sameEverywhere(t, []*desk{a, b, c})
		for _, o := range all {
			if o.Type == TypeAction && c.ran[o.ID] > 1 {
				t.Errorf("%s ran %d times", o.Name, c.ran[o.ID])
			}
		}
	})
	return orders
}

// A PUT that set a counter loses its effect to a change, until an increment takes the effect of that one. Where the object is made anew
// in between, without the number, the increment adds to nothing, and the number is set.
func TestACounterAddsToWhatCountsAgain(t *testing.T) {
	k := kinds()["one"]
	a, b := deskOf("a", k), deskOf("b", k)
	all := []*Operation{a.issue(t, TypeCreate, "/images", `{"name":"a","size":1}`, 1)}
	b.history.Add(all[0])
	b.catchUp(t)
	all = append(all, b.issue(t, TypeMerge, "/images/{id}", `{"size":3}`, 2), a.issue(t, TypeReplace, "/images/{id}", `{"name":"n","count":29}`, 2))
	b.history.Add(all[2])
	b.catchUp(t)
	all = append(all, b.issue(t, TypeReplace, "/images/{id}", `{"name":"c","size":2}`, 3), a.issue(t, TypeAction, "/images/{id}/incr", "", 3))
	b.vanish()
	for _, d := range []*desk{a, b} {
		for _, o := range all {
			d.history.Add(o)
		}
		d.catchUp(t)
		d.lawful(t)
	}
	sameEverywhere(t, []*desk{a, b})
	if n := b.count(t, "/count"); n != 42 {
		t.Errorf("the counter is %d", n)
	}
}

func TestACounterAddsUpOverACut(t *testing.T) {
	k := kinds()["default"]
	a, b := deskOf("a", k), deskOf("b", k)
	create := a.issue(t, TypeCreate, "/images", `{"name":"n","count":23}`, 1)
	b.history.Add(create)
	b.catchUp(t)
	set := a.issue(t, TypeMerge, "/images/{id}", `{"count":29}`, 2)
	incr := b.issue(t, TypeAction, "/images/{id}/incr", "", 3)
	a.history.Add(incr)
	b.history.Add(set)
	for _, d := range []*desk{a, b} {
		d.catchUp(t)
		d.lawful(t)
		if n := d.count(t, "/count"); n != 42 || d.ran[incr.ID] != 1 {
			t.Errorf("%s counts %d and has run the action %d times, want 42 and 1", d.site, n, d.ran[incr.ID])
		}
	}
}

func TestAChangeReversesAConcurrentDeleteWhereUpdateWins(t *testing.T) {
	k := kinds()["update wins"]
	a, b := deskOf("a", k), deskOf("b", k)
	create := a.issue(t, TypeCreate, "/images", `{"name":"n"}`, 1)
	b.history.Add(create)
	b.catchUp(t)
	gone := a.issue(t, TypeDelete, "/images/{id}", "", 3)
	change := b.issue(t, TypeMerge, "/images/{id}", `{"size":2}`, 2)
	a.history.Add(change)
	b.history.Add(gone)
	for _, d := range []*desk{a, b} {
		d.catchUp(t)
		d.lawful(t)
		if want := `{"made":"by the application","name":"n","size":2}`; string(compact(d.shows)) != want {
			t.Errorf("%s shows %s, want %s", d.site, compact(d.shows), want)
		}
	}
}

func TestAPairThatAnApplicationRefusesCountsAsTheLaterAlone(t *testing.T) {
	a, b := newDesk("a"), newDesk("b")
	create := a.issue(t, TypeCreate, "/images", `{"min":1,"max":9}`, 1)
	b.history.Add(create)
	b.catchUp(t)
	low := a.issue(t, TypeMerge, "/images/{id}", `{"max":3}`, 2)
	high := b.issue(t, TypeMerge, "/images/{id}", `{"min":5}`, 3)
	a.history.Add(high)
	b.history.Add(low)
	b.catchUp(t) // it takes both, min over max
	facts := a.history.disputed(a.standing(), []*Operation{high})
	if !slices.Equal(facts, []Fact{{low.ID, high.ID}}) {
		t.Fatalf("disputed is %v", facts)
	}
	for _, d := range []*desk{a, b} {
		d.history.AddFact(facts[0])
		d.catchUp(t)
		d.lawful(t)
		if want := `{"made":"by the application","max":9,"min":5}`; string(compact(d.shows)) != want {
			t.Errorf("%s shows %s, want %s", d.site, compact(d.shows), want)
		}
		lost := FoldOf(d.history, anyOperation).Superseded
		if len(lost) != 1 || lost[0].By != low.ID || lost[0].Over != high.ID || lost[0].Rule == "" {
			t.Errorf("%s: superseded %+v", d.site, lost)
		}
	}
	if again := a.history.disputed(a.standing(), []*Operation{high}); again != nil {
		t.Errorf("what is a fact is disputed again: %v", again)
	}
}

func TestDecimalsAreExactAndBounded(t *testing.T) {
	for _, c := range [][3]string{
		{"0.1", "0.2", "0.3"}, {"1e3", "1", "1001"}, {"-5", "2.50", "-2.5"}, {"1.5", "-1.5", "0"}, {"9007199254740993", "1", "9007199254740994"},
	} {
		a, err := parseDecimal(c[0])
		b, err2 := parseDecimal(c[1])
		if got := a.plus(b).number(); err != nil || err2 != nil || string(got) != c[2] {
			t.Errorf("%s + %s is %s, %v %v", c[0], c[1], got, err, err2)
		}
	}
	for _, s := range []string{"", "x", "1e999999999", "1e-65", "0x10", "1_0", string(bytes.Repeat([]byte("9"), 65))} {
		if _, err := parseDecimal(s); err == nil {
			t.Errorf("%.20q is taken for a number", s)
		}
	}
}

// FuzzOperation decodes operations, and folds those that are acceptable: nothing panics, and twice the same comes of it.
func FuzzOperation(f *testing.F) {
	f.Add([]byte(`{"id":"x","type":"create","method":"POST","path":"/images","change":{"set":{"/a":1,"/b/c":{}}},"origin":"o","run":"r","seq":1,"time":1}`))
	f.Add([]byte(`{"id":"x","type":"action","method":"POST","path":"/images/{id}/incr","change":{"add":{"/n":{"by":"1e9","from":"-0.5"}},"unset":["/b"]},"origin":"o","run":"r","seq":2,"time":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := DecodeOperation("o/x", b)
		if err != nil || o.Change != nil && o.Change.Validate() != nil {
			return
		}
		fold := func() []byte {
			h := NewHistory()
			h.kind = kinds()["all one"]
			h.Add(&Operation{ID: "c", Type: TypeCreate, Origin: "p", Seq: 1, Change: &Change{Set: map[Pointer]json.RawMessage{"/n": json.RawMessage("1")}}})
			second := *o
			second.Seq, second.Seen, second.Time = 1, map[Line]uint64{"p.": 1}, 5
			h.Add(&second)
			return FoldOf(h, anyOperation).Representation()
		}
		if one, two := fold(), fold(); !bytes.Equal(one, two) {
			t.Errorf("folded once %s and once %s", one, two)
		}
	})
}

// BenchmarkNext tells what a decision about a resource of 1,000 operations costs.
func BenchmarkNext(b *testing.B) {
	h := longHistory(1000)
	last := h.Ordered()[999]
	s := Standing{
		Settled: func(o *Operation) bool { return o != last },
		Void:    func(*Operation) bool { return false },
		Blocked: func(*Operation) bool { return false },
	}
	for b.Loop() {
		if Next(h, s).Kind != StepRun {
			b.Fatal("the last operation is not run")
		}
	}
}

func longHistory(n int) *History {
	h := NewHistory()
	h.kind = kinds()["default"]
	for i := range n {
		o := &Operation{ID: OperationID(fmt.Sprintf("%06d", i)), Type: TypeMerge, Origin: "a", Seq: uint64(i + 1), Time: int64(i),
			Change: &Change{Set: map[Pointer]json.RawMessage{Pointer(fmt.Sprintf("/f%d", i%20)): json.RawMessage(fmt.Sprint(i))}}}
		if i == 0 {
			o.Type = TypeCreate
		}
		h.Add(o)
	}
	return h
}

// TestALaterChangeTakesThePlaceOfOpaqueBytes runs a change as it was sent that opaque bytes lose their effect to, by a rule: the
// bytes that they had taken the place of are put again.
func TestALaterChangeTakesThePlaceOfOpaqueBytes(t *testing.T) {
	k := kinds()["all one"]
	a, b := deskOf("a", k), deskOf("b", k)
	tell := func(to *desk, o *Operation) {
		to.history.Add(o)
		to.catchUp(t)
	}
	tell(a, b.issue(t, TypeCreate, "/images", `{"name":"n"}`, 1))
	tell(a, b.issue(t, TypeAbsolute, "/images/{id}/file", "first", 2))
	a.issue(t, TypeAbsolute, "/images/{id}/file", "second", 3)
	tell(a, b.issue(t, TypeMerge, "/images/{id}", `{"size":1}`, 4))
	if a.files["/images/{id}/file"] != "first" {
		t.Errorf("the application has %q", a.files["/images/{id}/file"])
	}
	a.lawful(t)
}

// TestBytesThatWerePassedOverTakeTheEffectOfOthersAllTheSame has bytes passed over because of a later change, which then loses to
// other bytes. The first bytes are not put any more, but what they take the effect of goes.
func TestBytesThatWerePassedOverTakeTheEffectOfOthersAllTheSame(t *testing.T) {
	k := kinds()["all one"]
	a, b, c := deskOf("a", k), deskOf("b", k), deskOf("c", k)
	tell := func(o *Operation, to ...*desk) *Operation {
		for _, d := range to {
			d.history.Add(o)
			d.catchUp(t)
		}
		return o
	}
	tell(a.issue(t, TypeCreate, "/images", `{"name":"made"}`, 1), b, c)
	named := tell(c.issue(t, TypeMerge, "/images/{id}", `{"name":"named"}`, 2), b)
	sized := b.issue(t, TypeMerge, "/images/{id}", `{"size":2}`, 4)
	first := tell(a.issue(t, TypeAbsolute, "/images/{id}/file", "first", 3), b, c)
	tell(sized, c, a)
	tell(named, a)
	second := &Operation{ID: "d-1", Type: TypeAbsolute, Path: first.Path, Body: []byte("second"), Origin: "d", Seq: 1, Time: 5,
		Seen: map[Line]uint64{first.Line(): first.Seq, named.Line(): named.Seq}}
	for _, d := range []*desk{a, b, c} {
		tell(second, d)
		d.lawful(t)
		if name, _ := valueAt(d.shows, "/name"); name != "made" {
			t.Errorf("%s shows %s", d.site, compact(d.shows))
		}
	}
}
