package intercept

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/kubernetes"
	"github.com/skerry/skerry/web/intercept/carry"
	"github.com/skerry/skerry/web/intercept/request"
)

func TestWhatIsPlain(t *testing.T) {
	replicated := engine.ResourceRow{Service: "images", Kind: "image", ID: "r", Local: "r", Collaboration: engine.Replication, Sites: map[engine.SiteID]engine.ReplicaStatus{paris: {Local: "r"}}}
	for _, c := range []struct {
		request    string
		replicates bool // there is a resource of the kind that is replicated
		cluster    bool
		plain      bool
	}{
		{request: "GET /x", plain: true},
		{request: "GET /images/1", plain: true},
		{request: "GET /images?limit=3", plain: true},
		{request: "POST /images", plain: true},
		{request: "PUT /images/1", plain: true},
		{request: "DELETE /images/1"}, // others may rely on it
		{request: "DELETE /x", plain: true},
		{request: "GET /images?skerry-page=1"},
		{request: "GET /x", replicates: true, plain: true},
		{request: "GET /images/1", replicates: true, plain: true},
		{request: "GET /images/r", replicates: true, plain: true},
		{request: "HEAD /images/%72", replicates: true, plain: true},
		{request: "OPTIONS /images/r", replicates: true},
		{request: "GET //images/r", replicates: true},
		{request: "GET /images/r\nScope: paris", replicates: true},
		{request: "GET /images/r\nSkerry-After: x", replicates: true},
		{request: "GET /images/r\nX-Request-Id: known", replicates: true},
		{request: "GET /images", replicates: true},
		{request: "PUT /images/r", replicates: true},
		{request: "PUT /x/..%2fimages/r", replicates: true},
		{request: "PUT //images//r", replicates: true},
		{request: "PUT /x/../images/r", replicates: true},
		{request: "PUT /./images/%72", replicates: true},
		{request: "GET /x\nScope: paris", plain: true},
		{request: "GET /x\nScope: {images: paris, servers: paris}", plain: true},
		{request: "GET /images/1\nX-Scope: paris", plain: true},
		{request: "GET /images/1\nX-Scope: paris", replicates: true},
		{request: "GET /x\nScope: paris\nX-Request-Id: known", plain: true},
		{request: "GET /x\nScope: {images: paris}\nX-Request-Id: elsewhere"},
		{request: "GET /x\nScope: paris\nX-Scope: nantes"},
		{request: "GET /x\nScope: nantes"},
		{request: "GET /x\nScope: {servers: paris}"},
		{request: "GET /x\nScope: {images: paris, servers: nantes}"},
		{request: "GET /x\nScope: {images: paris, networks: paris}"},
		{request: "GET /x\nScope: paris ; nantes"},
		{request: "GET /x\nScope: !nantes"},
		{request: "GET /x\nScope: quorum(paris)"},
		{request: "GET /x\nScope: pari"},
		{request: "GET /x\nScope: (paris"},
		{request: "GET /x\nx-scope: paris & nantes"},
		{request: "GET /x\nScope:"},
		{request: "GET /~scope/paris/x"},
		{request: "GET /%7Escope/paris/x"},
		{request: "GET /x\nBaggage: a=b, scope=paris"},
		{request: "GET /x\nBaggage: a=b", plain: true},
		{request: "GET /x\nX-Request-Id: other", plain: true},
		{request: "GET /x\nX-Request-Id: known"},
		{request: "GET /x\nX-Request-Id: known\nAuthorization: Bearer another", plain: true},
		{request: "GET /x", cluster: true, plain: true},
		{request: "POST /x", cluster: true},
		{request: "GET /x\nImpersonate-User: somebody", cluster: true},
		{request: "GET /x\nX-Remote-User: admin", cluster: true, plain: true},
	} {
		var dialect glue.Dialect
		if c.cluster {
			dialect = kubernetes.Dialect{}
		}
		s := newMeshIn(t, dialect, imageKind, request.Limits{}, 0).sites[paris]
		correlations := carry.NewCorrelations(carry.CorrelationHeaders, time.Hour, time.Now)
		ids := correlations.IDs(http.Header{"X-Request-Id": {"known"}}, "")
		leave, _, _ := correlations.Enter(ids, "{images: paris}")
		leave(true)
		leave, _, _ = correlations.Enter(correlations.IDs(http.Header{"X-Request-Id": {"elsewhere"}}, ""), "{images: nantes}")
		leave(true)
		s.handler.Correlations = correlations
		if c.replicates {
			s.resources["r"] = replicated
		}
		line, headers, _ := strings.Cut(c.request, "\n")
		headers = strings.ReplaceAll(headers, "\n", "\r\n")
		method, target, _ := strings.Cut(line, " ")
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if headers != "" {
			headers += "\r\n"
		}
		_, _ = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: h\r\n%s\r\n", method, target, headers)
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
			t.Error(err)
		}
		conn.Close()
		if plain := s.rest.Load() == 0; plain != c.plain {
			t.Errorf("%q, replicated %v, cluster %v: plain is %v", c.request, c.replicates, c.cluster, plain)
		}
		for _, asked := range s.app.asked() {
			if user := asked.header.Get("X-Remote-User"); user != "" {
				t.Errorf("a client says that it is %s", user)
			}
		}
	}
}

