package mesh

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

func zones(s *State) string {
	var b strings.Builder
	for _, z := range s.Zones() {
		fmt.Fprintf(&b, "%s=%v by %s;", z.Name, z.Sites, z.By)
	}
	return b.String()
}

func TestZones(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 1)
	promote(t, paris, nantes, false)
	set := func(s *State, name engine.ZoneName, minutes int, sites ...engine.SiteID) {
		t.Helper()
		r, err := pen(s).SetZone(name, sites, at(minutes))
		must(t, err)
		own(t, s, r)
	}
	set(paris, "west", 10, "paris", "nantes", "paris")
	hear(t, nantes, paris)
	before := len(nantes.Records())
	set(nantes, "west", 5, "nantes") // no date decides: it comes after what it knows
	if got := zones(nantes); got != "west=[nantes] by nantes;" {
		t.Errorf("the zones are %s", got)
	}
	if hear(t, paris, nantes); zones(paris) != zones(nantes) || len(paris.Records()) != before {
		t.Errorf("the zones are %s, and there are %d records in the place of %d", zones(paris), len(paris.Records()), before)
	}
	r, err := pen(paris).DeleteZone("west", at(20))
	must(t, err)
	own(t, paris, r)
	hear(t, nantes, paris)
	if _, err := pen(nantes).DeleteZone("west", at(21)); !errors.Is(err, engine.ErrNotFound) || zones(nantes) != "" {
		t.Errorf("it is deleted twice: %v; the zones are %s", err, zones(nantes))
	}
	set(nantes, "west", 3, "paris")
	if hear(t, paris, nantes); zones(paris) != "west=[paris] by nantes;" || paris.Fingerprint() != nantes.Fingerprint() {
		t.Errorf("the zones are %s", zones(paris))
	}
}

func TestSetZoneRefuses(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 1)
	hear(t, paris, nantes)
	lyon := join(t, paris, "lyon", 1)
	hear(t, paris, lyon)
	r, err := pen(paris).Retire("lyon", at(2))
	must(t, err)
	own(t, paris, *r)
	for name, c := range map[string]struct {
		zone   engine.ZoneName
		sites  []engine.SiteID
		status int
		kind   string
	}{
		"no site":         {"west", nil, 422, "zone"},
		"too many sites":  {"west", many(MaxZone + 1), 422, "zone"},
		"no name":         {"", []engine.SiteID{"paris"}, 422, "zone"},
		"a long name":     {engine.ZoneName(strings.Repeat("x", 64)), []engine.SiteID{"paris"}, 422, "zone"},
		"a scope":         {"a&b", []engine.SiteID{"paris"}, 422, "zone"},
		"a word":          {"sync", []engine.SiteID{"paris"}, 422, "zone"},
		"a stranger":      {"west", []engine.SiteID{"paris", "brest"}, 422, "unknown-site"},
		"a removed site":  {"west", []engine.SiteID{"paris", "lyon"}, 422, "unknown-site"},
		"a site's name":   {"nantes", []engine.SiteID{"paris"}, 409, "exists"},
		"one that is new": {"west", []engine.SiteID{"paris"}, 0, ""},
	} {
		_, err := pen(paris).SetZone(c.zone, c.sites, at(3))
		if c.status == 0 {
			must(t, err)
			continue
		}
		t.Run(name, func(t *testing.T) { refused(t, err, c.status, c.kind) })
	}
	if _, err := pen(paris).DeleteZone("west", at(3)); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("what is not there is deleted: %v", err)
	}
	for i := range MaxZones {
		r, err := pen(paris).SetZone(engine.ZoneName(fmt.Sprint("zone", i)), []engine.SiteID{"paris"}, at(4))
		must(t, err)
		own(t, paris, r)
	}
	_, err = pen(paris).SetZone("more", []engine.SiteID{"paris"}, at(5))
	refused(t, err, 409, "zone")
	if _, err := pen(paris).SetZone("zone7", []engine.SiteID{"nantes"}, at(5)); err != nil {
		t.Errorf("one of its own is not set anew: %v", err)
	}
	if _, err := nantes.Take(paris.Records()...); err != nil {
		t.Errorf("what it may set is not taken: %v", err)
	}
	_, err = pen(nantes).SetZone("west", []engine.SiteID{"nantes"}, at(5))
	refused(t, err, 403, "authority")
	_, err = pen(nantes).DeleteZone("zone7", at(5))
	refused(t, err, 403, "authority")
	_, err = paris.Take(says("nantes", 1<<20, engine.RecordZone, "west", engine.ZoneRecord{Sites: []engine.SiteID{"nantes"}, At: maxTime}))
	if !errors.Is(err, engine.ErrMissing) || paris.Zones()[0].By != "paris" {
		t.Errorf("a member sets a zone: %v", err)
	}
	_, err = nantes.Take(says("paris", 1<<20, engine.RecordZone, "more", engine.ZoneRecord{Sites: []engine.SiteID{"paris"}}))
	if !errors.Is(err, engine.ErrTooLarge) || errors.Is(err, engine.ErrRefused) {
		t.Errorf("one too many: %v", err)
	}
}

func many(n int) []engine.SiteID {
	list := make([]engine.SiteID, n)
	for i := range list {
		list[i] = engine.SiteID(fmt.Sprintf("site%05d", i))
	}
	return list
}
