package front

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// A request that has gone out is never told to be one of which nothing has happened, whatever keeps its replica from answering.
func TestWhatHasGoneOutIsNotUntouched(t *testing.T) {
	storage := &engine.Refusal{Status: 507, Type: "storage"}
	earlier := &engine.Refusal{Status: 502, Type: "upstream", Detail: "an earlier request has had no certain answer"}
	for name, c := range map[string]struct {
		err  error
		own  bool // it is what the replica has in flight
		want string
	}{
		"the disk was full before it went out": {storage, false, "507 storage"},
		"the disk was full after":              {storage, true, "504 upstream"},
		"another one is in flight":             {earlier, false, "502 upstream"},
		"it is in flight itself":               {earlier, true, "504 upstream"},
		"a defect":                             {fmt.Errorf("a defect"), true, "504 upstream"},
		"it is gone":                           {engine.ErrNotFound, false, "404 gone"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "paris", "nantes", "lyon")
			paris, lyon := w.sites[0], w.sites[2]
			paris.answers = func(id engine.DocumentID, about *engine.About, a *replica.Ask) (replica.Given, error) {
				paris.mu.Lock()
				defer paris.mu.Unlock()
				r := paris.newReplica(id, *about)
				f := &flight.Flight{Operation: engine.Operation{ID: "another"}}
				if c.own {
					f.Operation.ID = a.Operation
				}
				r.Rejoin(&view.Remnant{}, f)
				return replica.Given{}, c.err
			}
			r := otherwise(w.sites[:2], []*site{lyon})
			r.Alternatives = r.Alternatives[:1]
			a, err := paris.Submit(t.Context(), r)
			w.wants(c.want, a, err)
			// So another alternative is tried only where nothing has happened.
			a, err = paris.Submit(t.Context(), otherwise(w.sites[:2], []*site{lyon}))
			if tried := lyon.app.count() == 1; tried != (c.want == "507 storage" || c.want == "502 upstream") {
				t.Errorf("told %s; tried elsewhere: %v", told(a, err), tried)
			}
		})
	}
}

// A client that goes does not take its request along.
func TestAClientThatGoes(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris := w.sites[0]
	for name, sites := range map[string][]*site{"at a replica": w.sites, "at this site alone": w.sites[:1]} {
		arrived, release := paris.app.holdUp()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan string)
		go func() { done <- told(paris.Submit(ctx, request(images, "POST", "", `{}`, sites...))) }()
		<-arrived
		cancel()
		release()
		if got := <-done; got != "201" {
			t.Errorf("%s: told %s", name, got)
		}
	}
}

// What is made again after it was deleted is another incarnation, created later; what clients do not name is named after its operation.
func TestWhatIsMade(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris := w.sites[0]
	var abouts []engine.About
	var asks []*replica.Ask
	note := func(id engine.DocumentID, about *engine.About, a *replica.Ask) (replica.Given, error) {
		abouts, asks = append(abouts, *about), append(asks, a)
		raw, _, _ := documents{}.Identify(*about)
		paris.store.records[id] = engine.Record{About: raw}
		w.pass(1e9)
		paris.store.add(engine.ResourceRow{Document: id, ID: about.Key, Service: "store", Kind: about.Kind, State: engine.StateDeleted, CreatedAt: w.time()})
		return replica.Given{Answer: engine.Answer{Status: 201, Operation: a.Operation, Resource: about.Key, Site: paris.id}}, nil
	}
	paris.answers = note
	for range 3 {
		a, err := paris.Submit(t.Context(), request(files, "PUT", "x", `{}`, w.sites[1], paris))
		w.must(201, a, err)
	}
	for i, about := range abouts {
		after := int64(0)
		if i > 0 {
			after = start.UnixMicro() + int64(i)*1e6 + 1
		}
		if about.Incarnation != uint64(i) || about.Key != "x" || !slices.Equal(about.Placement, []engine.SiteID{"nantes", "paris"}) || asks[i].After != after || !asks[i].Creates {
			t.Errorf("incarnation %d: %+v, after %d", i, about, asks[i].After)
		}
	}
	abouts = nil
	r := request(images, "POST", "", `{}`, w.sites...)
	r.Operation = "op"
	r.Parts = engine.Parts{{"paris"}, {"nantes"}}
	for range 2 {
		clear(paris.store.answers)
		a, err := paris.Submit(t.Context(), r)
		w.must(201, a, err)
	}
	if abouts[0].Key != abouts[1].Key || len(abouts[0].Key) != 36 || abouts[0].Collaboration != engine.Cross || len(abouts[0].Parts) != 2 {
		t.Errorf("made %+v", abouts)
	}
}