// TestInvariantTheDoorPassesAsTheHandlerDoes: an application and a client see the same of a plain request, whether the door passes it or
// the handler. Only the order and the spelling of headers, and the reason phrase, are the handler's own.
func TestInvariantTheDoorPassesAsTheHandlerDoes(t *testing.T) {
	s := newMesh(t).sites[paris]
	s.handler.Correlations = carry.NewCorrelations(carry.CorrelationHeaders, time.Hour, time.Now)
	var answer string
	var heard *http.Request
	var body string
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		heard, body = r, string(b)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, answer)
		conn.Close()
	}))
	defer app.Close()
	s.handler.Upstream.Host = strings.TrimPrefix(app.URL, "http://")
	slow := httptest.NewServer(s.handler)
	defer slow.Close()
	slow.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	fields := []string{"X-Forwarded-For: 10.0.0.1", "x-forwarded-for: 10.0.0.2, 10.0.0.3", "Forwarded: for=10.0.0.1", "Forwarded: for=\"[::1]\"", "X-Forwarded-Host: evil", "X-Forwarded-Proto: https", "X-Forwarded-Port: 1",
		"X-Forwarded-Prefix: /a", "X-Real-Ip: 10.0.0.1", "Skerry-Force: relied-on", "skerry-via: QmNantes", "Baggage: a=b", "Idempotency-Key: k", "Keep-Alive: timeout=1", "Proxy-Connection: keep-alive",
		"Proxy-Authorization: Basic x", "Connection: keep-alive", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Authorization: Bearer a", "Cookie: a=b; c=d", "Cookie: e=f", "Accept-Encoding: gzip",
		"Accept: */*", "User-Agent: t", "X-Empty:", "Range: bytes=0-1", "If-None-Match: \"x\"", "Content-Type: application/json", "Prefer: respond-async", "Origin: http://a",
		"Scope: paris", "X-Scope: {images: paris}"}
	answers := []string{"Skerry-Site: forged", "Content-Type: text/plain", "Date: yesterday", "Set-Cookie: a=b", "Set-Cookie: c=d", "Location: /images/1", "Server: s", "Keep-Alive: timeout=5", "Connection: keep-alive", "X-A: b",
		"Proxy-Authenticate: Basic", "Upgrade: h2c", "Warning: 299 - \"x\"", "ETag: \"1\""}
	some := func(of []string) string {
		var b strings.Builder
		for range rand.IntN(6) {
			line := of[rand.IntN(len(of))]
			name, _, _ := strings.Cut(line, ":") // net/http knows one agent, and two connections or scopes it takes together
			if (name == "Connection" || name == "User-Agent") && strings.Contains(b.String(), line) ||
				strings.HasSuffix(name, "Scope") && strings.Contains(b.String(), "Scope") {
				continue
			}
			b.WriteString(line + "\r\n")
		}
		return b.String()
	}
	one := func(of ...string) string { return of[rand.IntN(len(of))] }
	for range 1500 {
		s.handler.Proxies = nil
		if rand.IntN(2) == 0 {
			s.handler.Proxies = request.Proxies{netip.MustParsePrefix("127.0.0.0/8")}
		}
		method, framing := one("GET", "HEAD", "POST", "PUT", "PATCH", "OPTIONS", "REPORT"), "\r\n"
		if method == "POST" || method == "PUT" || method == "PATCH" {
			framing = one("Content-Length: 3\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Late: 1\r\n\r\n", "Content-Length: 0\r\n\r\n", "\r\n")
		}
		request := method + " " + one("/x", "/images", "/images/1", "/images/1/file?a=b", "/x?", "/images?limit=1&marker=2", "/%69mages/1", "/a/../images/1", "/images//1", "/;a=b/x", "/?a") + " HTTP/1.1\r\nHost: h:80\r\n" + some(fields) + framing
		status := one("200 OK", "201 Created", "204 No Content", "304 Not Modified", "404 Not Found", "503 Service Unavailable")
		// Its connection ends with it, which nobody is to find out by trying.
		answer = "HTTP/1.1 " + status + "\r\nConnection: close\r\n" + some(answers) + one("Content-Length: 2\r\n\r\nok", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n", "\r\nok", "Content-Length: 0\r\n\r\n")
		if method == "HEAD" || status[:3] == "204" || status[:3] == "304" {
			answer, _, _ = strings.Cut(answer, "\r\n\r\n")
			answer += "\r\n\r\n"
		}
		var seen [2]string
		for i, url := range []string{slow.URL, s.url} {
			heard = nil
			conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(conn, request)
			resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
			if err != nil {
				t.Fatalf("%q: %v", request, err)
			}
			got, err := io.ReadAll(resp.Body)
			conn.Close()
			if heard == nil {
				t.Fatalf("%q did not come to the application: %d %s", request, resp.StatusCode, got)
			}
			if resp.StatusCode == http.StatusNotModified { // which net/http takes something out of
				resp.Header.Del("Content-Length")
				resp.Header.Del("Content-Type")
			}
			for _, name := range []string{"X-Request-Id", "X-Openstack-Request-Id", "Traceparent"} {
				if value := heard.Header.Get(name); value != "" && !strings.Contains(request, value) {
					heard.Header.Set(name, "made here")
				}
			}
			heard.Header.Del("Content-Length") // net/http makes one of 0 up
			seen[i] = fmt.Sprintf("%s %s %s %q %q\n%d %q %q %v", heard.Method, heard.RequestURI, heard.Host, body, canonical(heard.Header), resp.StatusCode, got, canonical(resp.Header), err)
			seen[i] += fmt.Sprintf(" %q", canonical(resp.Trailer))
		}
		if seen[0] != seen[1] {
			t.Fatalf("%q\n%q\nis with the handler\n%s\nand at the door\n%s", request, answer, seen[0], seen[1])
		}
	}
	if n := s.rest.Load(); n > 300 { // what inherits a scope by its trace is not
		t.Errorf("%d of 1500 requests were not plain", n)
	}
}

