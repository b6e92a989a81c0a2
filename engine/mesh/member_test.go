package mesh

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

func TestMembersInTheOrderInWhichTheyJoined(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 10)
	promote(t, paris, nantes, false)
	lyon := join(t, nantes, "lyon", 20)
	hear(t, paris, nantes)
	for _, s := range []*State{paris, nantes, lyon} {
		if got := names(s); got != "[paris nantes lyon]" || s.ID() != "mesh" || s.Founder() != "paris" {
			t.Errorf("%s knows %s of the mesh %s of %s", s.Self(), got, s.ID(), s.Founder())
		}
	}
	if got := paris.Members()[2]; !got.Joined.Equal(at(20)) || !got.Removed.IsZero() || got.ID != "lyon" {
		t.Errorf("lyon is %+v", got)
	}
	hear(t, lyon, paris)
	if paris.Fingerprint() != lyon.Fingerprint() {
		t.Error("they have the same records and another fingerprint")
	}
	if got, zero := New("x"), (engine.Fingerprint{}); got.Fingerprint() != zero || len(got.Members()) != 0 || got.IsMember("x") {
		t.Error("a site without a mesh has members")
	}
}

// A site is called what its certificate says, whatever it says of itself and whoever else says it.
func TestNamesAreBoundByCertificates(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 10)
	lyon := join(t, paris, "lyon", 20)
	announce(t, lyon, engine.SiteRecord{Name: "nantes"}, 30)
	hear(t, paris, lyon)
	if got := names(paris); got != "[paris nantes lyon]" || paris.Name("lyon") != "lyon" {
		t.Errorf("a site has named itself: %s", got)
	}
	_, err := paris.Take(says("lyon", 1, engine.RecordCertificate, "lyon", engine.Certificate{Name: "nantes", At: 1, Named: 1}))
	if !errors.Is(err, engine.ErrMissing) || names(paris) != "[paris nantes lyon]" {
		t.Errorf("a site has certified itself: %s, %v", names(paris), err)
	}
	_, err = pen(paris).Certify("lyon", "nantes", time.Time{}, at(31))
	refused(t, err, 409, "exists")
	certify(t, paris, "lyon", "lutetia", 32)
	hear(t, nantes, paris)
	if got := names(nantes); got != "[paris nantes lutetia]" || paris.Name("brest") != "brest" {
		t.Errorf("an authority names a site: %s", got)
	}
}

// Two authorities that do not hear of each other may give one name twice. The site that got it first keeps it, also when its
// certificate is renewed; one that is taken out makes room.
func TestTheFirstKeepsAName(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 10)
	promote(t, paris, nantes, false)
	certify(t, nantes, "k1", "brest", 20)
	certify(t, nantes, "k3", "metz", 20)
	certify(t, paris, "k2", "brest", 1) // an earlier date, and a later number: it decides nothing
	certify(t, paris, "k2", "", 1)
	hear(t, paris, nantes)
	hear(t, nantes, paris)
	first, second := paris.Members(), map[engine.SiteID]engine.SiteName{}
	for _, m := range first {
		second[m.ID] = m.Name
	}
	if second["k1"] == second["k2"] || (second["k1"] == "") == (second["k2"] == "") || names(paris) != names(nantes) {
		t.Fatalf("paris sees %s, nantes %s", names(paris), names(nantes))
	}
	keeper := engine.SiteID("k1")
	if second["k2"] == "brest" {
		keeper = "k2"
	}
	certify(t, paris, keeper, "", 40)
	hear(t, nantes, paris)
	if names(nantes) != names(paris) || nantes.Members()[slices.IndexFunc(nantes.Members(), func(m engine.Member) bool { return m.ID == keeper })].Name != "brest" {
		t.Errorf("a renewed certificate has lost its name: %s", names(nantes))
	}
	r, err := pen(paris).Retire(keeper, at(50))
	must(t, err)
	own(t, paris, *r)
	for _, m := range paris.Members() {
		if m.ID != keeper && (m.ID == "k1" || m.ID == "k2") && m.Name != "brest" {
			t.Errorf("a site that is out keeps its name: %s", names(paris))
		}
	}
}

