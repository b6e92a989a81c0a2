package intercept

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue/kubernetes"
	"github.com/skerry/skerry/glue/openstack"
	"github.com/skerry/skerry/web/intercept/request"
)

// podKind is one that the cluster has told.
var podKind = &engine.Kind{
	Service: "images", Name: "image", Collection: "/pods", Item: "/pods/{id}", OnlyNamed: true,
	ID: engine.IDRule{From: engine.IDFromBody, At: "/metadata/name", Settable: true}, Ignore: []engine.Pointer{"/metadata/uid", "/status"},
	ObservedPatches: []string{"application/apply-patch+yaml"}, CreatingPatches: []string{"application/apply-patch+yaml"},
}

// newClusters is a mesh of clusters, which answer dry runs with what they read.
func newClusters(t *testing.T) *mesh {
	m := newMeshIn(t, kubernetes.Dialect{}, podKind, request.Limits{}, 0)
	for _, s := range m.sites {
		s.app.answer = func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			if strings.HasSuffix(r.URL.Path, "/selfsubjectreviews") { // whoever runs something here first
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, `{"status":{"userInfo":{"username":"`+r.Header.Get("Authorization")+`","uid":"1","groups":["developers"]}}}`)
				return
			}
			s.app.mu.Lock()
			s.app.log = append(s.app.log, asked{r.Method, r.RequestURI, r.Host, string(b), r.Header.Clone()})
			s.app.mu.Unlock()
			if string(b) == "refused" {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"metadata":{"name":"web","uid":"1"},"read":`+string(quote(string(b)))+`,"status":{}}`)
		}
	}
	return m
}

func quote(s string) []byte {
	b, _ := json.Marshal(s)
	return b
}

const protobuf = "Content-Type: application/vnd.kubernetes.protobuf"

func TestABodyIsReadByTheApplication(t *testing.T) {
	s := newClusters(t).sites[paris]
	s.do("POST", "/pods?fieldManager=x", "binary", protobuf, "Scope: paris & nantes", "Accept: application/vnd.kubernetes.protobuf", "Authorization: Bearer mine").want(t, 201)
	got := s.app.asked()
	if len(got) != 1 || got[0].uri != "/pods?fieldManager=x&dryRun=All" || got[0].body != "binary" ||
		got[0].header.Get("Accept") != "application/json" || got[0].header.Get("Authorization") != "Bearer mine" || got[0].header.Get("Scope") != "" {
		t.Fatalf("the application was asked %+v", got)
	}
	ops := s.operations()
	if len(ops) == 1 && !ops[0].Asker.Same(&engine.Asker{User: "Bearer mine", Groups: []string{"developers"}}) {
		t.Errorf("%+v asked for the operation", ops[0].Asker)
	}
	if len(ops) != 1 || string(ops[0].Body) != `{"metadata":{"name":"web"},"read":"binary"}` || ops[0].Header["Content-Type"] != "application/json" {
		t.Errorf("the operation is %+v", ops)
	}
	// What it refuses, it refuses.
	s.do("POST", "/pods", "refused", protobuf, "Scope: paris & nantes").want(t, 403)
	if len(s.operations()) != 1 {
		t.Error("what was refused is an operation")
	}
	// Without a scope nothing is read.
	s.do("POST", "/pods", "binary", protobuf).want(t, 200)
	if got := s.app.asked(); got[len(got)-1].uri != "/pods" || len(s.operations()) != 1 {
		t.Errorf("without a scope: %+v", got)
	}
}

func TestABodyIsReadWhereItRuns(t *testing.T) {
	m := newClusters(t)
	s := m.sites[paris]
	s.do("POST", "/pods", "binary", protobuf, "Scope: nantes").want(t, 201)
	if len(s.app.asked()) != 0 || len(m.sites[nantes].app.asked()) != 1 || len(s.operations()) != 1 {
		t.Errorf("paris asked %+v, nantes %+v", s.app.asked(), m.sites[nantes].app.asked())
	}
	s.down[nantes] = true
	a := s.do("POST", "/pods", "binary", protobuf, "Scope: nantes")
	a.want(t, 503)
	if !strings.Contains(a.body, `"kind":"Status"`) || !strings.Contains(a.body, "nantes cannot be reached") {
		t.Errorf("the refusal is %s", a.body)
	}
}

func TestWhatTheApplicationIsAbleTo(t *testing.T) {
	m := newClusters(t)
	s := m.sites[paris]
	s.do("GET", "/apis", "", "Scope: nantes").want(t, 200)
	s.down[nantes] = true
	s.do("GET", "/apis", "", "Scope: nantes").want(t, 200)
	s.do("GET", "/logs", "", "Scope: nantes").want(t, 503)
	if len(m.sites[nantes].app.asked()) != 1 || len(s.app.asked()) != 1 {
		t.Errorf("nantes was asked %+v, paris %+v", m.sites[nantes].app.asked(), s.app.asked())
	}
}

func TestDryRunsAreDoneOnce(t *testing.T) {
	m := newClusters(t)
	m.replicate("web", map[engine.SiteID]engine.LocalID{paris: "web", nantes: "web"})
	s := m.sites[paris]
	for _, request := range [][]string{
		{"POST", "/pods?dryRun=All", `{"metadata":{"name":"x"}}`, "Scope: paris & nantes", "Content-Type: application/json"},
		{"PATCH", "/pods/web?dryRun=All", `{}`, "Content-Type: application/merge-patch+json"},
		{"DELETE", "/pods/web", `{"dryRun":["All"]}`, "Content-Type: application/json"},
	} {
		before := len(s.app.asked())
		s.do(request[0], request[1], request[2], request[3:]...).want(t, 200)
		if got := s.app.asked(); len(got) != before+1 || got[before].uri != request[1] || got[before].body != request[2] {
			t.Errorf("%v asks %+v", request, got[before:])
		}
	}
	if ops := s.operations(); len(ops) != 0 || len(m.sites[nantes].app.asked()) != 0 {
		t.Errorf("a dry run has become %+v, and nantes was asked %+v", ops, m.sites[nantes].app.asked())
	}
	s.do("POST", "/pods?dryRun=All", `{}`, "Scope: nantes", "Content-Type: application/json").want(t, 200)
	if len(m.sites[nantes].app.asked()) != 1 {
		t.Error("nantes was not asked")
	}
}

func TestWhatIsKeptIsAnswered(t *testing.T) {
	s := newClusters(t).sites[paris]
	s.submit = func(engine.Request) (engine.Answer, error) {
		return engine.Answer{Status: http.StatusAccepted, Operation: "op-1", Site: paris}, nil
	}
	a := s.do("POST", "/pods", `{"metadata":{"name":"web"}}`, "Scope: nantes", "Content-Type: application/json")
	a.want(t, 202)
	if a.body != `{"metadata":{"name":"web"}}` || !slices.ContainsFunc(a.header["Warning"], func(w string) bool { return strings.Contains(w, "op-1") }) {
		t.Errorf("%v %s", a.header, a.body)
	}
}

func TestOnlyWhatIsNamedBelowAnItem(t *testing.T) {
	m := newClusters(t)
	m.replicate("web", map[engine.SiteID]engine.LocalID{paris: "web", nantes: "web"})
	s := m.sites[paris]
	s.do("PUT", "/pods/web/status", `{}`, "Content-Type: application/json").want(t, 200)
	if len(s.operations()) != 0 || len(s.app.asked()) != 1 {
		t.Errorf("a status has become %+v", s.operations())
	}
	s.do("PATCH", "/pods/web", `{}`, "Content-Type: application/apply-patch+yaml").want(t, 201)
	if ops := s.operations(); len(ops) != 1 || ops[0].Type != engine.TypePatch {
		t.Errorf("an apply has become %+v", ops)
	}
}

// TestRefusalsOfAnAgentInTheFormOfItsApplication: what the application says stays as it is.
func TestRefusalsOfAnAgentInTheFormOfItsApplication(t *testing.T) {
	s := newMesh(t).sites[paris]
	s.handler.refuser = openstack.Refuser{}
	a := s.do("GET", "/images", "", "Scope: atlantis")
	a.want(t, 422)
	if !strings.HasPrefix(a.body, `{"error":{`) || !strings.Contains(a.body, "atlantis") || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("%v %s", a.header, a.body)
	}
	s.app.set(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<html>none</html>")
	})
	if a := s.do("GET", "/images/1", ""); a.status != 404 || a.body != "<html>none</html>" {
		t.Errorf("%d %s", a.status, a.body)
	}
}
