package intercept

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/request"
)

func TestWithoutScopeNothingIsAdded(t *testing.T) {
	s := newMesh(t).sites[paris]
	s.do("POST", "/images?x=1&y", `{"a":1}`, "Content-Type: application/json", "Idempotency-Key: theirs", "X-Forwarded-For: 10.0.0.9").
		want(t, 200, "Skerry-Site: -", "Skerry-Resource: -")
	got := s.app.asked()[0]
	if got.uri != "/images?x=1&y" || got.body != `{"a":1}` || got.header.Get("Idempotency-Key") != "theirs" || got.header.Get("X-Forwarded-For") != "127.0.0.1" {
		t.Errorf("the application was asked %+v", got)
	}
	if got.host != strings.TrimPrefix(s.url, "http://") {
		t.Errorf("the application sees the host %s", got.host)
	}
	if len(s.operations()) != 0 {
		t.Error("it became an operation")
	}
}

func TestReadReplica(t *testing.T) {
	m := newMesh(t)
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	s := m.sites[paris]
	row := s.resources["M"]
	row.Sites[paris] = engine.ReplicaStatus{Local: "6", Pending: 3}
	for _, id := range []string{"M", "6"} { // the meta-identifier, and this site's own
		a := s.do("GET", "/images/"+id+"?a=b", "", "Accept-Encoding: gzip", "Range: bytes=0-1")
		a.want(t, 200, "Skerry-Resource: M", "Skerry-Site: paris", "Skerry-Pending: 3")
		if a.body != `{"id":"M","uri":"/images/6?a=b"}` {
			t.Errorf("%s: %s", id, a.body)
		}
	}
	for name, values := range s.app.asked()[0].header {
		if name == "Range" || name == "Accept-Encoding" {
			t.Errorf("the application was asked for %s: %s", name, values)
		}
	}
	s.do("HEAD", "/images/M", "").want(t, 200, "Skerry-Resource: M", "Content-Length: -")
	if got := s.app.asked()[2]; got.method != "HEAD" || got.uri != "/images/6" {
		t.Errorf("asked %+v", got)
	}
	s.do("GET", "/images/M/file", "")
	if got := s.app.asked()[3]; got.uri != "/images/6/file" {
		t.Errorf("asked %+v", got)
	}
	s.do("GET", "/images/other", "").want(t, 200, "Skerry-Resource: -", "Skerry-Site: -")
}

