package mesh

import (
	"fmt"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

// TestNothingGrowsWithComingsAndGoings has a site leave a resource and come back, again and again, while that goes on from epoch to epoch.
func TestNothingGrowsWithComingsAndGoings(t *testing.T) {
	m := open(t, Image, 3)
	forgetSoon(t, m)
	paris, nantes, comes := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	settleAll(t, m)
	n := 0
	write := func(sites ...*Site) {
		for range 40 { // two epochs and a half
			n++
			must(t, 200)(submit(t.Context(), sites[n%len(sites)], Image, "PATCH", string(a.Resource), fmt.Sprintf(`{"f%d":%d}`, n%10, n)))
			if n%20 == 0 {
				settleAll(t, m)
			}
		}
	}
	place := func(q engine.PlaceRequest) map[string]int {
		if _, err := paris.Place(t.Context(), document(t, paris, a.Resource), q); err != nil {
			t.Fatal(err)
		}
		settleAll(t, m)
		m.rest(2 * time.Hour)
		return stored(m)
	}
	most := map[string]int{}
	for round := range 9 {
		write(m.Sites...)
		left := place(engine.PlaceRequest{Remove: ids(comes)})
		write(paris, nantes)
		back := place(engine.PlaceRequest{Add: ids(comes)})
		for what := range back {
			switch n := max(left[what], back[what]); {
			case round < 5:
				most[what] = max(most[what], n)
			case n > most[what]*5/4+8:
				t.Errorf("after round %d there are more %s: %d, %d at first", round, what, n, most[what])
			}
		}
	}
}

// TestWhatTheMeshKeeps has sites start anew, move and invite again and again: the records of the mesh take the place of each other, and
// their number follows that of the sites.
func TestWhatTheMeshKeeps(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes := m.Sites[0], m.Sites[1]
	kept := func() (n int) {
		m.Reconcile()
		for _, r := range paris.Proc.Mesh.Records() {
			n += len(r.Record) + len(r.Signature)
		}
		return n
	}
	for what, do := range map[string]func(n int) error{
		"a start of an agent": func(int) error { return nantes.Restart() },
		"a site that has moved": func(n int) error {
			at := vivaldi.Coordinate{}
			at.Height = float64(n%8 + 1)
			return nantes.Proc.Mesh.Moved(t.Context(), at)
		},
	} {
		if err := do(0); err != nil {
			t.Fatal(err)
		}
		before := kept()
		for n := range 10 {
			if err := do(n + 1); err != nil {
				t.Fatal(err)
			}
			m.Pass(time.Second)
		}
		if n := kept() - before; n > 100 {
			t.Errorf("%s takes %d bytes for good", what, n/10)
		}
	}
}
