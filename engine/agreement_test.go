package engine

import "testing"

// TestFoldsAreComparedOfOneState lets two sites fold differently: that is a defect when they have settled the same and follow
// from the same facts, and nothing otherwise.
func TestFoldsAreComparedOfOneState(t *testing.T) {
	fact := Fact{Earlier: "a", Later: "b"}
	settled := map[Line]uint64{"x.1": 2}
	for _, c := range []struct {
		name     string
		other    Replica
		mismatch bool
	}{
		{"the same", Replica{Settled: settled, Observed: &Observed{Fold: "one"}, Facts: []Fact{fact}}, false},
		{"another fold", Replica{Settled: settled, Observed: &Observed{Fold: "two"}, Facts: []Fact{fact}}, true},
		{"a fact not executed", Replica{Settled: settled, Observed: &Observed{Fold: "two"}}, false},
		{"less settled", Replica{Settled: map[Line]uint64{"x.1": 1}, Observed: &Observed{Fold: "two"}, Facts: []Fact{fact}}, false},
	} {
		v := newView("paris", func(s SiteID) SiteName { return SiteName(s) }, "d", About{Placement: []SiteID{"paris", "nantes"}}, nil, &Kind{})
		v.replicas["paris"] = Replica{Settled: settled, Observed: &Observed{Fold: "one"}, Facts: []Fact{fact}}
		v.replicas["nantes"] = c.other
		sites := map[SiteID]ReplicaStatus{}
		v.compareFolds([]SiteID{"paris", "nantes"}, sites)
		if sites["paris"].Mismatch != c.mismatch || sites["nantes"].Mismatch != c.mismatch {
			t.Errorf("%s: %+v", c.name, sites)
		}
	}
}
