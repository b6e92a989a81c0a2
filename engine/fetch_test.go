package engine

import "testing"

// TestWithoutABody asks what becomes of large bytes that no site has any more. Nothing waits for them for ever, and nothing is given
// up that content is still to bring, or that a site may have which has not heard that this one asks rightly.
func TestWithoutABody(t *testing.T) {
	for name, c := range map[string]struct {
		kind Type
		mine Replica
		want Outcome
		may  bool
	}{
		"what everyone had settled":                  {kind: TypeAbsolute, want: Outcome{State: StateRejected}, may: true},
		"a create that makes anew":                   {kind: TypeCreate, want: Outcome{State: StateRejected, Blocks: true}, may: true},
		"content is to be copied":                    {kind: TypeAbsolute, mine: Replica{Joined: "place", Bare: true}},
		"the other has not heard of this one":        {kind: TypeAbsolute, mine: Replica{Joined: "place"}},
		"another is leaving":                         {kind: TypeAbsolute},
		"somebody has accepted that it is not there": {kind: TypeAbsolute, mine: Replica{Joined: "forced"}, want: Outcome{State: StateApplied, Carried: true}, may: true},
	} {
		v := newView("a", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Key: "web", Placement: []SiteID{"a", "b"}}, nil, lab)
		o := &Operation{ID: "put", Type: c.kind, Origin: "a", Run: "r", Seq: 1, Time: 1, Blob: &BlobRef{}, line: lineOf("a", "r", 0)}
		v.history.Add(o)
		for i, id := range []OperationID{"place", "forced"} {
			v.history.Add(&Operation{ID: id, Type: TypePlace, Origin: "a", Run: "r", Seq: uint64(i + 2), Time: int64(i + 2), line: lineOf("a", "r", 0),
				Place: &PlacementChange{Add: []SiteID{"a"}, Forced: id == "forced"}})
		}
		if name == "another is leaving" {
			v.writers["c"] = true
		}
		v.replicas["a"] = c.mine
		out, may := v.withoutBody(o)
		if out.Error = ""; may != c.may || out != c.want {
			t.Errorf("%s: it becomes %+v (%t), want %+v (%t)", name, out, may, c.want, c.may)
		}
	}
}
