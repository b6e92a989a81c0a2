package intercept

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue/kubernetes"
	"github.com/skerry/skerry/web/intercept/request"
	"github.com/skerry/skerry/web/problem"
)

// says has a site's application answer every request with a status and a text.
func (s *siteUnderTest) says(status int, text string) {
	s.app.set(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	})
}

// TestWhatIsNotThere is answered with a scope as without: with the words of the application. Of what one site has the agent says that it is not
// replicated.
func TestWhatIsNotThere(t *testing.T) {
	m := newMesh(t)
	s, there := m.sites[paris], m.sites[nantes]
	kind := "not-replicated"
	s.submit = func(engine.Request) (engine.Answer, error) {
		return engine.Answer{}, &engine.Refusal{Status: 404, Type: kind, Detail: "no such replica"}
	}
	s.says(404, "none here")
	there.says(404, "none there")
	for _, kind = range []string{"not-replicated", "gone"} {
		a := s.do("DELETE", "/images/none", "", "Scope: paris & nantes")
		if a.status != 404 || a.body != "none here" {
			t.Errorf("%s: %d %s", kind, a.status, a.body)
		}
	}
	refusal := s.submit
	s.submit = func(r engine.Request) (engine.Answer, error) { // as another site's agent says it
		_, err := refusal(r)
		return engine.Answer{Status: 404, Header: http.Header{"Content-Type": {problem.MediaType}},
			Body: []byte(`{"type":"` + problem.Prefix + err.(*engine.Refusal).Type + `"}`)}, nil
	}
	for _, kind = range []string{"not-replicated", "gone"} {
		for _, method := range []string{"DELETE", "PATCH", "PUT"} {
			a := s.do(method, "/images/none", `{"a":1}`, "Scope: paris & nantes", "Content-Type: application/json")
			if a.status != 404 || a.body != "none here" {
				t.Errorf("%s of what is %s: %d %s", method, kind, a.status, a.body)
			}
		}
	}
	kind, s.submit = "not-replicated", refusal
	a := s.do("DELETE", "/images/none", "", "Scope: nantes")
	if a.status != 404 || a.body != "none there" {
		t.Errorf("of nantes: %d %s", a.status, a.body)
	}
	there.says(200, `{"id":"none"}`)
	s.do("DELETE", "/images/none", "", "Scope: paris & nantes").problem(t, 404, "not-replicated")
}

// TestQuestions that are POSTed are answered by one site of the scope.
func TestQuestions(t *testing.T) {
	m := newClusters(t)
	for scope, at := range map[string]engine.SiteID{"nantes": nantes, "paris & nantes": paris, "nantes % paris": paris, "sync(nantes & paris)": paris, "paris": paris} {
		for _, path := range []string{"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "/apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews",
			"/api/v1/namespaces/a/serviceaccounts/robot/token"} {
			before := len(m.sites[at].app.asked())
			m.sites[paris].do("POST", path, `{"spec":{}}`, "Scope: "+scope, "Authorization: Bearer mine", "Content-Type: application/json").want(t, 200)
			got := m.sites[at].app.asked()
			if len(got) != before+1 || got[before].uri != path || got[before].body != `{"spec":{}}` || got[before].header.Get("Authorization") != "Bearer mine" {
				t.Errorf("%s at %s: %+v", path, scope, got[before:])
			}
		}
	}
	if n := len(m.sites[paris].operations()) + len(m.sites[nantes].operations()); n != 0 {
		t.Errorf("there are %d operations", n)
	}
}

// TestSitesNeedNotAgreeOnWhatTheyAreAbleTo: one may have a kind more.
func TestSitesNeedNotAgreeOnWhatTheyAreAbleTo(t *testing.T) {
	m := newClusters(t)
	m.sites[paris].says(200, "all")
	m.sites[nantes].says(200, "more")
	for scope, want := range map[string]string{"sync(paris & nantes)": "all", "quorum(nantes & paris)": "all", "sync(nantes)": "more"} {
		if a := m.sites[paris].do("GET", "/apis", "", "Scope: "+scope); a.status != 200 || a.body != want {
			t.Errorf("%s: %d %s", scope, a.status, a.body)
		}
	}
}

