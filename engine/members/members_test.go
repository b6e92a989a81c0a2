package members

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

func TestSitesJoin(t *testing.T) {
	w, paris, nantes, lyon := three(t)
	for _, s := range w.sites {
		if names(s) != "[paris nantes lyon]" || s.MeshID() != paris.MeshID() || s.Fingerprint() != paris.Fingerprint() {
			t.Errorf("%s knows %s", s.name, names(s))
		}
		if len(s.disk.events) != 0 || s.rejoined != 0 || s.Inviting() {
			t.Errorf("%s has the events %v, has rejoined %d times, invites %t", s.name, s.disk.events, s.rejoined, s.Inviting())
		}
	}
	again := lyon.restart(lyon.disk)
	if !again.InMesh() || names(again) != names(paris) || again.Fingerprint() != paris.Fingerprint() {
		t.Errorf("after a restart lyon knows %s", names(again))
	}
	must(t, again.Announce(t.Context(), engine.SiteRecord{Name: "lyon", Version: "2"}))
	before := w.sent
	if w.deliver(); w.sent != before+2 || nantes.of(again).Version != "2" || nantes.of(again).Run != again.Run() {
		t.Errorf("nantes knows %+v of it after %d letters", nantes.of(again), w.sent-before)
	}
	must(t, again.Announce(t.Context(), engine.SiteRecord{Name: "lyon", Version: "2"}))
	if len(w.mail) != 0 {
		t.Error("it says the same again")
	}
	if w.deliver(); again.rejoined+nantes.rejoined != 0 {
		t.Error("a restart is taken for more")
	}
}

func TestFoundTwice(t *testing.T) {
	_, paris, _, _ := three(t)
	id := paris.MeshID()
	if err := paris.Found(t.Context(), engine.SiteRecord{Name: "paris"}); err == nil || paris.MeshID() != id {
		t.Errorf("a second mesh is founded: %v", err)
	}
}

func TestAdoptRefuses(t *testing.T) {
	w, paris, _, lyon := three(t)
	records := paris.Records()
	forged := slices.Clone(records)
	forged[len(forged)-1].Signature = paris.key.Sign([]byte("something else"))
	stranger := w.start("brest", newDisk())
	for name, c := range map[string]struct {
		id      string
		records []engine.SignedRecord
	}{
		"another mesh":             {"other", records},
		"not let in":               {paris.MeshID(), records},
		"a forged record":          {paris.MeshID(), forged},
		"no record":                {paris.MeshID(), nil},
		"no beginning":             {paris.MeshID(), records[1:]},
		"what this site has said ": {"mine", []engine.SignedRecord{keyOf("paris").signed(1, engine.RecordMesh, "", engine.MeshOrigin{Mesh: "mine"})}},
	} {
		err := stranger.Adopt(t.Context(), c.id, paris.Self(), c.records)
		if !errors.Is(err, engine.ErrRefused) || stranger.InMesh() || len(stranger.disk.records) != 0 {
			t.Errorf("%s: %v; the mesh is %q", name, err, stranger.MeshID())
		}
	}
	if err := lyon.restart(newDisk()).Adopt(t.Context(), paris.MeshID(), stranger.Self(), records); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("a mesh that somebody else has founded: %v", err)
	}
}

// Nobody talks to a site whose certificate is over, until it has another; and what others have of it stays.
func TestAnExpiredSiteIsNotTalkedTo(t *testing.T) {
	w, paris, nantes, lyon := three(t)
	must(t, paris.Certify(t.Context(), lyon.Self(), "", w.now.Add(time.Hour)))
	w.deliver()
	if m := nantes.of(lyon); !m.Until.Equal(w.now.Add(time.Hour)) || m.Name != "lyon" || !nantes.IsMember(lyon.Self()) {
		t.Errorf("lyon is %+v", m)
	}
	w.now = w.now.Add(time.Hour)
	if nantes.IsMember(lyon.Self()) || lyon.IsMember(lyon.Self()) || names(nantes) != "[paris nantes lyon]" || !nantes.WasAdmitted(lyon.Self()) {
		t.Errorf("nantes talks to it: the members are %s", names(nantes))
	}
	if err := nantes.Take(t.Context(), lyon.Self(), lyon.Records(), nil); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("nantes listens to it: %v", err)
	}
	must(t, paris.Certify(t.Context(), lyon.Self(), "", time.Time{}))
	w.deliver()
	if !nantes.IsMember(lyon.Self()) || !lyon.IsMember(paris.Self()) {
		t.Error("with a new certificate nobody talks to it")
	}
	var refusal *engine.Refusal
	if err := lyon.Certify(t.Context(), lyon.Self(), "metz", time.Time{}); !errors.As(err, &refusal) || refusal.Status != 403 || refusal.Type != "authority" {
		t.Errorf("lyon gives itself a name: %v", err)
	}
	must(t, nantes.RemoveAuthority(t.Context(), paris.Self()))
	w.deliver()
	if got := paris.Authorities(); len(got) != 1 || got[0] != nantes.Self() || names(lyon) != "[paris nantes lyon]" {
		t.Errorf("the authorities are %v, the members %s", got, names(lyon))
	}
}

