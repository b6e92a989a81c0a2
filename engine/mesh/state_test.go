package mesh

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

// What a site says takes the place of what it said before.
func TestSizeFollowsTheNumberOfSites(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 1)
	hear(t, nantes, paris)
	before := len(nantes.Records())
	for i := range 1000 {
		announce(t, paris, engine.SiteRecord{Name: "paris", Version: fmt.Sprint(i)}, i)
		if news := hear(t, nantes, paris); len(news.Records) != 1 || len(news.Told) != 1 {
			t.Fatalf("one word is this news: %+v", news)
		}
	}
	if n := len(nantes.Records()); n != before || nantes.Name("paris") != "paris" {
		t.Errorf("%d records have become %d", before, n)
	}
	if got, _ := nantes.Site("paris"); got.Version != "999" || nantes.Fingerprint() != paris.Fingerprint() {
		t.Errorf("paris says %+v", got)
	}
	for _, r := range nantes.Records() {
		if paris.Wants(r) {
			t.Errorf("it wants what it has: %+v", r)
		}
	}
	announce(t, nantes, engine.SiteRecord{Name: "nantes", Version: "2"}, 3)
	wanted := 0
	for _, r := range nantes.Records() {
		if paris.Wants(r) {
			wanted++
		}
	}
	if wanted != 1 {
		t.Errorf("of one new record it wants %d", wanted)
	}
}

// Records of one whose admission is not known are left out, and say what is missing; with it they are taken, whatever the
// order.
func TestRecordsOfStrangers(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 1)
	promote(t, paris, nantes, false)
	lyon := join(t, nantes, "lyon", 2)
	promote(t, nantes, lyon, false)
	brest := join(t, lyon, "brest", 3)
	all := brest.Records()
	slices.Reverse(all)
	word := all[slices.IndexFunc(all, func(r engine.SignedRecord) bool { return r.Author == "brest" })]
	if news, err := paris.Take(word); !errors.Is(err, engine.ErrMissing) || errors.Is(err, engine.ErrRefused) || len(news.Records) > 0 {
		t.Errorf("a stranger's word counts: %+v, %v", news, err)
	}
	news, err := paris.Take(all...)
	if err != nil || names(paris) != "[paris nantes lyon brest]" || !slices.Equal(news.Joined, []engine.SiteID{"lyon", "brest"}) {
		t.Errorf("the members are %s, the news %+v: %v", names(paris), news.Joined, err)
	}
	empty := New("toulouse")
	if _, err := empty.Take(all...); err != nil || empty.Fingerprint() != paris.Fingerprint() {
		t.Errorf("one that knows nothing: %v", err)
	}
	for _, r := range brest.Records() { // one by one, in their own order
		if _, err := New("x").Take(r); err != nil && !errors.Is(err, engine.ErrMissing) {
			t.Error(err)
		}
	}
	again := New("x")
	for _, r := range brest.Records() {
		_, err := again.Take(r)
		must(t, err)
	}
	// Who was never let in is not taken out; together with its admission that counts.
	out := says("paris", 90, engine.RecordRemoval, "metz", engine.Removal{At: 1})
	in := says("paris", 91, engine.RecordCertificate, "metz", engine.Certificate{Invitation: "i", Name: "metz", At: 1})
	_, err = paris.Take(out)
	if _, removed := paris.Removed("metz"); removed || !errors.Is(err, engine.ErrMissing) {
		t.Errorf("a stranger is removed: %v", err)
	}
	_, err = paris.Take(out, in)
	if _, removed := paris.Removed("metz"); !removed || err != nil {
		t.Errorf("a member is not removed: %v", err)
	}
	_, err = New("x").Take(all[0])
	if !errors.Is(err, engine.ErrMissing) {
		t.Errorf("without a mesh nobody is a member: %v", err)
	}
}

