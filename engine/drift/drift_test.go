package drift

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// boxOf is the view that paris has of a box that nantes shows as well, of which nothing is left to do.
func boxOf(t *testing.T, nantes *engine.Shown) *view.View {
	t.Helper()
	k := &engine.Kind{Service: "store", Name: "box", Item: "/boxes/{id}", ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}}
	about := engine.About{Service: "store", Kind: "box", Collaboration: engine.Replication, Key: "blue", Placement: []engine.SiteID{"nantes", "paris"}}
	v := view.New("paris", "doc", about, nil, k, func(s engine.SiteID) engine.SiteName { return engine.SiteName(s) })
	v.Epochs = view.Epochs{view.NewEpoch(0, engine.Tip{})}
	v.AddOperation(&engine.Operation{ID: "made", Type: engine.TypeCreate, Line: "paris", Origin: "paris", Number: 1, Time: 1, Edit: &engine.Edit{}})
	v.Me.Settled, v.Mine.Local = engine.Vector{"paris": 1}, "blue"
	st := &engine.Status{Document: "doc", Number: 1, Settled: engine.Vector{"paris": 1}, Object: true, Shown: nantes}
	if _, err := v.TakeStatus(st, engine.SignedStatus{Site: "nantes", Status: engine.Encode(st), Size: 1}); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestWhatLooksTell: what differs at two looks with a while in between is so for good, and what was there before is remembered.
func TestWhatLooksTell(t *testing.T) {
	v := boxOf(t, &engine.Shown{Hash: "one"})
	for _, look := range []struct {
		name   string
		hash   string
		later  bool
		was    bool
		steady bool
	}{
		{"it shows what nantes shows", "one", false, false, false},
		{"something else", "two", true, true, false},
		{"at once again", "two", false, true, false},
		{"still, a while later", "two", true, true, true},
		{"it is what it was", "one", true, false, false},
	} {
		show(v, &engine.Shown{Hash: look.hash}, []byte("{}"), began, look.later)
		if s := v.Me.Shown; s.Hash != look.hash || (s.Was != "") != look.was || s.Steady != look.steady {
			t.Errorf("%s: %+v", look.name, s)
		}
	}
	v.Dirty = false
	if show(v, &engine.Shown{Hash: "one"}, []byte("{}"), began.Add(time.Hour), true); v.Dirty {
		t.Error("what was seen before is news")
	}
}

// TestRepairsEnd: an object that vanishes again and again is made anew a few times, and then left to a person.
func TestRepairsEnd(t *testing.T) {
	v := boxOf(t, nil)
	at := began
	for n := range RepairsMost + 2 {
		at = at.Add(time.Minute)
		if made := Vanish(v, at); made != (n < RepairsMost) || (v.Me.Contended == "") != made {
			t.Errorf("time %d: made anew: %t, contended: %q", n+1, made, v.Me.Contended)
		}
	}
	Keep(v, at)
	if !Vanish(v, at.Add(time.Second)) || v.Me.Contended != "" {
		t.Error("a person has decided since, and it is not made anew")
	}
	if !Vanish(v, at.Add(2*RepairsWithin)) {
		t.Error("repairs of long ago count")
	}
}

// TestOnlyTheObjectItselfIsALook: an answer that shows another thing, or none, tells nothing.
func TestOnlyTheObjectItselfIsALook(t *testing.T) {
	v := boxOf(t, nil)
	for body, want := range map[string]bool{`{"name":"blue"}`: true, `{"name":"red"}`: false, `{}`: false, `"blue"`: false, ``: false} {
		if isItem(v, []byte(body)) != want {
			t.Errorf("%q is the object: %t", body, !want)
		}
	}
}