// A certificate is good from when it was made, by the clock of whoever reads it, until it ends.
func TestValidity(t *testing.T) {
	paris := found(t)
	r, err := pen(paris).Certify("nantes", "nantes", at(1000), at(500))
	must(t, err)
	own(t, paris, r)
	for minutes, want := range map[int]bool{400: false, 441: true, 500: true, 999: true, 1000: false, 2000: false} {
		if got := paris.Good("nantes", at(minutes)); got != want {
			t.Errorf("after %d minutes it is good: %t", minutes, got)
		}
	}
	if !paris.Good("paris", at(1<<20)) || paris.Good("lyon", at(500)) || !paris.IsMember("nantes") {
		t.Error("one without an end ends, or a stranger's is good")
	}
	if m := paris.Members()[1]; !m.Until.Equal(at(1000)) || !m.From.Equal(at(500)) || m.Certified != "paris" {
		t.Errorf("nantes is %+v", m)
	}
	records, err := pen(paris).Admit(engine.JoinRequest{Site: "nantes", Record: engine.SiteRecord{Name: "x"}}, at(600))
	if err != nil || records != nil {
		t.Errorf("one that is certified needs no invitation: %v, %v", records, err)
	}
	_, err = pen(paris).Admit(engine.JoinRequest{Site: "nantes", Record: engine.SiteRecord{Name: "x"}}, at(1001))
	refused(t, err, 403, "invitation")
	r, err = pen(paris).Certify("nantes", "", time.Time{}, at(1100))
	must(t, err)
	own(t, paris, r)
	if m := paris.Members()[1]; !paris.Good("nantes", at(9999)) || m.Name != "nantes" || !m.Joined.Equal(at(500)) {
		t.Errorf("after it was renewed nantes is %+v", m)
	}
	_, err = pen(paris).Certify("nantes", "", at(1), at(2))
	refused(t, err, 422, "certificate")
}

// A site that has said nothing yet is called what it was let in as.
func TestNameBeforeTheFirstWord(t *testing.T) {
	paris := found(t)
	invite(t, paris, "i", 1, 0)
	records, err := pen(paris).Admit(asks("i", "k1", "nantes"), at(1))
	must(t, err)
	own(t, paris, records...)
	if paris.Name("k1") != "nantes" || names(paris) != "[paris nantes]" {
		t.Errorf("it is called %s among %s", paris.Name("k1"), names(paris))
	}
}

func TestRemoval(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 10)
	lyon := join(t, paris, "lyon", 20)
	hear(t, nantes, paris)
	if _, err := pen(paris).Retire("brest", at(30)); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a site that is none is removed: %v", err)
	}
	r, err := pen(paris).Retire("nantes", at(30))
	must(t, err)
	own(t, paris, *r)
	if again, err := pen(paris).Retire("nantes", at(31)); again != nil || err != nil {
		t.Errorf("it is removed again: %+v, %v", again, err)
	}
	for _, s := range []*State{nantes, lyon} {
		if news := hear(t, s, paris); len(news.Removed) != 1 || news.Removed[0] != "nantes" {
			t.Errorf("%s hears of it: %+v", s.Self(), news)
		}
	}
	if since, ok := lyon.Removed("nantes"); !ok || since != at(30).UnixMicro() {
		t.Errorf("nantes is removed since %d", since)
	}
	if !lyon.IsMember("nantes") || lyon.Members()[1].Removed.IsZero() {
		t.Error("until it is gone, it is a member that was removed")
	}
	lyon.SetGone("paris") // which was not removed
	lyon.SetGone("nantes")
	if lyon.IsMember("nantes") || !lyon.WasAdmitted("nantes") || names(lyon) != "[paris lyon]" {
		t.Errorf("once it is gone the members are %s", names(lyon))
	}
	invite(t, paris, "back", 1, 40)
	_, err = pen(paris).Admit(asks("back", "nantes", "nantes"), at(41))
	refused(t, err, 403, "invitation")
	if _, err = pen(lyon).Retire("paris", at(45)); err == nil {
		t.Error("a site that is no authority takes another out")
	}
	_, err = pen(paris).Retire("paris", at(51))
	refused(t, err, 409, "authority")
	r, err = pen(paris).Retire("lyon", at(50))
	must(t, err)
	own(t, paris, *r)
	_, err = pen(paris).Retire("paris", at(51))
	refused(t, err, 409, "last-site")
	early := says("lyon", 1000, engine.RecordRemoval, "paris", engine.Removal{At: 1})
	news, err := paris.Take(early)
	if _, removed := paris.Removed("paris"); removed || !errors.Is(err, engine.ErrMissing) || len(news.Removed) != 0 {
		t.Errorf("a member takes everybody out: %+v, %v", news, err)
	}
}

