package mesh

import (
	"errors"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestLookAlikes: nobody is let in, or named anew, under a name that a reader takes for that of another site or of a zone.
func TestLookAlikes(t *testing.T) {
	for _, c := range []struct {
		name  string
		mixed bool
		as    string // the name that it looks like
	}{
		{"Paris", false, "paris"},
		{"раris", true, "paris"}, // with Cyrillic letters
		{"раɡіѕ", true, "pagis"},
		{"сосо", false, "coco"}, // all of them
		{"ΡΑΡΥ", false, "papy"}, // Greek capitals
		{"ｐａｒｉｓ", false, "paris"},
		{"𝐩𝐚𝐫𝐢𝐬", true, ""}, // of mathematics
		{"parıs", false, "paris"},
		{"parís", false, ""},
		{"москва-1", false, ""},
		{"東京タワー", false, ""},
		{"site-1.eu_west", false, ""},
	} {
		if mixed(c.name) != c.mixed {
			t.Errorf("%s mixes scripts: %t", c.name, !c.mixed)
		}
		if c.as != "" && !alike(c.name, c.as) || c.as == "" && alike(c.name, "paris") {
			t.Errorf("%s is alike: %s", c.name, looksOf(c.name))
		}
	}
}

// TestALookAlikeIsNotLetIn: but who has a name already keeps it, and may be certified anew.
func TestALookAlikeIsNotLetIn(t *testing.T) {
	paris := found(t)
	for _, name := range []engine.SiteName{"Paris", "раris", "ｐaris", "𝐩aris"} {
		if _, err := pen(paris).Certify("k1", name, time.Time{}, at(9)); !errors.As(err, new(*engine.Refusal)) {
			t.Errorf("%s is let in: %v", name, err)
		}
	}
	for site, name := range map[engine.SiteID]engine.SiteName{"k1": "parís", "paris": "PARIS"} { // it is its own name
		if _, err := pen(paris).Certify(site, name, time.Time{}, at(9)); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
	old := certifiedAs(t, paris, "k2", "brest")
	own(t, paris, engine.MeshRecord{Key: engine.RecordKey{Kind: engine.RecordCertificate, About: "k3"}, Number: old + 1, Mesh: paris.ID(),
		Body: engine.Encode(engine.Certificate{Name: "Brest", At: 1})}) // of before
	if _, err := pen(paris).Certify("k3", "", time.Time{}, at(9)); err != nil {
		t.Errorf("who is called so already: %v", err)
	}
}

func certifiedAs(t *testing.T, s *State, site engine.SiteID, name engine.SiteName) uint64 {
	t.Helper()
	r, err := pen(s).Certify(site, name, time.Time{}, at(9))
	must(t, err)
	own(t, s, r)
	return r.Number
}

// TestCertificatesOfOddDates: one is good from its beginning, an hour early, to its end, and no date is so far away that it comes out elsewhere.
func TestCertificatesOfOddDates(t *testing.T) {
	const hour = int64(time.Hour / time.Microsecond)
	now := at(9)
	for _, c := range []struct {
		from, until int64
		taken, good bool
	}{
		{0, 0, true, true},
		{now.UnixMicro() + hour - 1, 0, true, true},
		{now.UnixMicro() + 2*hour, 0, true, false},
		{maxTime, 0, true, false},
		{0, maxTime, true, true},
		{0, 1, true, false},
		{0, maxTime + 1, false, false},
		{0, 1<<63 - 1, false, false},
		{1<<63 - 1, 0, false, false},
		{-1, 0, false, false},
		{-1 << 63, 0, false, false},
		{0, -1, false, false},
		{now.UnixMicro(), now.UnixMicro(), false, false},
		{now.UnixMicro(), now.UnixMicro() - 1, false, false},
	} {
		paris := found(t)
		r, err := pen(paris).Certify("k1", "nantes", time.Time{}, now)
		must(t, err)
		r.Body = engine.Encode(engine.Certificate{Name: "nantes", At: 1, From: c.from, Until: c.until})
		_, err = paris.Take(raw("paris", r))
		if (err == nil) != c.taken || paris.IsMember("k1") != c.taken || paris.Good("k1", now) != c.good {
			t.Errorf("from %d until %d: %v, member %t, good %t", c.from, c.until, err, paris.IsMember("k1"), paris.Good("k1", now))
		}
	}
}
