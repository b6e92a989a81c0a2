package engine

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func placing(id string, at int64, add, remove []SiteID) *Operation {
	return &Operation{ID: OperationID(id), Type: TypePlace, Origin: "o", Time: at, Place: &PlacementChange{Add: add, Remove: remove}}
}

func sites(ids ...SiteID) []SiteID { return ids }

func TestPlacementOf(t *testing.T) {
	for _, tt := range []struct {
		name    string
		initial []SiteID
		ops     []*Operation
		want    []SiteID
		void    string
	}{
		{"nothing", sites("a", "b"), nil, sites("a", "b"), ""},
		{"added", sites("a", "b"), []*Operation{placing("1", 1, sites("c"), nil)}, sites("a", "b", "c"), ""},
		{"added twice", sites("a"), []*Operation{placing("1", 1, sites("b"), nil), placing("2", 2, sites("b"), nil)}, sites("a", "b"), ""},
		{"removed and added: the later wins", sites("a", "b"), []*Operation{placing("1", 1, nil, sites("b")), placing("2", 2, sites("b"), nil)}, sites("a", "b"), ""},
		{"added and removed: the later wins", sites("a"), []*Operation{placing("1", 1, sites("b"), nil), placing("2", 2, nil, sites("b"))}, sites("a"), ""},
		{"each removes the other", sites("a", "b"), []*Operation{placing("1", 1, nil, sites("b")), placing("2", 2, nil, sites("a"))}, sites("a"), "2"},
		{"all are exchanged", sites("a", "b"), []*Operation{placing("1", 1, sites("c", "d"), sites("a", "b"))}, sites("c", "d"), ""},
		{"a void one adds later ones no wrong", sites("a"), []*Operation{placing("1", 1, nil, sites("a")), placing("2", 2, sites("b"), sites("a"))}, sites("b"), "1"},
	} {
		p := PlacementOf(tt.initial, tt.ops)
		if !slices.Equal(p.Sites, tt.want) || (tt.void != "") != (len(p.Void) == 1 && p.Void[OperationID(tt.void)]) {
			t.Errorf("%s: %v with %v void, want %v with %q", tt.name, p.Sites, p.Void, tt.want, tt.void)
		}
	}
}

// TestPlacementLaws folds random place operations that sites hear in random orders.
func TestPlacementLaws(t *testing.T) {
	all := sites("a", "b", "c", "d")
	rapid.Check(t, func(t *rapid.T) {
		initial := all[:rapid.IntRange(1, 4).Draw(t, "initial")]
		h := NewHistory()
		var ops []*Operation
		seqs, times := map[SiteID]uint64{}, map[SiteID]int64{}
		for i := range rapid.IntRange(1, 8).Draw(t, "operations") {
			origin := rapid.SampledFrom(all).Draw(t, "origin")
			seqs[origin]++
			times[origin] += rapid.Int64Range(1, 4).Draw(t, "later")
			o := placing(fmt.Sprint(i), times[origin], nil, nil)
			o.Origin, o.Seq = origin, seqs[origin]
			for _, id := range all {
				switch rapid.IntRange(0, 2).Draw(t, "what") {
				case 0:
					o.Place.Add = append(o.Place.Add, id)
				case 1:
					o.Place.Remove = append(o.Place.Remove, id)
				}
			}
			ops = append(ops, o)
		}
		for _, o := range ops {
			h.Add(o)
		}
		p := PlacementOf(initial, h.Ordered())
		if len(p.Sites) == 0 {
			t.Fatal("nothing is left")
		}
		again := NewHistory()
		for _, o := range rapid.Permutation(ops).Draw(t, "another order") {
			again.Add(o)
		}
		if q := PlacementOf(initial, again.Ordered()); !reflect.DeepEqual(p, q) {
			t.Fatalf("%v in one order of delivery, %v in another", p, q)
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
	})
}