// What a hostile member sends changes nothing, and what honest ones have said comes through beside it.
func TestRefusedRecordsChangeNothing(t *testing.T) {
	w, paris, nantes, lyon := three(t)
	good := nantes.key.signed(100, engine.RecordZone, "west", engine.ZoneRecord{Sites: []engine.SiteID{nantes.Self()}, At: 1})
	forged := paris.key.signed(100, engine.RecordRemoval, string(lyon.Self()), engine.Removal{At: 1})
	forged.Author = nantes.Self()
	brest := keyOf("brest")
	for name, c := range map[string]struct {
		record engine.SignedRecord
		want   error
	}{
		"forged":            {forged, engine.ErrRefused},
		"a stranger's":      {brest.signed(1, engine.RecordSite, "", engine.SiteRecord{Name: "brest"}), engine.ErrMissing},
		"another mesh":      {nantes.key.signed(100, engine.RecordMesh, "", engine.MeshOrigin{Mesh: "other"}), engine.ErrRefused},
		"no record":         {engine.SignedRecord{Author: nantes.Self(), Record: []byte("x"), Signature: nantes.key.Sign([]byte("skerry record\x00x"))}, engine.ErrRefused},
		"without signature": {engine.SignedRecord{Author: good.Author, Record: good.Record}, engine.ErrRefused},
	} {
		before, commits, news := paris.Fingerprint(), paris.disk.commits, len(paris.news)
		err := paris.Take(t.Context(), nantes.Self(), []engine.SignedRecord{c.record}, []engine.SiteID{paris.Self()})
		if !errors.Is(err, c.want) || paris.Fingerprint() != before || paris.disk.commits != commits || len(paris.news) != news || len(w.mail) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := paris.Take(t.Context(), brest.site(), []engine.SignedRecord{good}, nil); !errors.Is(err, engine.ErrRefused) || len(paris.Zones()) != 0 {
		t.Errorf("a stranger's letter is taken in: %v", err)
	}
	err := paris.Take(t.Context(), nantes.Self(), []engine.SignedRecord{forged, good}, nil)
	if !errors.Is(err, engine.ErrRefused) || len(paris.Zones()) != 1 || len(w.mail) != 0 {
		t.Errorf("beside a forged one, a good record is lost: %v", err)
	}
	if err := paris.Take(t.Context(), nantes.Self(), []engine.SignedRecord{good}, []engine.SiteID{paris.Self()}); err != nil || len(w.mail) != 0 {
		t.Errorf("what is known is told on: %v", err)
	}
}

// A change that cannot be made durable has not happened, is told to nobody, and can be tried again.
func TestFailedCommitsChangeNothing(t *testing.T) {
	ctx := t.Context()
	for name, prepare := range map[string]func(paris, nantes, lyon *site) (do func() error){
		"announce": func(paris, _, _ *site) func() error {
			return func() error { return paris.Announce(ctx, engine.SiteRecord{Name: "paris", Version: "9"}) }
		},
		"kinds": func(paris, _, _ *site) func() error {
			return func() error { return paris.SetKinds(ctx, []*engine.Kind{{Service: "images", Name: "image"}}) }
		},
		"queues": func(paris, _, _ *site) func() error {
			queues := map[engine.ServiceName]engine.QueueStatus{"images": {State: engine.QueuePaused, Since: noon}}
			return func() error { return paris.SetQueues(ctx, queues) }
		},
		"moved": func(paris, _, _ *site) func() error {
			return func() error { return paris.Moved(ctx, vivaldi.New()) }
		},
		"invite": func(paris, _, _ *site) func() error {
			return func() error { _, _, err := paris.Invite(ctx, time.Hour, 1, 0); return err }
		},
		"revoke": func(paris, _, _ *site) func() error {
			i, _, err := paris.Invite(ctx, time.Hour, 1, 0)
			must(t, err)
			return func() error { return paris.Revoke(ctx, i.ID) }
		},
		"admit": func(paris, _, _ *site) func() error {
			i, secret, err := paris.Invite(ctx, time.Hour, 1, 0)
			must(t, err)
			r := engine.JoinRequest{Invitation: i.ID, Secret: secret, Site: keyOf("brest").site(), Record: engine.SiteRecord{Name: "brest"}}
			return func() error { _, err := paris.Admit(ctx, r); return err }
		},
		"zone": func(paris, _, lyon *site) func() error {
			return func() error { return paris.SetZone(ctx, "east", []engine.SiteID{lyon.Self()}) }
		},
		"no zone": func(paris, _, lyon *site) func() error {
			must(t, paris.SetZone(ctx, "west", []engine.SiteID{lyon.Self()}))
			return func() error { return paris.DeleteZone(ctx, "west") }
		},
		"remove": func(paris, _, lyon *site) func() error {
			return func() error { return paris.RemoveSite(ctx, lyon.Self()) }
		},
		"vacated": func(paris, nantes, _ *site) func() error {
			must(t, nantes.RemoveAuthority(ctx, paris.Self()))
			must(t, nantes.RemoveSite(ctx, paris.Self()))
			paris.w.deliver()
			return func() error { _, err := paris.Vacated(ctx, paris.Self(), 0); return err }
		},
		"rejoins": func(paris, _, _ *site) func() error {
			return func() error { return paris.Rejoins(ctx) }
		},
		"take": func(paris, nantes, lyon *site) func() error {
			r := nantes.key.signed(200, engine.RecordZone, "south", engine.ZoneRecord{Sites: []engine.SiteID{lyon.Self()}, At: 1})
			return func() error {
				return paris.Take(ctx, nantes.Self(), []engine.SignedRecord{r}, []engine.SiteID{paris.Self()})
			}
		},
		"own": func(paris, nantes, _ *site) func() error {
			r := paris.key.signed(300, engine.RecordSite, "", engine.SiteRecord{Name: "paris", Run: "other"})
			return func() error { return paris.Take(ctx, nantes.Self(), []engine.SignedRecord{r}, nil) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, paris, nantes, lyon := three(t)
			do := prepare(paris, nantes, lyon)
			w.deliver()
			type known struct {
				fingerprint            engine.Fingerprint
				members                []engine.Member
				say                    engine.SiteRecord
				news, events, rejoined int
				mail                   int
			}
			knows := func() known {
				return known{paris.Fingerprint(), paris.Members.Members(), paris.say, len(paris.news), len(paris.disk.events), paris.rejoined, len(w.mail)}
			}
			before := knows()
			paris.disk.fail = fmt.Errorf("no room: %w", engine.ErrStorage)
			if err := do(); !errors.Is(err, engine.ErrStorage) {
				t.Errorf("the error is %v", err)
			}
			if after := knows(); !reflect.DeepEqual(before, after) {
				t.Errorf("it knew %+v and knows %+v", before, after)
			}
			paris.disk.fail = nil
			if err := do(); err != nil || paris.Fingerprint() == before.fingerprint || len(w.mail) == before.mail {
				t.Errorf("tried again: %v", err)
			}
		})
	}
}

// A site that cannot be reached from where something is said gets it through another, and nobody gets it without end.
func TestNewsArePassedOn(t *testing.T) {
	w, paris, nantes, lyon := three(t)
	w.cut[[2]string{"paris", "lyon"}] = true
	before := w.sent
	must(t, paris.SetZone(t.Context(), "west", []engine.SiteID{nantes.Self()}))
	w.deliver()
	if len(lyon.Zones()) != 1 || lyon.Fingerprint() != paris.Fingerprint() {
		t.Error("lyon has not heard of the zone")
	}
	if n := w.sent - before; n != 2 {
		t.Errorf("that took %d letters", n)
	}
	w.cut[[2]string{"nantes", "lyon"}] = true
	must(t, paris.DeleteZone(t.Context(), "west"))
	w.deliver()
	if len(lyon.Zones()) != 1 {
		t.Fatal("lyon has heard of it all the same")
	}
	clear(w.cut)
	w.compare(lyon, nantes)
	if len(lyon.Zones()) != 0 || len(w.mail) != 0 {
		t.Errorf("after a comparison lyon has the zones %v, and %d letters are under way", lyon.Zones(), len(w.mail))
	}
}

// Nobody who reads waits for the disk, and nobody sees what is not durable yet.
func TestReadingDoesNotWaitForTheDisk(t *testing.T) {
	_, paris, nantes, _ := three(t)
	looked := false
	paris.disk.during = func() {
		looked = true
		if !paris.IsMember(nantes.Self()) || len(paris.Zones()) != 0 || paris.Cloned() {
			t.Error("a zone is there that is not durable")
		}
	}
	must(t, paris.SetZone(t.Context(), "west", []engine.SiteID{nantes.Self()}))
	if !looked || len(paris.Zones()) != 1 {
		t.Errorf("it was written %t", looked)
	}
}

func TestManyAtOnce(t *testing.T) {
	_, paris, nantes, _ := three(t)
	cfg := paris.cfg
	cfg.Changed = nil
	m, err := New(t.Context(), cfg)
	must(t, err)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if err := m.SetZone(t.Context(), engine.ZoneName(fmt.Sprint("zone", i)), []engine.SiteID{nantes.Self()}); err != nil {
				t.Error(err)
			}
			m.Members()
			m.Records()
			m.Distances()
			m.Inviting()
		})
	}
	all.Wait()
	numbers := map[uint64]bool{}
	for k, n := range paris.disk.numbers {
		if k.author == paris.Self() && numbers[n] {
			t.Errorf("two records have the number %d", n)
		}
		numbers[n] = numbers[n] || k.author == paris.Self()
	}
	if n := len(m.Zones()); n != 16 {
		t.Errorf("there are %d zones", n)
	}
}

