package front

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// An object becomes a resource: an identifier that is free is kept; a number is not one, since it means another object at the next site.
func TestAnExistingObjectIsAdopted(t *testing.T) {
	for id, keeps := range map[engine.LocalID]bool{"debian": true, "17": false} {
		w := newWorld(t, "paris", "nantes")
		paris := w.sites[0]
		paris.app.put(images, string(id), `{"id":"`+string(id)+`","name":"n"}`)
		q := engine.AdoptRequest{Kind: images, ID: id, Sites: []engine.SiteID{"paris", "nantes"}, User: "ann"}
		key, first, err := paris.AdoptExisting(t.Context(), q)
		if err != nil || first != "placed" || (string(key) == string(id)) != keeps {
			t.Fatalf("%s is adopted as %q by %q, %v", id, key, first, err)
		}
		d := paris.decided[0]
		if o := d.Publish.Operation; d.What != replica.VerbPublish || d.Reply.Local != id || o.Type != engine.TypeCreate || string(o.Body) != `{"name":"n"}` ||
			string(o.Edit.Set["/name"]) != `"n"` || o.User != "ann" || o.Method != "POST" || !d.Publish.Creates {
			t.Errorf("published %+v", d.Publish)
		}
		if again, nothing, err := paris.AdoptExisting(t.Context(), q); err != nil || again != key || nothing != "" {
			t.Errorf("adopted again: %q %q, %v", again, nothing, err)
		}
		if len(paris.app.log()) != 0 {
			t.Errorf("the application was asked %q", paris.app.log())
		}
	}
}

// What is there is spread as a scope says, and what is spread is not replicated as another one says. What lies beside it would be lost.
func TestAnExistingObjectIsSpread(t *testing.T) {
	w := newWorld(t, "paris", "nantes", "lyon")
	paris := w.sites[0]
	for _, k := range []*engine.Kind{images, archives} {
		paris.app.put(k, "y", `{"id":"y","count":5}`)
	}
	q := engine.AdoptRequest{Kind: images, ID: "y", Sites: []engine.SiteID{"paris", "nantes", "lyon"}, Parts: engine.Parts{{"paris", "nantes"}, {"lyon"}},
		Scope: "(paris & nantes) % lyon"}
	key, first, err := paris.AdoptExisting(t.Context(), q)
	if err != nil || key != "y" {
		t.Fatalf("spread as %q, %v", key, err)
	}
	row, _ := paris.Site.Lookup(t.Context(), images, "y")
	if d := paris.decided[0]; d.What != replica.VerbPublish || d.Local != "y" || d.Publish.Operation.ID != first || row.Collaboration != engine.Cross {
		t.Errorf("%s: %+v of %+v", first, d, row)
	}
	q.Parts, q.Scope = nil, "paris & nantes & lyon"
	_, _, err = paris.AdoptExisting(t.Context(), q)
	w.wants("422 scope-type", engine.Answer{}, err)
	q.Kind, q.Parts, q.Scope = archives, engine.Parts{{"paris"}, {"nantes"}}, "paris % nantes"
	_, _, err = paris.AdoptExisting(t.Context(), q)
	w.wants("422 scope-type", engine.Answer{}, err)
}

func TestWhatIsNotAdopted(t *testing.T) {
	for name, c := range map[string]struct {
		kind  *engine.Kind
		setup func(*world, *site)
		want  string
	}{
		"there is none":                   {images, func(_ *world, s *site) { s.app.remove(images, "y") }, "not found"},
		"nobody has told whose it may be": {images, func(w *world, s *site) { s.met, w.cut["nantes"] = false, true }, "503 unreachable"},
		"a request may have made it": {files, func(w *world, s *site) {
			s.app.inject(fails)
			a, err := s.Submit(w.t.Context(), request(files, "PUT", "y", `{}`, s))
			w.wants("504 upstream", a, err)
		}, "502 upstream"},
		"a create of its kind is open": {disks, func(w *world, s *site) {
			s.app.inject(fails)
			a, err := s.Submit(w.t.Context(), request(disks, "POST", "", `{}`, w.sites...))
			w.wants("504 upstream", a, err)
		}, "502 upstream"},
		"it is no object": {images, func(_ *world, s *site) { s.app.mu.Lock(); s.app.objects["image y"] = nil; s.app.mu.Unlock() }, "422 adopt"},
		"it is too long": {images, func(_ *world, s *site) {
			s.app.put(images, "y", `{"a":"`+strings.Repeat("x", engine.MaxInlineBody)+`"}`)
		}, "413 too-large"},
		"it was made and deleted while it was looked at": {files, func(_ *world, s *site) {
			s.app.reads = func() {
				s.store.add(engine.ResourceRow{Document: "d", ID: "y", Service: "store", Kind: "file", State: engine.StateDeleted})
			}
		}, "409 in-progress"},
		"a create of its kind is under way": {disks, func(w *world, s *site) {
			arrived, release := s.app.holdUp()
			var client sync.WaitGroup
			client.Go(func() { _, _ = s.Submit(w.t.Context(), request(disks, "POST", "", `{}`, w.sites...)) })
			w.t.Cleanup(func() { release(); client.Wait() })
			<-arrived
		}, "502 upstream"},
		"a create began while it was looked at": {images, func(w *world, s *site) {
			s.app.reads = func() { opens("z", flight.Unknown)(w, s) }
		}, "502 upstream"},
		"a replica may have made it":                             {files, opens("y", flight.Unknown), "502 upstream"},
		"a person is asked about a replica of its name":          {files, opens("y", flight.Asked), "502 upstream"},
		"a replica may have made it, whatever it is to be named": {images, opens("z", flight.Unknown), "502 upstream"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "paris", "nantes")
			paris := w.sites[0]
			for _, k := range []*engine.Kind{images, files, disks} {
				paris.app.put(k, "y", `{"a":1}`)
			}
			c.setup(w, paris)
			_, _, err := paris.AdoptExisting(t.Context(), engine.AdoptRequest{Kind: c.kind, ID: "y", Sites: []engine.SiteID{"nantes"}})
			got := told(engine.Answer{}, err)
			if errors.Is(err, engine.ErrNotFound) {
				got = "not found"
			}
			if got != c.want {
				t.Errorf("told %s (%v), want %s", got, err, c.want)
			}
		})
	}
}

