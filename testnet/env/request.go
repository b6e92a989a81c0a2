package env

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Answer is the whole answer to one request.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	Took   time.Duration
}

// Request sends a request like "POST /images" through the site's agent to one of its services. header are pairs of
// name and value; a body is JSON unless they say otherwise.
func (s *Site) Request(ctx context.Context, service, request, body string, header ...string) (Answer, error) {
	return s.send(ctx, "http://"+s.env.setup.Application.listener(service), request, body, header)
}

// RequestApplication sends a request to the application itself, past the agent.
func (s *Site) RequestApplication(ctx context.Context, service, request, body string, header ...string) (Answer, error) {
	return s.send(ctx, s.env.setup.Application.upstream(service), request, body, header)
}

func (s *Site) send(ctx context.Context, base, request, body string, header []string) (Answer, error) {
	method, path, _ := strings.Cut(request, " ")
	r, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	begin := time.Now()
	resp, err := s.http.Do(r)
	if err != nil {
		return Answer{Took: time.Since(begin)}, fmt.Errorf("%s at %s: %w", request, s.Name(), err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		err = fmt.Errorf("%s at %s: %w", request, s.Name(), err)
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(b), Took: time.Since(begin)}, err
}

// Do is Request for tests.
func (s *Site) Do(t testing.TB, service, request, body string, header ...string) Answer {
	t.Helper()
	a, err := s.Request(t.Context(), service, request, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Application is RequestApplication for tests.
func (s *Site) Application(t testing.TB, service, request, body string, header ...string) Answer {
	t.Helper()
	a, err := s.RequestApplication(t.Context(), service, request, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// API asks the agent itself: its REST API, its pages, its metrics.
func (s *Site) API(t testing.TB, request, body string, header ...string) Answer {
	t.Helper()
	a, err := s.send(t.Context(), "http://"+s.config.API, request, body, header)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Must ends the test unless the answer has the status.
func (a Answer) Must(t testing.TB, status int) Answer {
	t.Helper()
	if a.Status != status {
		t.Fatalf("got %d, want %d: %s", a.Status, status, a.Body)
	}
	return a
}

// Want marks the test as failed, and lets it go on, unless the answer has the status.
func (a Answer) Want(t testing.TB, status int) Answer {
	t.Helper()
	if a.Status != status {
		t.Errorf("got %d, want %d: %s", a.Status, status, a.Body)
	}
	return a
}

// Fields decodes the body as a JSON object; nil when it is none.
func (a Answer) Fields() map[string]any {
	var m map[string]any
	_ = json.Unmarshal([]byte(a.Body), &m) // nil tells
	return m
}

// Text returns a field that is a string, empty when it is none.
func (a Answer) Text(field string) string {
	s, _ := a.Fields()[field].(string)
	return s
}