func TestNames(t *testing.T) {
	_, paris, nantes, _ := three(t)
	brest := keyOf("brest").site()
	if got := paris.Name(nantes.Self()); got != "nantes" {
		t.Errorf("nantes is called %s", got)
	}
	if got := string(paris.Name(brest)); len(got) != 9 || !strings.HasSuffix(string(brest), got[3:]) || got[2] != '*' {
		t.Errorf("a stranger is called %s", got)
	}
	if got := paris.Name("short"); got != "short" {
		t.Errorf("a short identifier becomes %s", got)
	}
}

func TestWhatASiteSaysOfItself(t *testing.T) {
	w, paris, nantes, lyon := three(t)
	kind := &engine.Kind{Service: "images", Name: "image"}
	must(t, paris.SetKinds(t.Context(), []*engine.Kind{kind}))
	w.deliver()
	both := []engine.SiteID{paris.Self(), nantes.Self()}
	if why := lyon.Mismatch("images", "image", both); why != "" {
		t.Errorf("nantes has told nothing: %s", why)
	}
	must(t, nantes.SetKinds(t.Context(), []*engine.Kind{{Service: "images", Name: "image", MergePatch: true}}))
	w.deliver()
	if why := lyon.Mismatch("images", "image", both); !strings.Contains(why, "nantes has ") {
		t.Errorf("the rules of images.image differ: %q", why)
	}
	if n := lyon.news[len(lyon.news)-1]; !n.Rules || !slices.Equal(n.Told, []engine.SiteID{nantes.Self()}) {
		t.Errorf("the news are %+v", n)
	}

	paused := engine.QueueStatus{State: engine.QueuePaused, Since: noon, Reason: strings.Repeat("é", 2000)}
	must(t, paris.SetQueues(t.Context(), map[engine.ServiceName]engine.QueueStatus{"images": paused, "zones": {State: engine.QueueFailing}}))
	w.deliver()
	if got := lyon.of(paris).Queues; len(got) != 1 || got["images"].State != engine.QueuePaused || !strings.HasPrefix(got["images"].Reason, "éé") {
		t.Errorf("lyon knows the queues %v", got)
	}
	paused.Reason, paused.Waiting = "again", 7
	must(t, paris.SetQueues(t.Context(), map[engine.ServiceName]engine.QueueStatus{"images": paused}))
	if len(w.mail) != 0 {
		t.Error("it is told again and again")
	}
	must(t, paris.Announce(t.Context(), engine.SiteRecord{Name: "paris", Version: "2"}))
	w.deliver()
	if got := lyon.of(paris); len(got.Queues) != 1 || len(got.Rules) != 1 || got.Version != "2" {
		t.Errorf("an announcement takes away what else it has said: %+v", got)
	}
	must(t, paris.SetQueues(t.Context(), nil))
	w.deliver()
	if got := lyon.of(paris).Queues; got != nil {
		t.Errorf("lyon knows the queues %v", got)
	}
}

