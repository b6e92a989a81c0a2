package engine

import "testing"

// TestHindsight has an operation wait that has not seen what a checkpoint stands for. It counts when its own site says that it comes after
// that, whichever comes first, and not when another one says so.
func TestHindsight(t *testing.T) {
	folded, own := lineOf("a", "r", 0), lineOf("b", "new", 1)
	said := map[Line]Hindsight{own: {Upto: 1, Seen: map[Line]uint64{folded: 3}, Time: 33}}
	history := func() *History {
		h := HistoryOf(lab)
		h.stand(&Checkpoint{Seen: map[Line]uint64{folded: 3}, Firm: map[Line]uint64{folded: 3}, Time: 20, First: 10}, nil)
		return h
	}
	operation := func(n uint64) *Operation {
		return &Operation{ID: OperationID(rune('0' + n)), Type: TypeMerge, Origin: "b", Run: "new", Epoch: 1, Seq: n, Time: int64(14 + 20*n),
			Seen: map[Line]uint64{folded: 2 + n/2}, Change: &Change{}}
	}
	h := history()
	h.Add(operation(1))
	if h.Len() != 0 || !h.Outside() {
		t.Fatal("it has not seen what the checkpoint stands for, and counts")
	}
	if h.Heed("a", said) || h.Len() != 0 {
		t.Error("another site says what it has seen")
	}
	if !h.Heed("b", said) || h.Heed("b", said) {
		t.Error("what is new is not told from what is known")
	}
	h.Add(operation(2))
	later := history()
	later.Heed("b", said)
	later.Add(operation(2))
	later.Add(operation(1))
	for _, h := range []*History{h, later} {
		if h.Len() != 2 || h.Held() != 0 {
			t.Fatalf("%d operations count, %d wait", h.Len(), h.Held())
		}
		if o := h.Ordered()[0]; o.Time != 34 || o.Seen[folded] != 3 {
			t.Errorf("it counts at %d, having seen %v", o.Time, o.Seen)
		}
		if o := h.Ordered()[1]; o.Time != 54 {
			t.Errorf("one that came later counts at %d", o.Time)
		}
	}
}

// TestHindsightOfWhatWaits has what a lost run has issued wait for what nobody has. When the epoch of that is over it counts after whatever
// its site has settled since, which the checkpoints of others may stand for, and nothing of that counts after it.
func TestHindsightOfWhatWaits(t *testing.T) {
	v := newView("b", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Placement: []SiteID{"a", "b"}}, nil, lab)
	v.epochs = []*epoch{newEpoch(1, "d1", nil)}
	folded, lost, own := lineOf("b", "lost", 0), lineOf("b", "lost", 1), lineOf("b", "new", 1)
	v.history.stand(&Checkpoint{Seen: map[Line]uint64{folded: 1}, Firm: map[Line]uint64{folded: 1}, Time: 10, First: 10}, nil)
	v.history.Add(&Operation{ID: "1", Type: TypeMerge, Origin: "b", Run: "lost", Epoch: 1, Seq: 1, Time: 20, Seen: map[Line]uint64{folded: 2}, Change: &Change{}})
	v.history.Add(&Operation{ID: "2", Type: TypeMerge, Origin: "b", Run: "new", Epoch: 1, Seq: 1, Time: 30, Seen: map[Line]uint64{folded: 1}, Change: &Change{}})
	mine := Replica{Settled: map[Line]uint64{folded: 1, own: 1}, Over: true, epoch: 1}
	v.replicas = map[SiteID]Replica{"a": {Settled: map[Line]uint64{folded: 1, own: 1}, Over: true, epoch: 1}, "b": mine}
	mine.Hindsight = v.hindsight()
	if a := mine.Hindsight[lost]; a.Upto != 1 || a.Seen[own] != 1 || a.Ends[folded] != 1 || len(mine.Hindsight) != 1 {
		t.Fatalf("it says %v", mine.Hindsight)
	}
	v.history.Heed("b", mine.Hindsight)
	if ops := v.history.Ordered(); len(ops) != 2 || ops[1].ID != "1" {
		t.Fatalf("%d operations count: %v", len(ops), ops)
	}
	mine.Lost = &Lost{Progress: Progress{Epoch: 1, Settled: map[Line]uint64{lost: 1}}} // and others have dropped an epoch since
	v.replicas["b"] = mine
	if said := v.hindsight(); said != nil {
		t.Errorf("it says %v then", said)
	}
}