// TestTakeRefuses what no honest site says; what else comes with it is taken.
func TestTakeRefuses(t *testing.T) {
	record := func(spoil func(*engine.SiteRecord)) engine.SignedRecord {
		r := engine.SiteRecord{Name: "nantes"}
		spoil(&r)
		return says("nantes", 50, engine.RecordSite, "", r)
	}
	invitation := func(spoil func(*engine.Invitation)) engine.SignedRecord {
		i := engine.Invitation{ID: "i", Issuer: "nantes", Uses: 1, ExpiresAt: noon, CreatedAt: noon}
		spoil(&i)
		return says("nantes", 50, engine.RecordInvitation, "1", i)
	}
	zone := func(name string, z engine.ZoneRecord) engine.SignedRecord {
		return says("nantes", 50, engine.RecordZone, name, z)
	}
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		raw  engine.SignedRecord
		says string
	}{
		"no record":                {engine.SignedRecord{Author: "nantes", Record: []byte{0xff}}, "refused"},
		"a large one":              {engine.SignedRecord{Author: "nantes", Record: make([]byte, engine.MaxRecord+1)}, "262145 bytes"},
		"no author":                {says("", 50, engine.RecordSite, "", engine.SiteRecord{Name: "x"}), "no author"},
		"no number":                {says("nantes", 0, engine.RecordSite, "", engine.SiteRecord{Name: "x"}), "number 0"},
		"a last number":            {says("nantes", math.MaxUint64, engine.RecordSite, "", engine.SiteRecord{Name: "x"}), "number 184"},
		"no kind":                  {says("nantes", 50, "", "", engine.SiteRecord{Name: "x"}), "key"},
		"a long kind":              {says("nantes", 50, engine.RecordKind(long), "", ""), "key"},
		"a long key":               {says("nantes", 50, "future", long, ""), "key"},
		"another body":             {says("nantes", 50, engine.RecordSite, "", "text"), "refused"},
		"of another site":          {says("nantes", 50, engine.RecordSite, "paris", engine.SiteRecord{Name: "x"}), "about"},
		"another mesh":             {says("nantes", 50, engine.RecordMesh, "", engine.MeshOrigin{Mesh: "mine"}), "another mesh"},
		"another origin":           {says("paris", 50, engine.RecordMesh, "", engine.MeshOrigin{Mesh: "mine"}), "another mesh"},
		"the same mesh":            {says("nantes", 50, engine.RecordMesh, "", engine.MeshOrigin{Mesh: "mesh"}), "another mesh"},
		"no name":                  {record(func(r *engine.SiteRecord) { r.Name = "" }), "name of 0 bytes"},
		"a long name":              {record(func(r *engine.SiteRecord) { r.Name = engine.SiteName(long[:64]) }), "name of 64 bytes"},
		"a name with a line":       {record(func(r *engine.SiteRecord) { r.Name = "a\nb" }), "is no name"},
		"a long version":           {record(func(r *engine.SiteRecord) { r.Version = long }), "version of 300"},
		"a long address":           {record(func(r *engine.SiteRecord) { r.Addresses = []string{long} }), "addresses of 300"},
		"an empty address":         {record(func(r *engine.SiteRecord) { r.Addresses = []string{""} }), "addresses of 0"},
		"many addresses":           {record(func(r *engine.SiteRecord) { r.Addresses = make([]string, 65) }), "65 addresses"},
		"many runs":                {record(func(r *engine.SiteRecord) { r.Heard = make([]string, MaxHeard+1) }), "65 runs"},
		"a coordinate of no place": {record(func(r *engine.SiteRecord) { r.Coordinate = &vivaldi.Coordinate{Height: math.Inf(1)} }), "coordinate"},
		"no coordinate at all":     {record(func(r *engine.SiteRecord) { r.Coordinate = &vivaldi.Coordinate{Height: math.NaN()} }), "coordinate"},
		"a long reason": {record(func(r *engine.SiteRecord) {
			r.Queues = map[engine.ServiceName]engine.QueueStatus{"s": {State: engine.QueuePaused, Reason: strings.Repeat("x", 2000)}}
		}), "reason of 2000"},
		"a rule of nothing":              {record(func(r *engine.SiteRecord) { r.Rules = map[string]string{"": "x"} }), "kind of 0"},
		"a time before 1970":             {record(func(r *engine.SiteRecord) { r.At = -1 }), "time -1"},
		"a certificate of nobody":        {says("nantes", 50, engine.RecordCertificate, "a/b", engine.Certificate{Invitation: "i", Name: "x"}), "is no site"},
		"a nameless certificate":         {says("nantes", 50, engine.RecordCertificate, "lyon", engine.Certificate{Invitation: "i"}), "name of 0"},
		"a certificate that ends before": {says("nantes", 50, engine.RecordCertificate, "lyon", engine.Certificate{Name: "x", From: 2, Until: 1}), "good from 2 until 1"},
		"a list without an authority":    {says("paris", 50, engine.RecordAuthorities, "1", engine.Authorities{}), "0 authorities"},
		"a list of too many":             {says("paris", 50, engine.RecordAuthorities, "1", engine.Authorities{Keys: many(MaxAuthorities + 1)}), "65 authorities"},
		"a list that repeats":            {says("paris", 50, engine.RecordAuthorities, "1", engine.Authorities{Keys: []engine.SiteID{"a", "b", "a"}}), "twice"},
		"a list of what is no key":       {says("paris", 50, engine.RecordAuthorities, "1", engine.Authorities{Keys: []engine.SiteID{"a/b"}}), "no key"},
		"a list in no place":             {says("paris", 50, engine.RecordAuthorities, "0", engine.Authorities{Keys: many(1)}), "no place"},
		"a list in a place written long": {says("paris", 50, engine.RecordAuthorities, "+1", engine.Authorities{Keys: many(1)}), "no place"},
		"an authority of another mesh":   {raw("paris", engine.MeshRecord{Key: engine.RecordKey{Kind: engine.RecordZone, About: "west"}, Number: 50, Mesh: "other", Body: engine.Encode(engine.ZoneRecord{Sites: many(1)})}), "of mesh \"other\""},
		"a long mesh":                    {raw("paris", engine.MeshRecord{Key: engine.RecordKey{Kind: engine.RecordZone, About: "west"}, Number: 50, Mesh: long, Body: engine.Encode(engine.ZoneRecord{Sites: many(1)})}), "a mesh of 300"},
		"certificates for ever":          {invitation(func(i *engine.Invitation) { i.Term = -1 }), "for -1 seconds"},
		"a late certificate":             {says("nantes", 50, engine.RecordCertificate, "lyon", engine.Certificate{Invitation: "i", Name: "x", At: math.MaxInt64}), "time 9223"},
		"a removal of nobody":            {says("nantes", 50, engine.RecordRemoval, "", engine.Removal{}), "is no site"},
		"somebody's invitation":          {invitation(func(i *engine.Invitation) { i.Issuer = "paris" }), "somebody else"},
		"less than no uses":              {invitation(func(i *engine.Invitation) { i.Uses = -1 }), "-1 uses"},
		"a nameless invitation":          {invitation(func(i *engine.Invitation) { i.ID = "" }), "identifier of 0"},
		"a place that is none":           {says("nantes", 50, engine.RecordInvitation, "65", engine.Invitation{ID: "i", Issuer: "nantes"}), "no place"},
		"a place written long":           {says("nantes", 50, engine.RecordInvitation, "01", engine.Invitation{ID: "i", Issuer: "nantes"}), "no place"},
		"an empty zone":                  {zone("west", engine.ZoneRecord{}), "a zone of 0 sites"},
		"a deleted zone of sites":        {zone("west", engine.ZoneRecord{Sites: many(1), Deleted: true}), "a zone of 1 sites"},
		"a large zone":                   {zone("west", engine.ZoneRecord{Sites: many(MaxZone + 1)}), "a zone of 1025"},
		"a zone in disorder":             {zone("west", engine.ZoneRecord{Sites: []engine.SiteID{"b", "a"}}), "not sorted"},
		"a zone that repeats":            {zone("west", engine.ZoneRecord{Sites: []engine.SiteID{"a", "a"}}), "not sorted"},
		"a zone of nobody":               {zone("west", engine.ZoneRecord{Sites: []engine.SiteID{""}}), "no site"},
		"a nameless zone":                {zone("", engine.ZoneRecord{Sites: many(1)}), "name of 0"},
		"a zone at no time":              {zone("west", engine.ZoneRecord{Sites: many(1), At: math.MaxInt64}), "time 9223"},
		"a large unknown":                {says("nantes", 50, "future", "", make([]byte, maxOther)), "unknown kind"},
	} {
		t.Run(name, func(t *testing.T) {
			paris := found(t)
			nantes := join(t, paris, "nantes", 1)
			hear(t, paris, nantes)
			before := paris.Records()
			news, err := paris.Take(c.raw)
			if !errors.Is(err, engine.ErrRefused) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
			if len(news.Records) > 0 || !reflect.DeepEqual(before, paris.Records()) {
				t.Errorf("what was refused counts: %+v", news)
			}
			good := says("nantes", 60, engine.RecordSite, "", engine.SiteRecord{Name: "nantes", Version: "new"})
			if news, _ := paris.Take(c.raw, good); len(news.Records) != 1 {
				t.Errorf("beside it, what is good is not taken: %+v", news)
			}
		})
	}
}

