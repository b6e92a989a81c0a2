package page

import (
	"testing"
	"time"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// TestTheAxisReachesNow: while a site has not applied an operation, the axis of its way goes on with the time; else it ends with what has happened.
func TestTheAxisReachesNow(t *testing.T) {
	issued := time.Date(2026, 7, 14, 12, 0, 0, 0, time.UTC)
	var d api.OperationDetail
	d.IssuedAt, d.Origin = issued, "paris"
	d.Sites = map[string]shape.Outcome{"paris": {State: "applied", At: issued.Add(time.Second)}, "nantes": {State: "pending"}}
	last := func(now time.Time) string { return wayOf(d, "paris", askedLane{}, now).Ticks[4].Label }
	if early, late := last(issued.Add(time.Minute)), last(issued.Add(time.Hour)); early == late {
		t.Errorf("the axis ends at %s after a minute and after an hour", early)
	}
	d.Sites["nantes"] = shape.Outcome{State: "applied", At: issued.Add(2 * time.Second)}
	if early, late := last(issued.Add(time.Minute)), last(issued.Add(time.Hour)); early != late {
		t.Errorf("the axis of what is over ends at %s after a minute, at %s after an hour", early, late)
	}
}