// A revoked key is good for nothing from then on, whether or not its site was retired before; and nothing undoes that.
func TestRevocation(t *testing.T) {
	for _, retired := range []bool{false, true} {
		paris := found(t)
		nantes := join(t, paris, "nantes", 10)
		lyon := join(t, paris, "lyon", 20)
		hear(t, nantes, paris)
		if retired {
			r, err := pen(paris).Retire("lyon", at(30))
			must(t, err)
			own(t, paris, *r)
		}
		_, err := pen(nantes).Distrust("lyon", at(31))
		refused(t, err, 403, "authority")
		_, err = pen(paris).Distrust("paris", at(31))
		refused(t, err, 409, "authority")
		r, err := pen(paris).Distrust("lyon", at(31))
		must(t, err)
		own(t, paris, *r)
		news := hear(t, nantes, paris)
		if !slices.Equal(news.Revoked, []engine.SiteID{"lyon"}) || !slices.Equal(news.Removed, []engine.SiteID{"lyon"}) {
			t.Errorf("nantes hears %+v", news)
		}
		since, _ := nantes.Removed("lyon")
		if m := nantes.Members()[2]; nantes.Good("lyon", at(32)) || !nantes.WasAdmitted("lyon") || !m.Revoked || retired != (since == at(30).UnixMicro()) {
			t.Errorf("lyon is %+v, removed since %d", m, since)
		}
		for what, f := range map[string]func(engine.SiteID, time.Time) (*engine.MeshRecord, error){"retired": pen(paris).Retire, "revoked": pen(paris).Distrust} {
			if again, err := f("lyon", at(33)); again != nil || err != nil {
				t.Errorf("it is %s again: %+v, %v", what, again, err)
			}
		}
		_, err = pen(paris).Certify("lyon", "", time.Time{}, at(34))
		refused(t, err, 409, "authority")
		if _, err := nantes.Take(says("lyon", 99, engine.RecordRevocation, "paris", engine.Removal{At: 1})); !errors.Is(err, engine.ErrMissing) || nantes.Revoked("paris") {
			t.Errorf("a site revokes another: %v", err)
		}
		if _, err := pen(lyon).Distrust("paris", at(35)); err == nil {
			t.Error("lyon makes a revocation")
		}
	}
}

func TestAnnounce(t *testing.T) {
	paris := found(t)
	here := vivaldi.Coordinate{Vector: [3]float64{1, 2, 3}, Height: 1, Error: 0.1}
	full := engine.SiteRecord{Name: "paris", Addresses: []string{"/ip4/10.0.0.1/tcp/1"}, Services: []engine.ServiceName{"images"},
		Rules: map[string]string{"images.image": "abc"}, Catalog: "c", Version: "2", Run: "r", Heard: []string{"q"}, Coordinate: &here,
		Queues: map[engine.ServiceName]engine.QueueStatus{"images": {State: engine.QueuePaused, Reason: "401", Since: noon}}}
	announce(t, paris, full, 5)
	if _, changed, err := pen(paris).Announce(full, at(6)); changed || err != nil {
		t.Errorf("the same is said again: %v", err)
	}
	got := paris.Own()
	if got.At != at(5).UnixMicro() || *got.Coordinate != here || got.Queues["images"].State != engine.QueuePaused || got.Rules["images.image"] != "abc" {
		t.Errorf("it says %+v", got)
	}
	bad := full
	bad.Name = "two words"
	if _, _, err := pen(paris).Announce(bad, at(7)); err == nil {
		t.Error("it says what others refuse")
	}
}

