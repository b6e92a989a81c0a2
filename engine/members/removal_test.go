package members

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func TestASiteIsRemoved(t *testing.T) {
	w, paris, nantes, lyon := three(t)
	must(t, paris.RemoveSite(t.Context(), lyon.Self()))
	must(t, paris.RemoveSite(t.Context(), lyon.Self()))
	w.deliver()
	for _, s := range w.sites {
		if !s.Removed(lyon.Self()) || !s.IsMember(lyon.Self()) || s.of(lyon).Removed != w.now || s.disk.count("site.removed") != 1 {
			t.Errorf("%s knows %+v, with the events %v", s.name, s.of(lyon), s.disk.events)
		}
		if n := s.news[len(s.news)-1]; !slices.Equal(n.Removed, []engine.SiteID{lyon.Self()}) {
			t.Errorf("the news at %s are %+v", s.name, n)
		}
		var data map[string]string
		e := s.disk.events[0]
		if must(t, json.Unmarshal(e.Data, &data)); e.Subject != "lyon" || data["site"] != "lyon" || data["peer_id"] != string(lyon.Self()) || e.Time != w.now {
			t.Errorf("the event is %+v", e)
		}
	}

	vacated := func(s *site, shared int, want bool) {
		t.Helper()
		if left, err := s.Vacated(t.Context(), lyon.Self(), shared); err != nil || left != want {
			t.Errorf("%s: %d are shared, it has left %t: %v", s.name, shared, left, err)
		}
	}
	vacated(paris, 3, false)
	vacated(paris, 0, false) // it has not said so
	vacated(lyon, 1, false)
	if w.deliver(); paris.of(lyon).Gone {
		t.Error("it says that it has left while it has not")
	}
	vacated(lyon, 0, true)
	sent := w.sent
	vacated(lyon, 0, true)
	if w.deliver(); !paris.of(lyon).Gone || w.sent != sent+2 {
		t.Errorf("paris knows %+v after %d letters", paris.of(lyon), w.sent-sent)
	}
	vacated(paris, 1, false)
	vacated(paris, 0, true)
	if paris.IsMember(lyon.Self()) || !paris.Removed(lyon.Self()) || names(paris) != "[paris nantes]" || !nantes.IsMember(lyon.Self()) {
		t.Errorf("at paris the members are %s", names(paris))
	}
	err := paris.Take(t.Context(), lyon.Self(), lyon.Records(), nil)
	if !errors.Is(err, engine.ErrRefused) {
		t.Errorf("one that has left is heard: %v", err)
	}
	if left, err := nantes.Vacated(t.Context(), paris.Self(), 0); left || err != nil {
		t.Errorf("one that was not removed has left: %v", err)
	}

	again := lyon.restart(lyon.disk)
	announce(t, again)
	w.mail = nil // paris would not hear it
	if w.compare(again, nantes); nantes.of(again).Run != again.Run() || !nantes.of(again).Gone {
		t.Error("after a restart it says that it is back")
	}
}

func TestASilentSiteIsNotWaitedForForEver(t *testing.T) {
	w, paris, _, lyon := three(t)
	w.stop(lyon)
	must(t, paris.RemoveSite(t.Context(), lyon.Self()))
	w.now = w.now.Add(7 * 24 * time.Hour)
	if left, _ := paris.Vacated(t.Context(), lyon.Self(), 2); left {
		t.Error("it is given up early")
	}
	w.now = w.now.Add(time.Second)
	if left, _ := paris.Vacated(t.Context(), lyon.Self(), 2); !left || paris.IsMember(lyon.Self()) {
		t.Error("it is waited for")
	}
	again := paris.restart(paris.disk)
	if !again.IsMember(lyon.Self()) || !again.Removed(lyon.Self()) {
		t.Error("who has left is for each run to see")
	}
}

// Who hears that a key was revoked neither talks nor listens to its site any more, and does not wait for its word.
func TestARevokedSiteIsNotTalkedTo(t *testing.T) {
	w, paris, nantes, lyon := three(t)
	must(t, paris.RevokeSite(t.Context(), lyon.Self()))
	must(t, paris.RevokeSite(t.Context(), lyon.Self()))
	w.deliver()
	for _, s := range []*site{paris, nantes} {
		if s.IsMember(lyon.Self()) || !s.Removed(lyon.Self()) || !s.WasAdmitted(lyon.Self()) || s.disk.count("site.revoked") != 1 || !s.of(lyon).Revoked {
			t.Errorf("at %s it is a member: %t; there are %d events", s.name, s.IsMember(lyon.Self()), s.disk.count("site.revoked"))
		}
		if err := s.Take(t.Context(), lyon.Self(), lyon.Records(), nil); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s listens to it: %v", s.name, err)
		}
		if left, err := s.Vacated(t.Context(), lyon.Self(), 1); left || err != nil {
			t.Errorf("%s forgets what it shares with it: %v", s.name, err)
		}
		if left, err := s.Vacated(t.Context(), lyon.Self(), 0); !left || err != nil || names(s) != "[paris nantes]" {
			t.Errorf("%s waits for its word: %t, %v", s.name, left, err)
		}
	}
	var refusal *engine.Refusal
	if err := lyon.RevokeSite(t.Context(), paris.Self()); !errors.As(err, &refusal) || refusal.Type != "authority" {
		t.Errorf("lyon revokes paris: %v", err)
	}
}

func TestRemoveSiteRefuses(t *testing.T) {
	w := newWorld(t)
	paris := w.found("paris")
	var refusal *engine.Refusal
	if err := paris.RemoveSite(t.Context(), paris.Self()); !errors.As(err, &refusal) || refusal.Type != "last-site" {
		t.Errorf("the last site: %v", err)
	}
	if err := paris.RemoveSite(t.Context(), keyOf("brest").site()); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a stranger: %v", err)
	}
}

// One that joins late hears of removals as of what is known, not as of something that happens now.
func TestALateSiteHearsOfRemovals(t *testing.T) {
	w, paris, _, lyon := three(t)
	must(t, paris.RemoveSite(t.Context(), lyon.Self()))
	w.deliver()
	brest := w.join(paris, "brest")
	if !brest.Removed(lyon.Self()) || len(brest.disk.events) != 0 || !slices.Contains(brest.news[0].Removed, lyon.Self()) {
		t.Errorf("brest has the events %v and the news %+v", brest.disk.events, brest.news)
	}
}
