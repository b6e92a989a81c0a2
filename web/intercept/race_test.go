package intercept

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/request"
)

// hedge is after what time another site is asked as well.
const hedge = 300 * time.Millisecond

// A site that was cut off a moment ago still counts as reachable. Nobody waits for it.
func TestReadsDoNotWaitForASilentSite(t *testing.T) {
	for _, method := range []string{"GET", "HEAD"} {
		bubble(t, func(t *testing.T) {
			c := newCrowd(t, "a", "b", "c")
			c.answers["a"], c.answers["b"] = silent, silent
			a, took := c.do(method, item, "a & b & c")
			a.want(t, 200, "Skerry-Site: c")
			if took != 2*hedge {
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
		{"just in time", hedge - 1, 0, "a", []string{"a 0s"}},
		{"slow, the other is slower", 400 * time.Millisecond, time.Second, "a", []string{"a 0s", "b 300ms"}},
		{"slow, the other is not", 400 * time.Millisecond, 50 * time.Millisecond, "b", []string{"a 0s", "b 300ms"}},
		{"both slow, the other less", time.Minute, 5 * time.Second, "b", []string{"a 0s", "b 300ms"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCrowd(t, "a", "b")
				c.answers["a"], c.answers["b"] = c.says(x.a, "a"), c.says(x.b, "b")
				a, took := c.do("GET", item, "a & b")
				a.want(t, 200, "Skerry-Site: "+x.winner)
				if a.body != `[{"id":"`+x.winner+`"}]` {
					t.Errorf("the answer is %s", a.body)
				}
				if want := min(x.a, hedge+x.b); took != want {
					t.Errorf("it took %v, want %v", took, want)
				}
				c.wasAsked(x.asked...)
			})
		})
	}
}

// The others are given up when an answer begins, not when it has ended; what they say after all goes nowhere.
func TestLateAnswerIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T) {
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
	bubble(t, func(t *testing.T) {
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
			bubble(t, func(t *testing.T) {
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
	bubble(t, func(t *testing.T) {
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
	bubble(t, func(t *testing.T) {
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
			bubble(t, func(t *testing.T) {
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
					if took != request.Patience {
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
		"it does not":         {"GET", time.Second, time.Hour, 503, request.Patience},
		"it is gone for long": {"GET", 5 * time.Second, 90 * time.Millisecond, 503, 0},
		"a write":             {"POST", time.Second, 90 * time.Millisecond, 503, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
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
		bubble(t, func(t *testing.T) {
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
	for path, within := range map[string]time.Duration{item: hedge, "/images": time.Second} {
		bubble(t, func(t *testing.T) {
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
	bubble(t, func(t *testing.T) {
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
	bubble(t, func(t *testing.T) {
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
	bubble(t, func(t *testing.T) {
		c := newCrowd(t, "a", "b", "c")
		c.answers["a"], c.answers["b"], c.answers["c"] = silent, c.says(20*time.Millisecond, "b"), broken
		a, took := c.do("GET", "/images", "a & b & c")
		a.want(t, 200, "Skerry-Site: b", "Skerry-Missing: a, c")
		if a.body != `[{"id":"b"}]` || took > time.Second {
			t.Errorf("after %v: %s", took, a.body)
		}
	})
}
