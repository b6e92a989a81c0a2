package intercept

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue/kubernetes"
)

// TestAScopeByImpersonation: what kubectl says as --as-user-extra scope=… is a scope, and the application sees nothing of it.
func TestAScopeByImpersonation(t *testing.T) {
	m := newClusters(t)
	s := m.sites[paris]
	s.do("GET", "/pods/web", "", "Impersonate-User: skerry:me", "Impersonate-Extra-Scope: nantes").want(t, 200)
	if len(s.app.asked()) != 0 || len(m.sites[nantes].app.asked()) != 1 {
		t.Errorf("paris was asked %+v, nantes %+v", s.app.asked(), m.sites[nantes].app.asked())
	}
	s.do("POST", "/pods", "binary", protobuf, "Impersonate-User: anna", "Impersonate-Extra-Scope: paris & nantes", "Impersonate-Extra-Color: red").want(t, 201)
	if len(s.operations()) != 1 {
		t.Errorf("the operations are %+v", s.operations())
	}
	s.do("GET", "/pods/web", "", "Impersonate-User: skerry:me", "Impersonate-Extra-Scope: nantes", "Scope: paris").want(t, 200)
	for _, site := range m.sites {
		for i, asked := range site.app.asked() {
			anna := asked.method == "POST"
			if asked.header.Get("Impersonate-Extra-Scope") != "" || (asked.header.Get("Impersonate-User") == "anna") != anna || (asked.header.Get("Impersonate-Extra-Color") != "") != anna ||
				!anna && asked.header.Get("Impersonate-User") != "" {
				t.Errorf("request %d to %s has %v", i, site.id, asked.header)
			}
		}
	}
	if got := s.app.asked(); got[len(got)-1].method != "GET" {
		t.Errorf("the header Scope does not come first: %+v", got)
	}
}

// written is an object with a scope, "" for none, and more metadata.
func written(scope, more string) string {
	return `{"metadata":{"name":"web","annotations":{"skerry/scope":"` + scope + `"}` + more + `}}`
}

// TestAScopeInTheObject: it counts where an object is made, and where it becomes another, and stays in the object.
func TestAScopeInTheObject(t *testing.T) {
	const (
		both     = "paris & nantes"
		asJSON   = "Content-Type: application/json"
		asMerge  = "Content-Type: application/merge-patch+json"
		asApply  = "Content-Type: application/apply-patch+yaml"
		withYAML = "metadata:\n  name: web\n  annotations:\n    skerry/scope: paris & nantes\n"
	)
	owner := func(controller string) string {
		return `,"ownerReferences":[{"kind":"Deployment","name":"web","uid":"1","controller":` + controller + `}]`
	}
	for name, c := range map[string]struct {
		shown  string // what the application has under the name; empty: nothing
		method string
		path   string
		body   string
		header string
		here   bool // it runs here alone, as it came
		status int
	}{
		"created":                  {"", "POST", "/pods", written(both, ""), asJSON, false, 201},
		"created in YAML":          {"", "POST", "/pods", withYAML, "Content-Type: application/yaml", false, 201},
		"applied":                  {"", "PATCH", "/pods/web", withYAML, asApply, false, 201},
		"put":                      {"", "PUT", "/pods/web", written(both, ""), asJSON, false, 201},
		"another than it says":     {written("paris", ""), "PUT", "/pods/web", written(both, ""), asJSON, false, 201},
		"says none yet":            {`{"metadata":{"name":"web"}}`, "PATCH", "/pods/web", written(both, ""), asMerge, false, 201},
		"the same that it says":    {written(both, ""), "PUT", "/pods/web", written(both, ""), asJSON, true, 200},
		"applied again":            {written(both, ""), "PATCH", "/pods/web", withYAML, asApply, true, 200},
		"a patch of its status":    {written("paris", ""), "PATCH", "/pods/web/status", written(both, ""), asMerge, true, 200},
		"made by a controller":     {"", "POST", "/pods", written(both, owner("true")), asJSON, true, 200},
		"owned and not made":       {"", "POST", "/pods", written(both, owner("false")), asJSON, false, 201},
		"in a template":            {"", "POST", "/pods", `{"metadata":{"name":"web"},"spec":{"template":` + written(both, "") + `}}`, asJSON, true, 200},
		"in what was applied":      {"", "POST", "/pods", `{"metadata":{"name":"web","annotations":{"last":"skerry/scope"}}}`, asJSON, true, 200},
		"no text":                  {"", "POST", "/pods", `{"metadata":{"annotations":{"skerry/scope":1}}}`, asJSON, true, 200},
		"no scope":                 {"", "POST", "/pods", written("paris & ", ""), asJSON, false, 400},
		"a site that nobody knows": {"", "POST", "/pods", written("atlantis", ""), asJSON, false, 422},
	} {
		t.Run(name, func(t *testing.T) {
			m := newClusters(t)
			s := m.sites[paris]
			s.app.answer = func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				if r.Method == "GET" {
					if c.shown == "" {
						w.WriteHeader(http.StatusNotFound)
					}
					_, _ = io.WriteString(w, c.shown)
					return
				}
				s.app.mu.Lock()
				s.app.log = append(s.app.log, asked{r.Method, r.RequestURI, r.Host, string(b), r.Header.Clone()})
				s.app.mu.Unlock()
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"metadata":{"name":"web"}}`)
			}
			s.do(c.method, c.path, c.body, c.header).want(t, c.status)
			ops, got := s.operations(), s.app.asked()
			if c.here && (len(ops) != 0 || len(got) != 1 || got[0].body != c.body) {
				t.Errorf("the operations are %+v, the application was asked %+v", ops, got)
			}
			if c.status != 201 {
				return
			}
			if len(ops) != 1 || len(ops[0].Placement) != 2 || ops[0].Scope != "{"+both+"}" {
				t.Fatalf("the operations are %+v", ops)
			}
			if !strings.Contains(string(ops[0].Body), kubernetes.Annotation) && !strings.Contains(c.header, "application/yaml") { // the test's clusters read no YAML
				t.Errorf("what travels has lost its scope: %s", ops[0].Body)
			}
		})
	}
}

// TestAScopeInTheObjectComesLast: what the request says counts more, and an agent that passes it on has read it already.
func TestAScopeInTheObjectComesLast(t *testing.T) {
	m := newClusters(t)
	s := m.sites[paris]
	s.do("POST", "/pods", written("paris & nantes & lyon", ""), "Content-Type: application/json", "Scope: nantes").want(t, 201)
	if ops := s.operations(); len(ops) != 1 || len(ops[0].Placement) != 1 || ops[0].Placement[0] != engine.SiteID(nantes) {
		t.Errorf("the operations are %+v", ops)
	}
}
