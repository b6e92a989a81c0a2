package keys

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	boxes = &engine.Kind{Service: "store", Name: "box"}
)

// disk is what is remembered, and the time that it is.
type disk struct {
	answers map[[32]byte]engine.KeyedAnswer
	now     time.Time
	full    bool
}

func newKeys() (*Keys, *disk) {
	d := &disk{answers: map[[32]byte]engine.KeyedAnswer{}, now: start}
	return New(Config{Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return d.now },
		Answer: func(_ context.Context, key [32]byte) (engine.KeyedAnswer, error) {
			a, ok := d.answers[key]
			if !ok {
				return a, engine.ErrNotFound
			}
			return a, nil
		},
		Commit: func(_ context.Context, b *engine.Batch) error {
			if d.full {
				return engine.ErrStorage
			}
			for _, a := range b.Answers {
				d.answers[a.Key] = a
			}
			return nil
		}}), d
}

func request(body string) engine.Request {
	return engine.Request{Kind: boxes, Method: "POST", Path: "/boxes", Key: "k", Caller: "ann", Body: []byte(body)}
}

func TestKeysTellRequestsApart(t *testing.T) {
	first := KeeperOf(request("a"), "x", nil)
	if !first.Client || len(first.Keys.Keys) != 1 {
		t.Fatalf("it is remembered under %v", first)
	}
	for name, c := range map[string]struct {
		change func(*engine.Request)
		target string
	}{
		"another target": {func(*engine.Request) {}, "y"}, "another caller": {func(r *engine.Request) { r.Caller = "bob" }, "x"},
		"another method": {func(r *engine.Request) { r.Method = "PUT" }, "x"}, "another path": {func(r *engine.Request) { r.Path = "/" }, "x"},
		"another container": {func(r *engine.Request) { r.Within = "w" }, "x"}, "another key": {func(r *engine.Request) { r.Key = "l" }, "x"},
	} {
		r := request("a")
		c.change(&r)
		if KeeperOf(r, c.target, nil).Keys.Keys[0] == first.Keys.Keys[0] {
			t.Errorf("%s has the same key", name)
		}
	}
	r := request("b")
	r.Operation = "op"
	with := KeeperOf(r, "x", &engine.BlobRef{Hash: "00ff"})
	if with.Keys.Keys[0] != first.Keys.Keys[0] || with.Keys.Keys[1] != Operation("op") || with.BodyHash[1] != 0xff {
		t.Errorf("with an identifier and a large body: %v", with)
	}
	r.Key = ""
	if k := KeeperOf(r, "x", nil); k.Client || len(k.Keys.Keys) != 1 {
		t.Errorf("without a key: %v", k)
	}
}

func TestWhatIsKnown(t *testing.T) {
	settled := func(engine.OperationID) bool { return false }
	type known struct {
		answered int
		as       engine.OperationID
		sent     engine.SiteID
		refused  int
	}
	for name, c := range map[string]struct {
		before func(*Keys, Keeper) []engine.KeyedAnswer
		later  time.Duration
		open   func(engine.OperationID) bool
		body   string
		via    []engine.SiteID
		want   known
	}{
		"nothing":                             {before: func(*Keys, Keeper) []engine.KeyedAnswer { return nil }},
		"an answer":                           {before: given, want: known{answered: 201}},
		"an answer of long ago":               {before: given, later: TTL + 1},
		"an answer to another body":           {before: given, body: "b", want: known{refused: 422}},
		"it went out":                         {before: asked, want: known{as: "op", sent: "nantes"}},
		"it went out, with another body":      {before: asked, body: "b"},
		"it went out, and another agent asks": {before: asked, via: []engine.SiteID{"lyon"}},
		"nobody knows what came of it":        {before: asked, open: func(id engine.OperationID) bool { return id == "op" }, want: known{refused: 504}},
	} {
		t.Run(name, func(t *testing.T) {
			keys, d := newKeys()
			for _, a := range c.before(keys, KeeperOf(request("a"), "x", nil)) {
				d.answers[a.Key] = a
			}
			d.now = d.now.Add(c.later)
			if c.open == nil {
				c.open = settled
			}
			if c.body == "" {
				c.body = "a"
			}
			r := request(c.body)
			r.Via = c.via
			was, err := keys.Known(t.Context(), r, KeeperOf(r, "x", nil), c.open)
			got := known{as: was.As, sent: was.Sent}
			if was.Answer != nil {
				got.answered = was.Answer.Status
			}
			if refusal := (*engine.Refusal)(nil); errors.As(err, &refusal) {
				got.refused = refusal.Status
			} else if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("known is %+v, want %+v", got, c.want)
			}
		})
	}
}

func given(k *Keys, keep Keeper) []engine.KeyedAnswer {
	return k.Given(keep, boxes, engine.Answer{Status: 201, Operation: "op"})
}

func asked(k *Keys, keep Keeper) []engine.KeyedAnswer { return k.Asked(keep, boxes, "op", "nantes") }

func TestOneAtATime(t *testing.T) {
	keys, d := newKeys()
	key := Operation("op")
	if !keys.Start(key) || keys.Start(key) {
		t.Error("it runs twice")
	}
	if keys.End(key); !keys.Start(key) {
		t.Error("it runs for ever")
	}
	d.full = true // what was given cannot be taken back
	keys.Keep(t.Context(), KeeperOf(request("a"), "x", nil), boxes, engine.Answer{Status: 201})
	if len(d.answers) != 0 {
		t.Error("it is remembered")
	}
}
