package members

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

func announce(t *testing.T, s *site) {
	t.Helper()
	must(t, s.Announce(t.Context(), engine.SiteRecord{Name: engine.SiteName(s.name)}))
}

// Two agents on copies of one disk find each other out through a third site, and say and take in nothing more. Once one has
// gone, the other goes on after a restart.
func TestAClonedSiteIsFoundOut(t *testing.T) {
	w, paris, nantes, lyon := three(t)
	clone := w.start("nantes", nantes.disk.copy())
	announce(t, clone)
	w.deliver()
	for range 4 {
		for _, s := range []*site{nantes, clone} { // the two have one name: they meet at others only
			w.compare(paris, s)
			w.deliver()
		}
	}
	ctx := t.Context()
	for i, s := range []*site{nantes, clone} {
		if !s.Cloned() || s.disk.count("site.cloned") != 1 || s.rejoined > 1 {
			t.Errorf("agent %d: cloned %t, %d events, rejoined %d times", i, s.Cloned(), s.disk.count("site.cloned"), s.rejoined)
		}
		before := s.Fingerprint()
		for name, err := range map[string]error{
			"writable": s.Writable(),
			"announce": s.Announce(ctx, engine.SiteRecord{Name: "nantes", Version: "2"}),
			"zone":     s.SetZone(ctx, "west", []engine.SiteID{paris.Self()}),
			"moved":    s.Moved(ctx, vivaldi.New()),
			"remove":   s.RemoveSite(ctx, lyon.Self()),
			"take": s.Take(ctx, paris.Self(), []engine.SignedRecord{
				paris.key.signed(500, engine.RecordZone, "west", engine.ZoneRecord{Sites: []engine.SiteID{paris.Self()}})}, nil),
		} {
			if refusal := (*engine.Refusal)(nil); !errors.As(err, &refusal) || refusal.Type != "cloned" || refusal.Status != 503 {
				t.Errorf("agent %d: %s: %v", i, name, err)
			}
		}
		if s.Fingerprint() != before {
			t.Errorf("agent %d goes on", i)
		}
	}
	if !paris.of(nantes).Cloned {
		t.Error("paris does not know that nantes was cloned")
	}
	w.stop(clone)
	again := nantes.restart(nantes.disk)
	announce(t, again)
	w.deliver()
	w.compare(again, paris)
	w.deliver()
	w.compare(lyon, paris)
	if again.Cloned() || again.Writable() != nil || paris.of(again).Cloned || lyon.of(again).Cloned || paris.of(again).Run != again.Run() {
		t.Errorf("after a restart: cloned %t, paris knows %+v", again.Cloned(), paris.of(again))
	}
}

// What the first of two agents says that has found the other is lost, because the other one speaks at the same time: it says so again.
func TestBothAgentsOfAClonedSiteFindOut(t *testing.T) {
	w, paris, nantes, _ := three(t)
	clone := w.start("nantes", nantes.disk.copy())
	announce(t, clone)
	w.deliver()
	w.compare(paris, nantes) // it hears of the clone, and says so
	w.deliver()
	w.compare(paris, clone) // that knows now, and says so
	lost := w.mail
	w.mail = nil
	if !clone.Cloned() || nantes.Cloned() || len(lost) == 0 {
		t.Fatalf("the clone knows: %t, nantes: %t", clone.Cloned(), nantes.Cloned())
	}
	for i := range 3 { // nantes goes on, and has the higher number
		must(t, nantes.Announce(t.Context(), engine.SiteRecord{Name: "nantes", Version: fmt.Sprint(i)}))
	}
	w.deliver()
	if nantes.Cloned() {
		t.Fatal("nantes has found out too early for this test")
	}
	for range 2 {
		for _, s := range []*site{clone, nantes} {
			w.compare(paris, s)
			w.deliver()
		}
	}
	sent := w.sent
	if !nantes.Cloned() || !paris.of(nantes).Cloned {
		t.Errorf("nantes knows: %t, paris: %t", nantes.Cloned(), paris.of(nantes).Cloned)
	}
	for range 3 {
		for _, s := range []*site{clone, nantes} {
			w.compare(paris, s)
			w.deliver()
		}
	}
	if w.sent != sent {
		t.Errorf("%d letters go round though both know", w.sent-sent)
	}
}

