package mesh

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestInvariantNothingFromOutsideIsTrusted has a member sign operations that no honest agent makes. The other site does
// nothing for them, says that it holds them back, and goes on with its other resources and its own requests.
func TestInvariantNothingFromOutsideIsTrusted(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	victim := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"victim"}`, m.Sites...))
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	row, err := paris.store.ResourceByID(t.Context(), "images", "image", a.Resource)
	if err != nil {
		t.Fatal(err)
	}
	other, err := paris.store.ResourceByID(t.Context(), "images", "image", victim.Resource)
	if err != nil {
		t.Fatal(err)
	}
	document, err := paris.store.Document(t.Context(), row.Document)
	if err != nil {
		t.Fatal(err)
	}
	line := lineOf(t, nantes, row.Document, a.Operation)
	now := time.Now().UnixMicro()
	deep := engine.Pointer(strings.Repeat("/a", 20_000))
	for i, o := range []engine.Operation{
		{ID: "path", Type: engine.TypeDelete, Method: "DELETE", Path: "/images/" + string(other.Local), Seq: 1, Time: now},
		{ID: "collection", Type: engine.TypeDelete, Method: "DELETE", Path: "/images", Seq: 1, Time: now},
		{ID: "below", Type: engine.TypeAction, Method: "POST", Path: "/images/{id}{id}/start", Seq: 1, Time: now},
		{ID: "headers", Type: engine.TypeDelete, Method: "DELETE", Path: "/images/{id}", Seq: 1, Time: now, Header: map[string]string{"Authorization": "x"}},
		{ID: "gap", Type: engine.TypeDelete, Method: "DELETE", Path: "/images/{id}", Seq: 7, Time: now},
		{ID: "end-of-time", Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}", Seq: 1, Time: math.MaxInt64},
		{ID: "deep", Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}", Seq: 8, Time: now, Change: &engine.Change{
			Set: map[engine.Pointer]json.RawMessage{deep: json.RawMessage("1")}}},
	} {
		o.Origin, o.Run, o.Seen = nantes.ID, "00000bad", map[engine.Line]uint64{line: 1}
		b, err := o.Encode()
		if err != nil {
			t.Fatal(err)
		}
		change, err := nantes.docs.Write(t.Context(), row.Document, []engine.Entry{{Map: engine.MapOperations, Key: o.Key(), Value: b}})
		if err != nil {
			t.Fatal(err)
		}
		if err := paris.Receive(t.Context(), nantes.ID, engine.Envelope{Document: row.Document, About: document.About, Changes: []engine.SignedChange{change.SignedChange}}); err != nil {
			t.Fatal(o.ID, err)
		}
		held, err := paris.store.ResourceByDocument(t.Context(), row.Document)
		if err != nil || held.Reason == "" || held.Sites[paris.ID].Pending != i+1 {
			t.Errorf("%s: the resource is %s (%q), with %d pending", o.ID, held.State, held.Reason, held.Sites[paris.ID].Pending)
		}
	}
	must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"size":1}`))
	must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(victim.Resource), `{"size":2}`))
	if got := shown(paris); !slices.Equal(got, []string{`{"name":"n","size":1}`, `{"name":"victim","size":2}`}) {
		t.Errorf("paris shows %v", got)
	}
	if n := paris.App.Count("DELETE"); n != 0 {
		t.Errorf("paris deleted %d times", n)
	}
}

// TestInvariantRepairOfNothingIsRefused has a member sign repairs that do not say what is to be shown. The other site does nothing for
// them, goes on with what else it has, and does so again when it starts with them on its disk.
func TestInvariantRepairOfNothingIsRefused(t *testing.T) {
	for _, c := range []engine.Operation{
		{Type: engine.TypeReplace, Method: "PUT", Path: "/images/{id}"},
		{Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}"},
		{Type: engine.TypeCreate, Method: "POST", Path: "/images"},
	} {
		t.Run(string(c.Type), func(t *testing.T) {
			m := open(t, Image, 2)
			paris, nantes := m.Sites[0], m.Sites[1]
			a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"a"}`, m.Sites...))
			other := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"other"}`, m.Sites...))
			converge(t, m, m.Sites...)
			row, err := paris.store.ResourceByID(t.Context(), "images", "image", a.Resource)
			if err != nil {
				t.Fatal(err)
			}
			c.ID, c.Origin, c.Run, c.Seq, c.Time, c.Repair = "bad", nantes.ID, "00000bad", 1, time.Now().UnixMicro(), true
			c.Seen = map[engine.Line]uint64{lineOf(t, nantes, row.Document, a.Operation): 1}
			b, err := c.Encode()
			if err != nil {
				t.Fatal(err)
			}
			document, err := paris.store.Document(t.Context(), row.Document)
			if err != nil {
				t.Fatal(err)
			}
			change, err := nantes.docs.Write(t.Context(), row.Document, []engine.Entry{{Map: engine.MapOperations, Key: c.Key(), Value: b}})
			if err != nil {
				t.Fatal(err)
			}
			if err := paris.Receive(t.Context(), nantes.ID, engine.Envelope{Document: row.Document, About: document.About, Changes: []engine.SignedChange{change.SignedChange}}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"size":1}`))
				must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(other.Resource), `{"size":2}`))
				if held, err := paris.store.ResourceByDocument(t.Context(), row.Document); err != nil || held.Reason == "" || held.Sites[paris.ID].Pending != 1 {
					t.Errorf("the resource is %s (%q), with %d pending: %v", held.State, held.Reason, held.Sites[paris.ID].Pending, err)
				}
				if err := paris.Restart(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := shown(paris); !slices.Equal(got, []string{`{"name":"a","size":1}`, `{"name":"other","size":2}`}) {
				t.Errorf("paris shows %v", got)
			}
		})
	}
}

// lineOf returns the line of an operation in a document.
func lineOf(t *testing.T, s *Site, id engine.DocumentID, op engine.OperationID) engine.Line {
	t.Helper()
	entries, err := s.docs.Entries(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if o, err := engine.DecodeOperation(e.Key, e.Value); err == nil && o.ID == op {
			return o.Line()
		}
	}
	t.Fatalf("%s has no operation %s", s.Name, op)
	return ""
}

// TestRetryAfterIsKeptTo has the application ask for patience.
func TestRetryAfterIsKeptTo(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	nantes.App.Inject(Busy, Busy, Busy)
	began := time.Now()
	must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	if err := m.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	for nantes.App.left() == 3 {
		time.Sleep(time.Millisecond)
	}
	for nantes.App.left() == 2 {
		time.Sleep(time.Millisecond)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("asked again after %v", took)
	}
}
