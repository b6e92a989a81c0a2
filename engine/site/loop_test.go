package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// TestOneCommitAWakeUp: what waits together is made durable together, before anything goes out, and answered after that.
func TestOneCommitAWakeUp(t *testing.T) {
	w := newWorld(t)
	names := []string{"blue", "green", "red"}
	var given []*replica.Given
	for _, name := range names {
		given = append(given, w.ask(name))
	}
	w.wakeUp(t.Context())
	if got := w.trace(); got != "commit 0 changes" {
		t.Errorf("the first wake-up: %s", got)
	}
	w.did = nil
	for w.calls.one() {
	}
	if got := w.trace(); got != "PUT blue; PUT green; PUT red" {
		t.Errorf("calls: %s", got)
	}
	w.did = nil
	w.wakeUp(t.Context())
	if got := w.trace(); got != "answer blue; answer green; answer red; commit 3 changes; send to nantes" {
		t.Errorf("the second wake-up: %s", got)
	}
	for i, g := range given {
		if g.Err != nil || g.Answer.Status != 201 {
			t.Errorf("%s: %+v", names[i], g)
		}
	}
}

// A site that is to end does not begin with what is due, or waits for the application, though there is always more of that.
func TestEndsThoughMoreIsDue(t *testing.T) {
	w := newWorld(t)
	w.ill = true
	w.ask("blue")
	w.wakeUp(t.Context())
	w.calls.inline, w.hurries, w.did = false, true, nil
	for w.calls.one() {
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if len(w.did) > 10 {
		t.Errorf("it did %d things after its end: %s, and so on", len(w.did), strings.Join(w.did[:10], "; "))
	}
}

// Which sites can be reached is asked once a wake-up, however much goes to however many.
func TestWaysAreLookedUpOnceAWakeUp(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		w.ask(fmt.Sprint("box-", i))
	}
	most := 0
	for {
		before := w.looked
		if !w.Step(t.Context()) {
			break
		}
		most = max(most, w.looked-before)
	}
	if len(w.letters) == 0 || most != 1 {
		t.Errorf("it was asked %d times in a turn, for %d letters", most, len(w.letters))
	}
}

// TestStatusesAreOneBatch: a wake-up sends one letter, and what it says of its replicas has one signature.
func TestStatusesAreOneBatch(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"blue", "green", "red"} {
		w.ask(name)
	}
	w.settle()
	if len(w.letters) == 0 {
		t.Fatal("nothing was sent")
	}
	l := w.letters[0]
	if len(l.Parcels) != 3 || len(l.Batches) != 1 || len(l.Batches[0].Statuses) != 3 {
		t.Errorf("the first letter has %d parcels and the batches %+v", len(l.Parcels), l.Batches)
	}
}

// TestInvariantPublishedOnceItIsDurable: nothing of a request goes out, to the application or to other sites, before it is on disk; what could
// not be made durable has not happened, and can be asked for again. Its client is answered while what came of it gets there: where it does
// not get there it is found out again, and published.
func TestInvariantPublishedOnceItIsDurable(t *testing.T) {
	w := newWorld(t)
	w.store.fails = engine.ErrStorage
	given := w.ask("blue")
	w.wakeUp(t.Context())
	var refusal *engine.Refusal
	if got := w.trace(); got != "commit fails; answer blue" || !errors.As(given.Err, &refusal) || refusal.Status != 507 {
		t.Errorf("before it goes out: %s, given %v", got, given.Err)
	}
	w.store.fails, w.did = nil, nil
	given = w.ask("blue")
	w.wakeUp(t.Context())
	for w.calls.one() {
	}
	w.store.fails = engine.ErrStorage
	w.wakeUp(t.Context())
	if got := w.trace(); got != "commit 0 changes; PUT blue; answer blue; commit fails" || given.Err != nil || given.Answer.Status != 201 {
		t.Errorf("after it has run: %s, given %v", got, given.Err)
	}
	w.store.fails, w.did = nil, nil
	w.now = w.now.Add(time.Minute)
	w.settle() // its flight is on disk: it is found out what came of it, and what has run is published
	commit, sent := strings.Index(w.trace(), "commit 1 changes"), strings.Index(w.trace(), "send to nantes")
	if commit < 0 || sent < commit {
		t.Errorf("it goes on: %s", w.trace())
	}
}

// TestOneRequestAtATime: a replica that is loaded anew after a commit has failed sends nothing, and asks nobody what came of what was sent
// before, while that is still under way.
func TestOneRequestAtATime(t *testing.T) {
	w := newWorld(t)
	w.ask("blue")
	w.wakeUp(t.Context())
	_, id := document("blue")
	w.store.fails = engine.ErrStorage
	pause := &replica.Decide{What: replica.VerbPause, Done: func(engine.OperationID, error) {}}
	if _, err := w.give(id, nil, pause); err != nil {
		t.Fatal(err)
	}
	w.wakeUp(t.Context())
	if got := w.trace(); got != "commit 0 changes; commit fails; answer blue" {
		t.Fatalf("got %s", got)
	}
	w.store.fails, w.did = nil, nil
	w.now = w.now.Add(time.Minute)
	w.wakeUp(t.Context())
	if n := len(w.calls.waiting); n != 1 {
		t.Errorf("%d requests are out", n)
	}
	w.settle()
	if got := w.trace(); strings.Count(got, "PUT blue") != 2 || !strings.Contains(got, "commit 1 changes") {
		t.Errorf("then: %s", got)
	}
}

