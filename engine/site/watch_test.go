package site

import (
	"context"
	"strings"
	"testing"
)

// Who reads what is being made waits for it; of anything else nobody waits.
func TestMaking(t *testing.T) {
	w := newWorld(t)
	w.ask("blue")
	w.Step(t.Context())
	_, id := document("blue")
	if trace := w.trace(); strings.Contains(trace, "PUT") {
		t.Fatalf("it is made already: %s", trace)
	}
	if !w.Making(t.Context(), id) || !w.objects["blue"] {
		t.Errorf("it is not made: %s", w.trace())
	}
	if !w.Making(t.Context(), id) {
		t.Error("what is here is waited for")
	}
	if _, id := document("green"); w.Making(t.Context(), id) {
		t.Error("nobody has asked for green")
	}

	w.ask("red")
	w.Step(t.Context())
	_, id = document("red")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if w.Making(ctx, id) || len(w.watch.of) > 0 {
		t.Errorf("who has gone waits: %v", w.watch.of)
	}
}

// What waits for its next try is not waited for.
func TestMakingOfWhatWaits(t *testing.T) {
	w := newWorld(t)
	w.ill = true
	w.ask("blue")
	w.settle()
	_, id := document("blue")
	if w.residents.by[id] == nil {
		t.Fatalf("it is not here: %s", w.trace())
	}
	if w.Making(t.Context(), id) {
		t.Error("it is made")
	}
}
