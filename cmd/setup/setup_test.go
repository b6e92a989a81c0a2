package setup

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	siteagent "github.com/skerry/skerry/cmd/agent"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// served starts something that answers each path with a text, to whom shows a token; what is not there is 404.
func served(t *testing.T, header, value string, answers map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := answers[r.URL.Path]
		switch {
		case r.URL.Path == "/v3/auth/tokens":
			w.Header().Set("X-Subject-Token", value)
			w.WriteHeader(http.StatusCreated)
		case header != "" && r.Header.Get(header) != value:
			w.WriteHeader(http.StatusUnauthorized)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// file writes a text and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// written checks a front, writes it and has the configuration read as an agent reads it.
func written(t *testing.T, f *Front) (siteagent.Config, string) {
	t.Helper()
	if err := f.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if _, err := f.Write(folder, Site{Name: "paris", DataDir: "data", API: "127.0.0.1:8700", Listen: "127.0.0.1:9701", MeshPort: 4700}, noon); err != nil {
		t.Fatal(err)
	}
	c, _, wrong := siteagent.CheckFile(filepath.Join(folder, Configuration))
	if len(wrong) > 0 {
		t.Fatalf("what was written is wrong: %v", wrong)
	}
	return c, folder
}

const shop = `openapi: 3.1.0
info: {title: The Shop}
paths:
  /boats:
    get: {responses: {"200": {content: {application/json: {schema: {type: array}}}}}}
    post: {}
  /boats/{id}:
    get: {responses: {"200": {content: {application/json: {schema: {properties: {id: {type: string}}}}}}}}
`

func TestFromAddress(t *testing.T) {
	at := served(t, "", "", map[string]string{"/api/openapi.json": shop, "/boats": "[]"})
	f, err := FromAddress(t.Context(), at, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := written(t, &f)
	if s := c.Services["the-shop"]; s.Upstream != at || s.Listen != "127.0.0.1:9701" {
		t.Errorf("services are %+v", c.Services)
	}
	if told := strings.Join(f.Told, "\n"); !strings.Contains(told+"\n", "/api/openapi.json, with 1 kind\n") || !strings.Contains(told, "which answers") {
		t.Errorf("it tells %s", told)
	}
}

func TestDescription(t *testing.T) {
	at := served(t, "", "", map[string]string{"/api/openapi.json": shop})
	if b, err := Description(t.Context(), at+"/api/openapi.json", Options{}); err != nil || string(b) != shop {
		t.Errorf("at an address: %q, %v", b, err)
	}
	if _, err := Description(t.Context(), at+"/elsewhere", Options{}); err == nil || !strings.Contains(err.Error(), "404 Not Found") {
		t.Errorf("where there is none: %v", err)
	}
	if _, err := Description(t.Context(), filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
}

// TestDescriptionElsewhere: redirects are followed a few times, and to the same application alone: another one would see the token.
func TestDescriptionElsewhere(t *testing.T) {
	const whole = "Bearer s3cret"
	var stranger atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stranger.Store(true) }))
	defer other.Close()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{"/openapi.json": "/v1/openapi.json", "/round": "/round", "/other": other.URL + "/openapi.json"}[r.URL.Path]
		switch {
		case r.Header.Get("Authorization") != whole:
			w.WriteHeader(http.StatusUnauthorized)
		case to != "":
			http.Redirect(w, r, to, http.StatusFound)
		default:
			_, _ = io.WriteString(w, shop) // what is missing shows
		}
	}))
	defer s.Close()
	folder := t.TempDir()
	o := Options{Token: filepath.Join(folder, "token"), CA: filepath.Join(folder, "ca.pem")}
	for path, b := range map[string][]byte{o.Token: []byte("s3cret\n"), o.CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := Description(t.Context(), s.URL+"/openapi.json", o); err != nil || string(b) != shop {
		t.Errorf("redirected: %q, %v", b, err)
	}
	for path, want := range map[string]string{"/round": "more than 5 times", "/other": "another application: give " + other.URL} {
		if b, err := Description(t.Context(), s.URL+path, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %q, %v", path, b, err)
		}
	}
	if stranger.Load() {
		t.Error("another application was asked")
	}
	for _, less := range []Options{{CA: o.CA}, {Token: o.Token}} {
		if b, err := Description(t.Context(), s.URL+"/openapi.json", less); err == nil {
			t.Errorf("with %+v there is %q", less, b)
		}
	}
}

