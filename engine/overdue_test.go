package engine

import (
	"slices"
	"testing"
	"time"
)

// TestOverdue waits for a site that was removed as long as it may take, and no longer; what it writes is taken in all the same.
func TestOverdue(t *testing.T) {
	now := time.UnixMicro(1_000_000)
	v := newView("a", func(s SiteID) SiteName { return SiteName(s) }, "d", About{Placement: []SiteID{"a", "b", "c"}}, nil,
		&Kind{Item: "/images/{id}"})
	v.clock, v.patience = func() time.Time { return now }, time.Hour
	take := func(m MapName, key string, value []byte) {
		t.Helper()
		var o *Operation
		if m == MapOperations {
			var err error
			if o, err = DecodeOperation(key, value); err != nil {
				t.Fatal(err)
			}
		}
		if err := v.take(Entry{Map: m, Key: key, Value: value}, o); err != nil {
			t.Fatal(err)
		}
	}
	removal := &Operation{ID: "R", Type: TypePlace, Place: &PlacementChange{Remove: []SiteID{"c"}}, Origin: "a", Run: "0000000a", Seq: 1, Time: now.UnixMicro()}
	encoded, err := removal.Encode()
	if err != nil {
		t.Fatal(err)
	}
	take(MapOperations, removal.Key(), encoded)
	settled := compactStruct(Replica{Settled: map[Line]uint64{removal.Line(): 1}})
	take(MapReplicas, "a", settled)
	take(MapReplicas, "b", settled)
	take(MapReplicas, "c", compactStruct(Replica{Settled: map[Line]uint64{}}))
	if got := v.correspondents(); !slices.Equal(got, []SiteID{"a", "b", "c"}) || v.stable()[removal.Line()] != 0 {
		t.Errorf("at first %v correspond, and %v is stable", got, v.stable())
	}
	now = now.Add(time.Hour + time.Minute)
	if got := v.correspondents(); !slices.Equal(got, []SiteID{"a", "b"}) || v.stable()[removal.Line()] != 1 {
		t.Errorf("then %v correspond, and %v is stable", got, v.stable())
	}
	if !v.lapses() || v.lapses() || !v.touched["R"] {
		t.Error("it is not told once that the site is overdue")
	}
	take(MapReplicas, "c", compactStruct(Replica{Settled: map[Line]uint64{}, Left: &Left{By: "R", Sites: []SiteID{"a", "b"}}}))
	if v.part("c") != partFormer || v.overdue("c") {
		t.Error("its last word does not count")
	}
}