// TestWhatIsNotFoundIsNotLost: an object is made anew once it has not been found for a while, if it had been shown, and the service may have it made.
func TestWhatIsNotFoundIsNotLost(t *testing.T) {
	for _, c := range []struct {
		name        string
		seen        bool
		after       time.Duration
		bound       string
		made, asked bool
	}{
		{"at once", true, 0, "", false, false},
		{"after some seconds", true, 15 * time.Second, "", false, false},
		{"after a minute", true, time.Minute, "", true, false},
		{"it was never shown", false, time.Minute, "", false, true},
		{"too many are gone", true, time.Minute, "too many", false, true},
	} {
		v, w := boxOf(t, nil), &Watch{After: time.Second, Every: time.Hour}
		v.Mine.Seen = c.seen
		w.Believe(v, began, func(bool) string { return c.bound })
		if made := w.Believe(v, began.Add(c.after), func(bool) string { return c.bound }); made != c.made || (v.Me.Contended != "") != c.asked {
			t.Errorf("%s: made anew %t, contended %q", c.name, made, v.Me.Contended)
		}
		if w.lost(v, false, began.Add(time.Hour)); v.Me.Contended != "" || v.Mine.GoneSince != 0 {
			t.Errorf("%s: it is shown again, and still %q", c.name, v.Me.Contended)
		}
	}
}

// TestADeletionThatFoundNothingIsSentAgainForTheSameObject: once, and only where the application chooses identifiers and shows what it showed last.
func TestADeletionThatFoundNothingIsSentAgainForTheSameObject(t *testing.T) {
	for name, c := range map[string]struct {
		status      int
		natural     bool
		shows       string
		again, sent bool
	}{
		"it shows the same":             {404, false, `{"size":1}`, false, true},
		"it is gone for good, it said":  {410, false, `{"size":1}`, false, true},
		"it shows something else":       {404, false, `{"size":2}`, false, false},
		"somebody may have chosen that": {404, true, `{"size":1}`, false, false},
		"it has been sent again":        {404, false, `{"size":1}`, true, false},
		"it was accepted":               {204, false, `{"size":1}`, false, false},
	} {
		v := boxOf(t, nil)
		if !c.natural {
			v.Kind.ID = engine.IDRule{From: engine.IDFromBody, At: "/id"}
		}
		seen := engine.Reply{Status: 200, Body: []byte(`{"size":1}`)}
		v.Me.Shown, _ = observe(v, seen, seen, nil)
		v.Mine.Seen = true
		v.AddOperation(&engine.Operation{ID: "gone", Type: engine.TypeDelete, Line: "paris", Origin: "paris", Number: 2, Time: 2, Edit: &engine.Edit{}})
		v.Me.Settled, v.Mine.Local = engine.Vector{"paris": 2}, ""
		if c.again {
			v.Mine.Going = &view.Going{By: "gone", Again: true}
		}
		Leave(v, "blue", "gone", engine.Reply{Status: c.status}, began)
		if first := GoesFirst(v, began, time.Second); first.After(began) != (c.status != 204) {
			t.Errorf("%s: it looks at %s", name, first)
		}
		now := engine.Reply{Status: 200, Body: []byte(c.shows)}
		if sent := Resend(v, now, now); sent != c.sent {
			t.Errorf("%s: it is sent again: %t", name, sent)
		}
	}
	v := boxOf(t, nil)
	if Leave(v, "blue", "made", engine.Reply{Status: 404}, began); v.Mine.Going != nil {
		t.Error("what an object that yields its name is not found for is looked at")
	}
}

