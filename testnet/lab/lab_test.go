package lab

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// site is one running instance and what is needed to talk to it.
type site struct {
	t    *testing.T
	lab  *Lab
	base map[string]string
}

func start(t *testing.T, dir string) *site {
	t.Helper()
	s := &site{t: t, base: map[string]string{}}
	// The images service's address is needed before the instance is there.
	images := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.lab.Service(Images).ServeHTTP(w, r)
	}))
	l, err := New(Config{Data: dir, Images: images.URL})
	if err != nil {
		t.Fatal(err)
	}
	s.lab = l
	networks, servers := httptest.NewServer(l.Service(Networks)), httptest.NewServer(l.Service(Servers))
	s.base = map[string]string{Images: images.URL, Networks: networks.URL, Servers: servers.URL}
	t.Cleanup(func() {
		images.Close()
		networks.Close()
		servers.Close()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

type got struct {
	status int
	header http.Header
	text   string
	fields map[string]any
}

// do sends "METHOD /path" to the service whose name the path begins with; header are pairs.
func (s *site) do(request, body string, header ...string) got {
	s.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	service, _, _ := strings.Cut(path[1:], "/")
	service, _, _ = strings.Cut(service, "?")
	return s.at(service, method, path, body, header...)
}

func (s *site) at(service, method, path, body string, header ...string) got {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base[service]+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return got{text: err.Error()}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	g := got{status: resp.StatusCode, header: resp.Header, text: string(b)}
	_ = json.Unmarshal(b, &g.fields) // lists and files have no fields
	return g
}

func (g got) must(t *testing.T, status int) got {
	t.Helper()
	if g.status != status {
		t.Fatalf("got %d %s, want %d", g.status, g.text, status)
	}
	return g
}

func (g got) id() string { return g.fields["id"].(string) }

func (s *site) counts(service string) (c Counts) {
	s.t.Helper()
	g := s.at(service, "GET", "/-/requests", "").must(s.t, 200)
	if err := json.Unmarshal([]byte(g.text), &c); err != nil {
		s.t.Fatal(err)
	}
	return c
}

func TestItems(t *testing.T) {
	s := start(t, t.TempDir())
	made := s.do("POST /images", `{"name":"debian","size":3}`).must(t, 201)
	item := "/images/" + made.id()
	if l := made.header.Get("Location"); l != item {
		t.Errorf("Location is %q, want %q", l, item)
	}
	read := s.do("GET "+item, "").must(t, 200)
	if read.text != made.text || read.fields["status"] != "queued" || read.fields["size"] != 3.0 {
		t.Errorf("read %s after creating %s", read.text, made.text)
	}
	s.do("GET "+item, "", "If-None-Match", read.header.Get("ETag")).must(t, 304)

	put := s.do("PUT "+item, `{"name":"debian","description":"stable"}`, "If-Match", read.header.Get("ETag")).must(t, 200)
	if put.fields["size"] != 0.0 || put.fields["description"] != "stable" {
		t.Errorf("a PUT did not replace all: %s", put.text)
	}
	s.do("PUT "+item, `{"name":"x"}`, "If-Match", read.header.Get("ETag")).must(t, 412)

	merge := "application/merge-patch+json"
	patched := s.do("PATCH "+item, `{"tags":["a"],"description":null}`, "Content-Type", merge).must(t, 200)
	if _, there := patched.fields["description"]; there || patched.fields["name"] != "debian" {
		t.Errorf("merge patch made %s", patched.text)
	}
	jsonPatch := "application/json-patch+json"
	patched = s.do("PATCH "+item, `[{"op":"add","path":"/tags/-","value":"b"}]`, "Content-Type", jsonPatch).must(t, 200)
	if len(patched.fields["tags"].([]any)) != 2 {
		t.Errorf("JSON Patch made %s", patched.text)
	}
	s.do("PATCH "+item, `[{"op":"test","path":"/name","value":"x"}]`, "Content-Type", jsonPatch).must(t, 409)

	if list := s.do("GET /images", "").must(t, 200); list.text != "["+patched.text+"]" {
		t.Errorf("the list is %s", list.text)
	}
	if list := s.do("GET /images?name=other", "").must(t, 200); list.text != "[]" {
		t.Errorf("the filtered list is %s", list.text)
	}
	s.do("DELETE "+item, "").must(t, 204)
	s.do("DELETE "+item, "").must(t, 404)
	s.do("GET "+item, "").must(t, 404)
}

func TestRefusals(t *testing.T) {
	s := start(t, t.TempDir())
	image := s.do("POST /images", `{"name":"a"}`).must(t, 201).id()
	for _, c := range []struct {
		request, body, media string
		status               int
	}{
		{"POST /images", `{"name":`, "", 400},
		{"POST /images", `[]`, "", 400},
		{"POST /images", `{}`, "", 422},
		{"POST /images", `{"name":"x","size":"big"}`, "", 422},
		{"POST /networks", `{"name":"x","type":"round"}`, "", 422},
		{"POST /servers", `{"name":"x"}`, "", 422},
		{"POST /servers", `{"name":"x","image":"none"}`, "", 422},
		{"POST /servers", `{"name":"x","image":"` + image + `","count":1.5}`, "", 422},
		{"PUT /images/" + image, `{"name":"x","id":"other"}`, "", 422},
		{"PATCH /images/" + image, `{}`, "text/plain", 415},
		{"PATCH /images/" + image, `{"name":null}`, "", 422},
		{"PUT /images/none", `{"name":"x"}`, "", 404},
		{"POST /images/" + image, `{}`, "", 405},
		{"POST /images", `{"name":"` + strings.Repeat("x", maxBody) + `"}`, "", 413},
	} {
		header := []string{}
		if c.media != "" {
			header = []string{"Content-Type", c.media}
		}
		if g := s.do(c.request, c.body, header...); g.status != c.status {
			t.Errorf("%s %.80s: got %d %s, want %d", c.request, c.body, g.status, g.text, c.status)
		}
	}
	if done := s.counts(Images).Done["POST /images"]; done != 1 {
		t.Errorf("%d images were made, want 1", done)
	}
}

func TestServers(t *testing.T) {
	s := start(t, t.TempDir())
	image := s.do("POST /images", `{"name":"a"}`).must(t, 201).id()
	server := "/servers/" + s.do("POST /servers", `{"name":"web","image":"`+image+`"}`).must(t, 201).id()
	if n := s.counts(Images).Received["GET /images/{id}"]; n != 1 {
		t.Errorf("the image was fetched %d times, want once", n)
	}
	s.do("POST "+server+"/start", "").must(t, 200)
	s.do("POST "+server+"/incr", `{"by":4}`).must(t, 200)
	s.do("POST "+server+"/incr", `{"by":"much"}`).must(t, 422)
	g := s.do("GET "+server, "").must(t, 200)
	if g.fields["power"] != "on" || g.fields["count"] != 5.0 {
		t.Errorf("after start and incr: %s", g.text)
	}
	s.at(Images, "POST", "/-/faults", `{"path":"/images/","status":500}`).must(t, 204)
	s.do("POST /servers", `{"name":"web","image":"`+image+`"}`).must(t, 502)
}

func TestServersPassTracingOn(t *testing.T) {
	var seen http.Header
	images := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header }))
	defer images.Close()
	l, err := New(Config{Data: t.TempDir(), Images: images.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := httptest.NewRequest("POST", "/servers", strings.NewReader(`{"name":"web","image":"1"}`))
	for _, h := range carried {
		r.Header.Set(h, "of "+h)
	}
	r.Header.Set("Scope", "{images: nantes}")
	l.Service(Servers).ServeHTTP(httptest.NewRecorder(), r)
	for _, h := range carried {
		if seen.Get(h) != "of "+h {
			t.Errorf("%s is %q", h, seen.Get(h))
		}
	}
	if seen.Get("Scope") != "" {
		t.Error("the servers service passed a header on that it cannot know")
	}
}

func TestFileAndDataSurviveRestart(t *testing.T) {
	dir := t.TempDir()
	var item, before string
	t.Run("before", func(t *testing.T) {
		s := start(t, dir)
		s.do("POST /images", `{"name":"gone"}`).must(t, 201)
		item = "/images/" + s.do("POST /images", `{"name":"a"}`, "Idempotency-Key", "k").must(t, 201).id()
		s.do("GET "+item+"/file", "").must(t, 404)
		s.do("PUT "+item+"/file", "bytes").must(t, 200)
		before = s.do("GET "+item, "").must(t, 200).text
	})
	appendTorn(t, dir)
	t.Run("after", func(t *testing.T) {
		s := start(t, dir)
		g := s.do("GET "+item, "").must(t, 200)
		if g.text != before || g.fields["status"] != "active" || g.fields["size"] != 5.0 {
			t.Errorf("was %s, is %s", before, g.text)
		}
		if f := s.do("GET "+item+"/file", "").must(t, 200); f.text != "bytes" {
			t.Errorf("the file is %q", f.text)
		}
		again := s.do("POST /images", `{"name":"a"}`, "Idempotency-Key", "k").must(t, 201)
		if "/images/"+again.id() != item {
			t.Errorf("a repeated key made %s, the first time it made %s", again.text, item)
		}
	})
}

func TestIdempotencyKey(t *testing.T) {
	s := start(t, t.TempDir())
	image := s.do("POST /images", `{"name":"a"}`).must(t, 201).id()
	// While the image is fetched slowly, all eight are on their way.
	s.at(Images, "POST", "/-/faults", `{"method":"GET","path":"/images/","delay":"100ms","times":8}`).must(t, 204)
	var answers sync.Map
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			answers.Store(s.do("POST /servers", `{"name":"once","image":"`+image+`"}`, "Idempotency-Key", "k").text, true)
		})
	}
	all.Wait()
	n := 0
	answers.Range(func(_, _ any) bool {
		n++
		return true
	})
	c := s.counts(Servers)
	if n != 1 || c.Done["POST /servers"] != 1 || c.Received["POST /servers"] != 8 {
		t.Errorf("%d different answers, counters %+v; want one server and one answer", n, c)
	}
}