func TestDistances(t *testing.T) {
	w, paris, nantes, lyon := three(t)
	at := func(x float64) vivaldi.Coordinate {
		c := vivaldi.New()
		c.Vector[0] = x
		return c
	}
	if paris.Coordinate() != (vivaldi.Coordinate{}) {
		t.Error("a site that has not moved is somewhere")
	}
	must(t, nantes.Moved(t.Context(), at(10)))
	must(t, lyon.Moved(t.Context(), at(30)))
	w.deliver()
	again := lyon.restart(lyon.disk)
	if again.Coordinate() != at(30) {
		t.Error("it has forgotten where it is")
	}
	must(t, again.Announce(t.Context(), engine.SiteRecord{Name: "lyon"}))
	w.deliver()
	w.cut[[2]string{"paris", "lyon"}] = true
	distance := paris.Distances()
	for _, c := range []struct {
		a, b engine.SiteID
		from time.Duration
		ok   bool
	}{
		{paris.Self(), nantes.Self(), time.Millisecond, true},
		{nantes.Self(), paris.Self(), time.Millisecond, true},
		{paris.Self(), lyon.Self(), 0, false},
		{nantes.Self(), lyon.Self(), 20 * time.Millisecond, true},
		{lyon.Self(), lyon.Self(), 0, true},
	} {
		if rtt, ok := distance(c.a, c.b); ok != c.ok || rtt.Truncate(time.Millisecond) != c.from {
			t.Errorf("from %s to %s it takes %v (%t)", paris.Name(c.a), paris.Name(c.b), rtt, ok)
		}
	}
}