func TestDistance(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 1)
	if _, ok := paris.Distance("paris", "nantes"); ok {
		t.Error("the distance of what is nowhere is known")
	}
	announce(t, paris, engine.SiteRecord{Name: "paris", Coordinate: &vivaldi.Coordinate{Height: 1}}, 2)
	announce(t, nantes, engine.SiteRecord{Name: "nantes", Coordinate: &vivaldi.Coordinate{Vector: [3]float64{3, 4, 0}, Height: 1}}, 2)
	hear(t, paris, nantes)
	if d, ok := paris.Distance("paris", "nantes"); !ok || d != 7*time.Millisecond {
		t.Errorf("it is %v", d)
	}
	if d, ok := paris.Distance("brest", "brest"); !ok || d != 0 {
		t.Errorf("to itself it is %v", d)
	}
}

func TestMismatch(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 1)
	rules := func(s *State, digest string, minutes int) {
		announce(t, s, engine.SiteRecord{Name: engine.SiteName(s.Self()), Rules: map[string]string{"images.image": digest}}, minutes)
	}
	both := []engine.SiteID{"paris", "nantes", "brest"}
	rules(paris, "aa", 2)
	if got := paris.Mismatch("images", "image", both); got != "" {
		t.Errorf("one that has not told differs: %s", got)
	}
	rules(nantes, "bb", 3)
	if news := hear(t, paris, nantes); !news.Rules {
		t.Error("new rules are no news")
	}
	want := "catalog-mismatch: the rules of images.image are not the same at all sites (nantes has bb, paris has aa); give all of them the same catalog"
	if got := paris.Mismatch("images", "image", both); got != want {
		t.Errorf("it says %q", got)
	}
	if paris.Mismatch("images", "image", both[:1]) != "" || paris.Mismatch("images", "flavor", both) != "" {
		t.Error("others differ too")
	}
	rules(nantes, "aa", 4)
	if hear(t, paris, nantes); paris.Mismatch("images", "image", both) != "" {
		t.Error("they differ still")
	}
	announce(t, nantes, engine.SiteRecord{Name: "nantes", Rules: map[string]string{"images.image": "aa"}, Version: "3"}, 5)
	if news := hear(t, paris, nantes); news.Rules || len(news.Told) != 1 {
		t.Errorf("the same rules are news: %+v", news)
	}
}

func TestDigest(t *testing.T) {
	k := engine.Kind{Service: "images", Name: "image", Label: "/name"}
	other := k
	other.Label = "/title" // no rule
	a, err := Digest(&k)
	must(t, err)
	b, err := Digest(&other)
	must(t, err)
	other.UpdateWins = true
	c, err := Digest(&other)
	must(t, err)
	if a != b || a == c || len(a) != 16 {
		t.Errorf("digests %s, %s and %s", a, b, c)
	}
}

// TestAMeshIsFull: it has as many sites as it may have, and takes in no more, whoever has certified them. Who is in it is certified anew.
func TestAMeshIsFull(t *testing.T) {
	paris := found(t)
	certificate := func(i int) engine.SignedRecord {
		site := fmt.Sprint("site", i)
		return says("paris", uint64(100+i), engine.RecordCertificate, site, engine.Certificate{Name: engine.SiteName(site), At: 1})
	}
	var all []engine.SignedRecord
	for i := range MaxMembers - 1 {
		all = append(all, certificate(i))
	}
	if news, err := paris.Take(all...); err != nil || len(news.Joined) != MaxMembers-1 {
		t.Fatalf("of %d certificates %d count: %v", len(all), len(news.Joined), err)
	}
	if news, err := paris.Take(certificate(MaxMembers)); !errors.Is(err, engine.ErrTooLarge) || len(news.Joined) > 0 {
		t.Errorf("one more is let in: %v, %v", news.Joined, err)
	}
	_, err := pen(paris).Certify("lille", "lille", time.Time{}, at(1))
	refused(t, err, 409, "certificate")
	if _, err := pen(paris).Certify("site7", "", at(9), at(1)); err != nil {
		t.Errorf("one that is in is not certified anew: %v", err)
	}
}
