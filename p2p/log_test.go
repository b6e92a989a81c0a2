package p2p

import (
	"log/slog"
	"testing"
)

// testLog writes to the test's own log, shown when it fails.
func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
