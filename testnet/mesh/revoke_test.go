package mesh

import (
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/world"
)

// What a site whose key was revoked had told anybody before counts at all sites, and what it says then at none.
func TestARevokedSiteIsHeardNoMore(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, lyon := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), lyon, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	m.Cut(paris, true) // nantes alone hears what lyon does last
	must(t, 200)(submit(t.Context(), lyon, Image, "PATCH", string(a.Resource), `{"heard":1}`))
	m.Reconcile()
	shows(t, m, nantes, `{"heard":1,"name":"n"}`)
	if err := paris.do(func(p *world.Process) error { return p.Mesh.RevokeSite(t.Context(), lyon.ID) }); err != nil {
		t.Fatal(err)
	}
	m.Link(lyon.Site, nantes.Site, true)
	must(t, 200)(submit(t.Context(), lyon, Image, "PATCH", string(a.Resource), `{"unheard":2}`))
	m.Cut(paris, false)
	m.Reconcile()
	m.Link(lyon.Site, nantes.Site, false)
	must(t, 200)(submit(t.Context(), lyon, Image, "PATCH", string(a.Resource), `{"afterwards":3}`))
	m.rest(time.Minute)
	for _, s := range []*Site{paris, nantes} {
		shows(t, m, s, `{"heard":1,"name":"n"}`)
		row, err := s.Lookup(t.Context(), Image, string(a.Resource))
		if err != nil || row.Sites[lyon.ID].State != engine.StateLeaving {
			t.Errorf("%s has lyon in the placement: %+v, %v", s.Name, row.Sites, err)
		}
	}
	must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"nantes":4}`))
	m.Reconcile()
	shows(t, m, paris, `{"heard":1,"name":"n","nantes":4}`)
}
