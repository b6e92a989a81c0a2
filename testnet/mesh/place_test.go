package mesh

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

// withFile is a kind whose objects have content beside their representation.
var withFile = &engine.Kind{
	Service: "images", Name: "image", Collection: "/images", Item: "/images/{id}",
	ID:      engine.IDRule{From: engine.IDFromBody, At: "/id"},
	Content: []engine.Content{{Read: "/images/{id}/file", Method: http.MethodPut, Write: "/images/{id}/file"}},
}

// document returns the document of the resource that a site calls id.
func document(t testing.TB, s *Site, id engine.ResourceID) engine.DocumentID {
	t.Helper()
	row, err := s.Disk.ResourceByID(t.Context(), Image.Service, Image.Name, id)
	if err != nil {
		t.Fatal(err)
	}
	return row.Document
}

func ids(sites ...*Site) []engine.SiteID {
	var list []engine.SiteID
	for _, s := range sites {
		list = append(list, s.ID)
	}
	return list
}

// place changes where a resource lives, asked at one site.
func place(t testing.TB, at *Site, a engine.Answer, q engine.PlaceRequest) engine.OperationID {
	t.Helper()
	id, err := at.Place(t.Context(), document(t, at, a.Resource), q)
	if err != nil || id == "" {
		t.Fatalf("place %s: %q, %v", a.Resource, id, err)
	}
	return id
}

// placement returns where a site says that a resource lives.
func placement(t testing.TB, s *Site, id engine.ResourceID) []engine.SiteName {
	t.Helper()
	row, err := s.Disk.ResourceByID(t.Context(), Image.Service, Image.Name, id)
	if err != nil {
		t.Fatal(err)
	}
	var names []engine.SiteName
	for site, st := range row.Sites {
		if st.State != engine.StateLeaving {
			names = append(names, s.mesh.site(site).Name)
		}
	}
	slices.Sort(names)
	return names
}

// shows waits until a site shows an object.
func shows(t testing.TB, m *Mesh, s *Site, object string) {
	t.Helper()
	until(t, m, func() string {
		if got := shown(s); !slices.Contains(got, object) {
			return fmt.Sprintf("%s shows %v, want %s", s.Name, got, object)
		}
		return ""
	})
}

// leaves waits until a site says that it has left.
func leaves(t testing.TB, m *Mesh, s *Site, id engine.ResourceID) {
	t.Helper()
	until(t, m, func() string {
		row, err := s.Disk.ResourceByID(t.Context(), Image.Service, Image.Name, id)
		if err == nil && row.State == engine.StateLeft {
			return ""
		}
		return fmt.Sprintf("%s does not leave: %+v, %v", s.Name, row, err)
	})
}

