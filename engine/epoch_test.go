package engine

import (
	"testing"
	"time"
)

// TestAnEpochWaitsForAName has a resource live at three sites while one of its epochs ends. Another resource has its name at one of them, which
// settles nothing until a person decides: so there is nothing left to do at the others either, until that site has the name again.
func TestAnEpochWaitsForAName(t *testing.T) {
	v := newView("a", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Key: "web", Placement: []SiteID{"a", "b", "c"}}, nil, lab)
	v.history.Add(&Operation{ID: "1", Type: TypeCreate, Origin: "a", Run: "0000000a", Seq: 1, Time: 1})
	v.epochs = append(v.epochs, newEpoch(1, "e", nil))
	for _, at := range []struct {
		yields time.Time
		want   bool
	}{{time.Time{}, true}, {time.UnixMicro(1), false}, {time.Time{}, true}} {
		v.replicas["c"] = Replica{Yields: at.yields, epoch: 1}
		if got := v.ending(); got != at.want {
			t.Errorf("where c yields since %v it has something left to do: %t", at.yields, got)
		}
	}
}
