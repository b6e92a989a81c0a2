package storage

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestLookupsShowWhatIsCommitted: who looks a resource up after a commit finds what that wrote, however many look meanwhile.
func TestLookupsShowWhatIsCommitted(t *testing.T) {
	s := open(t, t.TempDir())
	r := sample(1).Records[0]
	r.Row.ID, r.Row.Local = "meta", "local"
	mustCommit(t, s, &engine.Batch{Records: []engine.Record{r}})
	byID := func() (engine.ResourceRow, error) {
		return s.ResourceByID(t.Context(), r.Row.Service, r.Row.Kind, "meta")
	}
	stop, others := make(chan struct{}), sync.WaitGroup{}
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				row, err := byID()
				if err != nil {
					t.Error(err)
					return
				}
				row.Sites["mine"] = engine.ReplicaStatus{} // it is the caller's
			}
		})
	}
	for i := range 300 {
		before := r.Row.Local
		r.Row.Reason, r.Row.Local = fmt.Sprint(i), engine.LocalID(fmt.Sprint("local-", i%3))
		mustCommit(t, s, &engine.Batch{Records: []engine.Record{r}})
		row, err := byID()
		if err != nil || row.Reason != r.Row.Reason || row.Local != r.Row.Local {
			t.Fatalf("after commit %d: %q at %q, %v", i, row.Reason, row.Local, err)
		}
		if row, err = s.ResourceByLocal(t.Context(), r.Row.Service, r.Row.Kind, r.Row.Local); err != nil || row.Reason != r.Row.Reason {
			t.Fatalf("after commit %d, by its new local identifier: %q, %v", i, row.Reason, err)
		}
		if _, ok := row.Sites["mine"]; ok {
			t.Fatal("what one caller has written into its row, another one reads")
		}
		if _, err = s.ResourceByLocal(t.Context(), r.Row.Service, r.Row.Kind, before); !errors.Is(err, engine.ErrNotFound) {
			t.Fatalf("after commit %d, by its old local identifier: %v", i, err)
		}
	}
	close(stop)
	others.Wait()
}

// TestLookupsFindWhoeverHasTheNameNow: another resource takes over a name, or an identifier.
func TestLookupsFindWhoeverHasTheNameNow(t *testing.T) {
	s := open(t, t.TempDir())
	one, other := sample(1).Records[0], sample(2).Records[0]
	one.Row.ID, one.Row.Local, other.Row.ID, other.Row.Local = "name", "object", "name", ""
	other.Row.Service, other.Row.Kind = one.Row.Service, one.Row.Kind
	other.Row.CreatedAt = one.Row.CreatedAt.Add(1e9)
	expect := func(want engine.Record) {
		t.Helper()
		for range 2 {
			row, err := s.ResourceByID(t.Context(), one.Row.Service, one.Row.Kind, "name")
			if err != nil || row.Document != want.Row.Document {
				t.Errorf("by name: %v, %v; want %v", row.Document, err, want.Row.Document)
			}
			row, err = s.ResourceByLocal(t.Context(), one.Row.Service, one.Row.Kind, "object")
			if err != nil || row.Document != want.Row.Document {
				t.Errorf("by local identifier: %v, %v; want %v", row.Document, err, want.Row.Document)
			}
		}
	}
	mustCommit(t, s, &engine.Batch{Records: []engine.Record{one, other}})
	expect(one)
	one.Row.Local, other.Row.Local = "", "object"
	mustCommit(t, s, &engine.Batch{Records: []engine.Record{one, other}})
	expect(other)
	one.Row.Local, other.Row.Local = "object", ""
	mustCommit(t, s, &engine.Batch{Records: []engine.Record{other}})
	mustCommit(t, s, &engine.Batch{Records: []engine.Record{one}})
	expect(one)
}
