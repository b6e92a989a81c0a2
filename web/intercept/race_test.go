package intercept

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
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
	client, err := glue.NewClient(glue.ClientConfig{Upstreams: []glue.Upstream{{Service: "images", URL: &url.URL{Scheme: "http", Host: "nowhere"}, Kinds: []*engine.Kind{imageKind}}}})
	if err != nil {
		t.Fatal(err)
	}
	client.Use(c)
	c.handler = New(Config{
		Service: "images", Client: client, Site: c, Membership: c, Network: c, Peer: c,
		Application: "lab", Services: []engine.ServiceName{"images"}, Log: slog.New(slog.DiscardHandler),
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
	if r.Header.Get(headerPlacement) != string(site) {
		c.mesh.t.Errorf("%s was asked for %s", site, r.Header.Get(headerPlacement))
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

// A site that was cut off a moment ago still counts as reachable. Nobody waits for it.
func TestReadsDoNotWaitForASilentSite(t *testing.T) {
	for _, method := range []string{"GET", "HEAD"} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, "a", "b", "c")
			c.answers["a"], c.answers["b"] = silent, silent
			a, took := c.do(method, item, "a & b & c")
			a.want(t, 200, "Skerry-Site: c")
			if took != 2*hedgeAfter {
				t.Errorf("it took %v", took)
			}
			c.wasAsked("a 0s", "b 300ms", "c 600ms")
			if !slices.Equal(slices.Sorted(slices.Values(c.gone)), []engine.SiteID{"a", "b"}) {
				t.Errorf("given up were %v", c.gone)
			}
		})
	}
}

func TestTheFirstAnswerWins(t *testing.T) {
	for _, x := range []struct {
		name   string
		a, b   time.Duration
		winner string
		asked  []string
	}{
		{"at once", 0, 0, "a", []string{"a 0s"}},
		{"just in time", hedgeAfter - 1, 0, "a", []string{"a 0s"}},
		{"slow, the other is slower", 400 * time.Millisecond, time.Second, "a", []string{"a 0s", "b 300ms"}},
		{"slow, the other is not", 400 * time.Millisecond, 50 * time.Millisecond, "b", []string{"a 0s", "b 300ms"}},
		{"both slow, the other less", time.Minute, 5 * time.Second, "b", []string{"a 0s", "b 300ms"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, "a", "b")
				c.answers["a"], c.answers["b"] = c.says(x.a, "a"), c.says(x.b, "b")
				a, took := c.do("GET", item, "a & b")
				a.want(t, 200, "Skerry-Site: "+x.winner)
				if a.body != `[{"id":"`+x.winner+`"}]` {
					t.Errorf("the answer is %s", a.body)
				}
				if want := min(x.a, hedgeAfter+x.b); took != want {
					t.Errorf("it took %v, want %v", took, want)
				}
				c.wasAsked(x.asked...)
			})
		})
	}
}

// The others are given up when an answer begins, not when it has ended; what they say after all goes nowhere.
func TestLateAnswerIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, "a", "b")
		late := make(chan struct{})
		c.answers["a"] = func(ctx context.Context) (*http.Response, error) {
			<-ctx.Done()
			close(late)
			return c.response(200, "text/plain", "late"), nil
		}
		c.answers["b"] = func(context.Context) (*http.Response, error) {
			body, w := io.Pipe()
			go func() {
				<-late
				_, _ = io.WriteString(w, "in time")
				_ = w.Close()
			}()
			return &http.Response{StatusCode: 200, ContentLength: -1, Header: http.Header{}, Body: body}, nil
		}
		a, _ := c.do("GET", item, "a & b")
		if a.want(t, 200, "Skerry-Site: b"); a.body != "in time" {
			t.Errorf("the answer is %q", a.body)
		}
	})
}

// A slow application is not asked at every site of a scope.
func TestFewSitesAreAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, "a", "b", "c", "d", "e", "f")
		for id := range c.answers {
			c.answers[id] = c.says(20*time.Second, id)
		}
		a, _ := c.do("GET", item, fourSites+" & e & f")
		a.want(t, 200, "Skerry-Site: a")
		c.wasAsked("a 0s", "b 300ms", "c 600ms", "d 900ms")
	})
}

