package report

import (
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// TestARowCallsWhatItsDeletedObjectWasCalled: a row keeps that for what refers to it. Of a resource of which all operations were lost with the disks
// that had them, the object is still there and is nobody's: the row does not call it its own, so that people find it and clients reach it.
func TestARowCallsWhatItsDeletedObjectWasCalled(t *testing.T) {
	k := &engine.Kind{Service: "lab", Name: "server", Collection: "/servers", Item: "/servers/{id}", ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}}
	about := engine.About{Service: "lab", Kind: "server", Key: "meta", Placement: []engine.SiteID{"a"}}
	v := view.New("a", "doc", about, nil, k, func(id engine.SiteID) engine.SiteName { return engine.SiteName(id) })
	v.Said["a"] = view.Said{Replica: engine.Replica{Local: "a2"}}
	if row := Row(v, time.Time{}, nil, plan.Step{}, false); row.Local != "" || row.State != engine.StateDeleted {
		t.Errorf("what nobody has an operation of is %s, and here as %q", row.State, row.Local)
	}
	v.AddOperation(&engine.Operation{ID: "made", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: &engine.Edit{}})
	v.AddOperation(&engine.Operation{ID: "gone", Type: engine.TypeDelete, Line: "a", Origin: "a", Number: 2, Time: 2})
	v.Me.Settled = v.History.Complete()
	if row := Row(v, time.Time{}, nil, plan.Step{}, false); row.Local != "a2" {
		t.Errorf("what was deleted is %s (%s), and was called %q here", row.State, row.Reason, row.Local)
	}
}