func TestInvitations(t *testing.T) {
	w, paris, nantes, _ := three(t)
	i, secret, err := paris.Invite(t.Context(), time.Hour, 1, 0)
	must(t, err)
	w.deliver()
	if !paris.Inviting() || nantes.Inviting() || len(nantes.Invitations()) != len(paris.Invitations()) {
		t.Error("it invites, or not")
	}
	ask := engine.JoinRequest{Invitation: i.ID, Secret: secret, Site: keyOf("brest").site(), Record: engine.SiteRecord{Name: "brest"}}
	first, err := paris.Admit(t.Context(), ask)
	must(t, err)
	again, err := paris.Admit(t.Context(), ask)
	if err != nil || len(again) != len(first) || paris.Inviting() {
		t.Errorf("one whose first try was cut off gets %d records: %v", len(again), err)
	}
	ask.Site, ask.Secret = keyOf("metz").site(), []byte("guess")
	var refusal *engine.Refusal
	if _, err := paris.Admit(t.Context(), ask); !errors.As(err, &refusal) || refusal.Type != "invitation" {
		t.Errorf("a guess: %v", err)
	}
	if err := nantes.Revoke(t.Context(), i.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("another site revokes it: %v", err)
	}
	must(t, paris.Revoke(t.Context(), i.ID))
	w.now = w.now.Add(2 * time.Hour)
	if _, _, err := paris.Invite(t.Context(), time.Hour, 0, 0); !errors.As(err, &refusal) || refusal.Status != 422 {
		t.Errorf("an invitation for nobody: %v", err)
	}
}
