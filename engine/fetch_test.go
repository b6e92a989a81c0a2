package engine

import "testing"

// TestWithoutABody asks what becomes of large bytes that no site has any more: every site had settled them. Where a delete has ended
// the object, and was taken away by a change that was unheard then, the new object cannot get them: a person is told, and nothing
// waits for ever.
func TestWithoutABody(t *testing.T) {
	v := newView("a", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Key: "web", Placement: []SiteID{"a", "b"}}, nil, lab)
	o := &Operation{ID: "put", Type: TypeAbsolute, Origin: "a", Run: "r", Seq: 1, Time: 1, Blob: &BlobRef{}, line: lineOf("a", "r", 0)}
	v.history.Add(o)
	if out, may := v.withoutBody(o); may {
		t.Errorf("it is given up where it was never settled: %+v", out)
	}
	v.outcomes["a"] = map[OperationID]Outcome{"put": {State: StatePending, Again: true}}
	if out, may := v.withoutBody(o); !may || out.State != StateRejected || out.Again || out.Carried || out.Error == "" {
		t.Errorf("where the object was made anew it becomes %+v (%t)", out, may)
	}
}