// A site whose disk was set back hears what it has said since, tells that, and goes on after it.
func TestASetBackDiskIsRecognised(t *testing.T) {
	for name, lost := range map[string]func(s *site) error{
		"its record":    func(s *site) error { return s.Moved(t.Context(), vivaldi.New()) },
		"a zone":        func(s *site) error { return s.SetZone(t.Context(), "west", []engine.SiteID{s.Self()}) },
		"an invitation": func(s *site) error { _, _, err := s.Invite(t.Context(), time.Hour, 1, 0); return err },
	} {
		t.Run(name, func(t *testing.T) {
			w, paris, nantes, _ := three(t)
			backup := nantes.disk.copy()
			for range 5 { // the numbers of what the new run says first are taken
				must(t, nantes.Announce(t.Context(), engine.SiteRecord{Name: "nantes", Version: string(w.now.Format("150405"))}))
				w.now = w.now.Add(time.Minute)
				must(t, lost(nantes))
			}
			w.deliver()
			said := paris.Records()
			again := nantes.restart(backup)
			announce(t, again)
			w.deliver()
			for range 3 {
				w.compare(again, paris)
				w.deliver()
			}
			if again.rejoined != 1 || again.disk.count("site.restored") != 1 || again.Cloned() {
				t.Errorf("it has rejoined %d times, with %d events; cloned %t", again.rejoined, again.disk.count("site.restored"), again.Cloned())
			}
			told := paris.of(again)
			if told.Run != again.Run() || told.Rejoined != w.now.UnixMicro() || !slices.Contains(told.Heard, nantes.Run()) || told.Version != "" {
				t.Errorf("paris knows %+v", told)
			}
			if len(said) != len(again.Records()) || again.Fingerprint() != paris.Fingerprint() {
				t.Errorf("of %d records it has %d", len(said), len(again.Records()))
			}
			must(t, again.Rejoins(t.Context()))
			if again.rejoined != 1 || again.disk.count("site.restored") != 1 {
				t.Error("it tells that twice")
			}
			must(t, again.SetZone(t.Context(), "east", []engine.SiteID{again.Self()}))
			if w.deliver(); len(paris.Zones()) != len(again.Zones()) {
				t.Error("what it says now does not count")
			}
		})
	}
}

// A site that has lost its disk but for its key joins anew, and knows that it was there.
func TestAnEmptiedDiskIsRecognised(t *testing.T) {
	w, paris, nantes, _ := three(t)
	again := nantes.restart(newDisk())
	again.enter(paris)
	if again.rejoined != 1 || again.disk.count("site.restored") != 1 || again.Cloned() {
		t.Errorf("it has rejoined %d times", again.rejoined)
	}
	w.deliver()
	if got := paris.of(again); got.Rejoined == 0 || !slices.Equal(got.Heard, []string{nantes.Run()}) || names(again) != names(paris) {
		t.Errorf("paris knows %+v", got)
	}
}

// What a site finds out by its resources is told in the same way, and once.
func TestRejoins(t *testing.T) {
	w, paris, nantes, _ := three(t)
	must(t, nantes.Rejoins(t.Context()))
	must(t, nantes.Rejoins(t.Context()))
	w.deliver()
	if n := nantes.disk.count("site.restored"); n != 1 || nantes.rejoined != 0 || paris.of(nantes).Rejoined != w.now.UnixMicro() {
		t.Errorf("there are %d events", n)
	}
	again := nantes.restart(nantes.disk)
	announce(t, again)
	if w.deliver(); paris.of(again).Rejoined != 0 {
		t.Error("the next run has rejoined, too")
	}
}