func TestFaults(t *testing.T) {
	s := start(t, t.TempDir())
	fault := func(body string) { s.at(Images, "POST", "/-/faults", body).must(t, 204) }

	fault(`{"method":"POST","status":503,"times":2}`)
	s.do("GET /images", "").must(t, 200)
	s.do("POST /images", `{"name":"a"}`).must(t, 503)
	s.do("POST /images", `{"name":"a"}`).must(t, 503)
	s.do("POST /images", `{"name":"a"}`).must(t, 201)

	fault(`{"method":"POST","status":500,"done":true}`)
	s.do("POST /images", `{"name":"b"}`, "Idempotency-Key", "b").must(t, 500)
	s.do("POST /images", `{"name":"b"}`, "Idempotency-Key", "b").must(t, 201)
	if n := s.counts(Images).Done["POST /images"]; n != 2 {
		t.Errorf("%d images made, want 2: the failed one was made", n)
	}

	fault(`{"method":"POST","drop":true}`)
	if g := s.do("POST /images", `{"name":"c"}`); g.status != 0 {
		t.Errorf("a dropped request was answered %d", g.status)
	}
	fault(`{"body":"<html>hello"}`)
	if g := s.do("GET /images", ""); g.status != 200 || g.text != "<html>hello" {
		t.Errorf("garbage came as %d %q", g.status, g.text)
	}
	fault(`{"times":100,"status":500}`)
	s.at(Images, "DELETE", "/-/faults", "").must(t, 204)
	s.do("GET /images", "").must(t, 200)
	s.at(Images, "POST", "/-/faults", `{"oops":1}`).must(t, 400)
}

