package intercept

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// as makes a request as a client that has shown a certificate, which the listener has checked.
func (s *siteUnderTest) as(user string, groups []string, method, path, body string, headers ...string) answer {
	s.mesh.t.Helper()
	r := httptest.NewRequest(method, "https://paris"+path, strings.NewReader(body))
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	c := &x509.Certificate{Subject: pkix.Name{CommonName: user, Organization: groups}, Raw: []byte(user)}
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}, VerifiedChains: [][]*x509.Certificate{{c}}}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

// last is the header of the last request that the application got, and what it says of who asks.
func (s *siteUnderTest) last(t *testing.T) (h http.Header, user string, groups []string) {
	t.Helper()
	asked := s.app.asked()
	if len(asked) == 0 {
		t.Fatal("the application was asked nothing")
	}
	h = asked[len(asked)-1].header
	return h, h.Get("X-Remote-User"), h["X-Remote-Group"]
}

// TestNobodySaysWhoTheyAre: what a client says in the headers of an authenticating proxy reaches no application, on any way.
func TestNobodySaysWhoTheyAre(t *testing.T) {
	m := newClusters(t)
	s := m.sites[paris]
	forged := []string{"X-Remote-User: root", "X-Remote-Group: system:masters", "x-remote-extra-scopes: all", "X-Remote-Uid: 0", "Authorization: Bearer mine"}
	for _, believes := range []Believes{{}, {Certificates: true, Sites: []engine.SiteName{"paris"}}} {
		for _, site := range m.sites {
			site.handler.Believes = believes
		}
		for _, request := range [][]string{
			{"GET", "/pods/web", ""},
			{"GET", "/logs", ""},
			{"GET", "/pods", "", "Scope: paris & nantes"},
			{"GET", "/pods/web", "", "Scope: nantes"},
			{"POST", "/pods", "binary", protobuf},
			{"POST", "/pods", "binary", protobuf, "Scope: paris & nantes"},
			{"POST", "/pods", "binary", protobuf, "Scope: nantes"},
			{"PUT", "/pods/web", `{"metadata":{"resourceVersion":"1"}}`, "Content-Type: application/json"},
		} {
			s.do(request[0], request[1], request[2], slices.Concat(forged, request[3:])...)
		}
	}
	for _, site := range m.sites {
		for _, asked := range site.app.asked() {
			for name := range asked.header {
				if strings.HasPrefix(strings.ToLower(name), "x-remote-") {
					t.Errorf("%s %s at %s has %s", asked.method, asked.uri, site.id, name)
				}
			}
			if asked.header.Get("Authorization") != "Bearer mine" {
				t.Errorf("%s %s at %s has lost its token", asked.method, asked.uri, site.id)
			}
		}
	}
}

// TestACertificateIsPassedOn: the application is told whose it is, by headers, and by those of the client's own least of all.
func TestACertificateIsPassedOn(t *testing.T) {
	m := newClusters(t)
	s := m.sites[paris]
	s.as("alice", []string{"dev"}, "GET", "/pods/web", "").want(t, 200)
	if _, user, _ := s.last(t); user != "" {
		t.Errorf("an application that believes nobody is told of %q", user)
	}
	s.handler.Believes = Believes{Certificates: true}
	for _, request := range [][]string{
		{"GET", "/pods/web", ""},
		{"GET", "/pods", "", "Scope: paris"},
		{"POST", "/pods", "binary", protobuf},
		{"POST", "/pods", "binary", protobuf, "Scope: paris & nantes"},
	} {
		s.as("alice", []string{"dev", "ops"}, request[0], request[1], request[2], append(request[3:], "X-Remote-User: root", "X-Remote-Group: system:masters",
			"Connection: X-Remote-Group, X-Remote-User")...)
		h, user, groups := s.last(t)
		if user != "alice" || len(h["X-Remote-User"]) != 1 || !slices.Equal(groups, []string{"dev", "ops"}) ||
			h.Get("X-Remote-Extra-Authentication.kubernetes.io%2fcredential-Id") == "" {
			t.Errorf("%v: the application is told %v", request, h)
		}
	}
	if ops := s.operations(); len(ops) != 1 || ops[0].User != "alice" {
		t.Errorf("the operations are %+v", ops)
	}
	before := len(s.app.asked())
	s.as("alice ", nil, "GET", "/pods/web", "").want(t, 401) // who would be alice once it has travelled
	s.as("alice", []string{""}, "GET", "/pods/web", "").want(t, 401)
	if len(s.app.asked()) != before {
		t.Error("the application was asked in the name of somebody else")
	}
}

// TestATokenOfTheAgents: so it is with one, which goes no further.
func TestATokenOfTheAgents(t *testing.T) {
	s := newClusters(t).sites[paris]
	s.handler.Believes.Token = func(r *http.Request) (glue.Identity, bool, error) {
		token := r.Header.Get("Authorization")
		switch token {
		case "Bearer ours":
			r.Header.Del("Authorization")
			return glue.Identity{User: "skerry:alice", Groups: []string{"skerry:viewer"}}, true, nil
		case "Bearer over":
			return glue.Identity{}, false, &engine.Refusal{Status: 401, Type: "unauthenticated", Detail: "no longer"}
		}
		return glue.Identity{}, false, nil
	}
	s.do("GET", "/pods/web", "", "Authorization: Bearer ours").want(t, 200)
	if h, user, groups := s.last(t); user != "skerry:alice" || !slices.Equal(groups, []string{"skerry:viewer"}) || h.Get("Authorization") != "" {
		t.Errorf("the application is told %v", h)
	}
	s.do("GET", "/pods/web", "", "Authorization: Bearer theirs").want(t, 200)
	if h, user, _ := s.last(t); user != "" || h.Get("Authorization") != "Bearer theirs" {
		t.Errorf("the application is told %v", h)
	}
	s.do("GET", "/pods/web", "", "Authorization: Bearer over").want(t, 401)
}

// TestTheWordOfAnotherSite: a site takes it from those that its configuration names.
func TestTheWordOfAnotherSite(t *testing.T) {
	m := newClusters(t)
	s, there := m.sites[paris], m.sites[nantes]
	s.handler.Believes = Believes{Certificates: true}
	a := s.as("alice", []string{"dev"}, "GET", "/pods/web", "", "Scope: nantes")
	a.want(t, 403)
	if !strings.Contains(a.body, "does not take the word of paris") || len(there.app.asked()) != 0 {
		t.Errorf("%s, and nantes was asked %+v", a.body, there.app.asked())
	}
	s.as("alice", nil, "GET", "/pods/web", "", "Scope: nantes", "Authorization: Bearer also").want(t, 200)
	if h, user, _ := there.last(t); user != "" || h.Get("Authorization") != "Bearer also" {
		t.Errorf("nantes is told %v", h)
	}
	there.handler.Believes = Believes{Sites: []engine.SiteName{"lyon", "paris"}}
	s.as("alice", []string{"dev"}, "GET", "/pods/web", "", "Scope: nantes").want(t, 200)
	if _, user, groups := there.last(t); user != "alice" || !slices.Equal(groups, []string{"dev"}) {
		t.Errorf("nantes is told %v %v", user, groups)
	}
	s.as("alice", []string{"dev"}, "GET", "/pods", "", "Scope: paris & nantes").want(t, 200)
	if _, user, _ := there.last(t); user != "alice" {
		t.Errorf("nantes is told %v of a list", user)
	}
}
