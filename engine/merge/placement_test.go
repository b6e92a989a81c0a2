package merge

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

func placing(id string, at int64, add, remove []SiteID) *Operation {
	o := op(id, engine.TypePlace, at, nil, nil)
	o.Place = &engine.PlacementChange{Add: add, Remove: remove}
	return o
}

func sites(ids ...SiteID) []SiteID { return ids }

func placedAt(initial []SiteID, ops ...*Operation) *History {
	h := New(lab, engine.About{Collaboration: engine.Replication, Placement: initial}, "a")
	for _, o := range ops {
		h.Add(o)
	}
	return h
}

func TestPlacement(t *testing.T) {
	for _, tt := range []struct {
		name    string
		initial []SiteID
		ops     []*Operation
		want    []SiteID
		void    OperationID
	}{
		{"nothing", sites("a", "b"), nil, sites("a", "b"), ""},
		{"added", sites("a", "b"), []*Operation{placing("o-1", 1, sites("c"), nil)}, sites("a", "b", "c"), ""},
		{"added twice", sites("a"), []*Operation{placing("o-1", 1, sites("b"), nil), placing("o-2", 2, sites("b"), nil)}, sites("a", "b"), ""},
		{"removed and added: the later wins", sites("a", "b"), []*Operation{placing("o-1", 1, nil, sites("b")), placing("o-2", 2, sites("b"), nil)}, sites("a", "b"), ""},
		{"added and removed: the later wins", sites("a"), []*Operation{placing("o-1", 1, sites("b"), nil), placing("o-2", 2, nil, sites("b"))}, sites("a"), ""},
		{"each removes the other", sites("a", "b"), []*Operation{placing("o-1", 1, nil, sites("b")), placing("o-2", 2, nil, sites("a"))}, sites("a"), "o-2"},
		{"all are exchanged", sites("a", "b"), []*Operation{placing("o-1", 1, sites("c", "d"), sites("a", "b"))}, sites("c", "d"), ""},
		{"a void one adds later ones no wrong", sites("a"), []*Operation{placing("o-1", 1, nil, sites("a")), placing("o-2", 2, sites("b"), sites("a"))}, sites("b"), "o-1"},
	} {
		initial := slices.Clone(tt.initial)
		p := placedAt(tt.initial, tt.ops...).Placement()
		if !slices.Equal(p.Sites, tt.want) || (tt.void != "") != (len(p.Void) == 1 && p.Void[tt.void]) {
			t.Errorf("%s: %v with %v void, want %v with %q", tt.name, p.Sites, p.Void, tt.want, tt.void)
		}
		if !slices.Equal(initial, tt.initial) {
			t.Errorf("%s: where it lived first is changed to %v", tt.name, tt.initial)
		}
	}
}