// TestOwnersStayAtTheirSite: a client hears that its owner reference goes nowhere.
func TestOwnersStayAtTheirSite(t *testing.T) {
	m := newClusters(t)
	m.replicate("web", map[engine.SiteID]engine.LocalID{paris: "web", nantes: "web"})
	s := m.sites[paris]
	warned := func(a answer) bool {
		return slices.ContainsFunc(a.header["Warning"], func(w string) bool { return strings.Contains(w, "ownerReferences") })
	}
	const owned, none = `{"metadata":{"name":"web","ownerReferences":[{"uid":"1"}]}}`, `{"metadata":{"name":"web","ownerReferences":[]}}`
	for _, r := range [][]string{{"POST", "/pods", "Scope: paris & nantes", "Content-Type: application/json"}, {"PATCH", "/pods/web", "Content-Type: application/merge-patch+json"},
		{"PUT", "/pods/web", "Content-Type: application/json"}} {
		if a := s.do(r[0], r[1], owned, r[2:]...); a.status > 299 || !warned(a) {
			t.Errorf("%s: %d %v", r[0], a.status, a.header)
		}
		if a := s.do(r[0], r[1], none, r[2:]...); a.status > 299 || warned(a) {
			t.Errorf("%s without owners: %d %v", r[0], a.status, a.header)
		}
	}
	if a := s.do("POST", "/pods", owned, "Content-Type: application/json"); warned(a) { // it is this cluster's own
		t.Errorf("without a scope: %v", a.header)
	}
}

// TestContentsGoAlong: who deletes a container of the application's own kind of them takes along what is replicated in it at the same sites, and
// may delete that as well meanwhile. What is elsewhere too keeps the container.
func TestContentsGoAlong(t *testing.T) {
	kind := &engine.Kind{Service: "images", Name: "namespaces", Collection: "/namespaces", Item: "/namespaces/{id}",
		ID: engine.IDRule{From: engine.IDFromBody, At: "/metadata/name", Settable: true}}
	m := newMeshIn(t, kubernetes.Dialect{}, kind, request.Limits{}, 0)
	m.replicate("shop", map[engine.SiteID]engine.LocalID{paris: "shop", nantes: "shop"})
	s := m.sites[paris]
	for _, at := range []engine.SiteID{paris, nantes} {
		row := m.sites[at].resources["shop"]
		row.Kind = kind.Name
		m.sites[at].resources["shop"] = row
	}
	both := map[engine.SiteID]engine.ReplicaStatus{paris: {}, nantes: {}}
	s.holding = map[string][]engine.ResourceRow{"shop": {{Service: "images", Kind: "maps", ID: "shop/a", Sites: both}}}
	a := s.do("DELETE", "/namespaces/shop", "")
	if a.status != 201 || !strings.Contains(strings.Join(a.header["Warning"], " "), "maps shop/a") || len(s.operations()) != 1 {
		t.Errorf("%d %v, %d operations", a.status, a.header, len(s.operations()))
	}
	// What has gone along by the time that its client deletes it is deleted for that client too, until the container is gone.
	inner := &engine.Kind{Service: "images", Name: "maps", Within: "namespaces", Collection: "/namespaces/{namespaces}/maps", Item: "/namespaces/{namespaces}/maps/{id}",
		ID: kind.ID}
	m = newMeshIn(t, kubernetes.Dialect{}, inner, request.Limits{}, 0)
	m.sites[paris].handler.Client.Learn("images", []*engine.Kind{kind})
	row := func(k *engine.Kind, id string, state engine.State) {
		m.sites[paris].resources[id] = engine.ResourceRow{ID: engine.ResourceID(id), Service: "images", Kind: k.Name, State: state, Sites: both}
	}
	row(kind, "shop", engine.StateDeleting)
	row(inner, "shop/a", engine.StateDeleted)
	m.sites[paris].says(404, "none")
	if a := m.sites[paris].do("DELETE", "/namespaces/shop/maps/a", ""); a.status != 200 || !strings.Contains(a.body, `"status":"Success"`) {
		t.Errorf("of what has gone along: %d %s", a.status, a.body)
	}
	row(kind, "shop", engine.StateDeleted)
	if a := m.sites[paris].do("DELETE", "/namespaces/shop/maps/a", ""); a.status != 404 || a.body != "none" {
		t.Errorf("when the container is gone: %d %s", a.status, a.body)
	}

	s.holding["shop"] = append(s.holding["shop"], engine.ResourceRow{Service: "images", Kind: "maps", ID: "shop/b",
		Sites: map[engine.SiteID]engine.ReplicaStatus{paris: {}, nantes: {}, "QmLyon": {}}})
	if a := s.do("DELETE", "/namespaces/shop", ""); a.status != 409 || !strings.Contains(a.body, "shop/b") || len(s.operations()) != 1 {
		t.Errorf("with something elsewhere: %d %s", a.status, a.body)
	}
}
