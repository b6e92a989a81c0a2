package world

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestAKeyThatNobodyHasLetInWritesNothing: a member places a resource with a key among its sites that no authority has let in, and brings what
// that key has signed. Nothing of it runs at the other sites, and each says why. Once an authority has let the key in, it runs.
func TestAKeyThatNobodyHasLetInWritesNothing(t *testing.T) {
	w := newWorld(t, 3)
	paris, nantes, member := w.Sites[0], w.Sites[1], w.Sites[2]
	stranger, err := newSite(w, len(w.Sites))
	if err != nil {
		t.Fatal(err)
	}
	about := engine.About{Service: note.Service, Kind: note.Name, Collaboration: engine.Replication, Key: "one",
		Placement: []engine.SiteID{paris.ID, nantes.ID, member.ID, stranger.ID}}
	slices.Sort(about.Placement)
	p := &pen{w: w, of: stranger, about: about, wrote: map[engine.Line]engine.Wrote{}, in: map[engine.Line]uint64{}}
	if p.raw, p.id, err = stranger.documents.Identify(about); err != nil {
		t.Fatal(err)
	}
	line := p.begin(0)
	made := p.write("x", &line, nil, engine.Operation{Type: engine.TypeCreate, Method: http.MethodPut, Path: note.Item,
		Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(`{"colour":"red"}`),
		Edit: &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/colour": json.RawMessage(`"red"`)}}})
	for _, s := range []*Site{paris, nantes} {
		w.Do(s.Proc, func() { s.Proc.receive(member, sent(made)) })
	}
	w.quiet()
	held := func(s *Site) []engine.Conflict {
		return s.Disk.conflictsWith(func(c engine.Conflict) bool { return c.Kind == engine.ConflictNotAccepted && c.Site == s.ID })
	}
	for _, s := range []*Site{paris, nantes} {
		if x := s.App.Object("note", "one"); x != nil {
			t.Errorf("%s has made %s", s, encode(x))
		}
		if all := held(s); len(all) != 1 || !strings.Contains(all[0].Reason, "no authority") {
			t.Errorf("%s asks %+v", s, all)
		}
	}

	w.Sites = append(w.Sites, stranger)
	for i := range w.cut {
		w.cut[i] = append(w.cut[i], false)
	}
	w.cut = append(w.cut, make([]bool, len(w.Sites)))
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	if err := w.Join(stranger); err != nil {
		t.Fatal(err)
	}
	paris.WorkOff()
	if paris.App.Object("note", "one") == nil {
		t.Error("paris, which has let it in, waits for something else")
	}
	w.Reconcile()
	w.quiet()
	for _, s := range []*Site{paris, nantes} {
		if x := s.App.Object("note", "one"); x == nil || x.Fields["colour"] != "red" {
			t.Errorf("%s shows %s, now that it was let in", s, encode(x))
		}
		if all := held(s); len(all) > 0 {
			t.Errorf("%s still asks %+v", s, all)
		}
	}
	for _, problem := range w.Problems {
		t.Error(problem)
	}
}
