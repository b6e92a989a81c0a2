package mesh

import (
	"errors"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestBulletins: what a site tells of its state is its own to tell, the newest counts, and its size is bounded.
func TestBulletins(t *testing.T) {
	s := New("paris")
	own(t, s, pen(s).Found("mesh", noon))
	told := func(decisions int) {
		t.Helper()
		r, err := pen(s).Publish(engine.Bulletin{Decisions: decisions, At: noon.UnixMicro()})
		must(t, err)
		own(t, s, r)
	}
	told(2)
	told(1)
	if b := s.Bulletin("paris"); b == nil || b.Decisions != 1 {
		t.Errorf("the bulletin is %+v", b)
	}
	if b := s.Members()[0].Bulletin; b == nil || b.Decisions != 1 {
		t.Errorf("the member has %+v", b)
	}
	for name, r := range map[string]engine.SignedRecord{
		"about somebody else": says("paris", 90, engine.RecordBulletin, "nantes", engine.Bulletin{}),
		"negative":            says("paris", 91, engine.RecordBulletin, "", engine.Bulletin{Decisions: -1}),
		"too many services":   says("paris", 92, engine.RecordBulletin, "", engine.Bulletin{Failing: make([]engine.FailingService, maxServices+1)}),
		"no bulletin":         says("paris", 93, engine.RecordBulletin, "", map[int]any{4: "two"}),
	} {
		if _, err := s.Take(r); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := map[engine.State]int{}
	for i := range maxStates + 1 {
		many[engine.State(rune('a'+i))] = 1
	}
	if err := CheckBulletin(engine.Bulletin{Resources: many}); err == nil {
		t.Error("a bulletin counts by any number of states")
	}
}

// TestBulletinsOfAllSitesAreFew: however large a mesh is, so many come to each site in a second.
func TestBulletinsOfAllSitesAreFew(t *testing.T) {
	for _, sites := range []int{1, 3, 100, 10000} {
		var b engine.Bulletin
		if n := float64(sites) / b.Every(sites).Seconds(); n > 2 {
			t.Errorf("%d sites tell %.1f a second", sites, n)
		}
		if n := float64(sites) / b.Soon(sites).Seconds(); n > 20 || b.Soon(sites) < time.Second {
			t.Errorf("%d sites in trouble tell %.1f a second", sites, n)
		}
	}
}
