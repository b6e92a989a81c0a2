package agent

import (
	"io"
	"log/slog"
	"runtime"
	"testing"
)

func TestOnlyTheOwnUserComesInByDefault(t *testing.T) {
	for _, tt := range []struct {
		api  API
		want bool
	}{
		{API{}, runtime.GOOS == "linux"},
		{API{Loopback: "user"}, true},
		{API{Loopback: "open"}, false},
		{API{Accounts: "accounts"}, false},
	} {
		if got := onlyOwn(tt.api, slog.New(slog.NewTextHandler(io.Discard, nil))); got != tt.want {
			t.Errorf("%+v: only its own user comes in: %v", tt.api, got)
		}
	}
}
