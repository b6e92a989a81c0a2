package mesh

import (
	"errors"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestCloned starts two agents from one disk: both find out, through another site, and stop writing. When one of them has gone, the
// other goes on after a restart.
func TestCloned(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	id := string(must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"n":1}`, paris, nantes)).Resource)
	converge(t, m, paris, nantes)
	clone := &Site{mesh: m, App: nantes.App, disk: fullDisk{good: -1}}
	m.Sites = append(m.Sites, clone)
	nantes.Proc.Die()
	clone.Site = m.Twin(nantes.Site)
	for _, s := range []*Site{nantes, clone} {
		if err := s.begin(); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 { // the two meet at paris only
		for _, s := range []*Site{nantes, clone} {
			paris.pull(s)
			s.pull(paris)
			m.Pass(time.Second)
		}
	}
	for i, s := range []*Site{nantes, clone} {
		var refusal *engine.Refusal
		if _, err := submit(t.Context(), s, Image, "PATCH", id, `{"n":2}`); !errors.As(err, &refusal) || refusal.Type != "cloned" || refusal.Status != 503 {
			t.Errorf("agent %d goes on writing: %v", i, err)
		}
		if s.Proc.Site.Writable() == nil {
			t.Errorf("agent %d says that it may write", i)
		}
		if n := eventTypes(t, s)["site.cloned"]; n != 1 {
			t.Errorf("agent %d has %d events of it", i, n)
		}
	}
	told := func() (cloned bool) {
		for _, s := range paris.Proc.Mesh.Members() {
			cloned = cloned || s.ID == nantes.ID && s.Cloned
		}
		return cloned
	}
	if !told() {
		t.Error("paris does not know that nantes was cloned")
	}
	clone.Proc.Die()
	m.Sites, m.World.Sites = m.Sites[:2], m.World.Sites[:2]
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	m.rest(time.Minute)
	must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", id, `{"n":3}`))
	converge(t, m, paris, nantes)
	if told() {
		t.Error("paris still says that nantes is cloned")
	}
}