// What is no text cannot be stored and read again: it is replaced in headers, and refused in identifiers.
func TestWhatIsNoText(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris := w.sites[0]
	a, err := paris.Submit(t.Context(), as("jos\xe9", request(images, "POST", "", `{}`, w.sites...)))
	w.must(201, a, err)
	got := paris.asked[0].Request.Credentials
	var again engine.Credentials
	if err := engine.Decode(engine.Encode(got), &again); err != nil || again.Header.Get("Authorization") != "jos\uFFFD" {
		t.Errorf("stored as %v, %v", again, err)
	}
	a, err = paris.Submit(t.Context(), request(files, "PUT", "\xff", `{}`, w.sites...))
	w.wants("400 path", a, err)
}

// A large body is a blob where it runs and a spool for others, and nothing of it is left behind; one that is looked into is there beside.
func TestLargeBodies(t *testing.T) {
	big := []byte(`{"text":"` + strings.Repeat("x", engine.MaxInlineBody) + `"}`)
	upload := func(sites ...*site) engine.Request {
		r := request(files, "PUT", "x", "", sites...)
		r.Type, r.Path, r.Large = engine.TypeAbsolute, "/files/{id}/content", &bodyOf{big}
		return r
	}
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	clean := func(when string) {
		t.Helper()
		for _, s := range w.sites {
			if blobs, spools := s.bodies.count(); blobs+spools != 0 {
				t.Errorf("%s: %s has %d blobs and %d spools", when, s.id, blobs, spools)
			}
		}
	}
	a, err := paris.Submit(t.Context(), upload(paris))
	w.must(201, a, err)
	clean("at this site alone")
	a, err = paris.Submit(t.Context(), keyed(upload(nantes)))
	w.must(201, a, err)
	clean("at another site")
	w.away(nantes.id, true)
	a, err = paris.Submit(t.Context(), upload(nantes))
	w.must(202, a, err)
	if _, spools := paris.bodies.count(); spools != 1 {
		t.Errorf("%d bodies are kept", spools)
	}
	paris.start()
	w.away(nantes.id, false)
	w.settle()
	if len(nantes.app.log()) != 2 {
		t.Errorf("nantes was asked %q", nantes.app.log())
	}
	clean("kept")
	paris.app.inject(doesFail)
	a, err = paris.Submit(t.Context(), upload(paris))
	w.wants("504 upstream", a, err)
	if blobs, _ := paris.bodies.count(); blobs != 1 {
		t.Errorf("%d bodies are held for what had no certain answer", blobs)
	}
	paris.start()
	w.settle()
	clean("settled")
	// At a replica.
	paris.store.add(engine.ResourceRow{Document: "d", ID: "x", Local: "x", Service: "store", Kind: "file"})
	asked := func(r engine.Request) *replica.Ask {
		t.Helper()
		a, err := paris.Submit(t.Context(), r)
		w.must(200, a, err)
		return paris.asked[len(paris.asked)-1]
	}
	paris.answers = func(engine.DocumentID, *engine.About, *replica.Ask) (replica.Given, error) {
		if blobs, _ := paris.bodies.count(); blobs != 1 {
			t.Errorf("%d bodies are there while it runs", blobs)
		}
		return replica.Given{Answer: engine.Answer{Status: 200, Site: paris.id}}, nil
	}
	for name, c := range map[string]struct {
		r      engine.Request
		looked bool
	}{
		"opaque":               {upload(), false},
		"a representation":     {request(files, "PUT", "x", string(big)), true},
		"it comes as a stream": {func() engine.Request { r := upload(); r.Type = engine.TypeReplace; return r }(), true},
	} {
		got := asked(c.r)
		if got.Blob == nil || got.Blob.Size != int64(len(big)) || (string(got.Request.Body) == string(big)) != c.looked || got.Request.Large != nil {
			t.Errorf("%s: asked with a body of %d bytes and blob %v", name, len(got.Request.Body), got.Blob)
		}
	}
	clean("at a replica")
	r := upload()
	r.Type, r.Large = engine.TypeReplace, &bodyOf{make([]byte, engine.MaxLooked+1)}
	a, err = paris.Submit(t.Context(), r)
	w.wants("413 too-large", a, err)
	clean("too large")
}