func TestReadWhereTheReplicaIs(t *testing.T) {
	m := newMesh(t)
	m.replicate("M", map[engine.SiteID]engine.LocalID{nantes: "42", lyon: "7"})
	s := m.sites[paris]
	// Outside of the placement, by scope: the nearest of its sites.
	a := s.do("GET", "/images/M", "", "Scope: images: nantes & lyon")
	a.want(t, 200, "Skerry-Site: nantes", "Skerry-Resource: M")
	if a.body != `{"id":"M","uri":"/images/42"}` {
		t.Error(a.body)
	}
	s.do("GET", "/images/M", "", "Scope: lyon").want(t, 200, "Skerry-Site: lyon", "Skerry-Resource: M")
	// The nearest breaks before an answer: the next one.
	s.broken[nantes] = true
	s.do("GET", "/images/M", "", "Scope: nantes & lyon").want(t, 200, "Skerry-Site: lyon")
	s.broken[nantes] = false
	m.sites[nantes].app.set(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	s.do("GET", "/images/M", "", "Scope: nantes & lyon").want(t, 200, "Skerry-Site: lyon")
	s.cut(lyon)
	s.do("GET", "/images/M", "", "Scope: nantes & lyon").problem(t, 502, "upstream")
	s.cut(nantes)
	s.do("GET", "/images/M", "", "Scope: nantes & lyon").problem(t, 503, "unreachable")
	if len(s.app.asked()) != 0 {
		t.Errorf("this site's application was asked: %+v", s.app.asked())
	}
	// In the scope and outside of the placement: this site knows nothing of it, and the others of the scope are asked.
	all := newMesh(t)
	all.replicate("M", map[engine.SiteID]engine.LocalID{lyon: "7"})
	here := all.sites[paris]
	for _, id := range []engine.SiteID{paris, nantes} {
		all.sites[id].app.set(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "nothing at "+string(id), 404) })
	}
	for _, scope := range []string{"paris & nantes & lyon", "*", "nantes & lyon"} {
		if a := here.do("GET", "/images/M", "", "Scope: "+scope); a.status != 200 || a.header.Get("Skerry-Site") != "lyon" {
			t.Errorf("%s: %+v", scope, a)
		}
	}
	if a := here.do("GET", "/images/M", "", "Scope: paris & nantes"); a.status != 404 || a.body != "nothing at QmParis\n" || a.header.Get("Skerry-Site") != "paris" {
		t.Errorf("nobody has it: %+v", a)
	}
	here.do("GET", "/images/M", "", "Scope: paris").want(t, 404, "Skerry-Site: paris")
	here.do("GET", "/images/M", "").want(t, 404)
	here.cut(lyon)
	here.do("GET", "/images/M", "", "Scope: *").want(t, 404, "Skerry-Site: paris")
	// In the placement, the replica is not here yet.
	s.resources["M"] = engine.ResourceRow{ID: "M", Sites: map[engine.SiteID]engine.ReplicaStatus{paris: {}, nantes: {Local: "42"}}}
	s.do("GET", "/images/M", "").problem(t, 503, "unreachable")
	s.down = map[engine.SiteID]bool{}
	m.sites[nantes].app.set(nil)
	s.do("GET", "/images/M", "").want(t, 200, "Skerry-Site: nantes")
}

// A read of what is just being made here waits for it, for as long as the way to the nearest site that has it takes.
func TestReadOfWhatIsBeingMade(t *testing.T) {
	m := newMesh(t)
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "", nantes: "42"})
	s := m.sites[paris]
	s.making = func(ctx context.Context) bool { // it takes longer
		if at, ok := ctx.Deadline(); !ok || time.Until(at) > time.Millisecond {
			t.Errorf("nantes is 1 ms away, and it may take until %v", at)
		}
		<-ctx.Done()
		return false
	}
	s.do("GET", "/images/M", "").want(t, 200, "Skerry-Site: nantes")
	s.making = func(context.Context) bool {
		m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
		return true
	}
	s.do("GET", "/images/M", "").want(t, 200, "Skerry-Site: paris", "Skerry-Resource: M")
}

func TestWriteBecomesAnOperation(t *testing.T) {
	m := newMesh(t)
	s := m.sites[paris]
	a := s.do("POST", "/images?q=1", `{"name":"x"}`, "Scope: {images: paris & nantes}", "Content-Type: application/json",
		"Idempotency-Key: k1", "Authorization: Basic YW5uOnB3", "Cookie: c=1", "If-Match: e", "Traceparent: t", "Baggage: a=1, scope=lyon, b=2;p", "Skerry-Operation: forged", "Skerry-Via: QmNantes")
	a.want(t, 201, "Skerry-Operation: op-1", "Skerry-Resource: M", "Skerry-Site: paris", "Location: /images/M", "Content-Type: application/json")
	if a.body != `{"id":"M"}` {
		t.Error(a.body)
	}
	r := s.operations()[0]
	if r.Kind != imageKind || r.Type != engine.TypeCreate || r.Method != "POST" || r.Path != "/images" || r.Query != "q=1" || string(r.Body) != `{"name":"x"}` ||
		r.Scope != "{images: paris & nantes}" || fmt.Sprint(r.Placement) != "[QmParis QmNantes]" || r.Key != "k1" || r.User != "ann" || r.Operation != "" || len(r.Via) != 0 || r.Caller == "" {
		t.Errorf("%+v", r)
	}
	if fmt.Sprint(r.Header) != "map[Content-Type:application/json]" {
		t.Errorf("travels: %v", r.Header)
	}
	for name, want := range map[string]string{"Authorization": "Basic YW5uOnB3", "Cookie": "c=1", "If-Match": "e", "Baggage": "a=1, b=2;p", "Scope": "", "Skerry-Operation": "", "Content-Type": "", "Idempotency-Key": ""} {
		if got := r.Credentials.Header.Get(name); got != want {
			t.Errorf("credentials %s: %q, want %q", name, got, want)
		}
	}
	if len(s.app.asked()) != 0 {
		t.Error("the application was asked beside the engine")
	}
}

