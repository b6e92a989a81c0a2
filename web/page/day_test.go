package page

import (
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// TestADayIsDrawn: what a site had left to do stands where it was told, and a short cut is seen.
func TestADayIsDrawn(t *testing.T) {
	end := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	at := func(hours float64) time.Time { return end.Add(-time.Duration(hours * float64(time.Hour))) }
	back := at(5.99)
	h := api.History{Begin: at(24), End: end,
		Items: []api.Counted{{Begin: at(12), Backlog: map[string]int{"nantes": 8, "paris": 40}}, {Begin: at(6), Backlog: map[string]int{"nantes": 4}}},
		Cuts:  []shape.Cut{{Away: []shape.Absence{{Site: "nantes", From: at(6), Back: &back}, {Site: "rennes", From: at(1)}}}}}
	d := dayAt(h, "nantes")
	if d.Words() != "The last day: up to 8 operations left to do, out of reach once" {
		t.Errorf("it says %q", d.Words())
	}
	if !strings.Contains(d.Path, "L48 2.0L49 2.0") || !strings.Contains(d.Path, "L72 9.0L73 9.0") {
		t.Errorf("it draws %s", d.Path)
	}
	if len(d.Bands) != 1 || d.Bands[0].X != 72 || d.Bands[0].Width < 0.7 {
		t.Errorf("it was out of reach %v", d.Bands)
	}
	if d := dayAt(h, "rennes"); d.Path != "" || len(d.Bands) != 1 || d.Bands[0].X+d.Bands[0].Width != dayWidth {
		t.Errorf("rennes, which is out of reach, is drawn as %+v", d)
	}
	if d := dayAt(h, "toulouse"); d.Words() != "The last day: nothing was left to do when it told" {
		t.Errorf("toulouse: %q", d.Words())
	}
}
