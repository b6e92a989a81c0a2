package members

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

// Whatever three sites say, lose and fail to write, their disks have what they know, and once all of them have met they know
// the same. Nobody is taken for cloned or set back.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, _, _, _ := three(t)
		ctx := t.Context()
		site := func() int { return rapid.IntRange(0, len(w.sites)-1).Draw(rt, "site") }
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			i := site()
			s, o := w.sites[i], w.sites[site()]
			w.now = w.now.Add(time.Duration(rapid.IntRange(-5, 60).Draw(rt, "seconds")) * time.Second)
			before := s.Fingerprint()
			failing := rapid.IntRange(0, 4).Draw(rt, "fails") == 0
			if failing {
				s.disk.fail = engine.ErrStorage
			}
			zone := engine.ZoneName(rapid.SampledFrom([]string{"west", "east"}).Draw(rt, "zone"))
			switch rapid.IntRange(0, 7).Draw(rt, "what") {
			case 0:
				_ = s.SetZone(ctx, zone, []engine.SiteID{o.Self()})
			case 1:
				_ = s.DeleteZone(ctx, zone)
			case 2:
				_ = s.Moved(ctx, vivaldi.Coordinate{Height: float64(w.now.Unix() % 100)})
			case 3:
				_, _, _ = s.Invite(ctx, time.Hour, 2, 0)
			case 4:
				w.cut[[2]string{s.name, o.name}] = rapid.Bool().Draw(rt, "cut")
			case 5: // letters are lost
				w.mail = nil
			case 6:
				w.compare(s, o)
			case 7:
				s.disk.fail = nil
				version := fmt.Sprint(rapid.IntRange(1, 3).Draw(rt, "version"))
				s = s.restart(s.disk)
				must(rt, s.Announce(ctx, engine.SiteRecord{Name: engine.SiteName(s.name), Version: version}))
				failing = false
			}
			if failing && s.Fingerprint() != before {
				rt.Fatalf("%s knows something new that it could not write", s.name)
			}
			s.disk.fail = nil
			if rapid.Bool().Draw(rt, "delivers") {
				w.deliver()
			}
			for _, s := range w.sites {
				loaded, err := New(ctx, s.cfg)
				must(rt, err)
				if loaded.Fingerprint() != s.Fingerprint() || loaded.MeshID() != s.MeshID() {
					rt.Fatalf("%s knows something else than its disk", s.name)
				}
			}
		}
		clear(w.cut)
		for range 3 {
			w.deliver()
			w.compare(w.sites[0], w.sites[1])
			w.compare(w.sites[1], w.sites[2])
		}
		for _, s := range w.sites {
			if s.Fingerprint() != w.sites[0].Fingerprint() || names(s) != names(w.sites[0]) || len(s.Records()) != len(w.sites[0].Records()) {
				rt.Fatalf("%s knows something else than %s", s.name, w.sites[0].name)
			}
			if s.Cloned() || s.rejoined > 0 || len(s.disk.events) > 0 {
				rt.Fatalf("%s is taken for cloned or set back: %v", s.name, s.disk.events)
			}
		}
	})
}