// A kind of record that is unknown here is kept and passed on, within bounds: newer sites know it.
func TestUnknownKindsAreKept(t *testing.T) {
	paris := found(t)
	one := says("paris", 50, "future", "x", map[string]int{"y": 1})
	two := says("paris", 51, "future", "x", map[string]int{"y": 2})
	_, err := paris.Take(two, one)
	must(t, err)
	if all := paris.Records(); len(all) != 4 || !reflect.DeepEqual(all[2], two) {
		t.Errorf("there are %+v", all)
	}
	for i := range maxOthers - 1 {
		_, err := paris.Take(says("paris", 60, "future", fmt.Sprint(i), 1))
		must(t, err)
	}
	if _, err := paris.Take(says("paris", 60, "future", "more", 1)); err != nil {
		t.Errorf("one that comes before the last: %v", err)
	}
	if _, err := paris.Take(says("paris", 60, "future", "x", 1)); !errors.Is(err, engine.ErrTooLarge) {
		t.Errorf("one too many: %v", err)
	}
}

// TestInvariantSitesAgreeOnWhatIsTooMuch has a member say more things that are unknown than are kept, each to another site in another order. Once the
// sites have told each other what they have, they have the same, and nothing of it is too much any more; what is not kept is dropped.
func TestInvariantSitesAgreeOnWhatIsTooMuch(t *testing.T) {
	var all []engine.SignedRecord
	for i := range 3 * maxOthers {
		all = append(all, says("paris", 60, engine.RecordKind(fmt.Sprint("future", i%3)), fmt.Sprint(i), 1))
	}
	rapid.Check(t, func(rt *rapid.T) {
		a := found(t)
		b := New("nantes")
		_, err := b.Take(a.Records()...)
		must(t, err)
		kept := map[string]bool{}
		for i, r := range rapid.Permutation(all).Draw(rt, "order") {
			s := []*State{a, b}[i%2]
			news, _ := s.Take(r) // it may be too much
			if s != a {
				continue
			}
			for _, r := range news.Records {
				kept[string(r.Record)] = true
			}
			for _, r := range news.Dropped {
				delete(kept, string(r.Record))
			}
		}
		if n := count(a.records["paris"], func(r *record) bool { return r.said == nil }); n != maxOthers || len(kept) != n {
			rt.Fatalf("%d are kept, and %d on the disk", n, len(kept))
		}
		ofA, ofB := a.Records(), b.Records()
		_, _ = a.Take(ofB...)
		_, _ = b.Take(ofA...)
		if a.Fingerprint() != b.Fingerprint() {
			rt.Fatal("they have not the same")
		}
		if _, err := a.Take(b.Records()...); err != nil {
			rt.Fatalf("what both have is refused: %v", err)
		}
	})
}

