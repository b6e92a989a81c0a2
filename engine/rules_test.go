package engine

import (
	"bytes"
	"encoding/json"
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

var declaredRequests = append(slices.Clone(requests[:8]), []struct {
	typ        Type
	path, body string
}{
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
			rapid.Check(t, func(t *rapid.T) { playRules(t, k) })
		})
	}
}

func playRules(t *rapid.T, k *Kind) {
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
			r := rapid.SampledFrom(declaredRequests).Draw(t, "request")
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
		if a, b := compact(desks[0].shows), compact(d.shows); !bytes.Equal(a, b) {
			t.Fatalf("%s shows %s, %s shows %s", desks[0].site, a, d.site, b)
		}
	}
}
