package view

import (
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestPart(t *testing.T) {
	paris, nantes := lineOf("paris"), lineOf("nantes")
	create := paris.op(engine.TypeCreate, 1, nil, set("/a", "1"), nil)
	add := paris.op(engine.TypePlace, 2, nil, nil, &engine.PlacementChange{Add: []engine.SiteID{"lille"}})
	remove := paris.op(engine.TypePlace, 3, nil, nil, &engine.PlacementChange{Remove: []engine.SiteID{"nantes"}})
	theirs := nantes.op(engine.TypeMerge, 4, engine.Vector{"paris": 1}, set("/b", "1"), nil)

	v := of("paris")
	check := func(when string, nantes, lille Part, correspondents ...engine.SiteID) {
		t.Helper()
		if v.Part("nantes") != nantes || v.Part("lille") != lille || !slices.Equal(v.Correspondents(), correspondents) {
			t.Errorf("%s: nantes %d, lille %d, correspondents %v", when, v.Part("nantes"), v.Part("lille"), v.Correspondents())
		}
	}
	check("in the beginning", PartMember, PartNone, "nantes", "paris")
	v.take(t, create, add)
	check("once it is added", PartMember, PartMember, "lille", "nantes", "paris")
	v.take(t, remove)
	check("once it is removed", PartLeaving, PartMember, "lille", "nantes", "paris")
	v.status(t, "nantes", engine.Status{Number: 1, Lines: map[engine.Line]engine.Wrote{"nantes": {Changes: 1}}, Left: &engine.Left{By: "paris-3"}})
	check("once it has left, and what it had accepted is still to come", PartLeaving, PartMember, "lille", "nantes", "paris")
	if peers, apart := v.Shared(); !slices.Contains(peers, "nantes") || len(apart) > 0 {
		t.Errorf("it is compared with %v, and apart with %v", peers, apart)
	}
	v.take(t, theirs)
	check("once that is here", PartFormer, PartMember, "lille", "paris")
	if peers, apart := v.Shared(); slices.Contains(peers, "nantes") || len(apart) != 1 {
		t.Errorf("it is compared with %v, and apart with %v", peers, apart)
	}
}

// TestPartOfOneThatIsToBeAdded: a site that knows of what adds it, and not of what that builds on, has no part yet.
func TestPartOfOneThatIsToBeAdded(t *testing.T) {
	paris, nantes := lineOf("paris"), lineOf("nantes")
	create := paris.op(engine.TypeCreate, 1, nil, set("/a", "1"), nil)
	add := nantes.op(engine.TypePlace, 2, engine.Vector{"paris": 1}, nil, &engine.PlacementChange{Add: []engine.SiteID{"lille"}})
	v := of("lille")
	v.take(t, add)
	if v.Part("lille") != PartNone || !v.Writes("lille") {
		t.Errorf("it has part %d, writes %t", v.Part("lille"), v.Writes("lille"))
	}
	v.take(t, create)
	if by := BegunBy(v); v.Part("lille") != PartMember || by == nil || by.ID != "nantes-1" {
		t.Errorf("it has part %d, begins with %v", v.Part("lille"), by)
	}
}
