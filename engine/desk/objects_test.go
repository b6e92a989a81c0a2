package desk

import (
	"errors"
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestObjects(t *testing.T) {
	b := newBench(t)
	b.store.replicas = []engine.LocalID{"mine"}
	b.app.objects[""] = `[{"id":"mine"},{"id":"r7"},{"id":8},{"name":"no identifier"},"no object"]`
	list, whole, err := b.Objects(t.Context(), "store", "rack")
	if got := fmt.Sprint(list, whole, err); got != "[{r7 } {8 }] true <nil>" {
		t.Errorf("only here are %s", got)
	}
	if _, _, err := b.Objects(t.Context(), "store", "unknown"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("of an unknown kind: %v", err)
	}
	b.app.err = errors.New("broken")
	if _, _, err := b.Objects(t.Context(), "store", "rack"); !errors.As(err, new(*engine.Refusal)) {
		t.Errorf("an application that does not answer: %v", err)
	}
}

func TestObject(t *testing.T) {
	b := newBench(t)
	b.app.objects["r7"] = `{"id":"r7"}`
	if body, err := b.Object(t.Context(), "store", "rack", "r7"); err != nil || string(body) != `{"id":"r7"}` {
		t.Errorf("it shows %s, %v", body, err)
	}
	if _, err := b.Object(t.Context(), "store", "rack", "r8"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("what is not there: %v", err)
	}
	b.app.err = errors.New("broken")
	if _, err := b.Object(t.Context(), "store", "rack", "r7"); !errors.As(err, new(*engine.Refusal)) {
		t.Errorf("an application that does not answer: %v", err)
	}
}
