package p2p

import (
	"io"
	"log/slog"
	"sync"
	"testing"
)

// testLog writes to the test's own log, shown when it fails. What libraries say after the end of the test is dropped.
func testLog(t testing.TB) *slog.Logger {
	w := &untilEnd{w: t.Output()}
	t.Cleanup(w.end)
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type untilEnd struct {
	mu sync.Mutex
	w  io.Writer // nil after the end
}

func (u *untilEnd) Write(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.w == nil {
		return len(b), nil
	}
	return u.w.Write(b)
}

func (u *untilEnd) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.w = nil
}
