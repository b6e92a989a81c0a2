package world

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/site"
)

var note = &engine.Kind{Service: "model", Name: "note", Collection: "/notes", Item: "/notes/{id}", ID: engine.IDRule{From: engine.IDFromPath, At: "/id"}}

func newWorld(t testing.TB, sites int) *World {
	t.Helper()
	w, err := New(Options{Sites: sites, Kinds: []*engine.Kind{note}, Rng: rand.New(rand.NewPCG(1, 1)), Luck: rand.New(rand.NewPCG(1, 2)),
		Limits: func(*Site) site.Limits { return site.Limits{CallTimeout: 3 * time.Second} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func (w *World) everywhere() (ids []engine.SiteID) {
	for _, s := range w.Sites {
		ids = append(ids, s.ID)
	}
	return ids
}

// put sends a PUT to a site and has all sites work until nothing is left to do.
func (w *World) put(at *Site, id, body string) (answer engine.Answer, err error) {
	w.Do(at.Proc, func() {
		answer, err = at.Proc.Front.Submit(w.Ctx, engine.Request{Kind: note, Type: engine.TypeReplace, Method: http.MethodPut, Path: note.Item, Target: id,
			Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(body), Placement: w.everywhere()})
	})
	w.quiet()
	return answer, err
}

func (w *World) quiet() {
	for range 20 {
		w.DeliverAll()
		for _, s := range w.Sites {
			s.WorkOff()
		}
		w.Pass(time.Second)
	}
}

func TestACreateComesToAllSites(t *testing.T) {
	w := newWorld(t, 3)
	a, err := w.put(w.Sites[0], "one", `{"colour":"red"}`)
	if err != nil || a.Status != http.StatusCreated {
		t.Fatalf("%+v, %v", a, err)
	}
	for _, s := range w.Sites {
		if o := s.App.Object("note", "one"); o == nil || o.Fields["colour"] != "red" {
			t.Errorf("%s has %v", s, o)
		}
		row, err := s.Disk.ResourceByID(w.Ctx, "model", "note", "one")
		if err != nil || row.State != engine.StateConverged {
			b, _ := json.Marshal(row)
			t.Errorf("%s: %s, %v", s, b, err)
		}
	}
	for _, p := range w.Problems {
		t.Error(p)
	}
}

// TestACutAndADeath: what a site takes while it is cut off, and what is under way when it dies, comes to all once it is back.
func TestACutAndADeath(t *testing.T) {
	w := newWorld(t, 3)
	paris, nantes := w.Sites[0], w.Sites[1]
	if _, err := w.put(paris, "one", `{"colour":"red"}`); err != nil {
		t.Fatal(err)
	}
	for _, s := range w.Sites {
		w.Link(nantes, s, true)
		w.Link(s, nantes, true)
	}
	if _, err := w.put(nantes, "one", `{"colour":"red","size":1}`); err != nil {
		t.Fatal(err)
	}
	if _, err := w.put(paris, "two", `{"colour":"blue"}`); err != nil {
		t.Fatal(err)
	}
	if nantes.App.Object("note", "two") != nil || paris.App.Object("note", "one").Fields["size"] != nil {
		t.Error("something has come through the cut")
	}
	nantes.Proc.Die()
	w.Heal()
	if err := nantes.Start(); err != nil {
		t.Fatal(err)
	}
	w.Reconcile()
	w.quiet()
	for _, s := range w.Sites {
		one, two := s.App.Object("note", "one"), s.App.Object("note", "two")
		if one == nil || one.Fields["size"] != 1.0 || two == nil || two.Fields["colour"] != "blue" {
			t.Errorf("%s has %v and %v", s, one, two)
		}
	}
	for _, p := range w.Problems {
		t.Error(p)
	}
}