// What opens or carries something, or may not be harmless, is asked of the nearest site alone, as long as that is
// silent.
func TestOnlyPlainReadsAreHedged(t *testing.T) {
	for name, x := range map[string]struct {
		method, path string
		change       func(*http.Request)
	}{
		"a body":        {"GET", item, func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("q")), 1 }},
		"an upgrade":    {"GET", item, func(r *http.Request) { r.Header.Set("Connection", "Upgrade"); r.Header.Set("Upgrade", "x") }},
		"other methods": {"OPTIONS", "/elsewhere", func(*http.Request) {}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, "a", "b")
				c.answers["a"] = c.says(2*time.Second, "a")
				a, _ := c.do(x.method, x.path, "a & b", x.change)
				a.want(t, 200, "Skerry-Site: a")
				c.wasAsked("a 0s")
			})
		})
	}
}

func TestFailuresMoveOnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, "a", "b", "c", "d")
		c.answers["a"], c.answers["b"] = unreachable, broken
		c.answers["c"] = func(context.Context) (*http.Response, error) {
			return c.response(502, "application/problem+json", "{}"), nil
		}
		a, took := c.do("GET", item, fourSites)
		if a.want(t, 200, "Skerry-Site: d"); took != 0 {
			t.Errorf("it took %v", took)
		}
		// What all say is said by whoever can tell most.
		c.answers["d"] = broken
		a, _ = c.do("GET", item, fourSites)
		a.want(t, 502, "Content-Type: application/problem+json", "Skerry-Site: c")
		c.answers["c"] = unreachable
		a, _ = c.do("GET", item, fourSites)
		if a.problem(t, 502, "upstream"); !strings.Contains(a.body, "the connection to b broke") {
			t.Errorf("the answer is %s", a.body)
		}
		c.answers["b"], c.answers["d"] = unreachable, unreachable
		a, _ = c.do("GET", item, fourSites)
		a.problem(t, 503, "unreachable")
		// What the application says is an answer.
		c.answers["b"] = func(context.Context) (*http.Response, error) { return c.response(503, "text/plain", "busy"), nil }
		a, _ = c.do("GET", item, fourSites)
		a.want(t, 503, "Skerry-Site: b", "Content-Type: text/plain")
	})
}

// While one site is silent, the failure of another does not end the wait for it.
func TestSlowSiteOutlivesABrokenOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, "a", "b")
		c.answers["a"], c.answers["b"] = c.says(2*time.Second, "a"), broken
		a, took := c.do("GET", item, "a & b")
		if a.want(t, 200, "Skerry-Site: a"); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// The only site of a scope is asked once more when the connection breaks, for what changes nothing.
func TestTheOnlySiteIsAskedAgain(t *testing.T) {
	once := func(then func(context.Context) (*http.Response, error)) func(context.Context) (*http.Response, error) {
		first := true
		return func(ctx context.Context) (*http.Response, error) {
			if first {
				first = false
				return broken(ctx)
			}
			return then(ctx)
		}
	}
	twice := []string{"a 0s", "a 50ms"}
	for name, x := range map[string]struct {
		method, path string
		answers      func(context.Context) (*http.Response, error)
		status       int
		typ          string
		asked        []string // nil: as long as there is patience
	}{
		"it is back":              {"GET", item, nil, 200, "", twice},
		"it breaks again":         {"GET", item, broken, 502, "upstream", twice},
		"it is gone":              {"GET", item, once(unreachable), 502, "upstream", nil},
		"no stream can be opened": {"HEAD", item, unreachable, 503, "", nil},
		"a list":                  {"GET", "/images", nil, 200, "", twice},
		"what changes something":  {"POST", "/elsewhere", broken, 502, "upstream", twice[:1]},
		"what deletes":            {"DELETE", "/elsewhere/x", broken, 502, "upstream", twice[:1]},
		"what has a body, unread": {"REPORT", "/elsewhere", broken, 502, "upstream", twice[:1]},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, "a", "b")
				c.answers["a"] = x.answers
				if x.answers == nil {
					c.answers["a"] = once(c.says(0, "a"))
				}
				a, took := c.do(x.method, x.path, "a", func(r *http.Request) {
					if x.method == "REPORT" {
						r.Body, r.ContentLength = io.NopCloser(strings.NewReader("q")), 1
					}
				})
				if a.want(t, x.status); x.typ != "" {
					a.problem(t, x.status, x.typ)
				}
				if x.asked == nil {
					if took != patience {
						t.Errorf("it took %v", took)
					}
					return
				}
				c.wasAsked(x.asked...)
			})
		})
	}
}