// What a client prefers reaches the engine, and the answer says what was followed. Local requests keep it.
func TestPreferences(t *testing.T) {
	m := newMesh(t)
	s := m.sites[paris]
	s.submit = func(r engine.Request) (engine.Answer, error) {
		if r.Async {
			return engine.Answer{Status: 202, Operation: "op-7", Site: paris}, nil
		}
		return engine.Answer{Status: 201, Operation: "op-7", Site: paris}, nil
	}
	for _, c := range []struct {
		prefer, applied string
		async           bool
		wait            time.Duration
	}{
		{"respond-async", "respond-async", true, 0},
		{"return=minimal, Respond-Async , wait=5", "respond-async, wait=5", true, 5 * time.Second},
		{"wait=10", "wait=10", false, 10 * time.Second},
		{"wait=-1", "-", false, 0},
		{"wait=99999", "wait=3600", false, time.Hour},
		{"return=minimal", "-", false, 0},
	} {
		status, location := 201, "Location: -"
		if c.async {
			status, location = 202, "Location: http://api:8701/api/v1/operations/op-7"
		}
		s.do("POST", "/images", "{}", "Scope: paris & nantes", "Prefer: "+c.prefer).want(t, status, "Preference-Applied: "+c.applied, location)
		all := s.operations()
		if r := all[len(all)-1]; r.Async != c.async || r.Wait != c.wait || r.Credentials.Header.Get("Prefer") != "" {
			t.Errorf("%s: the engine got %t, %s, %v", c.prefer, r.Async, r.Wait, r.Credentials)
		}
	}
	s.do("POST", "/images", "{}", "Prefer: respond-async").want(t, 200, "Preference-Applied: -")
	if got := s.app.asked(); len(got) != 1 || got[0].header.Get("Prefer") != "respond-async" {
		t.Errorf("the application was asked %+v", got)
	}
}

