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
