package api

import (
	"net/http"
	"strings"
	"testing"
)

// FuzzRefusal reads what another site, or a listener of this one, refuses. A refusal has a status and a type, and what is none is no certain answer.
func FuzzRefusal(f *testing.F) {
	f.Add(409, "application/problem+json", `{"type":"/problems/paused","detail":"it is"}`)
	f.Add(503, "application/problem+json; charset=x", `{"type":"/problems/"}`)
	f.Add(200, "", `null`)
	f.Fuzz(func(t *testing.T, status int, media, body string) {
		r := refusalOf("nantes", &http.Response{StatusCode: status}, []byte(body))
		if r.Status == 0 && status != 0 || r.Type == "" || strings.HasPrefix(r.Type, "/") && !strings.Contains(body, "//") {
			t.Errorf("%d %q is the refusal %+v", status, body, r)
		}
		ownProblem(received{status: status, header: http.Header{"Content-Type": {media}}, body: []byte(body)})
	})
}