// TestInvariantTheDoorReadsReplicasAsTheHandlerDoes: clients are told the same of a replica that is read as it is, pending operations among it.
func TestInvariantTheDoorReadsReplicasAsTheHandlerDoes(t *testing.T) {
	s := newMesh(t).sites[paris]
	slow := httptest.NewServer(s.handler)
	defer slow.Close()
	s.app.set(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		w.Header().Set("Skerry-Resource", "forged")
		w.Header().Set("X-Asked", r.Method+" "+r.RequestURI)
		_, _ = io.WriteString(w, "{}")
	})
	for _, pending := range []int{0, 3} {
		for _, collaboration := range []engine.Collaboration{engine.Replication, engine.Cross} {
			s.resources["r"] = engine.ResourceRow{Service: "images", Kind: "image", ID: "r", Local: "r", Collaboration: collaboration,
				Sites: map[engine.SiteID]engine.ReplicaStatus{paris: {Local: "r", Pending: pending}}}
			for _, request := range []string{"GET /images/r?a=b", "HEAD /images/r", "GET /images/r/file", "GET /images/absent"} {
				method, path, _ := strings.Cut(request, " ")
				before := s.rest.Load()
				var seen [2]string
				for i, url := range []string{slow.URL, s.url} {
					r, _ := http.NewRequest(method, url+path, nil)
					r.Close = true // a connection that net/http has stays there
					resp, err := http.DefaultTransport.RoundTrip(r)
					if err != nil {
						t.Fatal(err)
					}
					b, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					seen[i] = fmt.Sprintf("%d %q %v %q", resp.StatusCode, b, err, canonical(resp.Header))
				}
				if seen[0] != seen[1] {
					t.Errorf("%s of a %s with %d pending\nis with the handler\n%s\nand at the door\n%s", request, collaboration, pending, seen[0], seen[1])
				}
				if plain, want := s.rest.Load() == before, collaboration == engine.Replication || path == "/images/absent"; plain != want {
					t.Errorf("%s of a %s: plain is %v", request, collaboration, plain)
				}
			}
		}
	}
}

