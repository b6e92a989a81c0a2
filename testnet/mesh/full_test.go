package mesh

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestAFullDiskLosesNothing fills the disk at every place of a request's way, at its origin and at the other site: what the
// application has done is neither done again nor forgotten.
func TestAFullDiskLosesNothing(t *testing.T) {
	for _, where := range []int{0, 1} {
		for good := range int64(4) {
			t.Run(fmt.Sprintf("site %d after %d commits", where, good), func(t *testing.T) {
				m := open(t, Image, 2)
				s := m.Sites[where]
				if err := s.Restart(t.Context()); err != nil {
					t.Fatal(err)
				}
				if where == 1 {
					a := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", `{"name":"n"}`, m.Sites...))
					s.disk.good.Store(good)
					// Fewer, and it cannot know of it, or not send it. On a busy machine the origin's next word may come first and
					// fill the disk.
					for s.App.Count("POST") == 0 && good > 1 && !s.disk.full.Load() {
						_ = m.Reconcile(t.Context())
					}
					_ = m.Reconcile(t.Context())
					s.disk.good.Store(-1)
					await(t, m, s, a.Operation, engine.StateApplied)
				} else {
					s.disk.good.Store(good)
					_, err := submit(t.Context(), s, Image, "POST", "", `{"name":"n"}`, m.Sites...)
					s.disk.good.Store(-1)
					if good == 1 { // declared, done, not recorded
						refusal := wantRefusal(t, err, http.StatusGatewayTimeout)
						await(t, m, m.Sites[1], refusal.Operation, engine.StateApplied)
					} else if good == 0 && err == nil {
						t.Fatal("a request that could not be declared is answered")
					}
					if good == 0 {
						must(t, 201)(submit(t.Context(), s, Image, "POST", "", `{"name":"n"}`, m.Sites...))
					}
				}
				if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"name":"n"}`}) {
					t.Errorf("the sites show %v", got)
				}
				for _, s := range m.Sites {
					if n := s.App.Count("POST"); n != 1 {
						t.Errorf("%s created %d times", s.Name, n)
					}
				}
			})
		}
	}
}