// TestADeletionOfWhatWasNotShownYetIsNotDone: an application may show later what it makes. What it has never shown is watched for a while, and deleted
// once it is shown: under an identifier of the application's own making it can be nothing else, under a chosen one it shows what was made.
func TestADeletionOfWhatWasNotShownYetIsNotDone(t *testing.T) {
	for name, c := range map[string]struct {
		natural bool
		shows   string
		sent    bool
	}{
		"it chooses identifiers":             {false, `{"size":7}`, true},
		"it is what was made under the name": {true, `{"name":"blue","size":1,"at":"now"}`, true},
		"it is something else of the name":   {true, `{"name":"blue","size":2}`, false},
	} {
		v := boxOf(t, nil)
		v.History.Get("made").Edit = &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/size": []byte("1")}}
		if !c.natural {
			v.Kind.ID = engine.IDRule{From: engine.IDFromBody, At: "/id"}
		}
		v.AddOperation(&engine.Operation{ID: "gone", Type: engine.TypeDelete, Line: "paris", Origin: "paris", Number: 2, Time: 2, Edit: &engine.Edit{}})
		v.Me.Settled, v.Mine.Local = engine.Vector{"paris": 2}, ""
		Leave(v, "blue", "gone", engine.Reply{Status: 404}, began)
		if v.Me.Wait(engine.WaitDeleting) == nil {
			t.Errorf("%s: it does not say that it is being deleted", name)
		}
		if first := GoesFirst(v, began, time.Second); first.After(began.Add(time.Second)) {
			t.Errorf("%s: it looks at %s", name, first)
		}
		for after, want := range map[time.Duration]bool{time.Second: false, 59 * time.Second: false, time.Minute: true} {
			if gone := IsGone(v, engine.Reply{Status: 404}, nil, began.Add(after), time.Second); gone != want {
				t.Errorf("%s: after %s it counts as gone: %t", name, after, gone)
			}
		}
		now := engine.Reply{Status: 200, Body: []byte(c.shows)}
		if sent := Resend(v, now, now); sent != c.sent {
			t.Errorf("%s: it is sent again: %t", name, sent)
		}
	}
}

// TestWhatAppearsWasChangedByNobody: an object that the application shows late is not taken for one that somebody has changed.
func TestWhatAppearsWasChangedByNobody(t *testing.T) {
	v, w := boxOf(t, nil), &Watch{After: time.Second, Every: time.Hour}
	look := func(reply engine.Reply, at time.Time) *engine.Shown {
		w.Looked(v, reply, reply, nil, at)
		return v.Me.Shown
	}
	look(engine.Reply{Status: 404}, began)
	if o := look(engine.Reply{Status: 200, Body: []byte(`{"name":"blue","size":1}`)}, began.Add(4*time.Second)); o.Was != "" {
		t.Errorf("it was %q before", o.Was)
	}
	if o := look(engine.Reply{Status: 200, Body: []byte(`{"name":"blue","size":2}`)}, began.Add(8*time.Second)); o.Was == "" {
		t.Error("it was the same before")
	}
}

// TestALookThatTellsNothingIsRepeated: while the application is about to take an object away, nothing tells how it will be.
func TestALookThatTellsNothingIsRepeated(t *testing.T) {
	v, w := boxOf(t, &engine.Shown{Hash: "one", Steady: true}), &Watch{After: time.Second, Every: time.Hour}
	v.Kind.Settles = &engine.Settling{At: "/gone/at"}
	v.Me.Shown = &engine.Shown{Hash: "one", Steady: true}
	reads := func() bool { return true }
	w.Soon(began)
	if looks, _ := w.Next(v, began, false, false, reads); !looks {
		t.Fatal("it does not look")
	}
	going := engine.Reply{Status: 200, Body: []byte(`{"name":"blue","gone":{"at":"now"}}`)}
	w.Looked(v, going, going, nil, began)
	_, again := w.Next(v, began, false, false, reads)
	if again.IsZero() || v.Mine.Unseen == "" || v.Me.Shown.Hash != "one" {
		t.Fatalf("it looks again at %s; it says %q", again, v.Mine.Unseen)
	}
	if looks, _ := w.Next(v, again, false, false, reads); !looks {
		t.Error("it does not look again")
	}
	there := engine.Reply{Status: 200, Body: []byte(`{"name":"blue"}`)}
	if w.Looked(v, there, there, nil, again); v.Mine.Unseen != "" {
		t.Error("it is about to go, though it is there")
	}
}
