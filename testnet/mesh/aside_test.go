package mesh

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// lines is a log that several write to at once.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestInvariantAPanicStaysWithItsResource has a site panic in its work on one resource, or while it takes in what another has sent of it. The
// process goes on, with all other resources; that one is set aside and shown so, is not tried any more, and goes on when a person
// resumes it, or when the agent starts anew.
func TestInvariantAPanicStaysWithItsResource(t *testing.T) {
	for _, c := range []struct {
		name string
		// its reports whether a change of the resource is stored by that.
		its func(author, site engine.SiteID) bool
	}{
		{"work", func(author, site engine.SiteID) bool { return author == site }},
		{"receive", func(author, site engine.SiteID) bool { return author != site }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := open(t, Image, 2)
			paris, nantes := m.Sites[0], m.Sites[1]
			var log lines
			nantes.log = slog.NewTextHandler(&log, nil)
			if err := nantes.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			bad := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"bad"}`, m.Sites...))
			good := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"good"}`, m.Sites...))
			converge(t, m, m.Sites...)
			row, err := nantes.store.ResourceByID(t.Context(), "images", "image", bad.Resource)
			if err != nil {
				t.Fatal(err)
			}
			ofBad := func(d engine.DocumentRow) bool { return d.ID == row.Document }
			breaks := func(b *engine.Batch) {
				if slices.ContainsFunc(b.Documents, ofBad) && slices.ContainsFunc(b.Changes, func(ch engine.ChangeRow) bool { return c.its(ch.Author, nantes.ID) }) {
					panic("broken on purpose")
				}
			}
			for round, ends := range []func() error{
				func() error { return nantes.Resume(t.Context(), row.Document) },
				func() error { return nantes.Restart(t.Context()) },
			} {
				nantes.disk.meets.Store(&breaks)
				size := string(rune('1' + round))
				must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(bad.Resource), `{"size":`+size+`}`))
				after := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(good.Resource), `{"size":`+size+`}`))
				for deadline := time.Now().Add(20 * time.Second); ; {
					if err := m.Reconcile(t.Context()); err != nil && !strings.Contains(err.Error(), "set aside") {
						t.Fatal(err)
					}
					o, err := nantes.store.Operation(t.Context(), after.Operation)
					if err == nil && o.Sites[nantes.ID].State == engine.StateApplied && aside(t, nantes, row.Document) {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("the other resource: %+v, %v; this one is set aside: %t", o.Sites, err, aside(t, nantes, row.Document))
					}
				}
				if got := log.String(); !strings.Contains(got, "broken on purpose") || !strings.Contains(got, "aside_test.go") {
					t.Errorf("the log does not tell where it broke:\n%s", got)
				}
				var refusal *engine.Refusal
				if _, err := submit(t.Context(), nantes, Image, "PATCH", string(bad.Resource), `{"tag":"x"}`); !errors.As(err, &refusal) || refusal.Status != 503 || refusal.Type != "paused" {
					t.Errorf("a client of it gets %v", err)
				}
				nantes.disk.meets.Store(nil)
				if err := ends(); err != nil {
					t.Fatal(err)
				}
				converge(t, m, m.Sites...)
				if got := shown(nantes); !slices.Equal(got, []string{`{"name":"bad","size":` + size + `}`, `{"name":"good","size":` + size + `}`}) {
					t.Errorf("nantes shows %v", got)
				}
				awaitConverged(t, m, nantes, row.Document)
			}
		})
	}
}

// aside reports whether a site shows that it has set a resource aside.
func aside(t *testing.T, s *Site, id engine.DocumentID) bool {
	t.Helper()
	row, err := s.store.ResourceByDocument(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	at := row.Sites[s.ID]
	return row.State == engine.StateDegraded && at.Paused != nil && strings.Contains(at.Paused.Reason, "set aside") && strings.Contains(row.Reason, "set aside")
}

// awaitConverged waits until a site shows that a resource is as it is everywhere, and no longer set aside.
func awaitConverged(t *testing.T, m *Mesh, s *Site, id engine.DocumentID) {
	t.Helper()
	until(t, m, func() string {
		row, err := s.store.ResourceByDocument(t.Context(), id)
		if err == nil && row.State == engine.StateConverged && row.Sites[s.ID].Paused == nil {
			return ""
		}
		return fmt.Sprintf("%s is %s: %s, %v", row.ID, row.State, row.Reason, err)
	})
}