// TestPlacementLaws folds random place operations that sites hear in random orders, some of which a checkpoint stands for.
func TestPlacementLaws(t *testing.T) {
	all := sites("a", "b", "c", "d")
	rapid.Check(t, func(t *rapid.T) {
		initial := all[:rapid.IntRange(1, 4).Draw(t, "initial")]
		ops := drawPlacing(t, all)
		h := placedAt(initial, ops...)
		p := h.Placement()
		if len(p.Sites) == 0 {
			t.Fatal("nothing is left")
		}
		again := placedAt(initial, rapid.Permutation(ops).Draw(t, "another order")...)
		if q := again.Placement(); !reflect.DeepEqual(p, q) {
			t.Fatalf("%v in one order of delivery, %v in another", p, q)
		}
		if parts := slices.Sorted(slices.Values(slices.Concat(p.Parts...))); p.Parts != nil && !slices.Equal(parts, p.Sites) {
			t.Fatalf("parts %v of %v", p.Parts, p.Sites)
		}
		for _, id := range all { // whoever is there or not, the last operation that counts and names it has said so
			there, said := slices.Contains(initial, id), OperationID("")
			for _, o := range h.Ordered() {
				if !p.Void[o.ID] && slices.Contains(o.Place.Add, id) {
					there, said = true, o.ID
				}
				if !p.Void[o.ID] && slices.Contains(o.Place.Remove, id) {
					there, said = false, o.ID
				}
			}
			if p.Has(id) != there {
				t.Fatalf("%s is in %v: %t, and %s has the last word", id, p.Sites, p.Has(id), said)
			}
		}
		stable := h.Complete()
		origin := rapid.SampledFrom(all).Draw(t, "behind")
		stable[Line(origin)] = uint64(rapid.IntRange(0, int(stable[Line(origin)])).Draw(t, "stable"))
		if h.Compact(stable, none, nil) {
			if q := h.Placement(); !slices.Equal(p.Sites, q.Sites) || !reflect.DeepEqual(p.Parts, q.Parts) || p.Divided != q.Divided {
				t.Fatalf("%v before a checkpoint, %v after it", p, q)
			}
			if err := h.Base().Validate(); err != nil {
				t.Fatal(err)
			}
			for site, o := range h.Placement().Added {
				if p.Added[site].ID != o.ID {
					t.Fatalf("%s has added %s, not %s", p.Added[site].ID, site, o.ID)
				}
			}
		}
	})
}

func drawPlacing(t *rapid.T, all []SiteID) []*Operation {
	var ops []*Operation
	numbers, times := Vector{}, map[SiteID]int64{}
	for range rapid.IntRange(1, 8).Draw(t, "operations") {
		origin := rapid.SampledFrom(all).Draw(t, "origin")
		numbers[Line(origin)]++
		times[origin] += rapid.Int64Range(1, 4).Draw(t, "later")
		o := placing(fmt.Sprintf("%s-%d", origin, numbers[Line(origin)]), times[origin], nil, nil)
		for _, id := range all {
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				o.Place.Add = append(o.Place.Add, id)
			case 1:
				o.Place.Remove = append(o.Place.Remove, id)
			}
		}
		if len(o.Place.Add)+len(o.Place.Remove) == 0 {
			o.Place.Add = all[:1]
		}
		if len(o.Place.Add) > 0 && rapid.Bool().Draw(t, "divides") {
			o.Method = engine.MethodDivide
			for i, id := range o.Place.Add {
				if i == 0 || rapid.Bool().Draw(t, "a part of its own") {
					o.Place.Parts = append(o.Place.Parts, nil)
				}
				last := len(o.Place.Parts) - 1
				o.Place.Parts[last] = append(o.Place.Parts[last], id)
			}
		}
		if err := o.Place.Validate(); err != nil {
			t.Fatal(err)
		}
		ops = append(ops, o)
	}
	return ops
}

func TestPartsFollowPlacementOperations(t *testing.T) {
	for _, c := range []struct{ parts, add, remove, want string }{
		{"a b", "c", "", "[[a] [b] [c]]"},
		{"a b", "c", "a", "[[c] [b]]"},      // the part moves
		{"ab c", "", "a", "[[b] [c]]"},      // the other replica of the part stays
		{"ab c", "d", "a", "[[b] [c] [d]]"}, // no part is left without a site
		{"a b c", "", "b", "[[a] [c]]"},
		{"a b", "cd", "b", "[[a] [c] [d]]"},
		{"a b", "a", "", "[[a] [b]]"},
	} {
		list := func(s string) (ids []SiteID) {
			for _, r := range s {
				ids = append(ids, SiteID(r))
			}
			return ids
		}
		var parts engine.Parts
		for _, part := range strings.Fields(c.parts) {
			parts = append(parts, list(part))
		}
		if got := fmt.Sprint(placeParts(parts, &engine.PlacementChange{Add: list(c.add), Remove: list(c.remove)})); got != c.want {
			t.Errorf("%s + %q - %q is %s, want %s", c.parts, c.add, c.remove, got, c.want)
		}
	}
}
