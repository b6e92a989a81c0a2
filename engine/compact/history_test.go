package compact

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

// boxOf is the view that paris has of a box that nantes has, too, and of which nothing is known.
func boxOf() *view.View {
	k := &engine.Kind{Service: "store", Name: "box", Item: "/boxes/{id}", ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}}
	about := engine.About{Service: "store", Kind: "box", Collaboration: engine.Replication, Key: "blue", Placement: []engine.SiteID{"nantes", "paris"}}
	v := view.New("paris", "doc", about, nil, k, func(s engine.SiteID) engine.SiteName { return engine.SiteName(s) })
	v.Epochs = view.Epochs{view.NewEpoch(0, engine.Tip{})}
	return v
}

// write has a view take in the next operation of paris.
func write(v *view.View, t engine.Type, n uint64, value string) {
	v.AddOperation(&engine.Operation{ID: engine.OperationID("paris-" + value), Type: t, Line: "paris", Origin: "paris", Number: n, Time: int64(n),
		Edit: &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/a": json.RawMessage(value)}}})
}

// settleAt has a view hear that a site has settled so many operations of paris.
func settleAt(t *testing.T, v *view.View, site engine.SiteID, n uint64, outcomes map[engine.OperationID]engine.Outcome) {
	t.Helper()
	st := &engine.Status{Document: v.Document, Number: n, Settled: engine.Vector{"paris": n}, Outcomes: outcomes}
	if site == v.Self {
		v.Me.Settled, v.Mine.Outcomes = st.Settled, outcomes
		return
	}
	if _, err := v.TakeStatus(st, engine.SignedStatus{Site: site, Status: engine.Encode(st), Size: 1}); err != nil {
		t.Fatal(err)
	}
}

// rowOf says where an operation is settled.
func rowOf(v *view.View) func(o *engine.Operation) engine.OperationRow {
	return func(o *engine.Operation) engine.OperationRow {
		row := engine.OperationRow{ID: o.ID, Sites: map[engine.SiteID]engine.OperationStatus{}}
		for _, s := range v.Correspondents() {
			if v.Settled(s, o) {
				row.Sites[s] = engine.OperationStatus{State: engine.StateApplied}
			}
		}
		return row
	}
}

// TestRowsOfWhatIsCompactedTwice lets two checkpoints come one after the other before the rows are written: the first keeps the last
// value of a field, and with it its operation, and the second has another one.
func TestRowsOfWhatIsCompactedTwice(t *testing.T) {
	v := boxOf()
	write(v, engine.TypeCreate, 1, "1")
	for n := uint64(2); n <= 3; n++ {
		write(v, engine.TypeMerge, n, string(rune('0'+n)))
		settleAt(t, v, "paris", n, nil)
		settleAt(t, v, "nantes", n, nil)
		if _, news := History(v, 0, rowOf(v)); !news {
			t.Fatal("nothing was folded away")
		}
	}
	i := slices.IndexFunc(v.Folded, func(r engine.OperationRow) bool { return r.ID == "paris-2" })
	if v.History.Get("paris-2") != nil || i < 0 {
		t.Fatalf("the row of what is gone is not to be written: %v", v.Folded)
	}
	if at := v.Folded[i].Sites["nantes"].State; at != engine.StateApplied {
		t.Errorf("it is %s at nantes", at)
	}
}

// TestWhatIsNotOverStays: a checkpoint stands for nothing that a member has not settled, or that is to be applied once more somewhere.
func TestWhatIsNotOverStays(t *testing.T) {
	v := boxOf()
	write(v, engine.TypeCreate, 1, "1")
	settleAt(t, v, "paris", 1, nil)
	if Stable(v) != nil {
		t.Error("something is stable, and nantes has said nothing")
	}
	settleAt(t, v, "nantes", 1, map[engine.OperationID]engine.Outcome{"paris-1": {State: engine.StatePending, Again: true}})
	if _, news := History(v, 0, rowOf(v)); news {
		t.Error("what nantes is to apply once more was folded away")
	}
	settleAt(t, v, "nantes", 2, nil)
	if _, news := History(v, 0, rowOf(v)); !news || v.History.Base() == nil {
		t.Error("what all have settled was not folded away")
	}
}

// TestWhenAnEpochIsOver: once every member writes in the next one and has all of it, and a checkpoint stands for it.
func TestWhenAnEpochIsOver(t *testing.T) {
	v := boxOf()
	write(v, engine.TypeCreate, 1, "1")
	if !EpochBegun(v) || EpochLong(v, 256) || EpochOver(v) {
		t.Error("of one document nothing is to end")
	}
	v.Epochs = append(v.Epochs, view.NewEpoch(1, engine.Tip{}))
	if EpochBegun(v) || !EpochEnding(v) {
		t.Error("two documents are here, and none is ending")
	}
	settleAt(t, v, "paris", 1, nil)
	st := &engine.Status{Document: v.Document, Settled: engine.Vector{"paris": 1}, Epoch: 1}
	for _, whole := range []bool{false, true} {
		st.Number, st.Whole, st.Sum = st.Number+1, whole, view.Sum(v)
		next := *st
		if _, err := v.TakeStatus(&next, engine.SignedStatus{Site: "nantes", Status: engine.Encode(&next), Size: 1}); err != nil {
			t.Fatal(err)
		}
		History(v, 0, rowOf(v))
		if EpochOver(v) != whole {
			t.Errorf("nantes has all of it: %t, and it is over: %t", whole, EpochOver(v))
		}
	}
	st.Number, st.Sum = st.Number+1, bytes.Repeat([]byte{1}, len(st.Sum))
	if _, err := v.TakeStatus(st, engine.SignedStatus{Site: "nantes", Status: engine.Encode(st), Size: 1}); err != nil || EpochOver(v) {
		t.Errorf("it is over, and nantes has something else in it: %v", err)
	}
}
