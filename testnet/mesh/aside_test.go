package mesh

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestInvariantAPanicStaysWithItsResource has a site panic in its work on one resource. The process goes on, with all other resources;
// that one is set aside and shown so, is not tried any more, also over a restart, and goes on when a person resumes it.
func TestInvariantAPanicStaysWithItsResource(t *testing.T) {
	m := open(t, natural, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	var log bytes.Buffer
	nantes.Log = slog.NewTextHandler(&log, nil)
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	must(t, 201)(submit(t.Context(), paris, natural, "PUT", "first", `{"n":0}`, m.Sites...))
	converge(t, m, m.Sites...)
	nantes.disk.breaks = "bad"
	must(t, 201)(submit(t.Context(), paris, natural, "PUT", "bad", `{"n":1}`, m.Sites...))
	after := must(t, 201)(submit(t.Context(), paris, natural, "PUT", "good", `{"n":2}`, m.Sites...))
	await(t, m, nantes, after.Operation, engine.StateApplied)
	m.rest(time.Minute)
	if got := log.String(); strings.Count(got, "broken on purpose") != 1 || !strings.Contains(got, "disk.go") {
		t.Errorf("the log does not tell, once, where it broke:\n%s", got)
	}
	m.Problems = slices.DeleteFunc(m.Problems, func(p string) bool { return strings.Contains(p, "broken on purpose") })
	nantes.disk.breaks = ""
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	m.rest(time.Minute)
	if got := shown(nantes); !slices.Equal(got, []string{`{"n":0}`, `{"n":2}`}) {
		t.Errorf("nantes shows %v", got)
	}
	for _, s := range m.Sites {
		if state, reason := stateOf(t, s, "bad"); state != engine.StateDegraded || !strings.Contains(reason, "broken on purpose") {
			t.Errorf("%s says that it is %s: %s", s.Name, state, reason)
		}
	}
	must(t, 200)(submit(t.Context(), nantes, natural, "PATCH", "bad", `{"n":3}`)) // paris has it
	if err := nantes.Resolve(t.Context(), conflictAt(t, m, nantes, engine.ConflictAside).ID, engine.ActionRetry, ""); err != nil {
		t.Fatal(err)
	}
	if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"n":0}`, `{"n":2}`, `{"n":3}`}) {
		t.Errorf("the sites show %v", got)
	}
	noConflict(t, m, m.Sites...)
}
