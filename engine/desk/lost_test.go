package desk

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// contest is a resource of which paris and nantes have set two fields at once, and nantes one of them again.
func contest(b *bench) {
	create := op("nantes", 1, engine.TypeCreate, &engine.Edit{})
	both := func(v string) *engine.Edit {
		return &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/color": json.RawMessage(v), "/secret": json.RawMessage(v), "/size": json.RawMessage(v)}}
	}
	mine := op("paris", 1, engine.TypeMerge, both(`"mine"`))
	theirs := op("nantes", 2, engine.TypeMerge, both(`"theirs"`))
	mine.Seen, theirs.Time = engine.Vector{"nantes": 1}, mine.Time+10
	again := op("paris", 2, engine.TypeMerge, set("/size", `"mine"`))
	again.Seen, again.Time = engine.Vector{"nantes": 2}, theirs.Time+10
	b.add("doc", boxes, engine.Vector{"nantes": 2, "paris": 2}, create, mine, theirs, again)
}

func TestSuperseded(t *testing.T) {
	b := newBench(t)
	contest(b)
	lost, err := b.Superseded(t.Context(), "doc")
	got := ""
	for _, l := range lost {
		got += fmt.Sprintf("%s %s by %s over %s; ", l.Path, l.Value, l.By, l.Over)
	}
	if want := `/color "mine" by paris-1 over nantes-2; /secret "(hidden)" by paris-1 over nantes-2; `; err != nil || got != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	if again, _ := b.Superseded(t.Context(), "doc"); len(again) != 2 {
		t.Errorf("looking has changed what is lost: %v", again)
	}
	if _, err := b.Superseded(t.Context(), "none"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("of nothing: %v", err)
	}
}

func TestRestore(t *testing.T) {
	b := newBench(t)
	contest(b)
	b.site.given = replica.Given{Answer: engine.Answer{Status: http.StatusOK, Operation: "new"}}
	q := engine.RestoreRequest{Path: "/color", User: "ann", Credentials: &engine.Credentials{}}
	a, err := b.Restore(t.Context(), "doc", q)
	if err != nil || a.Operation != "new" || len(b.site.asked) != 1 {
		t.Fatalf("answer %+v, %v", a, err)
	}
	if ask := b.site.asked[0]; ask.Operation != "new" || *ask.Restore != q || ask.Request.User != "ann" || ask.Request.Credentials != q.Credentials || ask.Request.Kind != boxes {
		t.Errorf("asked for %+v", ask)
	}
	refused := &engine.Refusal{Status: http.StatusNotFound, Type: "restore"}
	b.site.given = replica.Given{Err: refused}
	if _, err := b.Restore(t.Context(), "doc", q); !errors.Is(err, refused) {
		t.Errorf("what is refused: %v", err)
	}
	b.site.fails["doc"] = engine.ErrStorage
	if _, err := b.Restore(t.Context(), "doc", q); !errors.Is(err, engine.ErrStorage) {
		t.Errorf("with a full disk: %v", err)
	}
	if _, err := b.Restore(t.Context(), "none", q); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("of nothing: %v", err)
	}
}

func TestCompacted(t *testing.T) {
	b := newBench(t)
	contest(b)
	if c, err := b.Compacted(t.Context(), "doc"); err != nil || c != (engine.Compacted{}) {
		t.Errorf("of what is whole: %+v, %v", c, err)
	}
	r := b.site.replicas["doc"]
	everything := engine.Vector{"nantes": 2, "paris": 2}
	none := func(*engine.Operation) bool { return false }
	if !r.History.Compact(everything, none, none) {
		t.Fatal("nothing was folded away")
	}
	c, err := b.Compacted(t.Context(), "doc")
	if err != nil || c.Operations == 0 || !c.Until.Equal(engine.Time(r.History.Base().Time)) {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err := b.Compacted(t.Context(), "none"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("of nothing: %v", err)
	}
}

func TestLastShown(t *testing.T) {
	b := newBench(t)
	k := *boxes
	k.Divide = []engine.Pointer{"/count"}
	create := op("paris", 1, engine.TypeCreate, set("/count", "10"))
	change := op("paris", 2, engine.TypeMerge, set("/count", "20"))
	about := engine.About{Service: "store", Kind: "box", Collaboration: engine.Cross, Key: "pool", Placement: []engine.SiteID{"nantes", "paris"},
		Parts: engine.Parts{{"paris"}, {"nantes"}}}
	r := b.addAbout("pool", &k, about, engine.Vector{"paris": 2}, create, change)
	tell := func(want string) {
		t.Helper()
		if got, err := b.LastShown(t.Context(), "pool"); err != nil || fmt.Sprintf("%s", got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	tell("map[]")
	r.Me.Summary = json.RawMessage(`{"count":5,"other":1}`)
	r.Me.Shown = &engine.Shown{}
	tell(`map[paris:{"count":5,"other":1}]`)
	r.Me.Shown = nil
	tell(`map[paris:{"count":10,"other":1}]`)
}
