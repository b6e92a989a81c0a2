package view

import (
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestRowsOfWhatIsCompactedTwice lets two checkpoints come one after the other before the rows are written: the first keeps the last
// value of a field, and with it its operation, and the second has another one.
func TestRowsOfWhatIsCompactedTwice(t *testing.T) {
	paris := lineOf("paris")
	v := of("paris")
	v.take(t, paris.op(engine.TypeCreate, 1, nil, set("/a", "1"), nil))
	settle := func(n uint64) {
		t.Helper()
		v.take(t, paris.op(engine.TypeMerge, int(n), nil, set("/a", string(rune('0'+n))), nil))
		v.Me.Settled = engine.Vector{"paris": n}
		v.status(t, "nantes", engine.Status{Number: n, Settled: v.Me.Settled})
		if _, news := v.Compact(0, v.testRow); !news {
			t.Fatal("nothing was folded away")
		}
	}
	settle(2)
	settle(3)
	i := slices.IndexFunc(v.Folded, func(r engine.OperationRow) bool { return r.ID == "paris-2" })
	if v.History.Get("paris-2") != nil || i < 0 {
		t.Fatalf("the row of what is gone is not to be written: %v", v.Folded)
	}
	if at := v.Folded[i].Sites["nantes"].State; at != engine.StateApplied {
		t.Errorf("it is %s at nantes", at)
	}
}