// Two agents that run with one key find that out: one of them hears what it has not said in the place of what it has.
func TestTwoRunsUnderOneKey(t *testing.T) {
	a := found(t)
	b := New("paris")
	hear(t, b, a)
	announce(t, a, engine.SiteRecord{Name: "paris", Run: "a"}, 1)
	announce(t, b, engine.SiteRecord{Name: "paris", Run: "b"}, 1)
	ofA, ofB := a.Records(), b.Records()
	newsA, errA := a.Take(ofB...)
	newsB, errB := b.Take(ofA...)
	if errA != nil || errB != nil || len(newsA.Own)+len(newsB.Own) != 1 || a.Fingerprint() != b.Fingerprint() {
		t.Errorf("they hear %+v and %+v", newsA, newsB)
	}
}

// What is tried out on a clone is not so in the state that it was made of.
func TestClone(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 1)
	hear(t, paris, nantes)
	sum, all, members := paris.Fingerprint(), paris.Records(), paris.Members()
	c := paris.Clone()
	certify(t, c, "paris", "lutetia", 2)
	zone, err := pen(c).SetZone("west", []engine.SiteID{"nantes"}, at(2))
	must(t, err)
	removal, err := pen(c).Retire("nantes", at(2))
	must(t, err)
	own(t, c, zone, *removal)
	join(t, c, "lyon", 3)
	c.SetGone("nantes")
	if names(c) != "[lutetia lyon]" || len(c.Zones()) != 1 {
		t.Errorf("the clone knows %s, %v", names(c), c.Zones())
	}
	if _, removed := paris.Removed("nantes"); removed || paris.Fingerprint() != sum || !reflect.DeepEqual(paris.Records(), all) ||
		!reflect.DeepEqual(paris.Members(), members) || len(paris.Zones()) != 0 || paris.IsMember("lyon") || paris.Own().Name != "paris" {
		t.Errorf("the state has become %s", names(paris))
	}
}