func TestWritesByTarget(t *testing.T) {
	m := newMesh(t)
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	s := m.sites[paris]
	for _, c := range []struct {
		method, path, scope, media string
		operation                  engine.Type // empty: passes untouched
		target                     string
	}{
		{"PUT", "/images/M", "", "application/json", engine.TypeReplace, "M"},
		{"PATCH", "/images/6", "", "application/merge-patch+json", engine.TypeMerge, "6"},
		{"DELETE", "/images/M", "", "", engine.TypeDelete, "M"},
		{"POST", "/images/M/start", "", "", engine.TypeAction, "M"},
		{"PUT", "/images/M/file", "paris", "application/octet-stream", engine.TypeAbsolute, "M"},
		{"PUT", "/images/own", "", "application/json", "", ""},
		{"PUT", "/images/own", "paris", "application/json", "", ""},
		{"PUT", "/images/own", "servers: nantes", "application/json", "", ""},
		{"PUT", "/images/own", "nantes", "application/json", engine.TypeReplace, "own"},
		{"PUT", "/images/own", "paris & nantes", "application/json", engine.TypeReplace, "own"},
		{"POST", "/images", "paris", "application/json", "", ""},
		{"POST", "/images", "!nantes & !lyon & paris", "application/json", "error", ""},
		{"POST", "/images", "*", "application/json", engine.TypeCreate, ""},
		{"DELETE", "/images", "", "", "error", ""},
		{"DELETE", "/images", "paris", "", "error", ""},
		{"DELETE", "/images", "paris & nantes", "", "error", ""},
		{"POST", "/elsewhere", "paris & nantes", "", "error", ""},
		{"POST", "/elsewhere", "paris", "", "", ""},
	} {
		operations, passed := len(s.operations()), len(s.app.asked())
		headers := []string{"X-Nothing: 1"}
		if c.scope != "" {
			headers = append(headers, "Scope: "+c.scope)
		}
		if c.media != "" {
			headers = append(headers, "Content-Type: "+c.media)
		}
		a := s.do(c.method, c.path, `{}`, headers...)
		name := c.method + " " + c.path + " " + c.scope
		switch c.operation {
		case "":
			if len(s.operations()) != operations || len(s.app.asked()) != passed+1 || s.app.asked()[passed].uri != c.path {
				t.Errorf("%s did not pass", name)
			}
		case "error":
			if c.scope == "!nantes & !lyon & paris" {
				break // whether the language takes it is not ours to test
			}
			a.problem(t, 422, "scope-type")
			if len(s.operations()) != operations || len(s.app.asked()) != passed {
				t.Errorf("%s ran", name)
			}
		default:
			if len(s.operations()) != operations+1 || len(s.app.asked()) != passed {
				t.Errorf("%s did not become an operation: %+v", name, a)
				continue
			}
			if r := s.operations()[operations]; r.Type != c.operation || r.Target != c.target {
				t.Errorf("%s became %+v", name, r)
			}
		}
	}
}

