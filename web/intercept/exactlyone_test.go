package intercept

import (
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestReadsGoToTheSiteThatHasTheName(t *testing.T) {
	m := newMesh(t)
	for _, s := range m.sites {
		s.chosen = map[string]engine.SiteID{"x": lyon}
	}
	s := m.sites[paris]
	s.do("GET", "/images/x", "", "Scope: nantes ^ lyon ^ paris").want(t, 200, "Skerry-Site: lyon")
	s.do("GET", "/images/x", "", "Scope: nantes ^ lyon").want(t, 200, "Skerry-Site: lyon")
	s.do("GET", "/images/x/file", "", "Scope: nantes ^ lyon").want(t, 200, "Skerry-Site: lyon")
	s.do("GET", "/images/other", "", "Scope: paris ^ lyon").want(t, 200, "Skerry-Site: paris") // it is looked for here first
	s.chosen = nil                                                                             // has not heard of it: nantes, the nearer, has
	s.do("GET", "/images/x", "", "Scope: nantes ^ lyon").want(t, 200, "Skerry-Site: lyon")
	s.cut(lyon)
	s.chosen = map[string]engine.SiteID{"x": lyon}
	s.do("GET", "/images/x", "", "Scope: nantes ^ lyon ^ paris").problem(t, 503, "unreachable")
}

func TestWritesSayThatOneSiteIsToBeChosen(t *testing.T) {
	m := newMesh(t)
	s := m.sites[paris]
	s.do("POST", "/images", `{}`, "Scope: nantes ^ paris").want(t, 201)
	s.do("POST", "/images", `{}`, "Scope: nantes ^ paris ; lyon").want(t, 201)
	all := s.operations()
	if r := all[0]; !r.ExactlyOne || len(r.Placement) != 2 {
		t.Errorf("the engine got %+v", r)
	}
	if r := all[1]; len(r.Alternatives) != 2 || !r.Alternatives[0].ExactlyOne || r.Alternatives[1].ExactlyOne {
		t.Errorf("the engine got %+v", r.Alternatives)
	}
}

// The other candidates are to hear that a name is free again, also from a request without a scope.
func TestALocalDeleteOfANameGoesToTheEngine(t *testing.T) {
	m := newMesh(t)
	s := m.sites[paris]
	s.chosen = map[string]engine.SiteID{"x": paris}
	s.do("DELETE", "/images/other", "").want(t, 200)
	s.do("PATCH", "/images/x", `{}`).want(t, 200)
	if len(s.operations()) != 0 {
		t.Error("a local request became an operation")
	}
	s.do("DELETE", "/images/x", "").want(t, 201)
	if all := s.operations(); len(all) != 1 || len(all[0].Placement) != 1 || all[0].Placement[0] != paris {
		t.Errorf("the engine got %+v", all)
	}
}
