package engine

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestUnsupported(t *testing.T) {
	at := func(state State, sites ...SiteID) *ResourceRow {
		row := &ResourceRow{State: state, Sites: map[SiteID]ReplicaStatus{}}
		for _, s := range sites {
			row.Sites[s] = ReplicaStatus{State: StateConverged}
		}
		return row
	}
	left := at(StateConverged, "nantes")
	left.Sites["paris"] = ReplicaStatus{State: StateLeaving}
	for _, tt := range []struct {
		name   string
		found  []SiteID
		target *ResourceRow
		reach  string
		want   string
	}{
		{"a replica here", nil, at(StateConverged, "paris", "nantes"), "", ""},
		{"one elsewhere that can be reached", nil, at(StateConverged, "nantes", "lyon"), "lyon", ""},
		{"none that can be reached", nil, at(StateConverged, "nantes", "lyon"), "rennes", "relies on network n, and no site that has it can be reached (lyon, nantes)"},
		{"it leaves this site", nil, left, "", "relies on network n, and no site that has it can be reached (nantes)"},
		{"deleted", []SiteID{"paris"}, at(StateDeleted, "paris"), "", "relies on network n, which was deleted"},
		{"it was here and went elsewhere", []SiteID{"nantes"}, at(StateLeft, "paris"), "", "relies on network n, and no site that has it can be reached (nantes)"},
		{"not replicated, as it was named", []SiteID{"nantes"}, nil, "", "relies on network n, and no site that has it can be reached (nantes)"},
		{"not replicated and there", []SiteID{"nantes"}, nil, "nantes", ""},
		{"not replicated and here", []SiteID{"paris"}, nil, "", ""},
		{"nobody knows", nil, nil, "", ""},
	} {
		r := Relation{Target: Target{"networks", "network", "n"}, Type: RelationReliance, Found: tt.found}
		reachable := func(s SiteID) bool { return slices.Contains(strings.Fields(tt.reach), string(s)) }
		if got := r.unsupported(tt.target, "paris", reachable, func(s SiteID) SiteName { return SiteName(s) }); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestWhereabouts(t *testing.T) {
	told := func(id ResourceID, sites ...SiteID) *Operation {
		return &Operation{Found: []Found{{Target{"networks", "network", id}, sites}}}
	}
	var ops []*Operation
	for i := range maxFound {
		ops = append(ops, told(ResourceID(rune('Ѐ'+i)), "lyon"))
	}
	ops = append(ops, told("n", "paris"), told("n", "nantes"))
	list := (&History{ordered: ops}).whereabouts(anyOperation)
	if len(list) != maxFound || list[0].ID != "n" || list[0].Sites[0] != "nantes" || list[len(list)-1].ID != ResourceID(rune('Ѐ'+1)) {
		t.Errorf("%d, the first %+v, the last %+v", len(list), list[0], list[len(list)-1])
	}
}

// TestHostileWhereabouts gives operations that no honest origin makes.
func TestHostileWhereabouts(t *testing.T) {
	many := make([]Found, maxFound+1)
	for i := range many {
		many[i] = Found{Target{"s", "k", "i"}, []SiteID{"a"}}
	}
	for name, list := range map[string][]Found{
		"too many": many, "no site": {{Target{"s", "k", "i"}, nil}}, "not sorted": {{Target{"s", "k", "i"}, []SiteID{"b", "a"}}},
		"no identifier": {{Target{"s", "k", "i"}, []SiteID{""}}}, "too long": {{Target{"s", "k", "i"}, []SiteID{SiteID(strings.Repeat("x", 200))}}},
	} {
		o := Operation{ID: "o", Type: TypeCreate, Origin: "a", Run: "00000000", Seq: 1, Found: list}
		b, err := o.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeOperation(o.Key(), b); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestACheckpointKnowsWhereabouts compacts operations that tell where something is.
func TestACheckpointKnowsWhereabouts(t *testing.T) {
	at := func(id ResourceID, site SiteID) []Found {
		return []Found{{Target{"networks", "network", id}, []SiteID{site}}}
	}
	h := NewHistory()
	h.Add(&Operation{ID: "1", Type: TypeCreate, Origin: "a", Run: "00000000", Seq: 1, Time: 1, Body: []byte(`{"network":"n"}`),
		Change: &Change{Set: map[Pointer]json.RawMessage{"/network": json.RawMessage(`"n"`)}}, Found: at("n", "paris")})
	h.Add(&Operation{ID: "2", Type: TypeMerge, Origin: "a", Run: "00000000", Seq: 2, Time: 2, Body: []byte(`{"other":"m"}`),
		Change: &Change{Set: map[Pointer]json.RawMessage{"/other": json.RawMessage(`"m"`)}}, Found: at("m", "nantes")})
	before := h.whereabouts(anyOperation)
	if !h.Compact(map[Line]uint64{"a.00000000": 2}, func(*Operation) bool { return false }) || h.Len() != 0 {
		t.Fatalf("%d operations are left", h.Len())
	}
	if after := h.whereabouts(anyOperation); len(before) != 2 || !reflect.DeepEqual(after, before) {
		t.Errorf("got %v, want %v", after, before)
	}
}