// A path that servers read differently must not change a replicated resource behind the agent's back.
func TestHostilePaths(t *testing.T) {
	m := newMesh(t)
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	s := m.sites[paris]
	for _, path := range []string{"/x/../images/6", "/images//6", "/images/./6", "/images%2F6", "/images/6%2Ffile", "/images/%2e%2e/images/M", "//images/6", "/images/6;a=b", "/images;a/6", "/images/6%3ba/file", "/x/..;/images/6"} {
		u := strings.TrimPrefix(s.url, "http://")
		a := rawHTTP(t, u, "DELETE "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(a, "HTTP/1.1 400 ") || !strings.Contains(a, "/problems/path") {
			t.Errorf("%s: %s", path, a)
		}
		// What is not replicated is the application's own affair, byte for byte.
		path = strings.NewReplacer("6", "9", "/M", "/N").Replace(path)
		passed := len(s.app.asked())
		rawHTTP(t, u, "DELETE "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if got := s.app.asked(); len(got) != passed+1 || got[passed].uri != path && got[passed].uri != "http://"+strings.TrimPrefix(s.app.url, "http://")+path {
			t.Errorf("%s did not pass: %+v", path, got[passed:])
		}
	}
	if len(s.operations()) != 0 {
		t.Errorf("became operations: %+v", s.operations())
	}
}

func TestRefusals(t *testing.T) {
	s := newMesh(t).sites[paris]
	a := s.do("GET", "/images", "", "Scope: paris & , nantes")
	a.problem(t, 400, "scope-syntax")
	var p struct {
		Detail   string
		Position int
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || p.Position != 8 || !strings.Contains(p.Detail, "^") {
		t.Errorf("%s", a.body)
	}
	s.do("GET", "/images", "", "Scope: atlantis").problem(t, 422, "unknown-site")
	s.do("GET", "/images", "", "Scope: {imges: paris}").problem(t, 422, "unknown-service")
	s.do("GET", "/images", "", "Scope: !(paris | nantes)").problem(t, 422, "scope-type")
	if len(s.app.asked()) != 0 {
		t.Error("a refused request ran")
	}
	for _, c := range []struct {
		err    error
		status int
		typ    string
	}{
		{&engine.Refusal{Status: 504, Type: "upstream", Detail: "d", Operation: "op-9"}, 504, "upstream"},
		{fmt.Errorf("commit: %w", engine.ErrStorage), 507, "storage"},
		{engine.ErrTooLarge, 413, "too-large"},
		{errors.New("boom"), 500, "internal"},
	} {
		s.submit = func(engine.Request) (engine.Answer, error) { return engine.Answer{}, c.err }
		a := s.do("POST", "/images", "{}", "Scope: paris & nantes")
		a.problem(t, c.status, c.typ)
		if c.status == 504 {
			a.want(t, 504, "Skerry-Operation: op-9", "Skerry-Site: paris")
		}
		if strings.Contains(a.body, "boom") {
			t.Error("a private cause is shown")
		}
	}
}

func TestAnswers(t *testing.T) {
	s := newMesh(t).sites[paris]
	s.submit = func(engine.Request) (engine.Answer, error) {
		return engine.Answer{Status: 202, Operation: "op-7", Body: []byte(`{}`)}, nil
	}
	s.do("POST", "/images", "{}", "Scope: nantes").want(t, 202, "Location: http://api:8701/api/v1/operations/op-7", "Skerry-Operation: op-7")
	s.submit = func(engine.Request) (engine.Answer, error) {
		return engine.Answer{Status: 422, Header: http.Header{"Content-Type": {"text/plain"}, "X-App": {"1"}}, Body: []byte("no such flavour"), Site: nantes}, nil
	}
	a := s.do("POST", "/images", "{}", "Scope: nantes & lyon")
	a.want(t, 422, "Skerry-Operation: ", "Content-Type: text/plain", "X-App: 1", "Skerry-Site: nantes")
	if a.body != "no such flavour" {
		t.Error(a.body)
	}
	// What ran at one other site is answered: there is no operation to look up, though agents had one to tell it by.
	s.submit = func(engine.Request) (engine.Answer, error) {
		return engine.Answer{Status: 201, Operation: "op-8", Body: []byte(`{}`), Site: nantes}, nil
	}
	s.do("POST", "/images", "{}", "Scope: nantes").want(t, 201, "Skerry-Operation: ", "Skerry-Site: nantes")
	send(t, s.peers.URL, "POST", "/images", "{}", "Skerry-Service: images", "Skerry-Operation: op-8", "Scope: paris", "X-Test-From: QmNantes").
		want(t, 201, "Skerry-Operation: op-8")
}

func TestBodiesOverTheLimit(t *testing.T) {
	m := newMesh(t)
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	s := m.sites[paris]
	// A representation is looked into, and held in memory for that.
	document := `{"name":"` + strings.Repeat("x", engine.MaxLooked-len(`{"name":""}`)) + `"}`
	s.do("PUT", "/images/M", document, "Content-Type: application/json").want(t, 201)
	s.do("PUT", "/images/M", document+" ", "Content-Type: application/json").problem(t, 413, "too-large")
	a := s.do("POST", "/images", document+" ", "Scope: paris & nantes", "Content-Type: application/json")
	a.problem(t, 413, "too-large")
	if strings.Contains(a.body, "limits.body") {
		t.Errorf("a key is named that changes nothing here: %s", a.body)
	}
	if n := len(s.operations()); n != 1 {
		t.Errorf("%d operations", n)
	}
	// What is opaque streams, also when its length is not told.
	opaque := strings.Repeat("x", 3<<20)
	for _, length := range []int64{int64(len(opaque)), -1} {
		req, _ := http.NewRequest("PUT", s.url+"/images/M/file", struct{ io.Reader }{strings.NewReader(opaque)})
		req.ContentLength = length
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		ops := s.operations()
		last := ops[len(ops)-1]
		if last.Large == nil || last.Body != nil || last.Large.Size() != length || s.large != opaque {
			t.Errorf("length %d: the operation is %+v, with %d bytes", length, last, len(s.large))
		}
	}
	small := newMeshWith(t, request.Limits{Body: 10}, 0).sites[paris]
	a = small.do("POST", "/images", "0123456789a", "Scope: paris & nantes")
	a.problem(t, 413, "too-large")
	if !strings.Contains(a.body, "raise limits.body") {
		t.Errorf("a limit of the configuration is not named: %s", a.body)
	}
	small.do("POST", "/images", "0123456789a", "Scope: nantes").problem(t, 413, "too-large")
	small.do("POST", "/images", "0123456789a").want(t, 200)
	// A length that is not told is found out. What remains of the body is little enough for the server to read to its end: with more,
	// it closes the connection while the client still writes, and net/http may tell that rather than the answer.
	between := newMeshWith(t, request.Limits{Body: 2 << 20}, 0)
	between.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	req, _ := http.NewRequest("PUT", between.sites[paris].url+"/images/M/file", struct{ io.Reader }{strings.NewReader(opaque[:2<<20+128<<10])})
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 413 {
		t.Errorf("a body over the limit whose length is not told: %d", resp.StatusCode)
	}
}

func TestListsOfSeveralSites(t *testing.T) {
	m := newMesh(t)
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	m.replicate("N", map[engine.SiteID]engine.LocalID{nantes: "6", lyon: "1"})
	lists := map[engine.SiteID]string{
		paris: `{"total":2,"items":[{"id":"6","at":"paris"},{"id":"5"}]}`, nantes: `{"total":3,"items":[{"id":"42","at":"nantes"},{"id":"6","at":"nantes"},{"id":"5"}]}`,
		lyon: `{"total":1,"items":[{"id":"1"}]}`,
	}
	for id, list := range lists {
		m.sites[id].app.set(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Etag", `"x"`)
			_, _ = io.WriteString(w, list)
		})
	}
	s := m.sites[paris]
	a := s.do("GET", "/images", "", "Scope: paris & nantes & lyon", "If-None-Match: \"x\"")
	a.want(t, 200, "Skerry-Site: paris, nantes, lyon", "Skerry-Missing: -", "Etag: -", "Content-Type: application/json", "Skerry-Replicated: -")
	if want := `{"total":2,"items":[{"id":"M","at":"paris"},{"id":"5"},{"id":"N","at":"nantes"},{"id":"5"}]}`; a.body != want {
		t.Errorf("\n got %s\nwant %s", a.body, want)
	}
	if a := s.do("GET", "/images", ""); a.body != `{"total":2,"items":[{"id":"M","at":"paris"},{"id":"5"}]}` || a.header.Get("Skerry-Site") != "" {
		t.Errorf("without a scope: %+v", a)
	}
	if a := s.do("GET", "/images", "", "Scope: lyon"); a.body != `{"total":1,"items":[{"id":"N"}]}` || a.header.Get("Skerry-Site") != "lyon" {
		t.Errorf("at lyon: %+v", a)
	}
	// One known to be cut off, one that hangs.
	s.handler.Limits.Grace = 100 * time.Millisecond
	s.cut(nantes)
	hang := make(chan struct{})
	defer close(hang)
	m.sites[lyon].app.set(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	s.do("GET", "/images", "", "Scope: *").want(t, 200, "Skerry-Site: paris", "Skerry-Missing: lyon, nantes")
	s.cut(lyon)
	s.do("GET", "/images", "", "Scope: lyon & nantes").problem(t, 503, "unreachable")
	s.app.set(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "not you", http.StatusForbidden) })
	if a := s.do("GET", "/images", "", "Scope: paris & nantes"); a.status != 403 || a.body != "not you\n" {
		t.Errorf("an application's refusal: %+v", a)
	}
	s.app.set(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "<html>") })
	s.do("GET", "/images", "", "Scope: paris & nantes").problem(t, 422, "scope-type")
}
func rawHTTP(t *testing.T, addr, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
