package plan

import (
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// TestAPutTakesNothingOfItsSiteAlong has a client of one site put back what it has read there: the other keeps what its own application has set.
func TestAPutTakesNothingOfItsSiteAlong(t *testing.T) {
	a, b := newDesk("a"), newDesk("b")
	b.hears(t, a.issue(t, engine.TypeCreate, "/images", `{"name":"n"}`, 1))
	a.shows, b.shows = parsed(t, []byte(`{"made":"by a","name":"n","status":"active","size":5}`)), parsed(t, []byte(`{"made":"by b","name":"n","status":"queued","size":0}`))
	put := a.issue(t, engine.TypeReplace, "/images/{id}", `{"made":"by a","name":"m","status":"active","size":5}`, 2)
	b.hears(t, put)
	b.lawful(t)
	if got := string(tree.Compact(b.shows)); got != `{"made":"by b","name":"m","size":0,"status":"queued"}` {
		t.Errorf("b shows %s", got)
	}
	// Nothing is sent where nothing has been changed.
	b.hears(t, a.issue(t, engine.TypeReplace, "/images/{id}", `{"made":"by a","name":"m","status":"active","size":5}`, 3))
	if got := string(tree.Compact(b.shows)); got != `{"made":"by b","name":"m","size":0,"status":"queued"}` {
		t.Errorf("b shows %s", got)
	}
}
