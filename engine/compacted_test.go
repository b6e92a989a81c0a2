package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestACrowdedHistoryNamesWhoLags lets one of two sites settle nothing while the other goes on.
func TestACrowdedHistoryNamesWhoLags(t *testing.T) {
	about := About{Key: "web", Placement: []SiteID{"a", "b"}}
	v := newView("a", func(id SiteID) SiteName { return SiteName("site-" + id) }, "d", about, nil, lab)
	add := func(until int) {
		for n := v.history.Len() + 1; n <= until; n++ {
			v.history.Add(&Operation{ID: OperationID(fmt.Sprint(n)), Type: TypeMerge, Origin: "a", Run: "r", Seq: uint64(n), Time: int64(n), Change: &Change{}})
		}
	}
	line := lineOf("a", "r", 0)
	v.replicas["a"] = Replica{Settled: map[Line]uint64{line: maxOperations}}
	v.replicas["b"] = Replica{Settled: map[Line]uint64{line: 1}}
	if add(maxOperations/2 - 1); v.crowded() != "" {
		t.Errorf("told too early: %s", v.crowded())
	}
	add(maxOperations / 2)
	if why := v.crowded(); !strings.Contains(why, ": site-b has to catch up") || strings.Contains(why, "site-a") {
		t.Errorf("got %q", why)
	}
	v.replicas["b"] = Replica{Settled: map[Line]uint64{line: maxOperations}}
	if v.crowded() != "" {
		t.Errorf("told of nobody: %s", v.crowded())
	}
}

// TestAllOfAnEpochIsFoldedAtOnce has an epoch end by the first compaction that there is of it: nothing comes that would bring about
// another one. A change in it was refused somewhere.
func TestAllOfAnEpochIsFoldedAtOnce(t *testing.T) {
	v := newView("a", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Key: "web", Placement: []SiteID{"a", "b"}}, nil, lab)
	for n, typ := range []Type{TypeCreate, TypeMerge, TypeMerge} {
		v.history.Add(&Operation{ID: OperationID(fmt.Sprint(n)), Type: typ, Origin: "a", Run: "r", Seq: uint64(n + 1), Time: int64(n + 1),
			Change: &Change{}, line: lineOf("a", "r", 0)})
	}
	v.epochs = []*epoch{newEpoch(0, "d", nil), newEpoch(1, "e", nil)}
	for _, site := range []SiteID{"a", "b"} {
		v.replicas[site] = Replica{Settled: map[Line]uint64{lineOf("a", "r", 0): 3}, Whole: true, epoch: 1}
	}
	v.outcomes["b"] = map[OperationID]Outcome{"1": {State: StateRejected}}
	if v.compact(0); !v.over() {
		t.Errorf("%d operations are left", v.history.Len())
	}
}

// TestACompactedBodyIsNotNeeded has a site refuse a large body. A person may have it tried again until a checkpoint stands for it.
func TestACompactedBodyIsNotNeeded(t *testing.T) {
	about := About{Key: "web", Placement: []SiteID{"a", "b"}}
	v := newView("a", func(id SiteID) SiteName { return SiteName(id) }, "d", about, nil, lab)
	put := &Operation{ID: "2", Type: TypeAbsolute, Path: "/images/{id}/file", Blob: &BlobRef{Hash: "x", Size: 1 << 20}}
	for n := 1; n <= 20; n++ {
		o := &Operation{ID: OperationID(fmt.Sprint(n)), Type: TypeMerge, Change: &Change{}}
		switch n {
		case 1:
			o.Type = TypeCreate
		case 2:
			o = put
		}
		o.Origin, o.Run, o.Seq, o.Time = "a", "r", uint64(n), int64(n)
		o.line = o.Line()
		v.history.Add(o)
		v.large = true
		settled := map[Line]uint64{o.Line(): uint64(n)}
		v.replicas["a"], v.replicas["b"] = Replica{Settled: settled, Local: "1"}, Replica{Settled: settled, Local: "2"}
		v.outcomes["b"] = map[OperationID]Outcome{"2": {State: StateRejected}}
		v.compact(16)
		if n < 2 {
			continue
		}
		if compacted := n > 17; v.needsBlob(put) == compacted || (len(v.bodiless) > 0) != compacted {
			t.Errorf("after %d operations: needed %v, %d bodies to let go", n, v.needsBlob(put), len(v.bodiless))
		}
	}
}

// TestWhoHasLeftHasNothingToDo has a site leave that has deleted the object, by a delete that a change it has not heard of takes away. The
// others make the object anew; it does not, and folds the epoch like them when it hears that all have it.
func TestWhoHasLeftHasNothingToDo(t *testing.T) {
	wins := *lab
	wins.UpdateWins = true
	v := newView("c", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Key: "web", Placement: []SiteID{"a", "b", "c"}}, nil, &wins)
	mine, theirs := lineOf("c", "r", 0), lineOf("a", "r", 0)
	created := map[Line]uint64{theirs: 1}
	for n, o := range []*Operation{
		{Type: TypeCreate, Origin: "a", Seq: 1, Change: &Change{}},
		{Type: TypeDelete, Origin: "c", Seq: 1, Seen: created},
		{Type: TypeMerge, Origin: "a", Seq: 2, Change: &Change{Set: map[Pointer]json.RawMessage{"/v": []byte("1")}}},
		{Type: TypePlace, Origin: "a", Seq: 3, Place: &PlacementChange{Remove: []SiteID{"c"}}},
	} {
		o.ID, o.Run, o.Time = OperationID(fmt.Sprint(n)), "r", int64(n+1)
		v.history.Add(o)
	}
	v.epochs = []*epoch{newEpoch(0, "d", nil), newEpoch(1, "e", nil)}
	for _, site := range []SiteID{"a", "b"} {
		v.replicas[site] = Replica{Settled: map[Line]uint64{theirs: 3, mine: 1}, Whole: true, epoch: 1}
	}
	v.replicas["c"] = Replica{Settled: map[Line]uint64{theirs: 1, mine: 1}, Left: &Left{By: "3"}, epoch: 1}
	if v.part("c") != partFormer || !v.history.reversed(v.history.Get("1"), anyOperation) {
		t.Fatal("the delete is not taken away from a site that has left")
	}
	if v.compact(0); !v.over() {
		t.Errorf("%d operations are left", v.history.Len())
	}
}

// TestNothingIsStableBeforeAllOfWhoHasLeftIsHere hears the last word of a site in the second epoch before what that site has issued in
// the first one: a checkpoint that stood for what the others have settled would stand for what comes later in order.
func TestNothingIsStableBeforeAllOfWhoHasLeftIsHere(t *testing.T) {
	v := newView("a", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Key: "web", Placement: []SiteID{"a", "b"}}, nil, lab)
	v.placed = &Placement{Sites: []SiteID{"a"}}
	line := lineOf("a", "r", 0)
	v.history.Add(&Operation{ID: "1", Type: TypeCreate, Origin: "a", Run: "r", Seq: 1, Time: 1, Change: &Change{}, line: line})
	v.epochs = []*epoch{newEpoch(0, "d", nil), newEpoch(1, "e", nil)}
	v.replicas["a"] = Replica{Settled: map[Line]uint64{line: 1}, epoch: 1}
	v.replicas["b"] = Replica{Left: &Left{Sites: []SiteID{"a"}}, Final: 2, epoch: 1}
	if got := v.stable(); got != nil {
		t.Errorf("with nothing of what b has written in the first epoch, %v is stable", got)
	}
	v.epochs[0].changes["b"] = 2
	if got := v.stable(); got[line] != 1 {
		t.Errorf("with all of that, %v is stable", got)
	}
}
