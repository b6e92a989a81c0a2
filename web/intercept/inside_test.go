package intercept

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

var (
	containerKind = &engine.Kind{Service: "cluster", Name: "namespace", Collection: "/namespaces", Item: "/namespaces/{id}",
		ID: engine.IDRule{From: engine.IDFromPath, At: "/id"}}
	thingKind = &engine.Kind{Service: "cluster", Name: "pod", Collection: "/namespaces/{namespace}/pods", Item: "/namespaces/{namespace}/pods/{id}",
		Within: "namespace", ID: engine.IDRule{From: engine.IDFromBody, At: "/id", Settable: true}}
)

// namespaced is a site at which a namespace becomes one that is spread over sites.
type namespaced struct {
	alone
	making, known atomic.Bool
	looked        atomic.Int32 // how often its contents were to be looked into
}

func (n *namespaced) Lookup(_ context.Context, k *engine.Kind, _ string) (engine.ResourceRow, error) {
	if k != containerKind || !n.known.Load() {
		return engine.ResourceRow{}, engine.ErrNotFound
	}
	return engine.ResourceRow{Document: "foo", Collaboration: engine.Cross, Sites: map[engine.SiteID]engine.ReplicaStatus{paris: {Part: 1}}}, nil
}

func (n *namespaced) ContainerSettled(context.Context, *engine.Kind, string) error {
	if n.making.Load() {
		return &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream"}
	}
	return nil
}

func (n *namespaced) ContentsChanged(engine.DocumentID) { n.looked.Add(1) }

// TestAContainerBecomesKnownMeanwhile has a request pass for something in a container that was not known to be spread over sites when it
// came, and is when it is answered. While the container itself is being made, nothing can be made in it.
func TestAContainerBecomesKnownMeanwhile(t *testing.T) {
	site := &namespaced{}
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site.known.Store(strings.HasPrefix(r.URL.Path, "/namespaces/foo/"))
		w.WriteHeader(http.StatusCreated)
	}))
	defer application.Close()
	upstream, _ := url.Parse(application.URL)
	client, err := glue.NewClient(glue.ClientConfig{Upstreams: []glue.Upstream{{Service: "cluster", URL: upstream, Kinds: []*engine.Kind{containerKind, thingKind}}}})
	if err != nil {
		t.Fatal(err)
	}
	client.Use(site)
	defer client.CloseIdle()
	h := New(Config{Service: "cluster", Client: client, Site: site, Membership: site, Log: slog.New(slog.DiscardHandler)})
	for _, c := range []struct {
		method, path   string
		making         bool
		status, looked int
	}{
		{"POST", "/namespaces/bar/pods", false, 201, 0},
		{"POST", "/namespaces/foo/pods", true, 502, 0},
		{"DELETE", "/namespaces/foo/pods/blue", true, 201, 1},
		{"POST", "/namespaces/foo/pods", false, 201, 1},
		{"GET", "/namespaces/foo/pods", false, 201, 0},
	} {
		site.known.Store(false)
		site.making.Store(c.making)
		site.looked.Store(0)
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(`{"id":"blue"}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || int(site.looked.Load()) != c.looked {
			t.Errorf("%s %s: %d, looked into %d times; want %d and %d", c.method, c.path, w.Code, site.looked.Load(), c.status, c.looked)
		}
	}
}
