package main

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skerry/skerry/web/client"
)

// screen collects output while it is written.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// patience bounds what would never come; a loaded machine may be slow.
const patience = 2 * time.Minute

// wait waits until the output holds text.
func (s *screen) wait(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(s.String(), text); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %q in the output:\n%s", text, s)
		}
	}
}

// watching runs a command until the test ends and returns its output.
func watching(t *testing.T, a *fakeAgent, json bool, command interface {
	Run(context.Context, *program) error
}) (out, errs *screen) {
	t.Helper()
	api, err := client.New(a.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, errs = &screen{}, &screen{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- command.Run(ctx, &program{api: api, out: out, errs: errs, json: json, now: clock, retry: time.Millisecond})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("after the interruption: %v", err)
		}
		a.Close()
	})
	return out, errs
}

func TestWatchEvents(t *testing.T) {
	a := startFake()
	out, _ := watching(t, a, false, &eventsList{paging: paging{Watch: true}, After: "2"})
	out.wait(t, "operation.applied")
	if got := out.String(); !strings.HasPrefix(got, "EVENT   TIME") || strings.Contains(got, "operation.accepted") {
		t.Errorf("want a head and the third event:\n%s", got)
	}
	a.addEvent(map[string]any{"type": "site.down", "subject": "nantes"}, noon)
	out.wait(t, "site.down")
}

func TestWatchEventsAsJSONThroughABreak(t *testing.T) {
	a := startFake()
	out, errs := watching(t, a, true, &eventsList{paging: paging{Watch: true}, After: "0"})
	out.wait(t, `"id":"3"`)
	a.mu.Lock()
	close(a.cut)
	a.cut = make(chan struct{})
	a.mu.Unlock()
	errs.wait(t, "lost the agent at "+a.URL)
	a.addEvent(map[string]any{"type": "site.down", "subject": "nantes"}, noon)
	out.wait(t, `"id":"4"`)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || !strings.Contains(lines[3], `"type":"site.down"`) {
		t.Errorf("events came twice or not at all:\n%s", out)
	}
}

func TestWatchResources(t *testing.T) {
	a := startFake()
	out, _ := watching(t, a, false, &resourcesList{paging: paging{Limit: 10, Watch: true}})
	out.wait(t, debian)
	change := func(f func()) {
		a.mu.Lock()
		f()
		a.mu.Unlock()
		a.addEvent(map[string]any{"type": "resource.changed"}, noon)
	}
	change(func() { a.resources[0]["state"], a.resources[0]["reason"] = "conflict", "two creates" })
	out.wait(t, "conflict")
	change(func() { a.resources[1]["state"] = "deleted" }) // it leaves the list
	out.wait(t, "deleted")
	var got []string
	for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		f := strings.Fields(l)
		got = append(got, f[0]+" "+f[3])
	}
	want := []string{"RESOURCE STATE", alpine + " converging", debian + " converged", alpine + " conflict", debian + " deleted"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWatchSitesIgnoresRoundTrips(t *testing.T) {
	a := startFake()
	out, _ := watching(t, a, true, &sitesList{paging: paging{Limit: 10, Watch: true}})
	out.wait(t, "lyon")
	a.mu.Lock()
	a.sites[2]["rtt_ms"], a.sites[2]["last_seen"] = 99.5, before(0)
	a.sites[1]["reachable"] = true
	a.mu.Unlock()
	a.addEvent(map[string]any{"type": "site.up", "subject": "lyon"}, noon)
	for deadline := time.Now().Add(patience); strings.Count(out.String(), "\n") < 4; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("lyon's return is not told:\n%s", out)
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || !strings.Contains(lines[3], `"lyon"`) {
		t.Errorf("want three sites, then lyon:\n%s", out)
	}
}
