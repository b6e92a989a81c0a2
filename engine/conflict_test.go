package engine

import (
	"testing"
	"time"
)

// TestADecisionIsOfAConflictAsItWas has a conflict be again what it was before, as it is where a site is set back and hears then what its lost
// run had said. What somebody says of it now counts, whichever came later of what it was about; and what another one has said still does.
func TestADecisionIsOfAConflictAsItWas(t *testing.T) {
	v := newView("a", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Key: "web", Placement: []SiteID{"a", "b"}}, nil, lab)
	earlier := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	later := earlier.Add(time.Minute)
	said := later
	say := func(by SiteID, of time.Time) {
		t.Helper()
		said = said.Add(time.Second)
		e := Entry{Map: MapDecisions, Key: string(by) + "/c", Value: compactStruct(Decision{Action: ActionDismiss, By: by, At: said, For: of})}
		if err := v.take(e, nil); err != nil {
			t.Fatal(err)
		}
	}
	check := func(of time.Time, want SiteID) {
		t.Helper()
		if d := v.accepted("c", of); d == nil && want != "" || d != nil && d.By != want {
			t.Errorf("of %s: %+v, and not by %q", of, d, want)
		}
	}
	say("b", later)
	check(later, "b")
	check(earlier, "")
	say("b", earlier)
	check(earlier, "b")
	check(later, "")
	say("a", later)
	check(earlier, "b")
	check(later, "a")
}

// TestDecisionsOfOneMoment has two runs of a site say something of one conflict at one moment, as they can where the site is set back: what counts
// does not depend on which of it comes first.
func TestDecisionsOfOneMoment(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	one, other := Decision{Action: ActionDismiss, By: "b", At: at, For: at}, Decision{Action: ActionDismiss, By: "b", At: at, For: at.Add(-time.Minute)}
	for _, said := range [][]Decision{{one, other}, {other, one}} {
		v := newView("a", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Key: "web", Placement: []SiteID{"a", "b"}}, nil, lab)
		for _, d := range said {
			v.decided("c", d)
		}
		if v.accepted("c", one.For) == nil || v.accepted("c", other.For) != nil {
			t.Errorf("of %+v, %+v counts", said, v.decisions["c"])
		}
	}
}
