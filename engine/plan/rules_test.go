package plan

import (
	"encoding/json"
	"flag"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// kinds are kinds that differ in their rules from lab, by name.
func kinds() map[string]*Kind {
	declared := []engine.NamedOperation{
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
	one := func(before, after string) engine.Resolution {
		return engine.Resolution{Before: before, After: after, Take: engine.TakeOne}
	}
	return map[string]*Kind{
		"default":     with(func(*Kind) {}),
		"update wins": with(func(k *Kind) { k.UpdateWins = true }),
		"whole":       with(func(k *Kind) { k.ReplaceWhole = true }),
		"one": with(func(k *Kind) {
			k.Resolutions = []engine.Resolution{
				one("start", "stop"), one("stop", "start"), one("replace", "merge"), one("merge", "incr"), one("create", "create"),
			}
		}),
		"all one": with(func(k *Kind) {
			for _, a := range []string{"create", "replace", "merge", "absolute", "action"} {
				for _, b := range []string{"create", "replace", "merge", "absolute", "action"} {
					k.Resolutions = append(k.Resolutions, one(a, b))
				}
			}
			k.UpdateWins = true
		}),
		"last writer": with(func(k *Kind) {
			for _, u := range []string{"replace", "merge", "action", "absolute"} {
				k.Resolutions = append(k.Resolutions, one("delete", u), one(u, "delete"))
			}
		}),
	}
}

var declaredRequests = append(slices.Clone(requests[:8]), []request{
	{engine.TypeAction, "/images/{id}/start", ""},
	{engine.TypeAction, "/images/{id}/stop", ""},
	{engine.TypeAction, "/images/{id}/incr", ""},
	{engine.TypeAction, "/images/{id}/incr", ""},
	{engine.TypeReplace, "/images/{id}", `{"name":"n","count":29}`},
	{engine.TypeMerge, "/images/{id}", `{"count":null,"power":"low"}`},
	{engine.TypeDelete, "/images/{id}", ""},
}...)

// TestInvariantConvergenceUnderEveryRule plays random histories under every rule, with objects that vanish and applications
// that refuse what two operations amount to, and expects that every site shows the fold and every action has run once for an
// object.
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
		desks[i] = deskOf(engine.SiteID(rune('a'+i)), k)
	}
	var all []*Operation
	for n := range rapid.IntRange(1, 14).Draw(t, "steps") {
		d := rapid.SampledFrom(desks).Draw(t, "site")
		switch rapid.IntRange(0, 4).Draw(t, "what") {
		case 0, 1:
			if len(all) == 0 {
				continue
			}
			d.history.Add(rapid.SampledFrom(all).Draw(t, "operation"))
			if rapid.Bool().Draw(t, "apply") {
				d.catchUp(t)
			}
		default:
			if o := d.issueAny(t, requests, n); o != nil {
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
		d.catchUp(t)
		d.lawful(t)
		for _, o := range all {
			if o.Type == engine.TypeAction && d.ran[o.ID] > 1 {
				t.Fatalf("%s: %s was sent %d times", d.site, o.ID, d.ran[o.ID])
			}
		}
	}
	sameEverywhere(t, desks)
}

var every = flag.Bool("plan.every", false, "have two sites issue every three requests, not every two with a third")

// TestEveryInterleavingUnderEveryRule has two sites that are cut off after a create issue one and two requests of every kind,
// and delivers what they have issued to a third one in every order.
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
	t.Helper()
	a, b := deskOf("a", k), deskOf("b", k)
	create := a.issue(t, engine.TypeCreate, "/images", `{"name":"n","size":1,"deep":{"x":1}}`, 1)
	b.hears(t, create)
	all := []*Operation{create}
	for i, n := range []int{first, other, second} {
		d, r := []*desk{a, b, a}[i], declaredRequests[n]
		if o := d.issue(t, r.typ, r.path, r.body, int64(2+i)); o != nil {
			all = append(all, o)
		}
	}
	for _, d := range []*desk{a, b} {
		for _, o := range all {
			d.hears(t, o)
		}
		d.lawful(t)
	}
	permute(all, func(order []*Operation) {
		orders++
		c := deskOf("c", k)
		for _, o := range order {
			c.hears(t, o)
		}
		c.lawful(t)
		sameEverywhere(t, []*desk{a, b, c})
		for _, o := range all {
			if o.Type == engine.TypeAction && c.ran[o.ID] > 1 {
				t.Errorf("%s ran %d times", o.ID, c.ran[o.ID])
			}
		}
	})
	return orders
}

// A PUT that set a counter loses its effect to a change, until an increment takes the effect of that one. Where the object is
// made anew in between, without the number, the increment adds to nothing, and the number is set.
func TestACounterAddsToWhatCountsAgain(t *testing.T) {
	k := kinds()["one"]
	a, b := deskOf("a", k), deskOf("b", k)
	all := []*Operation{a.issue(t, engine.TypeCreate, "/images", `{"name":"a","size":1}`, 1)}
	b.hears(t, all[0])
	all = append(all, b.issue(t, engine.TypeMerge, "/images/{id}", `{"size":3}`, 2), a.issue(t, engine.TypeReplace, "/images/{id}", `{"name":"n","count":29}`, 2))
	b.hears(t, all[2])
	all = append(all, b.issue(t, engine.TypeReplace, "/images/{id}", `{"name":"c","size":2}`, 3), a.issue(t, engine.TypeAction, "/images/{id}/incr", "", 3))
	b.vanish()
	for _, d := range []*desk{a, b} {
		d.hears(t, all...)
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
	b.hears(t, a.issue(t, engine.TypeCreate, "/images", `{"name":"n","count":23}`, 1))
	written := a.issue(t, engine.TypeMerge, "/images/{id}", `{"count":29}`, 2)
	incr := b.issue(t, engine.TypeAction, "/images/{id}/incr", "", 3)
	a.hears(t, incr)
	b.hears(t, written)
	for _, d := range []*desk{a, b} {
		d.lawful(t)
		if n := d.count(t, "/count"); n != 42 || d.ran[incr.ID] != 1 {
			t.Errorf("%s counts %d and has run the action %d times, want 42 and 1", d.site, n, d.ran[incr.ID])
		}
	}
}

func TestAChangeReversesAConcurrentDeleteWhereUpdateWins(t *testing.T) {
	k := kinds()["update wins"]
	a, b := deskOf("a", k), deskOf("b", k)
	b.hears(t, a.issue(t, engine.TypeCreate, "/images", `{"name":"n"}`, 1))
	gone := a.issue(t, engine.TypeDelete, "/images/{id}", "", 3)
	a.hears(t, b.issue(t, engine.TypeMerge, "/images/{id}", `{"size":2}`, 2))
	b.hears(t, gone)
	for _, d := range []*desk{a, b} {
		d.lawful(t)
		if want := `{"made":"by the application","name":"n","size":2}`; string(tree.Compact(d.shows)) != want {
			t.Errorf("%s shows %s, want %s", d.site, tree.Compact(d.shows), want)
		}
	}
}

// TestALaterChangeTakesThePlaceOfOpaqueBytes runs a change as it was sent that opaque bytes lose their effect to, by a rule: the
// bytes that they had taken the place of are put again.
func TestALaterChangeTakesThePlaceOfOpaqueBytes(t *testing.T) {
	k := kinds()["all one"]
	a, b := deskOf("a", k), deskOf("b", k)
	a.hears(t, b.issue(t, engine.TypeCreate, "/images", `{"name":"n"}`, 1))
	a.hears(t, b.issue(t, engine.TypeAbsolute, "/images/{id}/file", "first", 2))
	a.issue(t, engine.TypeAbsolute, "/images/{id}/file", "second", 3)
	a.hears(t, b.issue(t, engine.TypeMerge, "/images/{id}", `{"size":1}`, 4))
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
			d.hears(t, o)
		}
		return o
	}
	tell(a.issue(t, engine.TypeCreate, "/images", `{"name":"made"}`, 1), b, c)
	named := tell(c.issue(t, engine.TypeMerge, "/images/{id}", `{"name":"named"}`, 2), b)
	sized := b.issue(t, engine.TypeMerge, "/images/{id}", `{"size":2}`, 4)
	first := tell(a.issue(t, engine.TypeAbsolute, "/images/{id}/file", "first", 3), b, c)
	tell(sized, c, a)
	tell(named, a)
	second := &Operation{ID: "d-1", Type: engine.TypeAbsolute, Path: first.Path, Body: []byte("second"), Line: "d", Origin: "d", Number: 1, Time: 5,
		Seen: Vector{"a": first.Number, "c": named.Number}}
	for _, d := range []*desk{a, b, c} {
		tell(second, d)
		d.lawful(t)
		if name, _ := tree.ValueAt(d.shows, "/name"); name != "made" {
			t.Errorf("%s shows %s", d.site, tree.Compact(d.shows))
		}
	}
}
