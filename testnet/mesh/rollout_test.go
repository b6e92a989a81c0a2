package mesh

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestRulesDifferWhileACatalogIsRolledOut gives one site another catalog: what is in order runs, what the rules decide about
// waits and says why, at both sites, until the catalogs are the same again.
func TestRulesDifferWhileACatalogIsRolledOut(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	id := string(must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"n":1}`, paris, nantes)).Resource)
	converge(t, m, paris, nantes)
	newer := *Image
	newer.Ignore = []engine.Pointer{"/updated_at"}
	nantes.Kinds = []*engine.Kind{&newer}
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	m.Reconcile()
	inOrder := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", id, `{"n":2}`)).Operation
	await(t, m, nantes, inOrder, engine.StateApplied)
	m.Cut(nantes, true)
	atParis := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", id, `{"n":"paris"}`)).Operation
	atNantes := must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", id, `{"n":"nantes"}`)).Operation
	m.Cut(nantes, false)
	for _, x := range []struct {
		at *Site
		id engine.OperationID
	}{{paris, atNantes}, {nantes, atParis}} {
		for _, s := range m.Sites {
			eventually(t, m, "the late operation waits at "+string(x.at.Name), func() error {
				row, err := s.Disk.Operation(t.Context(), x.id)
				if st := row.Sites[x.at.ID]; err == nil && (st.State != engine.StatePending ||
					!strings.Contains(st.Error, "catalog-mismatch") || !strings.Contains(st.Error, "site0 has ")) {
					err = fmt.Errorf("%s says %+v", s.Name, st)
				}
				return err
			})
		}
		if n := x.at.App.Count("PUT"); n != 0 {
			t.Errorf("%s has corrected %d times", x.at.Name, n)
		}
	}
	row, err := nantes.Disk.ResourceByDocument(t.Context(), documentOf(t, nantes))
	if err != nil || !strings.Contains(row.Reason, "catalog-mismatch") {
		t.Errorf("the resource's reason is %q, %v", row.Reason, err)
	}
	paris.Kinds = nantes.Kinds
	if err := paris.Restart(); err != nil {
		t.Fatal(err)
	}
	converge(t, m, paris, nantes)
	sameObjects(t, paris.App.Objects(), nantes.App.Objects())
	if row, err := paris.Disk.Operation(t.Context(), atParis); err != nil || row.Sites[nantes.ID].Error != "" {
		t.Errorf("afterwards the operation is %+v, %v", row.Sites[nantes.ID], err)
	}
}
