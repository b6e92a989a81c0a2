package front

import (
	"errors"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestAKindThatLivesAtOneSite: what would place it at several is refused with the reason, and nothing is sent; one site takes it.
func TestAKindThatLivesAtOneSite(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	k := *files
	k.Single = "each site has its own"
	paris := w.sites[0]
	refused := func(err error) {
		t.Helper()
		var r *engine.Refusal
		if !errors.As(err, &r) || r.Status != 422 || r.Type != "scope-type" || !strings.Contains(r.Detail, k.Single) {
			t.Errorf("got %v", err)
		}
	}
	_, err := paris.Submit(t.Context(), request(&k, "PUT", "y", `{}`, w.sites...))
	refused(err)
	paris.app.put(files, "z", `{}`)
	_, _, err = paris.AdoptExisting(t.Context(), engine.AdoptRequest{Kind: &k, ID: "z", Sites: []engine.SiteID{"paris", "nantes"}})
	refused(err)
	if len(paris.app.log()) != 0 {
		t.Errorf("the application was asked %q", paris.app.log())
	}
	if a, err := paris.Submit(t.Context(), request(&k, "PUT", "y", `{}`, paris)); err != nil || a.Status/100 != 2 {
		t.Errorf("at one site: %+v, %v", a, err)
	}
}
