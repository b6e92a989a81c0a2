package mesh

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// change sends changes of one field to random sites, which hear of each other now and then.
func change(t *testing.T, m *Mesh, id engine.ResourceID, from, to int, restart int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(from)))
	for i := from; i < to; i++ {
		s := m.Sites[random.IntN(len(m.Sites))]
		must(t, 200)(submit(t.Context(), s, Image, "PATCH", string(id), fmt.Sprintf(`{"f%d":%d}`, i%10, i)))
		if random.IntN(3) == 0 {
			if a, b := m.Sites[random.IntN(len(m.Sites))], m.Sites[random.IntN(len(m.Sites))]; a != b {
				a.pull(b)
			}
		}
		if i%20 == 0 {
			settleAll(t, m)
		}
		if restart > 0 && i%restart == 0 {
			if err := m.Sites[random.IntN(len(m.Sites))].Restart(); err != nil {
				t.Fatal(err)
			}
		}
	}
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
		if got := shown(s); !slices.Equal(got, shown(m.Sites[0])) || !strings.Contains(got[0], `"f9":299`) {
			t.Errorf("%s shows %v, %s shows %v", s.Name, got, m.Sites[0].Name, shown(m.Sites[0]))
		}
		if n := s.Disk.Stored(); n["changes"] > 100 {
			t.Errorf("%s keeps %v", s.Name, n)
		}
		row, err := s.Disk.ResourceByID(t.Context(), "images", "image", a.Resource)
		if err != nil || row.State != engine.StateConverged {
			t.Fatalf("%s: it is %s: %s (%v)", s.Name, row.State, row.Reason, err)
		}
		for site, st := range row.Sites {
			if st.Applied != 301 || st.Pending != 0 {
				t.Errorf("%s says that %s has applied %d operations, %d pending", s.Name, site, st.Applied, st.Pending)
			}
		}
		epoch := uint64(0)
		if err := s.Proc.Site.Look(t.Context(), row.Document, func(r *replica.Replica) { epoch = r.Current().Number }); err != nil || epoch < 5 {
			t.Errorf("%s: after 300 changes it is in epoch %d (%v)", s.Name, epoch, err)
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

// TestALaggardKeepsWhatItHasDone cuts a site off while the others change a resource more often than an epoch takes. It changes it as
// well; that change stands on top of what it has missed.
func TestALaggardKeepsWhatItHasDone(t *testing.T) {
	m := open(t, Image, 3)
	late := m.Sites[2]
	a := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", `{"name":"n"}`, m.Sites...))
	settleAll(t, m)
	m.Cut(late, true)
	done := must(t, 200)(submit(t.Context(), late, Image, "PATCH", string(a.Resource), `{"own":"kept"}`))
	for i := range 100 {
		must(t, 200)(submit(t.Context(), m.Sites[i%2], Image, "PATCH", string(a.Resource), fmt.Sprintf(`{"f%d":%d}`, i%10, i)))
		m.Reconcile()
	}
	m.Cut(late, false)
	keepsWhatTheLaggardDid(t, m, a.Resource, done.Operation)
}

// keepsWhatTheLaggardDid lets all settle: every site shows what the laggard has done and what it has missed, and goes on.
func keepsWhatTheLaggardDid(t *testing.T, m *Mesh, resource engine.ResourceID, done engine.OperationID) {
	t.Helper()
	settleAll(t, m)
	for _, s := range m.Sites {
		if got := shown(s); !slices.Equal(got, shown(m.Sites[0])) || !strings.Contains(got[0], `"own":"kept"`) || !strings.Contains(got[0], `"f9":99`) {
			t.Errorf("%s shows %v", s.Name, got)
		}
		row, err := s.Disk.Operation(t.Context(), done)
		if err != nil || row.State != engine.StateApplied {
			t.Errorf("%s: what the laggard has done is %s (%v)", s.Name, row.State, err)
		}
	}
	change(t, m, resource, 100, 130, 0)
	settleAll(t, m)
}

// TestALaggardGetsACheckpointAndKeepsWhatItHasDone puts a site's disk back to what it was many epochs ago. Before it hears of the others
// it changes the resource; that change is made again on top of what it has missed.
func TestALaggardGetsACheckpointAndKeepsWhatItHasDone(t *testing.T) {
	m := open(t, Image, 3)
	late := m.Sites[2]
	a := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", `{"name":"n"}`, m.Sites...))
	settleAll(t, m)
	backup := late.Backup()
	change(t, m, a.Resource, 0, 100, 0)
	settleAll(t, m)
	m.Cut(late, true)
	if err := late.SetBack(backup, false); err != nil {
		t.Fatal(err)
	}
	m.rest(time.Minute)
	done := must(t, 200)(submit(t.Context(), late, Image, "PATCH", string(a.Resource), `{"own":"kept"}`))
	m.Cut(late, false)
	keepsWhatTheLaggardDid(t, m, a.Resource, done.Operation)
}
