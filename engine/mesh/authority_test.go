package mesh

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func TestAuthorities(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 1)
	if _, err := pen(nantes).AddAuthority("lyon", false); err == nil {
		t.Error("a member makes an authority")
	}
	promote(t, paris, nantes, false)
	_, err := pen(paris).AddAuthority("nantes", true)
	refused(t, err, 409, "authority")
	_, err = pen(paris).AddAuthority("ly/on", true)
	refused(t, err, 422, "authority")
	r, err := pen(paris).AddAuthority("offline", true) // it is no site
	must(t, err)
	own(t, paris, r)
	hear(t, nantes, paris)
	if got := fmt.Sprint(nantes.Authorities()); got != "[offline paris nantes]" {
		t.Errorf("the authorities are %s", got)
	}
	certify(t, nantes, "k1", "lyon", 2)
	hear(t, paris, nantes)
	_, err = pen(nantes).RemoveAuthority("paris")
	refused(t, err, 409, "authority") // it ranks above
	_, err = pen(nantes).RemoveAuthority("nantes")
	refused(t, err, 409, "authority") // what it has signed counts
	if _, err = pen(paris).RemoveAuthority("k1"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("what is none is removed: %v", err)
	}
	records, err := pen(paris).RemoveAuthority("nantes")
	must(t, err)
	if len(records) != 2 {
		t.Fatalf("it is removed by %d records", len(records))
	}
	own(t, paris, records...)
	hear(t, nantes, paris)
	for _, s := range []*State{paris, nantes} {
		if names(s) != "[paris nantes lyon]" || fmt.Sprint(s.Authorities()) != "[offline paris]" || s.Members()[2].Certified != "paris" {
			t.Errorf("%s knows %s certified by %s, of %v", s.Self(), names(s), s.Members()[2].Certified, s.Authorities())
		}
	}
	// What is kept off line takes over.
	off := paris.By("offline")
	records, err = off.RemoveAuthority("paris")
	must(t, err)
	before := paris.Members()
	var raws []engine.SignedRecord
	for _, r := range records {
		raws = append(raws, raw("offline", r))
	}
	news, err := paris.Take(raws...)
	if err != nil || len(news.Joined)+len(news.Removed) != 0 || len(news.Records) != len(records) {
		t.Errorf("the news are %+v: %v", news, err)
	}
	if got := paris.Members(); len(got) != len(before) || slices.ContainsFunc(got, func(m engine.Member) bool { return m.Certified != "offline" }) {
		t.Errorf("the members are %+v", got)
	}
	_, err = pen(paris).Certify("k2", "brest", time.Time{}, at(9))
	refused(t, err, 403, "authority")
	_, err = paris.By("offline").RemoveAuthority("offline")
	refused(t, err, 409, "authority")
	fresh := New("k1")
	hear(t, fresh, paris)
	if names(fresh) != names(paris) || fresh.Fingerprint() != paris.Fingerprint() {
		t.Errorf("a new site knows %s", names(fresh))
	}
}

// Whoever gets the key of one that is no authority any more gains nothing, whatever number or date it signs.
func TestAFormerAuthorityHasNoSay(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 1)
	promote(t, paris, nantes, false)
	certify(t, nantes, "k1", "lyon", 2)
	certify(t, nantes, "k2", "brest", 2) // which paris has not heard of
	lists := paris.lists
	all := nantes.Records()
	hear(t, paris, nantes)
	records, err := pen(paris).RemoveAuthority("nantes")
	must(t, err)
	own(t, paris, records...)
	want, sum := names(paris), paris.Fingerprint()
	for name, r := range map[string]engine.SignedRecord{
		"a certificate of old": says("nantes", 1, engine.RecordCertificate, "k3", engine.Certificate{Name: "metz", At: 1}),
		"a removal of old":     says("nantes", 1, engine.RecordRemoval, "paris", engine.Removal{At: 1}),
		"a zone of old":        says("nantes", 1, engine.RecordZone, "west", engine.ZoneRecord{Sites: []engine.SiteID{"nantes"}, At: maxTime}),
		"a list of its own":    says("nantes", 1, engine.RecordAuthorities, "2", engine.Authorities{Keys: []engine.SiteID{"nantes"}, After: digest(lists[0])}),
		"a list that begins":   says("nantes", 1, engine.RecordAuthorities, "1", engine.Authorities{Keys: []engine.SiteID{"nantes"}}),
		"a list below another": says("nantes", 1, engine.RecordAuthorities, "2", engine.Authorities{Keys: []engine.SiteID{"paris", "evil"}, After: digest(lists[0])}),
	} {
		news, err := paris.Take(append(all, r)...)
		if !errors.Is(err, engine.ErrMissing) || len(news.Records) > 0 || names(paris) != want || paris.Fingerprint() != sum || fmt.Sprint(paris.Authorities()) != "[paris]" {
			t.Errorf("%s counts: %+v, %v; the members are %s", name, news, err, names(paris))
		}
	}
}