// TestFromAddressWithoutADocument: an application that does not describe itself is passed through until a person describes it.
func TestFromAddressWithoutADocument(t *testing.T) {
	f, err := FromAddress(t.Context(), served(t, "", "", nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	written(t, &f)
	if len(f.Next) != 1 || !strings.Contains(f.Next[0], "kinds") {
		t.Errorf("to look after: %v", f.Next)
	}
}

func TestCheck(t *testing.T) {
	catalog := "application: shop\nservices:\n  shop:\n    kinds:\n      boat: {collection: /boats, item: \"/boats/{id}\", id: {from: body, at: /id}}\n"
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }))
	defer failing.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, c := range map[string]struct{ at, token, wrong, next string }{
		"nobody there":          {at: gone.URL, wrong: "does not answer"},
		"broken":                {at: failing.URL, wrong: "answers GET /boats with 500"},
		"asks who":              {at: served(t, "Authorization", "Bearer t", nil), next: "asks who you are (401)"},
		"does not know the one": {at: served(t, "Authorization", "Bearer t", nil), token: "u", wrong: "does not let the agent in"},
		"no such collection":    {at: served(t, "", "", nil), next: "has nothing at /boats (404)"},
		"good":                  {at: served(t, "Authorization", "Bearer t", map[string]string{"/boats": "[]"}), token: "t"},
	} {
		o := Options{Upstreams: map[string]string{"": c.at}}
		if c.token != "" {
			o.Token = file(t, "token", c.token+"\n")
		}
		f, err := FromCatalog("catalog", []byte(catalog), o)
		if err != nil {
			t.Fatal(err)
		}
		err = f.Check(t.Context())
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %v", name, err)
		}
		if next := strings.Join(f.Next, "\n"); !strings.Contains(next, c.next) || c.next == "" && next != "" {
			t.Errorf("%s: to look after is %q", name, next)
		}
	}
}

