package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// breaking has a store fail as a full or broken disk does, from when it is told.
type breaking struct {
	nothing
	broken atomic.Bool
}

func (b *breaking) Store(s engine.Store, _ engine.SiteID) engine.Store { return &brokenStore{s, b} }

type brokenStore struct {
	engine.Store
	b *breaking
}

// Commit implements engine.Store.
func (s *brokenStore) Commit(ctx context.Context, batch *engine.Batch) error {
	if s.b.broken.Load() {
		return fmt.Errorf("%w: the disk is full", engine.ErrStorage)
	}
	return s.Store.Commit(ctx, batch)
}

// While the store takes nothing, what concerns nothing replicated passes, without a scope and with the site's own, and what cannot be done is
// said.
func TestABrokenStoreStopsNobodyWhoDoesNotNeedIt(t *testing.T) {
	application := &shelf{things: map[string]map[string]any{}}
	upstream := httptest.NewServer(application)
	defer upstream.Close()
	folder := t.TempDir()
	put(t, folder, map[string]string{"app.yaml": things, "token": "agent", "skerry.yaml": fmt.Sprintf(`
site: paris
data_dir: ./data
application: ./app.yaml
api: {listen: "127.0.0.1:0"}
mesh: {listen: [/ip4/127.0.0.1/tcp/0]}
services: {shelf: {listen: "127.0.0.1:0", upstream: %q, credentials: {token_file: token}}}
`, upstream.URL)})
	cfg, err := Load(filepath.Join(folder, "skerry.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b := &breaking{}
	ctx, stop := context.WithCancel(t.Context())
	a, err := newAgent(ctx, cfg, "test", slog.New(slog.DiscardHandler), b, Life{})
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- a.Run(ctx) }()
	defer func() {
		b.broken.Store(false)
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}()
	address := "http://" + a.listeners["shelf"].Addr().String()
	ask := func(method, path, body, scope string) (int, string) {
		t.Helper()
		r, _ := http.NewRequest(method, address+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if scope != "" {
			r.Header.Set("Scope", scope)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	invitation, secret, err := a.core.Mesh.Invite(t.Context(), time.Hour, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	startIn(t, t.TempDir(), "nantes", &shelf{things: map[string]map[string]any{}}, fmt.Sprintf(", join: %q", a.token(invitation, secret)), "")
	b.broken.Store(true)
	for _, c := range []struct {
		method, path, scope string
		status              int
	}{
		{"GET", "/about", "", 200}, {"POST", "/things", "", 201}, {"GET", "/things", "", 200}, {"POST", "/things", "paris", 201}, {"GET", "/things", "paris", 200},
	} {
		if status, text := ask(c.method, c.path, `{"name":"a"}`, c.scope); status != c.status {
			t.Errorf("%s %s with the scope %q: %d %s", c.method, c.path, c.scope, status, text)
		}
	}
	before := application.number()
	if status, text := ask("POST", "/things", `{"name":"a"}`, "paris & nantes"); status < 500 || !strings.Contains(text, "/problems/storage") || application.number() != before {
		t.Errorf("a replicated create: %d %s", status, text)
	}
	b.broken.Store(false)
	if status, text := ask("POST", "/things", `{"name":"a"}`, "paris & nantes"); status != http.StatusCreated {
		t.Errorf("a replicated create once the store is whole: %d %s", status, text)
	}
}
