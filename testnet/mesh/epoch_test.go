package mesh

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// kept is what a site has on disk of its resources' documents.
type kept struct {
	documents, changes, bytes int
}

// keeps counts what a site would show the others.
func keeps(t *testing.T, s *Site, with *Site) kept {
	t.Helper()
	list, err := s.Summaries(t.Context(), with.ID, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var k kept
	for _, d := range list {
		row, err := s.store.Document(t.Context(), d.Document)
		if err != nil {
			t.Fatal(err)
		}
		if row.Mesh {
			continue
		}
		rows, _, err := s.store.Changes(t.Context(), d.Document, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		k.documents++
		k.changes += len(rows)
		for _, r := range rows {
			k.bytes += len(r.Bytes) + len(r.Signature)
		}
		k.bytes += len(row.Checkpoint)
	}
	return k
}

// change sends changes of one field to random sites, which hear of each other now and then.
func change(t *testing.T, m *Mesh, id engine.ResourceID, from, to int, restart int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(from)))
	for i := from; i < to; i++ {
		s := m.Sites[random.IntN(len(m.Sites))]
		must(t, 200)(submit(t.Context(), s, Image, "PATCH", string(id), fmt.Sprintf(`{"f%d":%d}`, i%10, i)))
		if random.IntN(3) == 0 {
			a, b := m.Sites[random.IntN(len(m.Sites))], m.Sites[random.IntN(len(m.Sites))]
			if a != b {
				if err := a.pull(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
		}
		if i%20 == 0 {
			settleAll(t, m)
		}
		if restart > 0 && i%restart == 0 {
			if err := m.Sites[random.IntN(len(m.Sites))].Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// settleAll lets the sites exchange what they have until they have the same and nothing is left to do.
func settleAll(t *testing.T, m *Mesh) {
	t.Helper()
	until(t, m, func() string {
		if same(t.Context(), m) {
			return ""
		}
		return "it does not become quiet"
	})
}

func same(ctx context.Context, m *Mesh) bool {
	for _, a := range m.Sites {
		pending, err := a.store.Pending(ctx)
		if err != nil || len(pending) > 0 {
			return false
		}
		for _, b := range m.Sites {
			mine, errA := a.Summaries(ctx, b.ID, "", "")
			theirs, errB := b.Summaries(ctx, a.ID, "", "")
			if errA != nil || errB != nil || a != b && !slices.Equal(mine, theirs) {
				return false
			}
		}
	}
	return true
}

// TestAResourceGoesOnFromEpochToEpoch changes one resource many times at three sites, which are restarted on the way: each
// keeps a bounded part of what happened, and all show the same.
func TestAResourceGoesOnFromEpochToEpoch(t *testing.T) {
	m := open(t, Image, 3)
	a := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", `{"name":"n"}`, m.Sites...))
	settleAll(t, m)
	change(t, m, a.Resource, 0, 300, 37)
	settleAll(t, m)
	for _, s := range m.Sites {
		if got := shown(s); !slices.Equal(got, shown(m.Sites[0])) {
			t.Errorf("%s shows %v, %s shows %v", s.Name, got, m.Sites[0].Name, shown(m.Sites[0]))
		}
		other := m.Sites[0]
		if s == other {
			other = m.Sites[1]
		}
		if k := keeps(t, s, other); k.documents > 2 || k.changes > 400 {
			t.Errorf("%s keeps %d documents with %d changes", s.Name, k.documents, k.changes)
		}
		row, err := s.store.ResourceByID(t.Context(), "images", "image", a.Resource)
		if err != nil || row.State != engine.StateConverged {
			t.Fatalf("%s: it is %s: %s (%v)", s.Name, row.State, row.Reason, err)
		}
		for site, st := range row.Sites {
			if st.Applied != 301 || st.Pending != 0 {
				t.Errorf("%s says that %s has applied %d operations, %d pending", s.Name, site, st.Applied, st.Pending)
			}
		}
		first, err := s.store.Document(t.Context(), row.Document)
		if err != nil || first.Epoch < 5 {
			t.Errorf("%s: after 300 changes it is in epoch %d (%v)", s.Name, first.Epoch, err)
		}
	}
	must(t, 204)(submit(t.Context(), m.Sites[1], Image, "DELETE", string(a.Resource), ""))
	settleAll(t, m)
	for _, s := range m.Sites {
		if got := shown(s); len(got) > 0 {
			t.Errorf("%s shows %v after the delete", s.Name, got)
		}
	}
}

// TestALaggardGetsACheckpointAndKeepsWhatItHasDone restores a site from a backup that is many epochs old. Before it hears of
// the others it changes the resource; that change is made again on top of what it has missed.
func TestALaggardGetsACheckpointAndKeepsWhatItHasDone(t *testing.T) {
	m := open(t, Image, 3)
	late := m.Sites[2]
	a := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", `{"name":"n"}`, m.Sites...))
	settleAll(t, m)
	late.stop()
	if err := late.store.Close(); err != nil {
		t.Fatal(err)
	}
	backup := t.TempDir()
	if err := os.CopyFS(backup, os.DirFS(late.dir)); err != nil {
		t.Fatal(err)
	}
	reopen(t, late)
	change(t, m, a.Resource, 0, 100, 0)
	settleAll(t, m)
	late.stop()
	if err := late.store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(late.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(late.dir, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	reopen(t, late)
	m.Cut(late, true)
	done := must(t, 200)(submit(t.Context(), late, Image, "PATCH", string(a.Resource), `{"own":"kept"}`))
	m.Cut(late, false)
	settleAll(t, m)
	for _, s := range m.Sites {
		if got := shown(s); !slices.Equal(got, shown(m.Sites[0])) || !strings.Contains(got[0], `"own":"kept"`) || !strings.Contains(got[0], `"f9":99`) {
			t.Errorf("%s shows %v", s.Name, got)
		}
		row, err := s.store.Operation(t.Context(), done.Operation)
		if err != nil || row.State != engine.StateApplied {
			t.Errorf("%s: what the laggard has done is %s (%v)", s.Name, row.State, err)
		}
	}
	change(t, m, a.Resource, 100, 130, 0)
	settleAll(t, m)
}

// reopen starts a site anew from what is on disk.
func reopen(t *testing.T, s *Site) {
	t.Helper()
	if err := s.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.start(t.Context())
}