func digest(r *record) [32]byte { return sha256.Sum256(r.raw.Record) }

// Of two lists in one place that of the higher rank counts, whichever is heard first; of two of one authority the first that is heard.
func TestListsOfAuthoritiesInOnePlace(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 1)
	promote(t, paris, nantes, false)
	low, err := pen(nantes).AddAuthority("low", false)
	must(t, err)
	high, err := pen(paris).AddAuthority("high", false)
	must(t, err)
	other, err := pen(paris).AddAuthority("other", false)
	must(t, err)
	own(t, nantes, low)
	certifyAs(t, nantes, "low", "k1")
	own(t, paris, high)
	if names(nantes) != "[paris nantes lyon]" {
		t.Fatalf("nantes knows %s", names(nantes))
	}
	hear(t, nantes, paris)
	for _, s := range []*State{paris, nantes} {
		_, err := s.Take(raw("nantes", low), raw("paris", other))
		if !errors.Is(err, engine.ErrMissing) || fmt.Sprint(s.Authorities()) != "[paris nantes high]" || names(s) != "[paris nantes]" {
			t.Errorf("%s knows the authorities %v and the members %s: %v", s.Self(), s.Authorities(), names(s), err)
		}
	}
	if paris.Fingerprint() != nantes.Fingerprint() {
		t.Error("they differ")
	}
}

// A list may change nothing that ranks above its author.
func TestRankCounts(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 1)
	promote(t, paris, nantes, false)
	for _, keys := range [][]engine.SiteID{{"nantes"}, {"nantes", "paris"}, {"evil", "nantes"}} {
		s := paris.Clone()
		_, err := s.Take(says("nantes", 50, engine.RecordAuthorities, "2", engine.Authorities{Keys: keys, After: digest(s.lists[0])}))
		if !errors.Is(err, engine.ErrMissing) || fmt.Sprint(s.Authorities()) != "[paris nantes]" {
			t.Errorf("the authorities are %v: %v", s.Authorities(), err)
		}
	}
}

// certifyAs has another authority that is known certify a site called lyon.
func certifyAs(tb testing.TB, s *State, by, id engine.SiteID) {
	tb.Helper()
	r, err := s.By(by).Certify(id, "lyon", time.Time{}, at(5))
	must(tb, err)
	_, err = s.Take(raw(by, r))
	must(tb, err)
}

