package intercept

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/peer"
)

// crowd is a site in a bubble of virtual time and others that answer as they are told to. Nothing of it is a socket.
type crowd struct {
	*siteUnderTest
	handler *Handler
	// answers are the others, in the order of their names the nearest first.
	answers map[engine.SiteID]func(context.Context) (*http.Response, error)
	// back is from when on a site can be reached; seen is when they all were seen last.
	back map[engine.SiteID]time.Time
	seen time.Time

	mu    sync.Mutex
	asked []string // "site after", in order
	open  int      // answers whose bodies nobody has closed
	gone  []engine.SiteID
	began time.Time
}

func newCrowd(t *testing.T, others ...engine.SiteID) *crowd {
	c := &crowd{
		siteUnderTest: &siteUnderTest{mesh: &mesh{t: t, sites: map[engine.SiteID]*siteUnderTest{}}, id: "self"},
		answers:       map[engine.SiteID]func(context.Context) (*http.Response, error){}, back: map[engine.SiteID]time.Time{}, began: time.Now(),
	}
	for _, id := range others {
		c.answers[id] = c.says(0, id)
	}
	client, err := glue.NewClient(glue.ClientConfig{Upstreams: []glue.Upstream{{Service: "images", URL: &url.URL{Scheme: "http", Host: "nowhere"}, Kinds: []*engine.Kind{imageKind}, Paths: []string{"/elsewhere*"}}}})
	if err != nil {
		t.Fatal(err)
	}
	client.Use(c)
	c.handler = New(Config{
		Service: "images", Client: client, Site: c, Membership: c, Network: c, Peer: c,
		Application: "lab", Services: []engine.ServiceName{"images"}, Accepts: anything, Log: slog.New(slog.DiscardHandler),
	})
	return c
}

func (c *crowd) Members() []engine.Member {
	m := []engine.Member{{ID: c.id, SiteRecord: engine.SiteRecord{Name: engine.SiteName(c.id)}}}
	for id := range c.answers {
		m = append(m, engine.Member{ID: id, SiteRecord: engine.SiteRecord{Name: engine.SiteName(id)}})
	}
	return m
}

func (c *crowd) Status() map[engine.SiteID]engine.SiteStatus {
	s := map[engine.SiteID]engine.SiteStatus{}
	for id := range c.answers {
		back := c.back[id]
		s[id] = engine.SiteStatus{Reachable: !back.After(time.Now()), RTT: time.Duration(id[0]) * time.Millisecond, LastSeen: c.seen}
	}
	return s
}

func (c *crowd) RoundTrip(r *http.Request) (*http.Response, error) {
	site := engine.SiteID(r.URL.Host)
	c.mu.Lock()
	c.asked = append(c.asked, fmt.Sprint(site, " ", time.Since(c.began)))
	answer := c.answers[site]
	c.mu.Unlock()
	if r.Header.Get(peer.HeaderPlacement) != string(site) {
		c.mesh.t.Errorf("%s was asked for %s", site, r.Header.Get(peer.HeaderPlacement))
	}
	resp, err := answer(r.Context())
	if err != nil && r.Context().Err() != nil {
		c.mu.Lock()
		c.gone = append(c.gone, site)
		c.mu.Unlock()
	}
	return resp, err
}

// says answers after a while, with the name of the site.
func (c *crowd) says(after time.Duration, id engine.SiteID) func(context.Context) (*http.Response, error) {
	return func(ctx context.Context) (*http.Response, error) {
		select {
		case <-time.After(after):
			return c.response(200, "application/json", `[{"id":"`+string(id)+`"}]`), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *crowd) response(status int, media, body string) *http.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	return &http.Response{
		StatusCode: status, ContentLength: int64(len(body)), Header: http.Header{"Content-Type": {media}},
		Body: &counted{Reader: strings.NewReader(body), c: c},
	}
}

// counted is the body of an answer.
type counted struct {
	io.Reader
	c    *crowd
	once sync.Once
}

func (b *counted) Close() error {
	b.once.Do(func() {
		b.c.mu.Lock()
		defer b.c.mu.Unlock()
		b.c.open--
	})
	return nil
}

// silent drops what it is sent, as a site that was just cut off.
func silent(ctx context.Context) (*http.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func unreachable(context.Context) (*http.Response, error) {
	return nil, fmt.Errorf("open stream: %w", engine.ErrUnreachable)
}

func broken(context.Context) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

// recorder counts how often an answer begins.
type recorder struct {
	*httptest.ResponseRecorder
	begun int
}

func (r *recorder) WriteHeader(status int) {
	r.begun++
	r.ResponseRecorder.WriteHeader(status)
}

// do sends a request through the site and returns the answer and how long it took.
func (c *crowd) do(method, path, scope string, change ...func(*http.Request)) (answer, time.Duration) {
	c.mesh.t.Helper()
	r := httptest.NewRequestWithContext(c.mesh.t.Context(), method, path, nil)
	r.Header.Set("Scope", scope)
	for _, f := range change {
		f(r)
	}
	w := &recorder{ResponseRecorder: httptest.NewRecorder()}
	c.asked, c.gone, c.began = nil, nil, time.Now()
	c.handler.ServeHTTP(w, r)
	took := time.Since(c.began)
	synctest.Wait() // for those that were given up
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.begun != 1 {
		c.mesh.t.Errorf("%d answers were begun", w.begun)
	}
	if c.open != 0 {
		c.mesh.t.Errorf("%d bodies were left open", c.open)
	}
	return answer{w.Code, w.Header(), w.Body.String()}, took
}

func (c *crowd) wasAsked(want ...string) {
	c.mesh.t.Helper()
	if !slices.Equal(c.asked, want) {
		c.mesh.t.Errorf("asked %q, want %q", c.asked, want)
	}
}

const item, fourSites = "/images/M", "a & b & c & d"
