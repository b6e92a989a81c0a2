package storage

import (
	"fmt"
	"testing"
)

// TestInvariantTheFilterForgetsNothing: it may take something for known, never the other way round.
func TestInvariantTheFilterForgetsNothing(t *testing.T) {
	f, n := newFilter(), 5*firstRoom
	f.add("early")
	if !f.has("early") || !f.has("what it has not been told of yet") {
		t.Error("something is taken for unknown before all has been added")
	}
	f.complete.Store(true)
	for i := range n {
		f.add(fmt.Sprint("known ", i))
	}
	wrong := 0
	for i := range n {
		if !f.has(fmt.Sprint("known ", i)) {
			t.Fatalf("key %d is forgotten", i)
		}
		if f.has(fmt.Sprint("new ", i)) {
			wrong++
		}
	}
	if wrong > n/20 {
		t.Errorf("%d of %d new keys are taken for known", wrong, n)
	}
}

// TestAllThatIsThereIsKnown to the filter by each of its names, also after a start.
func TestAllThatIsThereIsKnown(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	b := createOf(7).converged
	named := b.Records[0]
	named.Row.Document, named.Row.Local = document("named"), "its own name here"
	b.Records = append(b.Records, named)
	mustCommit(t, s, &b)
	for range 2 {
		for _, r := range b.Records {
			row := r.Row
			if got, err := s.Record(t.Context(), row.Document); err != nil || got.Row.ID != row.ID {
				t.Errorf("%s is %v, %v", row.Document, got.Row.ID, err)
			}
			if got, err := s.ResourceByLocal(t.Context(), row.Service, row.Kind, row.Local); err != nil || got.Document != row.Document {
				t.Errorf("%s is %v, %v", row.Local, got.Document, err)
			}
		}
		if same, err := s.SameName(t.Context(), named.Row.Service, named.Row.Kind, named.Row.ID); err != nil || len(same) != 2 {
			t.Errorf("%v have the name: %v", same, err)
		}
		if s.loading.Wait(); s.filter.has("a name that nobody has") {
			t.Error("what was never there is known")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir)
	}
}
