package plan

import (
	"net/http"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// FuzzHear reads what another site's agent, or an application, answers. Only who says so in a problem of an agent's form speaks as an agent.
func FuzzHear(f *testing.F) {
	f.Add(503, "application/problem+json", `{"type":"/problems/no-replica"}`)
	f.Add(404, "application/json", `{"type":"/problems/gone"}`)
	f.Add(200, "", `{"type":[]`)
	f.Fuzz(func(t *testing.T, status int, media, body string) {
		a := engine.Answer{Status: status, Header: http.Header{"Content-Type": {media}}, Body: []byte(body)}
		Hear(a, nil)
		Untouched(a, nil)
		if _, kind := Says(a, nil); kind != "" && !strings.HasPrefix(media, "application/problem+json") {
			t.Errorf("%s %q says %q", media, body, kind)
		}
	})
}