// TestInvariantTheDoorTranslatesAsTheHandlerDoes: an application is asked the same, and a client told the same, of a replica that this site calls
// otherwise than others do.
func TestInvariantTheDoorTranslatesAsTheHandlerDoes(t *testing.T) {
	kind := *imageKind
	kind.Links = []engine.Link{{At: "/self", Service: "images"}}
	m := newMeshOf(t, &kind, request.Limits{Reply: 200}, 0)
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	s := m.sites[paris]
	var answer string
	var heard []string
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard = append(canonical(r.Header), r.Method, r.RequestURI, r.Host)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, answer)
		conn.Close()
	}))
	defer app.Close()
	s.handler.Upstream.Host = strings.TrimPrefix(app.URL, "http://")
	slow := httptest.NewServer(s.handler)
	defer slow.Close()
	slow.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	one := func(of ...string) string { return of[rand.IntN(len(of))] }
	turned := 0
	for range 800 {
		ask := "GET /images/" + one("M", "6", "%36", "other", "M/file") + " HTTP/1.1\r\nHost: h\r\n" + one("", "Range: bytes=0-1\r\nIf-Range: x\r\n") + one("", "Accept-Encoding: gzip\r\n") + "\r\n"
		body := one(`{"id":"6","self":"http://h/images/6"}`, `{"id":"7"}`, `{"id":6}`, `{"id":"6"`, `[{"id":"6"}]`, "", "text", `{"id":"6","x":"`+strings.Repeat("x", 300)+`"}`)
		answer = "HTTP/1.1 " + one("200 OK", "206 Partial Content", "404 Not Found", "500 Internal Server Error") + "\r\nConnection: close\r\n" +
			one("Content-Type: application/json\r\n", "content-type: application/x+json\r\n", "Content-Type: text/event-stream\r\n", "") +
			one("", "", "Content-Encoding: gzip\r\n", "Content-Encoding: identity\r\n") + one("", "ETag: \"1\"\r\nDigest: sha-256=x\r\nContent-MD5: y\r\nAccept-Ranges: bytes\r\n") +
			one("", "", "Location: "+app.URL+"/images/6\r\n") + one("", "Skerry-Resource: forged\r\n")
		switch rand.IntN(3) {
		case 0:
			answer += fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
		case 1:
			answer += "Transfer-Encoding: chunked\r\n\r\n"
			for _, part := range []string{body[:len(body)/2], body[len(body)/2:]} {
				if part != "" {
					answer += fmt.Sprintf("%x\r\n%s\r\n", len(part), part)
				}
			}
			answer += "0\r\n\r\n"
		default:
			answer += "\r\n" + body
		}
		before := s.rest.Load()
		var seen [2]string
		for i, url := range []string{slow.URL, s.url} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(conn, ask)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%q: %v", ask, err)
			}
			got, err := io.ReadAll(resp.Body)
			conn.Close()
			resp.Header.Del("Content-Length") // the body tells, and one may come in chunks where the other does not
			seen[i] = fmt.Sprintf("%q\n%d %q %q %v", heard, resp.StatusCode, got, canonical(resp.Header), err)
			if i == 1 && strings.Contains(string(got), `"id":"M"`) {
				turned++
			}
		}
		if seen[0] != seen[1] {
			t.Fatalf("%q\n%q\nis with the handler\n%s\nand at the door\n%s", ask, answer, seen[0], seen[1])
		}
		if s.rest.Load() != before {
			t.Fatalf("%q is not plain", ask)
		}
	}
	if turned == 0 {
		t.Error("nothing was translated")
	}
}

func canonical(h http.Header) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		lines = append(lines, name+": "+strings.Join(h[name], "|"))
	}
	return lines
}