// TestAPanicSetsTheResourceAside, tells whoever waits for it, and strikes no other one.
func TestAPanicSetsTheResourceAside(t *testing.T) {
	w := newWorld(t)
	w.ask("blue")
	w.settle()
	_, id := document("blue")
	more := engine.PlaceRequest{Add: []engine.SiteID{"lille"}}
	w.struck = true
	if _, err := w.Decide(t.Context(), id, nil, &replica.Decide{What: replica.VerbPlace, Place: more}); err == nil {
		t.Error("it was decided")
	}
	grow := &replica.Ask{Operation: "grow", Request: engine.Request{Kind: boxes, Type: engine.TypeReplace, Method: "PUT", Path: "/boxes/{id}", Target: "blue",
		Body: []byte(`{"name":"blue"}`), Placement: []engine.SiteID{"lille", "nantes", "paris"}}}
	if _, err := w.Ask(t.Context(), id, nil, grow); err == nil {
		t.Error("it was answered")
	}
	w.struck = false
	if err := w.Look(t.Context(), id, func(r *replica.Replica) {
		if r.Me.Wait(engine.WaitAside) == nil {
			t.Error("it goes on as if nothing had happened")
		}
	}); err != nil {
		t.Error(err)
	}
	if given := w.ask("green"); w.wakeUp(t.Context()) {
		if w.settle(); given.Err != nil {
			t.Errorf("another one: %v", given.Err)
		}
	}
	if _, err := w.Decide(t.Context(), id, nil, &replica.Decide{What: replica.VerbResume}); err != nil {
		t.Error(err)
	}
	if _, err := w.Decide(t.Context(), id, nil, &replica.Decide{What: replica.VerbPlace, Place: more}); err != nil {
		t.Errorf("once it is resumed: %v", err)
	}
}

// TestARequestIsKeptBeforeItGoesOut: of one that has waited for its turn nothing else is written then, since lists show it as pending already.
func TestARequestIsKeptBeforeItGoesOut(t *testing.T) {
	from, w := newWorld(t), newWorldOf(t, "nantes", Limits{Workers: 1})
	for _, name := range []string{"blue", "green"} {
		from.ask(name)
	}
	from.settle()
	letter := *from.letters[0]
	letter.Batches = nil
	if err := w.Receive(t.Context(), "paris", &letter); err != nil {
		t.Fatal(err)
	}
	for !w.objects["blue"] || w.store.brief == 0 {
		if !w.Step(t.Context()) {
			t.Fatalf("it does not come to a brief record: %s", w.trace())
		}
	}
	if w.objects["green"] {
		t.Errorf("it has gone out: %s", w.trace())
	}
	_, id := document("green")
	w.start()
	if err := w.Look(t.Context(), id, func(r *replica.Replica) {
		if r.Sent == nil || !r.Exists() {
			t.Errorf("another process knows of %v in flight, and that it exists: %t", r.Sent, r.Exists())
		}
	}); err != nil {
		t.Error(err)
	}
}

