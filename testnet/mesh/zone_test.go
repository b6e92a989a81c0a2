package mesh

import (
	"fmt"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

func zones(s *Site) string {
	text := ""
	for _, z := range s.Proc.Mesh.Zones() {
		text += fmt.Sprintf("%s:", z.Name)
		for _, id := range z.Sites {
			text += " " + string(s.mesh.site(id).Name)
		}
		text += "; "
	}
	return text
}

func TestAllSitesKnowTheSameZones(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, lyon := m.Sites[0], m.Sites[1], m.Sites[2]
	set := func(s *Site, name engine.ZoneName, sites ...*Site) {
		t.Helper()
		if err := s.Proc.Mesh.SetZone(t.Context(), name, ids(sites...)); err != nil {
			t.Fatal(err)
		}
	}
	same := func(want ...string) {
		t.Helper()
		m.Reconcile()
		for _, s := range m.Sites {
			if got := zones(s); got != zones(paris) || len(want) == 1 && got != want[0] {
				t.Errorf("%s knows %s, paris %s, want %s", s.Name, got, zones(paris), want)
			}
		}
	}
	for _, s := range []*Site{nantes, lyon} {
		if err := paris.Proc.Mesh.AddAuthority(t.Context(), s.ID, false); err != nil {
			t.Fatal(err)
		}
	}
	m.Reconcile()
	set(paris, "west", paris)
	set(nantes, "east", lyon, lyon)
	same("east: site2; west: site0; ")
	m.Cut(paris, true) // both sides change it: one of them counts
	set(paris, "west", nantes)
	set(nantes, "west", lyon)
	m.Cut(paris, false)
	same()
	set(lyon, "west", lyon)
	same("east: site2; west: site2; ")
	if err := lyon.Proc.Mesh.DeleteZone(t.Context(), "west"); err != nil {
		t.Fatal(err)
	}
	same("east: site2; ")
	if err := paris.Proc.Mesh.DeleteZone(t.Context(), "west"); err == nil {
		t.Error("a zone is taken away twice")
	}
	set(paris, "west", paris)
	same()
	if err := paris.Restart(); err != nil {
		t.Fatal(err)
	}
	same()
	wantRefusal(t, paris.Proc.Mesh.SetZone(t.Context(), "site1", ids(paris)), 409)
	wantRefusal(t, paris.Proc.Mesh.SetZone(t.Context(), "none", nil), 422)
	wantRefusal(t, paris.Proc.Mesh.SetZone(t.Context(), "stranger", []engine.SiteID{"nobody"}), 422)
	i, secret, err := paris.Proc.Mesh.Invite(t.Context(), time.Hour, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = paris.Proc.Mesh.Admit(t.Context(), engine.JoinRequest{Invitation: i.ID, Secret: secret, Site: "new", Record: engine.SiteRecord{Name: "west"}})
	wantRefusal(t, err, 409)
}

func TestDistancesBetweenOthersAreToldByTheirCoordinates(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, lyon := m.Sites[0], m.Sites[1], m.Sites[2]
	at := func(s *Site, x float64) {
		t.Helper()
		if err := s.Proc.Mesh.Moved(t.Context(), vivaldi.Coordinate{Vector: [3]float64{x}, Height: 1, Error: 0.1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := paris.Proc.Mesh.Distances()(nantes.ID, lyon.ID); ok {
		t.Error("a distance is told that nobody knows")
	}
	at(nantes, 10)
	at(lyon, 40)
	m.Reconcile()
	if d, ok := paris.Proc.Mesh.Distances()(nantes.ID, lyon.ID); !ok || d != 32*time.Millisecond {
		t.Errorf("nantes and lyon are %v apart, %v", d, ok)
	}
	if d, ok := paris.Proc.Mesh.Distances()(lyon.ID, paris.ID); !ok || d != 3*time.Millisecond { // as measured
		t.Errorf("lyon is %v away, %v", d, ok)
	}
	if err := nantes.Proc.Mesh.Announce(t.Context(), engine.SiteRecord{Name: "site1", Version: "2"}); err != nil {
		t.Fatal(err)
	}
	if at := nantes.Proc.Mesh.Coordinate(); at.Vector[0] != 10 {
		t.Errorf("a new version of the agent has moved the site to %+v", at)
	}
}