// TestAComparisonIsWaitedFor: a site that has come into reach has told in a moment whose an object is.
func TestAComparisonIsWaitedFor(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris := w.sites[0]
	paris.app.put(images, "y", `{"a":1}`)
	q := engine.AdoptRequest{Kind: images, ID: "y", Sites: []engine.SiteID{"paris", "nantes"}}
	paris.met, paris.waits = false, func() { paris.met = true; paris.Compared() }
	if key, _, err := paris.AdoptExisting(t.Context(), q); err != nil || key != "y" {
		t.Errorf("adopted as %q, %v", key, err)
	}
	paris.app.put(images, "z", `{"a":1}`)
	ctx, gone := context.WithCancel(t.Context())
	q.ID, paris.met, paris.waits = "z", false, gone
	_, _, err := paris.AdoptExisting(ctx, q)
	w.wants("503 unreachable", engine.Answer{}, err)
}

// TestWhatWasMadeMeanwhileIsNotAdopted: a create that was answered while the object was looked at has made it.
func TestWhatWasMadeMeanwhileIsNotAdopted(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris := w.sites[0]
	paris.app.put(images, "y", `{"a":1}`)
	paris.app.reads = func() {
		paris.store.add(engine.ResourceRow{Document: "d", ID: "z", Local: "y", Service: "store", Kind: "image", Sites: map[engine.SiteID]engine.ReplicaStatus{"paris": {}}})
	}
	key, _, err := paris.AdoptExisting(t.Context(), engine.AdoptRequest{Kind: images, ID: "y", Sites: []engine.SiteID{"nantes"}})
	published := slices.ContainsFunc(paris.decided, func(d *replica.Decide) bool { return d.What == replica.VerbPublish })
	if err != nil || key != "z" || published {
		t.Errorf("adopted as %q, %v; published: %v", key, err, published)
	}
}

// opens leaves a replica with a create that has come to a stage, and that nothing lists.
func opens(key engine.ResourceID, stage flight.Stage) func(*world, *site) {
	return func(_ *world, s *site) {
		for _, k := range []*engine.Kind{files, images} {
			about := engine.About{Service: "store", Kind: k.Name, Key: key, Collaboration: engine.Replication, Placement: []engine.SiteID{"paris"}}
			id := engine.DocumentID("d" + k.Name)
			r := s.newReplica(id, about)
			r.Rejoin(&view.Remnant{}, &flight.Flight{Creates: true, Operation: engine.Operation{ID: "op", Type: engine.TypeCreate}})
			r.Own.Stage = stage
			s.store.name(id, about)
		}
	}
}

// A person who is asked about a create whose identifier nobody knows may adopt what is there meanwhile.
func TestAQuestionKeepsNobodyFromAdopting(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris := w.sites[0]
	paris.app.put(images, "y", `{"a":1}`)
	opens("z", flight.Asked)(w, paris)
	if key, _, err := paris.AdoptExisting(t.Context(), engine.AdoptRequest{Kind: images, ID: "y", Sites: []engine.SiteID{"nantes"}}); err != nil || key != "y" {
		t.Errorf("adopted as %q, %v", key, err)
	}
}

// Of several at a time one adopts it, and a change whose scope has it adopted runs at the resource.
func TestAChangeAdoptsWhatIsThere(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	paris.app.put(images, "y", `{"a":1}`)
	a, err := paris.Submit(t.Context(), request(images, "PATCH", "y", `{"a":2}`, w.sites...))
	w.must(200, a, err)
	if len(paris.decided) != 1 || len(paris.asked) != 1 || paris.asked[0].Creates || a.Resource != "y" {
		t.Errorf("published %d, asked %d", len(paris.decided), len(paris.asked))
	}
	// What is nowhere here may be made at another site.
	nantes.store.add(engine.ResourceRow{Document: "d", ID: "z", Local: "n1", Service: "store", Kind: "image"})
	nantes.app.put(images, "n1", `{}`)
	a, err = paris.Submit(t.Context(), request(images, "PATCH", "z", `{"a":2}`, w.sites...))
	if w.must(200, a, err); a.Site != nantes.id {
		t.Errorf("answered by %s", a.Site)
	}
	a, err = paris.Submit(t.Context(), request(images, "PATCH", "nothing", `{"a":2}`, w.sites...))
	w.wants("404 not-replicated", a, err)
	r := post("nothing", paris)
	r.Placement, r.Via = []engine.SiteID{"paris", "nantes"}, []engine.SiteID{"nantes"}
	a, err = paris.Submit(t.Context(), r)
	w.wants("404 not-replicated", a, err)
}
