package report

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// TestARowKeepsWhatWasDestroyedAlong: of a resource that is no more it names what its application had made along with it, and nothing
// else that it referred to.
func TestARowKeepsWhatWasDestroyedAlong(t *testing.T) {
	k := &engine.Kind{Service: "lab", Name: "server", Item: "/servers/{id}", ID: engine.IDRule{From: engine.IDFromPath, At: "/id"}, Refs: []engine.Ref{
		{At: "/net", Service: "lab", Kind: "net", Relation: engine.RelationReliance},
		{At: "/disk", Service: "lab", Kind: "disk", Relation: engine.RelationComposition}}}
	about := engine.About{Service: "lab", Kind: "server", Key: "s", Placement: []engine.SiteID{"a"}}
	v := view.New("a", "doc", about, nil, k, func(id engine.SiteID) engine.SiteName { return engine.SiteName(id) })
	v.AddOperation(&engine.Operation{ID: "made", Type: engine.TypeCreate, Line: "a", Origin: "a", Number: 1, Time: 1, Edit: &engine.Edit{Set: map[engine.Pointer]json.RawMessage{
		"/net": json.RawMessage(`"n"`), "/disk": json.RawMessage(`"d"`)}}})
	if row := Row(v, time.Time{}, nil, plan.Step{}, false); len(row.Relations) != 2 {
		t.Errorf("it refers to %v", row.Relations)
	}
	v.AddOperation(&engine.Operation{ID: "gone", Type: engine.TypeDelete, Line: "a", Origin: "a", Number: 2, Time: 2})
	row := Row(v, time.Time{}, nil, plan.Step{}, false)
	if len(row.Relations) != 1 || row.Relations[0].ID != "d" || row.Relations[0].Type != engine.RelationComposition {
		t.Errorf("what is no more refers to %v", row.Relations)
	}
}
