package front

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

var archives = &engine.Kind{Service: "store", Name: "archive", Collection: "/archives", Item: "/archives/{id}", ID: engine.IDRule{From: engine.IDFromBody, At: "/id"},
	Content: []engine.Content{{Read: "/archives/{id}/file", Method: "PUT", Write: "/archives/{id}/file", BusyAt: "/state", Busy: []json.RawMessage{json.RawMessage(`"saving"`)}}}}

// Content that another agent reads comes whole only if nothing has run here meanwhile, and with what was settled before.
func TestContentForAnAddedSite(t *testing.T) {
	opens := func(r *replica.Replica) {
		r.Rejoin(&view.Remnant{}, &flight.Flight{})
		r.Mine.Local, r.Me.Settled = "p1", engine.Vector{"paris": 1}
	}
	for name, c := range map[string]struct {
		before func(*replica.Replica)
		state  string
		during func(*replica.Replica)
		from   engine.SiteID
		want   string
		broken bool
	}{
		"it comes whole":              {want: "200"},
		"by a stranger":               {from: "lyon", want: "404 not-replicated"},
		"it is not whole here":        {before: func(r *replica.Replica) { r.Me.Bare = true }, want: "404 not-replicated"},
		"there is no object":          {before: func(r *replica.Replica) { r.Mine.Local = "" }, want: "404 not-replicated"},
		"it is being written":         {state: "saving", want: "503 upstream"},
		"something settles":           {during: func(r *replica.Replica) { r.Me.Settled = engine.Vector{"paris": 2} }, want: "200", broken: true},
		"it is made anew":             {during: func(r *replica.Replica) { r.Mine.Made++ }, want: "200", broken: true},
		"a client's request is open":  {before: opens, want: "503 upstream"},
		"a client's request goes out": {during: opens, want: "200", broken: true},
	} {
		t.Run(name, func(t *testing.T) {
			kinds = append(kinds[:6:6], archives)
			w := newWorld(t, "paris", "nantes", "lyon")
			paris := w.sites[0]
			r := paris.newReplica("d", engine.About{Service: "store", Kind: "archive", Key: "y", Collaboration: engine.Replication, Placement: []engine.SiteID{"nantes", "paris"}})
			r.Mine.Local, r.Me.Settled = "p1", engine.Vector{"paris": 1}
			if c.before != nil {
				c.before(r)
			}
			paris.store.add(engine.ResourceRow{Document: "d", ID: "y", Local: "p1", Service: "store", Kind: "archive"})
			paris.app.put(archives, "p1", `{"state":"`+c.state+`"}`)
			paris.app.content = strings.Repeat("content", 1000)
			if c.during != nil {
				paris.app.reads = func() {
					paris.mu.Lock()
					defer paris.mu.Unlock()
					c.during(r)
					paris.app.reads = nil
				}
			}
			from := c.from
			if from == "" {
				from = "nantes"
			}
			a, err := paris.Submit(t.Context(), engine.Request{Kind: archives, Type: engine.TypeContent, Method: "GET", Path: "/archives/{id}/file", Target: "y",
				Placement: []engine.SiteID{"paris"}, Via: []engine.SiteID{from}})
			if w.wants(c.want, a, err); a.Content == nil {
				return
			}
			defer a.Content.Close()
			if got := a.Header.Get(engine.HeaderSettled); got != `{"paris":1}` {
				t.Errorf("settled: %s", got)
			}
			b, err := io.ReadAll(iotest.OneByteReader(a.Content))
			if broken := err != nil; broken != c.broken || broken && len(b) >= len(paris.app.content) || !broken && string(b) != paris.app.content {
				t.Errorf("%d bytes of %d came, %v", len(b), len(paris.app.content), err)
			}
		})
	}
}

// unchanged gives out what it reads whatever the reader does, but the last byte.
func TestTheLastByteIsHeldBack(t *testing.T) {
	for _, text := range []string{"", "a", "ab", strings.Repeat("x", 10_000)} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "by halves": iotest.HalfReader, "the end comes along": iotest.DataErrReader,
		} {
			for _, broken := range []error{nil, errChanged} {
				c := newUnchanged(io.NopCloser(wrap(strings.NewReader(text))), func() error { return broken })
				b, err := io.ReadAll(iotest.OneByteReader(c))
				if broken == nil && (err != nil || string(b) != text) || broken != nil && (!errors.Is(err, broken) || len(b) >= max(1, len(text))) {
					t.Errorf("%s, %d bytes: %d came, %v", name, len(text), len(b), err)
				}
			}
		}
	}
}
