package mesh

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

// TestNothingGrowsWithComingsAndGoings has a site leave a resource and come back, again and again, while that goes on from epoch to epoch. The
// documents that were shown to it between go when it is back, and it compares equal ones with the others.
func TestNothingGrowsWithComingsAndGoings(t *testing.T) {
	m := open(t, Image, 3)
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
	place := func(q engine.PlaceRequest) map[string]int64 {
		if _, err := paris.Place(t.Context(), document(t, paris, a.Resource), q); err != nil {
			t.Fatal(err)
		}
		settleAll(t, m)
		return stored(t, m)
	}
	most := map[string]int64{}
	for round := range 4 {
		write(m.Sites...)
		left := place(engine.PlaceRequest{Remove: ids(comes)})
		write(paris, nantes)
		back := place(engine.PlaceRequest{Add: ids(comes)})
		for _, what := range []string{"documents", "document_sites"} {
			if n := max(left[what], back[what]); round == 0 {
				most[what] = n
			} else if n > most[what] {
				t.Errorf("after round %d there are more %s: %d, %d after the first", round, what, n, most[what])
			}
		}
	}
}

// TestWhatTheMeshKeeps measures what is kept of each event in the mesh document, for good.
func TestWhatTheMeshKeeps(t *testing.T) {
	kept := func(m *Mesh) int64 {
		db, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: filepath.Join(m.Sites[0].dir, "skerry.db")}).EscapedPath()+"?mode=ro&_busy_timeout=5000")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var n int64
		if err := db.QueryRowContext(t.Context(), `SELECT sum(length(bytes) + length(signature)) FROM changes JOIN documents ON id = document AND mesh = 1`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	m := open(t, Image, 3)
	paris, nantes := m.Sites[0], m.Sites[1]
	const times = 10
	each := func(what string, most int64, do func(n int) error) {
		settleAll(t, m)
		before := kept(m)
		for n := range times {
			if err := do(n); err != nil {
				t.Fatal(err)
			}
		}
		settleAll(t, m)
		if n := (kept(m) - before) / times; n > most {
			t.Errorf("%s takes %d bytes, %d at most", what, n, most)
		} else {
			t.Logf("%s takes %d bytes", what, n)
		}
	}
	each("a start of an agent", 700, func(int) error { return nantes.Restart(t.Context()) })
	each("a site that has moved", 700, func(n int) error {
		at := vivaldi.Coordinate{}
		at.Height = float64(n + 1)
		return nantes.Moved(t.Context(), at)
	})
	each("an invitation", 700, func(int) error {
		_, _, err := paris.Invite(t.Context(), time.Hour, 1)
		return err
	})
	before := kept(m)
	if err := paris.RemoveSite(t.Context(), m.Sites[2].ID); err != nil {
		t.Fatal(err)
	}
	if n := kept(m) - before; n > 600 {
		t.Errorf("a removal takes %d bytes", n)
	} else {
		t.Logf("a removal takes %d bytes", n)
	}
	few, many := open(t, Image, 2), open(t, Image, 6)
	settleAll(t, few)
	settleAll(t, many)
	if n := (kept(many) - kept(few)) / 4; n > 2500 {
		t.Errorf("a site that joins takes %d bytes", n)
	} else {
		t.Logf("a site that joins takes %d bytes", n)
	}
}