// A site that was lost moments ago is given the time to come back, one that is gone for longer is not.
func TestReadsWaitForASiteThatComesBack(t *testing.T) {
	for name, x := range map[string]struct {
		method     string
		seen, back time.Duration // before and after now
		status     int
		took       time.Duration
	}{
		"it does":             {"GET", time.Second, 90 * time.Millisecond, 200, 100 * time.Millisecond},
		"it does not":         {"GET", time.Second, time.Hour, 503, patience},
		"it is gone for long": {"GET", moments, 90 * time.Millisecond, 503, 0},
		"a write":             {"POST", time.Second, 90 * time.Millisecond, 503, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, "a", "b")
				c.seen = time.Now().Add(-x.seen)
				c.back["a"], c.back["b"] = time.Now().Add(time.Hour), time.Now().Add(x.back)
				path := "/elsewhere"
				scope := "a & b"
				if x.method == "POST" {
					scope = "b"
				}
				a, took := c.do(x.method, path, scope)
				if a.want(t, x.status); took != x.took {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
	t.Run("its connection breaks", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, "a", "b")
			c.seen, c.back["b"] = time.Now(), time.Now().Add(time.Hour)
			c.answers["a"] = func(ctx context.Context) (*http.Response, error) {
				// The next stream cannot be opened, and that is how the network finds out.
				c.answers["a"] = func(ctx context.Context) (*http.Response, error) {
					c.answers["a"], c.back["a"] = c.says(0, "a"), time.Now().Add(300*time.Millisecond)
					return unreachable(ctx)
				}
				return broken(ctx)
			}
			a, _ := c.do("GET", item, "a & b")
			a.want(t, 200, "Skerry-Site: a")
			c.wasAsked("a 0s", "a 50ms", "a 350ms")
		})
	})
}

// A transport may take long to notice that a request was given up: closing a stream to a silent site does. Neither a
// read nor a list waits for that.
func TestGivingUpIsNotWaitedFor(t *testing.T) {
	for path, within := range map[string]time.Duration{item: hedgeAfter, "/images": time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, "a", "b")
			c.answers["a"] = func(ctx context.Context) (*http.Response, error) {
				<-ctx.Done()
				time.Sleep(3 * time.Second)
				return c.response(200, "text/plain", "late"), nil
			}
			a, took := c.do("GET", path, "a & b")
			if a.want(t, 200, "Skerry-Site: b"); took > within {
				t.Errorf("%s took %v", path, took)
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if c.open != 0 {
				t.Errorf("%s: the late answer was left open", path)
			}
		})
	}
}

// Early hints of a site that may yet lose are not passed on.
func TestInformationOfLosersIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, "a", "b")
		c.answers["a"] = func(ctx context.Context) (*http.Response, error) {
			if trace := httptrace.ContextClientTrace(ctx); trace != nil {
				_ = trace.Got1xxResponse(http.StatusEarlyHints, nil)
			}
			return silent(ctx)
		}
		a, _ := c.do("GET", item, "a & b")
		a.want(t, 200, "Skerry-Site: b") // begun once: do counts
	})
}

// When the client goes, no site goes on working for it.
func TestClientGoesDuringARace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, "a", "b", "c")
		for id := range c.answers {
			c.answers[id] = silent
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, errors.New("the client has gone"))
		defer cancel()
		_, took := c.do("GET", item, "a & b & c", func(r *http.Request) { *r = *r.WithContext(ctx) })
		if took != 500*time.Millisecond || len(c.gone) != 2 {
			t.Errorf("after %v given up were %v", took, c.gone)
		}
		c.wasAsked("a 0s", "b 300ms")
	})
}

// A list names the silent site and does not wait for it much longer than the others took.
func TestListsDoNotWaitForASilentSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, "a", "b", "c")
		c.answers["a"], c.answers["b"], c.answers["c"] = silent, c.says(20*time.Millisecond, "b"), broken
		a, took := c.do("GET", "/images", "a & b & c")
		a.want(t, 200, "Skerry-Site: b", "Skerry-Missing: a, c")
		if a.body != `[{"id":"b"}]` || took > time.Second {
			t.Errorf("after %v: %s", took, a.body)
		}
	})
}
