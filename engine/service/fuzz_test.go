package service

import (
	"net/http"
	"testing"

	"github.com/skerry/skerry/engine"
)

// FuzzRetryAfter reads what an application may answer: however wrong that is, it rests a bounded time.
func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "0", "120", "-1", "4294967295", "18446744073709551616", "Tue, 14 Jul 2026 12:01:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, after string) {
		r := engine.Reply{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {after}}}
		if a := Hear(r, nil, true, "", start); a.Health != Fails || a.Rest < 0 || a.Rest > maxRest {
			t.Errorf("%q: %+v", after, a)
		}
	})
}
