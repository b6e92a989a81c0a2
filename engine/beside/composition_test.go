package beside

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// deleted puts a resource that the site by has deleted, at all of its sites; it was made a second before.
func (v *village) deleted(k *engine.Kind, key engine.ResourceID, sites string, by engine.SiteID, relations ...engine.Relation) *engine.ResourceRow {
	row := v.put(k, key, sites, relations...)
	row.State, row.Local = engine.StateDeleted, ""
	for s := range row.Sites {
		row.Sites[s] = engine.ReplicaStatus{State: engine.StateConverged, Applied: 2}
	}
	made := &engine.Operation{ID: "made", Type: engine.TypeCreate, Method: "POST", Line: engine.Line(by), Origin: by, Number: 1, Time: v.now().Add(-time.Second).UnixMicro(), Edit: &engine.Edit{}}
	ends := &engine.Operation{ID: "ends", Type: engine.TypeDelete, Method: "DELETE", Line: engine.Line(by), Origin: by, Number: 2, Time: v.now().UnixMicro(), User: "eve"}
	v.replicas[row.Document] = replicaWith(k, key, engine.Replication, made, ends)
	return row
}

// answer answers what was asked of resources.
func (v *village) answer(status int, err error) {
	for _, in := range v.inputs {
		switch in := in.(type) {
		case *replica.Ask:
			in.Done(replica.Given{Answer: engine.Answer{Status: status}, Err: err})
		case *replica.Decide:
			in.Done("", err)
		}
	}
	v.take()
}

// TestPartsAreDestroyedAlong: once, by one of the sites that have both, and again when that fails.
func TestPartsAreDestroyedAlong(t *testing.T) {
	v := newVillage()
	v.pass(time.Hour)
	disk := v.put(diskKind, "d", "a b")
	disk.CreatedAt = v.now().Add(-time.Minute)
	young := v.put(diskKind, "young", "a b")
	young.CreatedAt = v.now().Add(time.Minute)
	v.put(diskKind, "lent", "a b")
	v.put(serverKind, "other", "a b", to(diskKind, "lent", engine.RelationComposition))
	parts := []engine.Relation{to(diskKind, "d", engine.RelationComposition), to(diskKind, "young", engine.RelationComposition),
		to(diskKind, "lent", engine.RelationComposition), to(diskKind, "never-replicated", engine.RelationComposition)}
	v.stores(v.deleted(serverKind, "s", "a b", "a", parts...))
	if !slices.Equal(v.told, []string{"d: DELETE d"}) {
		t.Fatalf("told %v", v.told)
	}
	ask := v.inputs[0].(*replica.Ask)
	if r := ask.Request; r.User != "eve" || r.Type != engine.TypeDelete || r.Path != diskKind.Item || ask.Operation == "" || r.Credentials != nil {
		t.Errorf("asked %+v", r)
	}
	answer := v.inputs
	v.take()
	v.pass(time.Second)
	if v.run(v.step); len(v.told) > 0 {
		t.Errorf("asked twice: %v", v.told)
	}
	v.pass(askedFor)
	if v.run(v.step); !slices.Equal(v.take(), []string{"d: DELETE d"}) {
		t.Error("not asked again after a long time without an answer")
	}
	v.inputs = answer
	v.answer(500, nil)
	v.pass(time.Minute)
	if v.run(v.step); !slices.Equal(v.told, []string{"d: DELETE d"}) {
		t.Errorf("after a failure it told %v", v.told)
	}
	disk.State = engine.StateDeleted
	v.answer(404, nil)
	if v.run(v.step); len(v.told) > 0 || !v.due.next().IsZero() {
		t.Errorf("told %v, again at %s", v.told, v.due.next())
	}
}

func TestAnotherSiteDestroysAlong(t *testing.T) {
	v := newVillage()
	v.put(diskKind, "d", "a b")
	row := v.deleted(serverKind, "s", "a b", "b", to(diskKind, "d", engine.RelationComposition))
	if v.stores(row); len(v.told) > 0 {
		t.Errorf("told %v", v.told)
	}
	v.put(diskKind, "d", "a") // the other one has not
	v.restart()
	if v.stores(row); len(v.told) != 1 {
		t.Errorf("told %v", v.told)
	}
}

// TestWhatIsThereIsNotDestroyedAlong, though its object is gone from this site's application for now.
func TestWhatIsThereIsNotDestroyedAlong(t *testing.T) {
	v := newVillage()
	v.put(diskKind, "d", "a b")
	row := v.deleted(serverKind, "s", "a b", "a", to(diskKind, "d", engine.RelationComposition))
	made := &engine.Operation{ID: "made", Type: engine.TypeCreate, Method: "POST", Line: "a", Origin: "a", Number: 1, Time: 1, Edit: &engine.Edit{}}
	v.replicas["s"] = replicaWith(serverKind, "s", engine.Replication, made)
	if v.stores(row); len(v.told) > 0 {
		t.Errorf("told %v", v.told)
	}
}

// TestWhatLayInAContainerEndsWithIt, or leaves the sites where that was.
func TestWhatLayInAContainerEndsWithIt(t *testing.T) {
	v := newVillage()
	v.put(toolKind, "x/t", "a b")
	v.put(toolKind, "x/wide", "a b c")
	v.put(toolKind, "xx/t", "a b")
	v.put(toolKind, "x/gone", "a b").Sites["a"] = engine.ReplicaStatus{State: engine.StateConverged, Applied: 2}
	v.stores(v.deleted(boxKind, "x", "a b", "a"))
	if !slices.Equal(v.told, []string{"x/t: DELETE x/t", "x/wide: remove from [a b]"}) {
		t.Errorf("told %v", v.told)
	}
	if ask := v.inputs[0].(*replica.Ask); ask.Request.Within != "x" {
		t.Errorf("asked within %q", ask.Request.Within)
	}
	v.answer(0, errors.New("not now"))
	v.pass(time.Minute)
	if v.run(v.step); len(v.told) != 2 {
		t.Errorf("told %v", v.told)
	}
}

// TestWhatLiesInANamesakeStays: of two containers that were given one name on the two sides of a cut, one is given up.
func TestWhatLiesInANamesakeStays(t *testing.T) {
	for _, c := range []struct {
		later time.Duration // than the end of the other
		want  []string
	}{{-time.Hour, nil}, {time.Hour, []string{"x/t: DELETE x/t"}}} {
		v := newVillage()
		v.pass(2 * time.Hour)
		named := v.put(boxKind, "x", "a b")
		named.Document, named.CreatedAt = "namesake", v.now().Add(c.later)
		v.put(toolKind, "x/t", "a b")
		if v.stores(v.deleted(boxKind, "x", "a b", "a")); !slices.Equal(v.told, c.want) {
			t.Errorf("with a namesake of %v later it told %v", c.later, v.told)
		}
	}
}

// TestWhatIsLeftOfTheDeletedIsTakenUp after a start.
func TestWhatIsLeftOfTheDeletedIsTakenUp(t *testing.T) {
	v := newVillage()
	v.put(diskKind, "d", "a b")
	v.put(toolKind, "x/t", "a b")
	v.deleted(serverKind, "s", "a b", "a", to(diskKind, "d", engine.RelationComposition))
	v.deleted(boxKind, "x", "a b", "a")
	if err := v.takeUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v.run(v.step); !slices.Equal(v.told, []string{"d: DELETE d", "x/t: DELETE x/t"}) {
		t.Errorf("told %v", v.told)
	}
}