// drawRecords draws what honest and other sites may have said of a few things: the same numbers come again, and several sign lists of
// authorities in one place, but nobody two.
func drawRecords(t *rapid.T) []engine.SignedRecord {
	sites := []engine.SiteID{"paris", "nantes", "lyon", "brest", "metz"}
	raws := []engine.SignedRecord{says("paris", 1, engine.RecordMesh, "", engine.MeshOrigin{Mesh: "mesh", At: 5})}
	after := [32]byte{}
	for place := range rapid.IntRange(0, 3).Draw(t, "lists") {
		var last engine.SignedRecord
		for _, author := range rapid.Permutation(sites).Draw(t, "authors")[:2] {
			keys := rapid.Permutation(sites).Draw(t, "keys")[:rapid.IntRange(1, 3).Draw(t, "number of keys")]
			last = says(author, 2, engine.RecordAuthorities, fmt.Sprint(place+1), engine.Authorities{Keys: keys, After: after})
			raws = append(raws, last)
		}
		after = sha256.Sum256(last.Record)
	}
	for range rapid.IntRange(1, 40).Draw(t, "records") {
		author := rapid.SampledFrom(sites).Draw(t, "author")
		other := rapid.SampledFrom(sites).Draw(t, "other")
		number := rapid.Uint64Range(1, 4).Draw(t, "number")
		at := rapid.Int64Range(0, 9).Draw(t, "at")
		name := string(rapid.SampledFrom(sites).Draw(t, "name"))
		switch rapid.SampledFrom([]string{"admit", "admit", "admit", "site", "zone", "zone", "remove", "invite", "origin", "future"}).Draw(t, "kind") {
		case "admit":
			raws = append(raws, says(author, number, engine.RecordCertificate, string(other), engine.Certificate{Invitation: "i", Name: engine.SiteName(name), At: at}))
		case "site":
			raws = append(raws, says(author, number, engine.RecordSite, "", engine.SiteRecord{Name: engine.SiteName(name), At: at}))
		case "zone":
			z := engine.ZoneRecord{At: at, Deleted: at%3 == 0}
			if !z.Deleted {
				z.Sites = []engine.SiteID{other}
			}
			raws = append(raws, says(author, number, engine.RecordZone, rapid.SampledFrom([]string{"west", "east"}).Draw(t, "zone"), z))
		case "remove":
			raws = append(raws, says(author, number, rapid.SampledFrom([]engine.RecordKind{engine.RecordRemoval, engine.RecordRevocation}).Draw(t, "how"), string(other), engine.Removal{At: at}))
		case "invite":
			raws = append(raws, says(author, number, engine.RecordInvitation, "1", engine.Invitation{ID: name, Issuer: author, Uses: int(at)}))
		case "origin":
			raws = append(raws, says("paris", number, engine.RecordMesh, "", engine.MeshOrigin{Mesh: "mesh", At: at}))
		case "future":
			raws = append(raws, says(author, number, "future", name, at))
		}
	}
	return raws
}

