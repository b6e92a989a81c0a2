package mesh

import (
	"errors"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

func TestMembersInTheOrderInWhichTheyJoined(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 10)
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

// Where two claim one name, the one that joined earlier keeps it; and no site can let another in at a time before its own.
func TestTheEarlierKeepsAName(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 10)
	lyon := join(t, paris, "lyon", 20)
	announce(t, nantes, engine.SiteRecord{Name: "lyon"}, 30)
	hear(t, paris, nantes)
	if got := names(paris); got != "[paris lyon ]" {
		t.Errorf("nantes, which joined first, has not got the name: %s", got)
	}
	if paris.Name("nantes") != "lyon" || paris.Name("lyon") != "lyon" || paris.Name("brest") != "brest" {
		t.Error("what a site calls itself is what it is called")
	}
	news, err := paris.Take(
		says("lyon", 100, engine.RecordAdmission, "accomplice", engine.Admission{Invitation: "i", Name: "paris", At: 1}),
		says("accomplice", 1, engine.RecordSite, "", engine.SiteRecord{Name: "paris"}))
	must(t, err)
	if got := names(paris); got != "[paris lyon  ]" || len(news.Joined) != 1 {
		t.Errorf("a site that pretends to be older has taken a name: %s", got)
	}
	hear(t, lyon, paris)
	if names(lyon) != names(paris) {
		t.Errorf("lyon sees %s", names(lyon))
	}
}

// A site that has said nothing yet is called what it was let in as.
func TestNameBeforeTheFirstWord(t *testing.T) {
	paris := found(t)
	invite(t, paris, "i", 1, 0)
	records, err := paris.Admit(asks("i", "k1", "nantes"), at(1))
	must(t, err)
	own(t, paris, records...)
	if paris.Name("k1") != "nantes" || names(paris) != "[paris nantes]" {
		t.Errorf("it is called %s among %s", paris.Name("k1"), names(paris))
	}
}

func TestRemoval(t *testing.T) {
	paris := found(t)
	nantes := join(t, paris, "nantes", 10)
	lyon := join(t, nantes, "lyon", 20)
	hear(t, paris, nantes)
	if _, err := paris.Remove("brest", at(30)); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a site that is none is removed: %v", err)
	}
	r, err := paris.Remove("nantes", at(30))
	must(t, err)
	own(t, paris, *r)
	if again, err := paris.Remove("nantes", at(31)); again != nil || err != nil {
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
	_, err = paris.Admit(asks("back", "nantes", "nantes"), at(41))
	refused(t, err, 403, "invitation")
	r, err = paris.Remove("lyon", at(50))
	must(t, err)
	own(t, paris, *r)
	_, err = paris.Remove("paris", at(51))
	refused(t, err, 409, "last-site")
	// Somebody else says that it was removed earlier: the earliest counts, in whatever order that is heard.
	early := says("lyon", 1000, engine.RecordRemoval, "nantes", engine.Removal{At: at(25).UnixMicro()})
	news, err := paris.Take(early)
	if since, _ := paris.Removed("nantes"); err != nil || since != at(25).UnixMicro() || len(news.Removed) != 0 {
		t.Errorf("it is removed since %d: %+v, %v", since, news, err)
	}
}

func TestAnnounce(t *testing.T) {
	paris := found(t)
	here := vivaldi.Coordinate{Vector: [3]float64{1, 2, 3}, Height: 1, Error: 0.1}
	full := engine.SiteRecord{Name: "paris", Addresses: []string{"/ip4/10.0.0.1/tcp/1"}, Services: []engine.ServiceName{"images"},
		Rules: map[string]string{"images.image": "abc"}, Catalog: "c", Version: "2", Run: "r", Heard: []string{"q"}, Coordinate: &here,
		Queues: map[engine.ServiceName]engine.QueueStatus{"images": {State: engine.QueuePaused, Reason: "401", Since: noon}}}
	announce(t, paris, full, 5)
	if _, changed, err := paris.Announce(full, at(6)); changed || err != nil {
		t.Errorf("the same is said again: %v", err)
	}
	got := paris.Own()
	if got.At != at(5).UnixMicro() || *got.Coordinate != here || got.Queues["images"].State != engine.QueuePaused || got.Rules["images.image"] != "abc" {
		t.Errorf("it says %+v", got)
	}
	bad := full
	bad.Name = "two words"
	if _, _, err := paris.Announce(bad, at(7)); err == nil {
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