// A member that holds a valid key, and no more, gains nothing by what it says.
func TestAMemberHasNoSay(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 1)
	join(t, paris, "mallory", 2)
	hear(t, nantes, paris)
	r, err := pen(paris).SetZone("west", []engine.SiteID{"nantes"}, at(3))
	must(t, err)
	own(t, paris, r)
	hear(t, nantes, paris)
	want, size := names(nantes), len(nantes.Records())
	word := says("mallory", 5, engine.RecordSite, "", engine.SiteRecord{Name: "nantes"})
	for name, raws := range map[string][]engine.SignedRecord{
		"admits itself with an old date": {says("mallory", 6, engine.RecordCertificate, "mallory", engine.Certificate{Name: "nantes", At: 1, Named: 1}), word},
		"admits an accomplice":           {says("mallory", 6, engine.RecordCertificate, "x", engine.Certificate{Name: "nantes", At: 1}), says("x", 1, engine.RecordSite, "", engine.SiteRecord{Name: "nantes"})},
		"takes everybody out": {says("mallory", 6, engine.RecordRemoval, "paris", engine.Removal{At: 1}),
			says("mallory", 7, engine.RecordRemoval, "nantes", engine.Removal{At: 1})},
		"revokes everybody": {says("mallory", 6, engine.RecordRevocation, "paris", engine.Removal{At: 1}),
			says("mallory", 7, engine.RecordRevocation, "nantes", engine.Removal{At: 1})},
		"sets a zone in the year 9999":   {says("mallory", 1<<40, engine.RecordZone, "west", engine.ZoneRecord{Sites: []engine.SiteID{"mallory"}, At: maxTime})},
		"takes a name by its own record": {word},
		"makes itself an authority":      {says("mallory", 6, engine.RecordAuthorities, "1", engine.Authorities{Keys: []engine.SiteID{"mallory"}})},
		"invites":                        {says("mallory", 6, engine.RecordInvitation, "1", engine.Invitation{ID: "i", Issuer: "mallory", Uses: 9, ExpiresAt: at(99)})},
		"founds the mesh anew":           {says("mallory", 6, engine.RecordMesh, "", engine.MeshOrigin{Mesh: "mesh", At: 1})},
	} {
		s := nantes.Clone()
		news, _ := s.Take(raws...)
		gone := len(news.Removed)
		orders := slices.ContainsFunc(raws, func(raw engine.SignedRecord) bool { return string(raw.Record) != string(word.Record) })
		if named := slices.Equal(news.Overreach, []engine.SiteID{"mallory"}); named != (orders && name != "founds the mesh anew") {
			t.Errorf("it %s: these are named for it: %v", name, news.Overreach)
		}
		for _, raw := range news.Records {
			if raw.Author != "mallory" || string(raw.Record) != string(word.Record) {
				t.Errorf("it %s: %q counts", name, raw.Record)
			}
		}
		if names(s) != want || gone != 0 || !s.Good("nantes", at(4)) || s.Zones()[0].By != "paris" || len(s.Invitations()) != len(nantes.Invitations()) || s.IsMember("x") {
			t.Errorf("it %s: the members are %s, %d were taken out", name, names(s), gone)
		}
	}
	// It fills the mesh with records.
	for i := range 2000 {
		_, _ = nantes.Take(says("mallory", uint64(10+i), engine.RecordSite, "", engine.SiteRecord{Name: "mallory", Version: fmt.Sprint(i)}),
			says("mallory", uint64(10+i), engine.RecordKind(fmt.Sprint("future", i)), "", make([]byte, 1000)),
			says("mallory", uint64(10+i), engine.RecordZone, fmt.Sprint("zone", i), engine.ZoneRecord{Sites: []engine.SiteID{"mallory"}}),
			says("mallory", uint64(10+i), engine.RecordCertificate, fmt.Sprint("site", i), engine.Certificate{Name: "x"}))
	}
	var many []engine.SignedRecord
	for i := range 2000 {
		many = append(many, says("mallory", uint64(3000+i), engine.RecordSite, "", engine.SiteRecord{Name: "mallory", Run: fmt.Sprint(i)}))
	}
	if news, err := nantes.Take(many...); err != nil || len(news.Records) != 1 {
		t.Errorf("of what it says of itself all at once, %d records are kept and told on: %v", len(news.Records), err)
	}
	if n := len(nantes.Records()); n > size+maxOthers {
		t.Errorf("of %d records it has made %d", size, n)
	}
	if _, err := New("new").Take(nantes.Records()...); err != nil {
		t.Errorf("nobody can join any more: %v", err)
	}
}

// What the founder's release of before has signed counts on: only the founder can have.
func TestCertificatesOfBefore(t *testing.T) {
	old := func(author engine.SiteID, number uint64, kind engine.RecordKind, about string, body any) engine.SignedRecord {
		return raw(author, engine.MeshRecord{Key: engine.RecordKey{Kind: kind, About: about}, Number: number, Body: engine.Encode(body)})
	}
	s := New("nantes")
	_, err := s.Take(
		old("paris", 1, engine.RecordMesh, "", engine.MeshOrigin{Mesh: "mesh", At: 1}),
		old("paris", 2, engine.RecordSite, "", engine.SiteRecord{Name: "paris"}),
		old("paris", 3, engine.RecordCertificate, "nantes", engine.Certificate{Invitation: "i", Name: "nantes", At: 2}),
		old("nantes", 1, engine.RecordSite, "", engine.SiteRecord{Name: "nantes"}),
		old("nantes", 2, engine.RecordCertificate, "lyon", engine.Certificate{Invitation: "i", Name: "lyon", At: 3}),
		old("nantes", 3, engine.RecordZone, "west", engine.ZoneRecord{Sites: []engine.SiteID{"paris"}, At: 3}),
	)
	if !errors.Is(err, engine.ErrMissing) || names(s) != "[paris nantes]" || s.IsMember("lyon") || len(s.Zones()) != 0 {
		t.Errorf("the members are %s, the zones %v: %v", names(s), s.Zones(), err)
	}
	paris := New("paris")
	hear(t, paris, s)
	certify(t, paris, "lyon", "lyon", 9)
	certify(t, paris, "paris", "paris", 9)
	hear(t, s, paris)
	if names(s) != "[paris nantes lyon]" || s.Name("paris") != "paris" {
		t.Errorf("confirmed, they are %s", names(s))
	}
}