// TestOrderDoesNotMatter: sites that have heard the same records, in any order and any portions, agree on everything; and what one has
// can be taken in by another, in its order, one by one.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		raws := drawRecords(rt)
		a, b, c := New("paris"), New("paris"), New("paris")
		_, err := a.Take(raws...)
		if err != nil && !errors.Is(err, engine.ErrMissing) && !errors.Is(err, engine.ErrRefused) {
			rt.Fatal(err)
		}
		shuffled := rapid.Permutation(raws[1:]).Draw(rt, "order")
		for todo := shuffled; len(todo) > 0; {
			n := rapid.IntRange(1, len(todo)).Draw(rt, "portion")
			_, _ = b.Take(append(slices.Clone(raws[:1]), todo[:n]...)...) // what misses something comes again with the rest
			todo = todo[n:]
		}
		_, _ = b.Take(raws...)
		for _, r := range a.Records() {
			if _, err := c.Take(r); err != nil {
				rt.Fatalf("%+v does not follow what is before it: %v", r, err)
			}
		}
		for _, s := range []*State{b, c} {
			if a.Fingerprint() != s.Fingerprint() || !reflect.DeepEqual(a.Records(), s.Records()) {
				rt.Fatalf("records\n%+v\nand\n%+v", a.Records(), s.Records())
			}
			if !reflect.DeepEqual(a.Members(), s.Members()) || !reflect.DeepEqual(a.Zones(), s.Zones()) ||
				!reflect.DeepEqual(a.Invitations(), s.Invitations()) || !reflect.DeepEqual(a.removed, s.removed) || !reflect.DeepEqual(a.admitted, s.admitted) {
				rt.Fatalf("members\n%+v\nand\n%+v", a.Members(), s.Members())
			}
		}
		if !slices.Equal(a.authorities, b.authorities) || a.top != b.top {
			rt.Fatalf("authorities %v and %v", a.authorities, b.authorities)
		}
		if a.last != b.last {
			rt.Fatalf("own numbers up to %d and %d", a.last, b.last)
		}
		taken := map[engine.SiteName]bool{}
		for _, m := range a.Members() {
			if m.Name != "" && taken[m.Name] || !slices.Contains(a.authorities, m.Certified) {
				rt.Fatalf("members %+v", a.Members())
			}
			taken[m.Name] = true
		}
	})
}

// FuzzTake takes records of any bytes in. What is taken can be passed on.
func FuzzTake(f *testing.F) {
	base := found(f)
	nantes := join(f, base, "nantes", 1)
	hear(f, base, nantes)
	z, err := pen(base).SetZone("west", []engine.SiteID{"paris"}, at(2))
	must(f, err)
	own(f, base, z)
	r, err := pen(base).Retire("nantes", at(3))
	must(f, err)
	own(f, base, *r)
	l, err := pen(base).AddAuthority("lyon", false)
	must(f, err)
	own(f, base, l)
	for _, raw := range base.Records() {
		f.Add(string(raw.Author), raw.Record, raw.Record)
	}
	f.Fuzz(func(t *testing.T, author string, one, two []byte) {
		s := New("paris")
		hear(t, s, base)
		for _, b := range [][]byte{one, two} {
			raw := engine.SignedRecord{Author: engine.SiteID(author), Record: b}
			wanted := s.Wants(raw)
			news, err := s.Take(raw)
			if err == nil && wanted != (len(news.Records) == 1) {
				t.Fatalf("wanted %t, and it is %+v", wanted, news)
			}
			if err != nil && len(news.Records) > 0 {
				t.Fatalf("%v, and %+v", err, news)
			}
		}
		again := New("lyon")
		hear(t, again, s)
		if again.Fingerprint() != s.Fingerprint() || !reflect.DeepEqual(again.Members(), s.Members()) {
			t.Fatalf("passed on it is %+v, not %+v", again.Records(), s.Records())
		}
		s.Zones()
		s.Invitations()
		s.Mismatch("a", "b", []engine.SiteID{"paris", "nantes"})
	})
}

// BenchmarkTake has a site hear of a mesh of a thousand, when it joins and when one site says something else.
func BenchmarkTake(b *testing.B) {
	s := found(b)
	var raws []engine.SignedRecord
	for i, id := range many(1000) {
		raws = append(raws, says("paris", uint64(10+i), engine.RecordCertificate, string(id), engine.Certificate{Invitation: "i", Name: engine.SiteName(id), At: int64(i)}),
			says(id, 1, engine.RecordSite, "", engine.SiteRecord{Name: engine.SiteName(id), Addresses: []string{"/ip4/10.0.0.1/tcp/4001"}, Version: "1"}))
	}
	_, err := s.Take(raws...)
	must(b, err)
	all := s.Records()
	b.Run("join", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fresh := New("x")
			_, err := fresh.Take(all...)
			must(b, err)
		}
	})
	b.Run("word", func(b *testing.B) {
		b.ReportAllocs()
		n := uint64(1)
		for b.Loop() {
			n++
			_, err := s.Take(says("site00007", n, engine.RecordSite, "", engine.SiteRecord{Name: "seven"}))
			must(b, err)
			s.Members()
		}
	})
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, r := range all {
				s.Wants(r)
			}
		}
	})
}