// An added site makes the object as it is, in one request, and takes what comes after.
func TestASiteIsAdded(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n","size":1}`, paris, nantes))
	for i := range 5 {
		must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), fmt.Sprintf(`{"size":%d}`, i)))
	}
	id := place(t, paris, a, engine.PlaceRequest{Add: ids(toulouse)})
	if again, err := paris.Place(t.Context(), document(t, paris, a.Resource), engine.PlaceRequest{Sites: ids(m.Sites...)}); again != "" || err != nil {
		t.Errorf("what is so already is operation %q, %v", again, err)
	}
	if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"name":"n","size":4}`}) {
		t.Errorf("the sites show %v", got)
	}
	if made, changed := toulouse.App.Count("POST"), toulouse.App.Count("PATCH")+toulouse.App.Count("PUT"); made != 1 || changed != 0 {
		t.Errorf("toulouse was asked to make %d objects and to change them %d times", made, changed)
	}
	await(t, m, nantes, id, engine.StateApplied)
	must(t, 200)(submit(t.Context(), toulouse, Image, "PATCH", string(a.Resource), `{"by":"toulouse"}`))
	must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"at":"nantes"}`))
	if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"at":"nantes","by":"toulouse","name":"n","size":4}`}) {
		t.Errorf("the sites show %v", got)
	}
	for _, s := range m.Sites {
		if got := placement(t, s, a.Resource); len(got) != 3 {
			t.Errorf("%s says that it lives at %v", s.Name, got)
		}
	}
}

// TestInvariantOnlyTheSitesInvolvedAfterARemoval counts what reaches a site that was removed.
func TestInvariantOnlyTheSitesInvolvedAfterARemoval(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	row, err := nantes.Lookup(t.Context(), Image, string(a.Resource))
	if err != nil {
		t.Fatal(err)
	}
	must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"before":true}`))
	place(t, paris, a, engine.PlaceRequest{Remove: ids(nantes)})
	must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"after":true}`))
	leaves(t, m, nantes, a.Resource)
	converge(t, m, paris, toulouse)
	before := nantes.Disk.Written(row.Document)
	for i := range 3 {
		must(t, 200)(submit(t.Context(), toulouse, Image, "PATCH", string(a.Resource), fmt.Sprintf(`{"secret":%d}`, i)))
		converge(t, m, paris, toulouse)
	}
	if after := nantes.Disk.Written(row.Document); len(after) != len(before) {
		t.Errorf("%d changes of the document reached nantes after it had left", len(after)-len(before))
	}
	for _, s := range []*Site{paris, toulouse} {
		if differ := m.Differ(s.Site, nantes.Site); len(differ) != 0 {
			t.Errorf("%s and nantes differ for good: %v", s.Name, differ)
		}
		if got := placement(t, s, a.Resource); !slices.Equal(got, []engine.SiteName{"site0", "site2"}) {
			t.Errorf("%s says that it lives at %v", s.Name, got)
		}
	}
	if got := shown(nantes); !slices.Equal(got, []string{`{"before":true,"name":"n"}`}) {
		t.Errorf("nantes keeps %v", got)
	}
	if _, err := nantes.Lookup(t.Context(), Image, string(row.Local)); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("nantes takes its object for a replica: %v", err)
	}
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	id := document(t, paris, a.Resource)
	all, _, err := paris.Proc.Site.Missing(t.Context(), toulouse.ID, []engine.Have{{Document: id}}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := nantes.Proc.Receive(paris.ID, all); err != nil {
		t.Errorf("what a site that does not know yet still sends is an error: %v", err)
	}
	if got := shown(nantes); !slices.Equal(got, []string{`{"before":true,"name":"n"}`}) {
		t.Errorf("nantes does what comes after its removal: %v", got)
	}
}

// What a site had accepted while it was cut off and removed is not lost.
func TestARemovedSiteWithUnheardOperations(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	m.Cut(nantes, true)
	must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"unheard":1}`))
	must(t, 201)(submit(t.Context(), nantes, Image, "POST", "", `{"other":1}`, nantes, paris))
	place(t, paris, a, engine.PlaceRequest{Remove: ids(nantes)})
	must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"later":2}`))
	must(t, 200)(submit(t.Context(), toulouse, Image, "PATCH", string(a.Resource), `{"toulouse":3}`))
	m.Reconcile()
	row, err := paris.Lookup(t.Context(), Image, string(a.Resource))
	if err != nil || row.Sites[nantes.ID].State != engine.StateLeaving || row.State != engine.StateConverged && row.State != engine.StateConverging {
		t.Errorf("paris says %+v, %v", row, err)
	}
	m.Cut(nantes, false)
	leaves(t, m, nantes, a.Resource)
	for _, s := range []*Site{paris, toulouse} {
		shows(t, m, s, `{"later":2,"name":"n","toulouse":3,"unheard":1}`)
	}
}

func TestSitesAreAddedOnBothSidesOfACut(t *testing.T) {
	m := open(t, Image, 4)
	paris, nantes, toulouse, lyon := m.Sites[0], m.Sites[1], m.Sites[2], m.Sites[3]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, paris, nantes))
	converge(t, m, paris, nantes)
	m.Cut(nantes, true)
	place(t, nantes, a, engine.PlaceRequest{Add: ids(lyon), Remove: ids(paris)})
	must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"nantes":1}`))
	place(t, paris, a, engine.PlaceRequest{Add: ids(toulouse)})
	must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"paris":1}`))
	shows(t, m, toulouse, `{"name":"n","paris":1}`)
	m.Cut(nantes, false)
	leaves(t, m, paris, a.Resource)
	if got := converge(t, m, nantes, toulouse, lyon); !slices.Equal(got, []string{`{"name":"n","nantes":1,"paris":1}`}) {
		t.Errorf("the sites show %v", got)
	}
	if got := placement(t, lyon, a.Resource); !slices.Equal(got, []engine.SiteName{"site1", "site2", "site3"}) {
		t.Errorf("it lives at %v", got)
	}
}

func TestASiteIsAddedToWhatIsDeleted(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, paris, nantes))
	converge(t, m, paris, nantes)
	m.Cut(nantes, true)
	must(t, 204)(submit(t.Context(), nantes, Image, "DELETE", string(a.Resource), ""))
	place(t, paris, a, engine.PlaceRequest{Add: ids(toulouse)})
	shows(t, m, toulouse, `{"name":"n"}`)
	m.Cut(nantes, false)
	if got := converge(t, m, m.Sites...); len(got) != 0 {
		t.Errorf("the sites show %v", got)
	}
	_, err := nantes.Place(t.Context(), document(t, nantes, a.Resource), engine.PlaceRequest{Remove: ids(toulouse)})
	if refusal := (*engine.Refusal)(nil); !errors.As(err, &refusal) || refusal.Type != "gone" {
		t.Errorf("a deleted resource is moved: %v", err)
	}
}

// Two sites that remove each other leave one: the earlier removal counts.
func TestTwoSitesRemoveEachOther(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, paris, nantes))
	converge(t, m, paris, nantes)
	m.Cut(nantes, true)
	place(t, paris, a, engine.PlaceRequest{Remove: ids(nantes)})
	void := place(t, nantes, a, engine.PlaceRequest{Sites: ids(nantes)})
	m.Cut(nantes, false)
	leaves(t, m, nantes, a.Resource)
	st := await(t, m, paris, void, engine.StateSuperseded)
	if st.Error == "" {
		t.Error("it is not said why the removal is void")
	}
	if got := placement(t, paris, a.Resource); !slices.Equal(got, []engine.SiteName{"site0"}) {
		t.Errorf("it lives at %v", got)
	}
	_, err := paris.Place(t.Context(), document(t, paris, a.Resource), engine.PlaceRequest{Remove: ids(paris)})
	if refusal := (*engine.Refusal)(nil); !errors.As(err, &refusal) || refusal.Type != "placement" {
		t.Errorf("the last site is removed: %v", err)
	}
}

// The site that a resource comes from is removed, then all but one.
func TestTheOriginAndAllButOneAreRemoved(t *testing.T) {
	m := open(t, Image, 4)
	paris := m.Sites[0]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	place(t, paris, a, engine.PlaceRequest{Remove: ids(paris)})
	leaves(t, m, paris, a.Resource)
	converge(t, m, m.Sites[1:]...)
	must(t, 200)(submit(t.Context(), m.Sites[1], Image, "PATCH", string(a.Resource), `{"v":1}`))
	converge(t, m, m.Sites[1:]...)
	place(t, m.Sites[1], a, engine.PlaceRequest{Sites: ids(m.Sites[3])})
	leaves(t, m, m.Sites[1], a.Resource)
	leaves(t, m, m.Sites[2], a.Resource)
	must(t, 200)(submit(t.Context(), m.Sites[3], Image, "PATCH", string(a.Resource), `{"v":2}`))
	if got := converge(t, m, m.Sites[3]); !slices.Equal(got, []string{`{"name":"n","v":2}`}) {
		t.Errorf("the last site shows %v", got)
	}
	for _, s := range m.Sites { // nothing is left to say between any two
		for _, o := range m.Sites {
			if differ := m.Differ(s.Site, o.Site); len(differ) != 0 {
				t.Errorf("%s and %s differ for good: %v", s.Name, o.Name, differ)
			}
		}
	}
}

// A removed site that is added again begins with a new object; the old one is left to itself.
func TestASiteComesBack(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes := m.Sites[0], m.Sites[1]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	place(t, paris, a, engine.PlaceRequest{Remove: ids(nantes)})
	leaves(t, m, nantes, a.Resource)
	must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"away":true}`))
	converge(t, m, paris, m.Sites[2])
	place(t, paris, a, engine.PlaceRequest{Add: ids(nantes)})
	until(t, m, func() string {
		row, err := nantes.Lookup(t.Context(), Image, string(a.Resource))
		if err == nil && row.State == engine.StateConverged && row.Local != "" {
			return ""
		}
		return fmt.Sprintf("nantes says %+v, %v", row, err)
	})
	if got := shown(nantes); !slices.Equal(got, []string{`{"away":true,"name":"n"}`, `{"name":"n"}`}) {
		t.Errorf("nantes shows %v", got)
	}
	must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"back":true}`))
	if got := converge(t, m, paris, m.Sites[2]); !slices.Equal(got, []string{`{"away":true,"back":true,"name":"n"}`}) {
		t.Errorf("the others show %v", got)
	}
}

// A scope on a change that names more sites than the resource has adds them, in one answer with one operation.
func TestAScopeAddsSites(t *testing.T) {
	m := open(t, Image, 4)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, paris, nantes))
	converge(t, m, paris, nantes)
	p := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"v":1}`, paris, nantes, toulouse))
	await(t, m, toulouse, p.Operation, engine.StateApplied)
	if got := converge(t, m, m.Sites[:3]...); !slices.Equal(got, []string{`{"name":"n","v":1}`}) {
		t.Errorf("the sites show %v", got)
	}
	ops, _, err := paris.Disk.Operations(t.Context(), engine.OperationFilter{Resource: a.Resource})
	if err != nil || len(ops) != 3 || ops[0].ID != p.Operation || ops[1].Type != engine.TypePlace || !ops[0].IssuedAt.After(ops[1].IssuedAt) {
		t.Errorf("the operations are %+v, %v", ops, err)
	}
	// A site that is to be added passes the request on; one that is refused adds nobody.
	toulouse.App.Inject(Rejects)
	must(t, 422)(submit(t.Context(), toulouse, Image, "PUT", string(a.Resource), `{"v":2}`, m.Sites...))
	q := must(t, 200)(submit(t.Context(), m.Sites[3], Image, "PUT", string(a.Resource), `{"v":3}`, m.Sites...))
	await(t, m, m.Sites[3], q.Operation, engine.StateApplied)
	if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"v":3}`}) {
		t.Errorf("the sites show %v", got)
	}
	must(t, 204)(submit(t.Context(), paris, Image, "DELETE", string(a.Resource), "", paris, nantes))
	converge(t, m, m.Sites...)
}

// Whoever is no member of the placement can write nothing, also when it says that it was added.
func TestAStrangerAddsItself(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, paris, nantes))
	converge(t, m, paris, nantes)
	id := document(t, paris, a.Resource)
	joins := &engine.Operation{ID: "0190a5c2-8a01-7d20-b1c9-1f6d1f0f2b77", Type: engine.TypePlace, Number: 1, Time: m.Now.UnixMicro(),
		Place: &engine.PlacementChange{Add: ids(toulouse)}}
	l := newPen(t, toulouse, paris, id).writes(engine.MapOperations, joins)
	for _, s := range []*Site{paris, nantes} {
		before := s.Disk.Stored()
		_ = s.Proc.Receive(toulouse.ID, l) // refused or not yet understood: it counts for nothing
		m.Reconcile()
		if got := placement(t, s, a.Resource); len(got) != 2 {
			t.Errorf("%s says that it lives at %v", s.Name, got)
		}
		if after := s.Disk.Stored(); after["changes"] != before["changes"] {
			t.Errorf("%s has stored it", s.Name)
		}
		if n := toulouse.Disk.Stored()["records"]; n != 0 {
			t.Error("toulouse has got the document")
		}
	}
}
