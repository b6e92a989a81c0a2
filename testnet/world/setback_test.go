package world

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/site"
)

// worldOf makes a world of one kind, whose resources open the next epoch after so many operations.
func worldOf(t *testing.T, sites, epoch int, k *engine.Kind) *World {
	t.Helper()
	w, err := New(Options{Sites: sites, Kinds: []*engine.Kind{k}, Rng: rand.New(rand.NewPCG(1, 1)), Luck: rand.New(rand.NewPCG(1, 2)),
		Limits: func(*Site) site.Limits { return site.Limits{CallTimeout: 3 * time.Second, Epoch: epoch} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// backup copies what a site's machine holds; restore puts it back and starts the site anew.
func (s *Site) backup() (restore func(t *testing.T)) {
	disk, blobs, app := s.Disk.Clone(), s.Blobs.Clone(), s.App.Clone()
	return func(t *testing.T) {
		t.Helper()
		s.Proc.Die()
		s.SetBack(disk, blobs, app)
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
	}
}

// mustPut is a put that has to succeed.
func (w *World) mustPut(t *testing.T, at *Site, id, body string) {
	t.Helper()
	if a, err := w.put(at, id, body); err != nil || a.Status/100 != 2 {
		t.Fatalf("PUT %s %s at %s: %+v, %v", id, body, at, a, err)
	}
}

// compared has all sites be compared with each other until nothing is left to do.
func (w *World) compared() {
	for range 3 {
		w.Reconcile()
		w.quiet()
	}
}

// image is a kind whose application names its objects, and tells of none which request has made it.
var image = &engine.Kind{Service: "model", Name: "image", Collection: "/images", Item: "/images/{id}", ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}}

// TestWhoLeavesGivesWhatALostDiskHad: paris creates and is set back to before that. Nantes, which alone has heard of it, does not know whether it is
// made there, and is removed. What it has comes to the others all the same.
func TestWhoLeavesGivesWhatALostDiskHad(t *testing.T) {
	w := worldOf(t, 3, 256, image)
	paris, nantes, lille := w.Sites[0], w.Sites[1], w.Sites[2]
	restore := paris.backup()
	for _, s := range []*Site{paris, nantes} {
		w.Link(s, lille, true)
		w.Link(lille, s, true)
	}
	nantes.App.Mood.DoesSilent = 1000
	w.Do(paris.Proc, func() {
		if _, err := paris.Proc.Front.Submit(w.Ctx, engine.Request{Kind: image, Type: engine.TypeCreate, Method: http.MethodPost, Path: image.Collection,
			Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(`{"colour":"red"}`), Placement: w.everywhere()}); err != nil {
			t.Error(err)
		}
	})
	w.quiet()
	rows, _, err := nantes.Disk.Resources(w.Ctx, engine.ResourceFilter{Limit: 1})
	if err != nil || len(rows) == 0 {
		t.Fatalf("nantes has %+v, %v", rows, err)
	}
	restore(t)
	w.Heal()
	w.Do(nantes.Proc, func() {
		if _, err := nantes.Proc.Desk.Place(w.Ctx, rows[0].Document, engine.PlaceRequest{Remove: []engine.SiteID{nantes.ID}}); err != nil {
			t.Errorf("remove nantes: %v", err)
		}
	})
	w.quiet()
	w.compared()
	for _, s := range []*Site{paris, lille} {
		if list := s.App.Objects("image"); len(list) != 1 {
			t.Errorf("%s has %v", s, list)
		}
	}
	for _, p := range w.Problems {
		t.Error(p)
	}
}

// TestSetBackToBeforeAnEpochThatHasEnded: nantes has said that it has all of an epoch, paris has ended it, and both are set back: paris to after that,
// nantes to before. Nobody has any more what nantes lacks of that epoch, and what nantes says first takes the place of what tells that it was set back.
// It takes what stands for that epoch.
func TestSetBackToBeforeAnEpochThatHasEnded(t *testing.T) {
	w := worldOf(t, 2, 2, note)
	paris, nantes := w.Sites[0], w.Sites[1]
	w.mustPut(t, paris, "one", `{"colour":"red"}`)
	nantesBefore := nantes.backup()
	w.mustPut(t, paris, "one", `{"colour":"blue"}`)
	parisAfter := paris.backup()
	parisAfter(t)
	nantesBefore(t)
	for _, body := range []string{`{"colour":"red","size":4}`, `{"colour":"red","size":3}`, `{"colour":"red","size":2}`, `{"colour":"red","size":1}`} {
		w.mustPut(t, nantes, "one", body)
	}
	w.compared()
	for _, s := range w.Sites {
		row, err := s.Disk.ResourceByID(w.Ctx, "model", "note", "one")
		if err != nil || row.Pending {
			t.Errorf("%s has something left to do: %+v, %v", s, row, err)
		}
		if o := s.App.Object("note", "one"); o == nil || o.Fields["colour"] != "blue" || o.Fields["size"] != 1.0 {
			t.Errorf("%s has %v", s, o)
		}
	}
	for _, p := range w.Problems {
		t.Error(p)
	}
}
