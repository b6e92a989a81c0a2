package auth

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// shelves is a store in memory, of keys alone.
type shelves map[string][]byte

func (s shelves) PutRecord(_ context.Context, _, key string, value []byte) error {
	s[key] = bytes.Clone(value)
	return nil
}

func (s shelves) DropRecord(_ context.Context, _, key string) error {
	delete(s, key)
	return nil
}

func (s shelves) Record(_ context.Context, _, key string) ([]byte, error) {
	if b, ok := s[key]; ok {
		return b, nil
	}
	return nil, engine.ErrNotFound
}

func (s shelves) Records(_ context.Context, _, _, _ string, _ int, _ bool, take func(string, []byte) error) error {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if err := take(key, s[key]); err != nil {
			return err
		}
	}
	return nil
}

// room is the guard of a site where nobody logs in.
type room struct {
	*Guard
	now time.Time
}

func newRoom(t *testing.T) *room {
	t.Helper()
	g := &room{now: time.Unix(1_000_000, 0)}
	var err error
	g.Guard, err = New(Config{Store: shelves{}, Secret: []byte("s"), Now: func() time.Time { return g.now }})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// enter lets a browser in by a link, a second after what was before, and returns its cookie.
func (g *room) enter(t *testing.T) *http.Cookie {
	t.Helper()
	g.now = g.now.Add(time.Second)
	secret, _, err := g.Link()
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Open(t.Context(), secret, "127.0.0.1:8700")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Whoever may log in fills no room of others, and keeps nobody from getting in: of more sessions than one account may have the oldest ends, and more
// tokens are refused to that account alone.
func TestNobodyFillsTheRoomOfKeys(t *testing.T) {
	g, ctx := newRoom(t), t.Context()
	first, second := g.enter(t), g.enter(t)
	for range maxOwn - 1 {
		g.enter(t)
	}
	if _, err := g.find(ctx, first.Value, BySession); !errors.Is(err, errKey) {
		t.Errorf("the oldest session has not ended: %v", err)
	}
	if _, err := g.find(ctx, second.Value, BySession); err != nil {
		t.Errorf("a session that is not too many has ended: %v", err)
	}
	by := func(name string) error {
		_, _, err := g.NewToken(ctx, Principal{Account: name, Role: Viewer, By: BySession}, "t", Viewer, time.Hour)
		return err
	}
	for i := range maxOwn {
		if err := by("viewer"); err != nil {
			t.Fatalf("token %d: %v", i, err)
		}
	}
	var refused *engine.Refusal
	if err := by("viewer"); !errors.As(err, &refused) || refused.Type != "too-many-keys" {
		t.Errorf("one token too many: %v", err)
	}
	if err := by("operator"); err != nil {
		t.Errorf("another account: %v", err)
	}
}

// A browser that was let in by a link is told from what else is on the machine, where that may do everything as well.
func TestABrowserIsToldFromTheMachine(t *testing.T) {
	g := newRoom(t)
	ask := func(c *http.Cookie) Principal {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8700/", nil)
		if c != nil {
			r.AddCookie(c)
		}
		p, err := g.Identify(r)
		if err != nil || p.Role != Admin || p.By != ByLoopback {
			t.Fatalf("%+v, %v", p, err)
		}
		return p
	}
	one, other := ask(g.enter(t)), ask(g.enter(t))
	if nobody := ask(nil); nobody.Key != "" || one.Key == "" || one.Key == other.Key {
		t.Errorf("browsers are %q and %q, and who shows nothing %q", one.Key, other.Key, nobody.Key)
	}
	if wrong := ask(&http.Cookie{Name: localName("127.0.0.1:8700"), Value: "x"}); wrong.Key != "" {
		t.Errorf("a wrong cookie is %q", wrong.Key)
	}
}