// TestHindsightOfTwoLostRuns has another site settle the first operation of one lost run, and that of another run, which may be in its
// checkpoint then. The rest of the first run comes after that. What the other site has settled counts as before.
func TestHindsightOfTwoLostRuns(t *testing.T) {
	one, two := lineOf("b", "one", 1), lineOf("b", "two", 1)
	view := func(settled map[Line]uint64) *view {
		v := newView("b", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Placement: []SiteID{"a", "b"}}, nil, lab)
		v.epochs = []*epoch{newEpoch(1, "d1", nil)}
		for i, o := range []*Operation{{ID: "1", Run: "one", Seq: 1}, {ID: "2", Run: "one", Seq: 2}, {ID: "3", Run: "two", Seq: 1}} {
			o.Type, o.Origin, o.Epoch, o.Time, o.Change = TypeMerge, "b", 1, int64(20+i), &Change{}
			v.history.Add(o)
		}
		lost := &Lost{Progress: Progress{Epoch: 1, Settled: map[Line]uint64{one: 2, two: 1}}}
		v.replicas = map[SiteID]Replica{"a": {Settled: settled, Over: true, epoch: 1}, "b": {Lost: lost, epoch: 1}}
		return v
	}
	if said := view(map[Line]uint64{one: 2, two: 1}).hindsight(); said != nil {
		t.Errorf("it says %v of what has been settled", said)
	}
	v := view(map[Line]uint64{one: 1, two: 1})
	mine := v.replicas["b"]
	mine.Hindsight = v.hindsight()
	if a := mine.Hindsight[one]; a.After != 1 || a.Upto != 2 || a.Seen[two] != 1 || len(mine.Hindsight) != 1 {
		t.Fatalf("it says %v", mine.Hindsight)
	}
	v.history.Heed("b", mine.Hindsight)
	if ops := v.history.Ordered(); len(ops) != 3 || ops[0].Time != 20 || ops[2].ID != "2" || !ops[2].saw(two, 1) {
		t.Fatalf("%d operations count: %v", len(ops), ops)
	}
	v.replicas["b"] = mine
	if said := v.hindsight(); said != nil {
		t.Errorf("it says %v then", said)
	}
}

// TestOutsideByTime has an operation wait that comes, in order, before something that a checkpoint stands for and keeps as it is: it is
// outside like one that has not seen what all that follows has.
func TestOutsideByTime(t *testing.T) {
	first, own, late := lineOf("a", "r", 0), lineOf("b", "new", 0), lineOf("b", "lost", 0)
	kept := &Operation{ID: "k", Type: TypeMerge, Origin: "b", Run: "new", Seq: 1, Time: 20, Seen: map[Line]uint64{first: 1}, Change: &Change{}}
	h := HistoryOf(lab)
	h.stand(&Checkpoint{Seen: map[Line]uint64{first: 1, own: 1}, Firm: map[Line]uint64{first: 1}, Time: 20, First: 10, Late: []*Operation{kept}}, nil)
	h.Add(&Operation{ID: "l", Type: TypeMerge, Origin: "b", Run: "lost", Seq: 1, Time: 15, Seen: map[Line]uint64{first: 1}, Change: &Change{}})
	if h.Last(late) != 0 || !h.Outside() {
		t.Errorf("%d operations of its line count; it is outside: %t", h.Last(late), h.Outside())
	}
}

// TestHindsightOfTheRestOfALine has the rest of a line wait of which others have seen the first operation, and a checkpoint stands for both: only
// the rest counts as having seen what has seen the first.
func TestHindsightOfTheRestOfALine(t *testing.T) {
	v := newView("b", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Placement: []SiteID{"a", "b"}}, nil, lab)
	v.epochs = []*epoch{newEpoch(1, "d1", nil)}
	lost, other := lineOf("b", "lost", 1), lineOf("a", "r", 1)
	rest := &Operation{ID: "3", Type: TypeMerge, Origin: "b", Run: "lost", Epoch: 1, Seq: 2, Time: 15, Change: &Change{}}
	v.history.stand(&Checkpoint{Seen: map[Line]uint64{lost: 1, other: 1}, Firm: map[Line]uint64{lost: 1, other: 1}, Time: 20, First: 10}, nil)
	v.history.Add(rest)
	v.replicas = map[SiteID]Replica{"b": {Lost: &Lost{Progress: Progress{Epoch: 1, Settled: map[Line]uint64{lost: 2}}}, epoch: 1}}
	said := v.hindsight()
	if a := said[lost]; a.After != 1 || a.Upto != 2 || a.Seen[other] != 1 {
		t.Fatalf("it says %v", said)
	}
	whole := HistoryOf(lab) // of a site that has no checkpoint
	whole.Add(&Operation{ID: "1", Type: TypeMerge, Origin: "b", Run: "lost", Epoch: 1, Seq: 1, Time: 10, Change: &Change{}})
	whole.Add(&Operation{ID: "2", Type: TypeMerge, Origin: "a", Run: "r", Epoch: 1, Seq: 1, Time: 20, Seen: map[Line]uint64{lost: 1}, Change: &Change{}})
	whole.Add(rest)
	whole.Heed("b", said)
	if ops := whole.Ordered(); len(ops) != 3 || ops[2].ID != "3" {
		t.Errorf("%d operations count: %v", len(ops), ops)
	}
}
