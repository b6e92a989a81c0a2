package mesh

import (
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestInvariantAMemberPlacesNoMoreThanItMay has one site place more resources at another than that takes in of it. The others' are taken in,
// the site's own requests are served, and what was refused comes in once there is room.
func TestInvariantAMemberPlacesNoMoreThanItMay(t *testing.T) {
	const most = 5
	m := open(t, Image, 3)
	paris, nantes, lille := m.Sites[0], m.Sites[1], m.Sites[2]
	paris.shared = most
	if err := paris.Restart(); err != nil {
		t.Fatal(err)
	}
	place := func(at *Site, name string, sites ...*Site) {
		t.Helper()
		must(t, 201)(submit(t.Context(), at, Image, "POST", "", fmt.Sprintf(`{"name":%q}`, name), sites...))
		m.Settle()
		m.Reconcile()
	}
	for i := range most + 3 {
		place(nantes, fmt.Sprintf("nantes %d", i), paris, nantes)
	}
	place(lille, "lille", paris, lille)
	place(lille, "all", m.Sites...)
	place(paris, "paris", paris, nantes)
	until(t, m, func() string {
		if n := len(shown(paris)); n != most+3 {
			return fmt.Sprintf("paris has %v", shown(paris))
		}
		return ""
	})
	shared := paris.Site.Proc.Core.Site.Shared()
	if of := shared[nantes.ID]; of.Resources != most+2 || of.Refused < 3 {
		t.Errorf("with nantes it shares %+v", of)
	}
	if of := shared[lille.ID]; of != (engine.Shared{Resources: 2}) {
		t.Errorf("with lille it shares %+v", of)
	}
	paris.shared = 2 * most
	if err := paris.Restart(); err != nil {
		t.Fatal(err)
	}
	until(t, m, func() string {
		if n := len(shown(paris)); n != most+6 {
			return fmt.Sprintf("paris has %v", shown(paris))
		}
		return ""
	})
}
