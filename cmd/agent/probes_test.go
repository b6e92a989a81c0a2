package agent

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// TestProbesAreAnsweredOnAListenerOfTheirOwn: whether the agent works and its metrics are told there to whoever asks, and nothing else is.
func TestProbesAreAnsweredOnAListenerOfTheirOwn(t *testing.T) {
	cfg, _, err := loadText(t, `
site: paris
data_dir: ./paris
application: ./app.yaml
api: {listen: "127.0.0.1:0", probes: "127.0.0.1:0"}
mesh: {listen: [/ip4/127.0.0.1/tcp/0]}
services: {a: {listen: "127.0.0.1:0", upstream: "http://127.0.0.1:9"}}
`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	a, err := New(ctx, cfg, "test", slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + a.probes.Addr().String()
	ran := make(chan error, 1)
	go func() { ran <- a.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(method, path string) (int, string) {
		r, err := http.NewRequest(method, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if status, text := ask("GET", "/healthz"); status != 200 || text != "alive\n" {
		t.Errorf("health: %d %q", status, text)
	}
	within(t, "it is ready", func() bool { status, _ := ask("GET", "/readyz"); return status == 200 })
	if status, text := ask("GET", "/metrics"); status != 200 || !strings.Contains(text, `skerry_info{application="a",`) {
		t.Errorf("metrics: %d %q", status, text)
	}
	for _, request := range []string{"POST /healthz", "GET /", "GET /api/v1/sites", "GET /openapi.yaml", "POST /api/v1/invitations", "GET /login"} {
		method, path, _ := strings.Cut(request, " ")
		if status, _ := ask(method, path); status != 404 && status != 405 {
			t.Errorf("%s is answered with %d", request, status)
		}
	}
	a.ready.set(io.ErrUnexpectedEOF)
	if status, _ := ask("GET", "/readyz"); status != 503 {
		t.Errorf("not ready: %d", status)
	}
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}
