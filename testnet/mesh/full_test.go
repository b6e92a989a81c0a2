package mesh

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestAFullDiskLosesNothing fills the disk at every place of a request's way, at its origin and at the other site: what the
// application has done is neither done again nor forgotten. There is room to say what came of something that has begun, as there
// is on a real disk, or not even that: what came of it is then for a person to find out, where nothing tells.
func TestAFullDiskLosesNothing(t *testing.T) {
	for _, last := range []bool{true, false} {
		for _, where := range []int{0, 1} {
			for good := range 4 {
				t.Run(fmt.Sprintf("room for what came of it %v, site %d after %d commits", last, where, good), func(t *testing.T) {
					m := open(t, Image, 2)
					s := m.Sites[where]
					s.disk.last = last
					op := fill(t, m, s, good)
					var st engine.OperationStatus
					until(t, m, func() string {
						row, err := s.Disk.Operation(t.Context(), op)
						if st = row.Sites[s.ID]; err == nil && (st.State == engine.StateApplied || st.State == engine.StateUncertain) {
							return ""
						}
						return fmt.Sprintf("at %s it is %+v, %v", s.Name, st, err)
					})
					for _, s := range m.Sites {
						if n := s.App.Count("POST"); n > 1 {
							t.Errorf("%s created %d times", s.Name, n)
						}
					}
					if st.State == engine.StateUncertain {
						if last || st.Error == "" {
							t.Errorf("a person is asked: %+v", st)
						}
						return
					}
					if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"name":"n"}`}) {
						t.Errorf("the sites show %v", got)
					}
				})
			}
		}
	}
}

// fill creates an image while the disk of a site has room for so many commits, and returns the operation that this is in the end.
func fill(t *testing.T, m *Mesh, s *Site, good int) engine.OperationID {
	t.Helper()
	create := func() (engine.Answer, error) {
		return submit(t.Context(), m.Sites[0], Image, "POST", "", `{"name":"n"}`, m.Sites...)
	}
	if s != m.Sites[0] {
		a := must(t, 201)(create())
		s.disk.good = good
		for range 10 {
			m.Reconcile()
			m.Pass(10 * time.Millisecond)
		}
		s.disk.good = -1
		return a.Operation
	}
	s.disk.good = good
	a, err := create()
	s.disk.good = -1
	switch {
	case err == nil && a.Status == 201 && good > 0:
		return a.Operation
	case good == 0 && err == nil:
		t.Fatal("a request that could not be declared is answered")
	case good == 0:
		return must(t, 201)(create()).Operation
	}
	return wantRefusal(t, err, http.StatusGatewayTimeout).Operation
}
