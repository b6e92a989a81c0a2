package env

import (
	"strings"
	"testing"
	"time"
)

// New opens an environment for one test and closes it at the end of the test. When the test fails, everything about it
// is logged.
func New(t testing.TB, setup Setup) *Env {
	t.Helper()
	e, err := Open(t.Context(), t.TempDir(), setup)
	t.Cleanup(func() {
		if t.Failed() {
			e.log(t)
		}
		if err := e.Close(); err != nil {
			t.Errorf("at the end: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *Env) log(t testing.TB) {
	var b strings.Builder
	e.Describe(&b)
	t.Log(b.String())
}

// Eventually waits until ok returns nil, and ends the test with what it returned last when that takes too long.
func (e *Env) Eventually(t testing.TB, within time.Duration, what string, ok func() error) {
	t.Helper()
	begin := time.Now()
	for {
		err := ok()
		if err == nil {
			return
		}
		if time.Since(begin) > within {
			t.Fatalf("%s: not within %s: %v", what, within, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Cut cuts the site off from the others.
func (s *Site) Cut(t testing.TB) {
	t.Helper()
	must(t, s.host.Cut())
}

// Heal ends Cut.
func (s *Site) Heal(t testing.TB) {
	t.Helper()
	must(t, s.host.Heal())
}

// Move gives the site another address. The agent is not running.
func (s *Site) Move(t testing.TB, address string) {
	t.Helper()
	must(t, s.host.Move(address))
	s.config.Mesh = listening(address)
}

// Kill ends the agent with SIGKILL.
func (s *Site) Kill(t testing.TB) {
	t.Helper()
	must(t, s.agent.Kill())
}

// Stop ends the agent as an operator does, and waits. It has to end with status 0.
func (s *Site) Stop(t testing.TB) {
	t.Helper()
	must(t, s.agent.Stop(stopping))
}

// Start starts the agent again and waits until it is ready.
func (s *Site) Start(t testing.TB) {
	t.Helper()
	must(t, s.Up(t.Context()))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