// TestInvariantOnlyTheSitesInvolved: what is done to a resource goes to the sites of its placement, and no other can have it.
func TestInvariantOnlyTheSitesInvolved(t *testing.T) {
	w := newWorld(t)
	w.ask("blue")
	w.settle()
	for _, to := range w.to {
		if joinSites(to) != "nantes" {
			t.Errorf("sent to %s", joinSites(to))
		}
	}
	_, id := document("blue")
	for site, shared := range map[engine.SiteID]bool{"nantes": true, "lille": false} {
		letter, _, err := w.Missing(t.Context(), site, []engine.Have{{Document: id}}, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		have, err := w.Have(t.Context(), site, []engine.DocumentID{id})
		if err != nil {
			t.Fatal(err)
		}
		compared := w.Fingerprints(site, []engine.Range{{}})[0]
		if (len(letter.Parcels) > 0) != shared || (compared != engine.Fingerprint{}) != shared || (len(have[0].Changes) > 0) != shared {
			t.Errorf("%s gets %d parcels, compares %v and hears %v", site, len(letter.Parcels), compared, have[0])
		}
	}
}

// TestAnotherProcessGoesOn with what an earlier one has stored, and compares the same.
func TestAnotherProcessGoesOn(t *testing.T) {
	w := newWorld(t)
	w.ask("blue")
	w.settle()
	before := w.Fingerprints("nantes", []engine.Range{{}})[0]
	w.start()
	if after := w.Fingerprints("nantes", []engine.Range{{}})[0]; after != before {
		t.Errorf("it compares %v, and had compared %v", after, before)
	}
	_, id := document("blue")
	if err := w.Look(t.Context(), id, func(r *replica.Replica) {
		if !r.Exists() || r.Mine.Local != "blue" {
			t.Errorf("it is there: %t, as %q", r.Exists(), r.Mine.Local)
		}
	}); err != nil {
		t.Error(err)
	}
}

// copied are members of a mesh whose site has found its copy, and who refuse what others say of the mesh.
type copied struct{ members }

func (copied) Writable() error { return errors.New("there are two of this site") }
func (copied) Take(context.Context, engine.SiteID, []engine.SignedRecord, []engine.SiteID) error {
	return engine.ErrRefused
}

// TestWhatIsRefusedIsToldWhereNothingIsWritten: a site that may not write says so, and what it has refused beside that.
func TestWhatIsRefusedIsToldWhereNothingIsWritten(t *testing.T) {
	w := newWorld(t)
	w.cfg.Members = copied{}
	err := w.Receive(t.Context(), "nantes", &engine.Letter{Records: make([]engine.SignedRecord, 1), Parcels: make([]engine.Parcel, 1)})
	if !errors.Is(err, engine.ErrRefused) || !strings.Contains(err.Error(), "two of this site") {
		t.Errorf("%v", err)
	}
}

// allBut are members of a mesh, but for one site.
type allBut struct {
	members
	site engine.SiteID
}

func (o allBut) IsMember(id engine.SiteID) bool { return id != o.site }

// TestNothingIsTakenFromWhoIsNoMember: neither what it sends nor what it says of itself, whoever brings that.
func TestNothingIsTakenFromWhoIsNoMember(t *testing.T) {
	from, w := newWorld(t), newWorldOf(t, "nantes", Limits{Workers: 1})
	from.ask("blue")
	from.settle()
	w.cfg.Members = allBut{site: "paris"}
	var said []engine.StatusBatch
	for _, l := range from.letters {
		if err := w.Receive(t.Context(), "paris", l); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("it is taken in: %v", err)
		}
		w.settle()
		said = append(said, l.Batches...)
	}
	if len(w.store.records)+len(w.objects) > 0 || len(said) == 0 {
		t.Errorf("%d records are stored, and %v is made; there are %d batches", len(w.store.records), w.objects, len(said))
	}
	w.cfg.Members = members{}
	for _, l := range from.letters {
		if err := w.Receive(t.Context(), "paris", &engine.Letter{Parcels: l.Parcels}); err != nil {
			t.Fatal(err)
		}
		w.settle()
	}
	_, id := document("blue")
	before := w.store.records[id].Statuses
	w.cfg.Members = allBut{site: "paris"}
	if err := w.Receive(t.Context(), "lille", &engine.Letter{Batches: said}); !errors.Is(err, engine.ErrMissing) {
		t.Errorf("what it says of itself counts: %v", err)
	}
	w.settle()
	if after := w.store.records[id].Statuses; !bytes.Equal(after, before) || before == nil {
		t.Errorf("what is stored of others was %x, and is %x", before, after)
	}
}

// TestOldLettersAfterAStart: what a member replays to a site that has just started changes nothing there, in whichever order it comes.
func TestOldLettersAfterAStart(t *testing.T) {
	from, w := newWorld(t), newWorldOf(t, "nantes", Limits{Workers: 1})
	for _, name := range []string{"blue", "green", "red"} {
		from.ask(name)
		from.settle()
	}
	for _, l := range from.letters {
		if err := w.Receive(t.Context(), "paris", l); err != nil {
			t.Fatal(err)
		}
		w.settle()
	}
	if len(from.letters) < 3 || len(w.objects) != 3 {
		t.Fatalf("%d letters came, and made %v", len(from.letters), w.objects)
	}
	delete(w.objects, "green") // a create that runs once more would bring it back
	w.start()
	w.settle()
	rows := func() (all string) { // without when it was seen last
		for _, name := range []string{"blue", "green", "red"} {
			_, id := document(name)
			r := w.store.records[id]
			all += fmt.Sprintf("%s %s %v, %d changes, digest %x, statuses %x; ", r.Row.ID, r.Row.State, r.Row.Sites, len(w.store.changes[id]), r.Digest, r.Statuses)
		}
		return fmt.Sprintf("%s%d operations", all, len(w.store.operations))
	}
	before := rows()
	if !strings.Contains(before, "green") {
		t.Fatalf("it lists %s", before)
	}
	w.did = nil
	for i := len(from.letters) - 1; i >= 0; i-- {
		for _, by := range []engine.SiteID{"paris", "lille"} {
			_ = w.Receive(t.Context(), by, from.letters[i]) // lille has no part in it
			w.settle()
		}
	}
	for _, did := range w.did {
		if strings.HasPrefix(did, "PUT") || strings.HasPrefix(did, "DELETE") {
			t.Errorf("the application is asked: %s", w.trace())
		}
	}
	if after := rows(); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}