// TestFromKubeconfig: the cluster is asked with the agent's own token, and its authority comes along.
func TestFromKubeconfig(t *testing.T) {
	verbs := `"verbs":["create","delete","get","list","patch","update"]`
	at := served(t, "Authorization", "Bearer t", map[string]string{
		"/api":        `{"items":[{"metadata":{},"versions":[{"version":"v1","resources":[{"resource":"namespaces","scope":"Cluster","responseKind":{"kind":"Namespace"},` + verbs + `}]}]}]}`,
		"/apis":       `{"items":[]}`,
		"/openapi/v3": `{"paths":{}}`,
	})
	path := file(t, "kubeconfig", `current-context: edge
contexts: [{name: edge, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "`+at+`"}}]
users: [{name: u, user: {}}]
`)
	if _, err := FromKubeconfig(path, "", Options{}); err == nil || !strings.Contains(err.Error(), "create serviceaccount") {
		t.Errorf("without an account of the agent's own: %v", err)
	}
	f, err := FromKubeconfig(path, "", Options{Token: file(t, "token", "t")})
	if err != nil {
		t.Fatal(err)
	}
	c, folder := written(t, &f)
	if s := c.Services["cluster"]; s.Upstream != at || s.TLS == nil || s.Credentials == nil {
		t.Errorf("the service is %+v", s)
	}
	if told := strings.Join(f.Told, "\n"); !strings.Contains(told, "with 1 kind") || strings.Contains(told, "kinds") {
		t.Errorf("it tells %s", told)
	}
	// A further site has the catalog of the others, and its own cluster.
	theirs, err := f.With("theirs.yaml", []byte("application: edge\nservices: {pods: {glue: kubernetes}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := written(t, &theirs); c.Services["pods"].Upstream != at || c.Services["pods"].TLS == nil {
		t.Errorf("the service of their catalog is %+v", c.Services)
	}
	for _, others := range []string{"application: lab\nservices: {images: {kinds: {image: {collection: /images, item: \"/images/{id}\", id: {from: path}}}}}\n",
		"application: edge\nservices: {a: {glue: kubernetes}, b: {glue: kubernetes}}\n"} {
		if _, err := f.With("theirs.yaml", []byte(others)); err == nil || !strings.Contains(err.Error(), "--upstream") {
			t.Errorf("with a catalog of others: %v", err)
		}
	}
	b, err := os.ReadFile(filepath.Join(folder, "listener.pem"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(b)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: "127.0.0.1", CurrentTime: noon}); err != nil {
		t.Error(err)
	}
}

func TestFromClouds(t *testing.T) {
	answers := map[string]string{"/v2/images": "{}"}
	at := served(t, "X-Auth-Token", "secret", answers)
	answers["/v3/auth/tokens"] = `{"token":{"catalog":[
		{"type":"identity","endpoints":[{"interface":"public","region":"r","url":"` + at + `/v3"}]},
		{"type":"image","endpoints":[{"interface":"internal","region":"r","url":"http://elsewhere:1"},{"interface":"public","region":"r","url":"` + at + `"}]},
		{"type":"volume","endpoints":[{"interface":"public","region":"r","url":"` + at + `/v3/x"}]}]}}`
	path := file(t, "clouds.yaml", "clouds:\n  edge:\n    auth: {auth_url: \""+at+"\", username: u, password: p, project_name: x}\n    region_name: r\n    verify: true\n  other: {auth: {}}\n")
	if _, err := FromClouds(t.Context(), path, "", Options{}); err == nil || !strings.Contains(err.Error(), "edge, other") {
		t.Errorf("of a file with two: %v", err)
	}
	f, err := FromClouds(t.Context(), path, "edge", Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Keystone asks for no token at its root, and this one for its own.
	answers["/"] = "{}"
	c, folder := written(t, &f)
	if len(c.Services) != 2 || c.Services["image"].Upstream != at || c.Services["image"].Credentials == nil || c.Services["identity"].Credentials != nil {
		t.Errorf("services are %+v", c.Services)
	}
	if b, err := os.ReadFile(filepath.Join(folder, "agent-token")); string(b) != "secret\n" {
		t.Errorf("the token is %q, %v", b, err)
	}
	answers["/v3/auth/tokens"] = `{"token":{"catalog":[{"type":"image","endpoints":[{"interface":"public","region":"r","url":"http://cloud/image"}]}]}}`
	if _, err := FromClouds(t.Context(), path, "edge", Options{}); err == nil || !strings.Contains(err.Error(), "no path") {
		t.Errorf("of a service below a path: %v", err)
	}
}

// TestWriteOverwritesNothing, and leaves nothing when it refuses.
func TestWriteOverwritesNothing(t *testing.T) {
	f, err := FromAddress(t.Context(), served(t, "", "", nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := Site{Name: "paris", DataDir: "data", API: "127.0.0.1:8700", Listen: "127.0.0.1:9701", MeshPort: 4700}
	for _, there := range []string{"agent.yaml", "catalog.yaml"} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, there), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(folder, s, noon); err == nil || !strings.Contains(err.Error(), there) {
			t.Errorf("with %s there: %v", there, err)
		}
		left, err := os.ReadDir(folder)
		if b, _ := os.ReadFile(filepath.Join(folder, there)); err != nil || len(left) != 1 || string(b) != "mine" {
			t.Errorf("with %s there it leaves %v, %q, %v", there, left, b, err)
		}
	}
}

func TestDetect(t *testing.T) {
	home := t.TempDir()
	clouds := filepath.Join(home, ".config", "openstack", "clouds.yaml")
	kubeconfig := filepath.Join(home, ".kube", "config")
	for path, text := range map[string]string{
		clouds:     "clouds:\n  edge: {auth: {auth_url: http://k}}\n",
		kubeconfig: "current-context: here\ncontexts: [{name: here, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: \"https://x\"}}]\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HOME": home}
	getenv := func(name string) string { return env[name] }
	want := []Found{{Kubeconfig: kubeconfig, Name: "here"}, {Clouds: clouds, Name: "edge"}}
	if found := Detect(getenv); !slices.Equal(found, want) {
		t.Errorf("found %v", found)
	}
	if err := os.WriteFile(clouds, []byte("clouds:\n  other: {auth: {auth_url: http://o}}\n  edge: {auth: {auth_url: http://k}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := Detect(getenv); !slices.Equal(found, append(want, Found{Clouds: clouds, Name: "other"})) {
		t.Errorf("of two clouds it found %v", found)
	}
	env["OS_CLOUD"] = "edge"
	if found := Detect(getenv); !slices.Equal(found, want) {
		t.Errorf("with a cloud in the environment it found %v", found)
	}
	env["OS_CLOUD"] = "another"
	if found := Detect(getenv); !slices.Equal(found, want[:1]) {
		t.Errorf("with another cloud in the environment it found %v", found)
	}
}