// appendTorn leaves a journal as a process leaves it that was killed while it wrote.
func appendTorn(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "images.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"id":"half`)
	if cerr := f.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
}

func TestPortsAreInsideNetworks(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	a := s.at(Networks, "POST", "/networks", `{"name":"a"}`).must(t, 201).id()
	b := s.at(Networks, "POST", "/networks", `{"name":"b"}`).must(t, 201).id()
	made := s.at(Networks, "POST", "/networks/"+a+"/ports", `{"name":"front"}`).must(t, 201)
	port := "/networks/" + a + "/ports/" + made.id()
	if l := made.header.Get("Location"); l != port {
		t.Errorf("Location is %q, want %q", l, port)
	}
	s.at(Networks, "GET", "/networks/"+b+"/ports/"+made.id(), "").must(t, 404)
	s.at(Networks, "POST", "/networks/nowhere/ports", `{"name":"front"}`).must(t, 404)
	patched := s.at(Networks, "PATCH", port, `{"device":"web"}`).must(t, 200)
	if list := s.at(Networks, "GET", "/networks/"+a+"/ports", "").must(t, 200); list.text != "["+patched.text+"]" {
		t.Errorf("the ports of a are %s", list.text)
	}
	if list := s.at(Networks, "GET", "/networks/"+b+"/ports", "").must(t, 200); list.text != "[]" {
		t.Errorf("the ports of b are %s", list.text)
	}
	if n := s.counts(Networks).Done["POST /networks/{parent}/ports"]; n != 1 {
		t.Errorf("%d ports were counted", n)
	}
	s.at(Networks, "DELETE", "/networks/"+a, "").must(t, 204)
	s.at(Networks, "GET", port, "").must(t, 404)
	s.at(Networks, "GET", "/networks/"+a+"/ports", "").must(t, 404)
}

func TestClientsNameKeys(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	s.at(Servers, "PUT", "/keys/ada", `{"public":"ssh-ed25519 A"}`).must(t, 201)
	s.at(Servers, "PUT", "/keys/ada", `{"public":"ssh-ed25519 B"}`).must(t, 200)
	s.at(Servers, "PATCH", "/keys/bob", `{"public":"ssh-ed25519 C"}`).must(t, 404)
	s.at(Servers, "PUT", "/keys/bob", `{"id":"carol"}`).must(t, 422)
	s.at(Servers, "POST", "/keys", `{"public":"ssh-ed25519 C"}`).must(t, 405)
	s = start(t, dir)
	if list := s.at(Servers, "GET", "/keys", "").must(t, 200); !strings.Contains(list.text, `"id":"ada"`) || !strings.Contains(list.text, " B") {
		t.Errorf("the keys are %s", list.text)
	}
	s.at(Servers, "DELETE", "/keys/ada", "").must(t, 204)
	s.at(Servers, "PUT", "/keys/ada", `{}`).must(t, 201)
	if list := s.at(Servers, "GET", "/keys", "").must(t, 200); strings.Count(list.text, `"id":"ada"`) != 1 {
		t.Errorf("deleted and made again, the keys are %s", list.text)
	}
	if n := s.counts(Servers).Done["PUT /keys/{id}"]; n != 1 {
		t.Errorf("%d keys were counted since the start", n)
	}
}
