package intercept

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/web/intercept/request"
)

// A body that never ends is delivered piece by piece, in both directions at once.
func TestStreamsBothWays(t *testing.T) {
	m := newMesh(t)
	for id, scope := range map[string]string{"here": "", "at another site": "nantes"} {
		t.Run(id, func(t *testing.T) {
			for _, s := range m.sites {
				s.app.set(func(w http.ResponseWriter, r *http.Request) {
					_ = http.NewResponseController(w).EnableFullDuplex()
					w.WriteHeader(200)
					_ = http.NewResponseController(w).Flush()
					lines := bufio.NewReader(r.Body)
					for {
						line, err := lines.ReadString('\n')
						if err != nil {
							return
						}
						_, _ = io.WriteString(w, "got "+line)
						_ = http.NewResponseController(w).Flush()
					}
				})
			}
			pr, pw := io.Pipe()
			defer pw.Close()
			req, _ := http.NewRequest("POST", m.sites[paris].url+"/stream", pr)
			if scope != "" {
				req.Header.Set("Scope", scope)
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			lines := bufio.NewReader(resp.Body)
			for i := range 3 {
				_, _ = fmt.Fprintf(pw, "piece %d\n", i)
				if line, err := lines.ReadString('\n'); err != nil || line != fmt.Sprintf("got piece %d\n", i) {
					t.Fatalf("%q %v", line, err)
				}
			}
		})
	}
}

// An event is there at once, and so is the beginning of a body whose end is far away.
func TestFlushesEvents(t *testing.T) {
	s := newMesh(t).sites[paris]
	for _, length := range []string{"", "1000"} {
		release := make(chan struct{})
		s.app.set(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			if length != "" { // net/http/httputil knows event streams by their type; this is any body that comes slowly
				w.Header().Set("Content-Type", "application/octet-stream")
				w.Header().Set("Content-Length", length)
			}
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		})
		client := http.Client{Timeout: time.Minute}
		resp, err := client.Get(s.url + "/events")
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 9)
		if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != "data: 1\n\n" {
			t.Errorf("%q %v", b, err)
		}
		close(release)
		resp.Body.Close()
	}
}

// Upgrades go through, whoever asks for them and how: WebSockets, and SPDY as kubectl's exec and port-forward have it, which asks with POST. Both
// sides speak when they like, and what one has to say after the other has ended arrives.
func TestUpgrades(t *testing.T) {
	m := newMesh(t)
	for _, s := range m.sites {
		s.app.set(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") == "" || r.Header.Get("Sec-Websocket-Key") == "" || r.Header.Get("X-Stream-Protocol-Version") != "v4.channel.k8s.io" {
				http.Error(w, "no upgrade", 400)
				return
			}
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nhello")
			_, _ = io.Copy(conn, rw)
			_, _ = io.WriteString(conn, "bye")
		})
	}
	for _, asked := range []struct{ method, protocol, scope string }{
		{"GET", "websocket", ""}, {"GET", "websocket", "Scope: nantes\r\n"}, {"POST", "SPDY/3.1", ""}, {"POST", "SPDY/3.1", "Scope: paris\r\n"}, {"POST", "SPDY/3.1", "Scope: nantes\r\n"},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(m.sites[paris].url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(conn, asked.method+" /ws?command=sh&stdin=true HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: "+asked.protocol+
			"\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\nSec-WebSocket-Key: k\r\n"+asked.scope+"\r\n")
		r := bufio.NewReader(conn)
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != 101 || resp.Header.Get("Sec-Websocket-Accept") != "x" || resp.Header.Get("Upgrade") != asked.protocol {
			t.Fatalf("%v: %v %v", asked, resp, err)
		}
		want := "hello"
		for i := range 3 {
			b := make([]byte, len(want))
			if _, err := io.ReadFull(r, b); err != nil || string(b) != want {
				t.Fatalf("%v: %q %v", asked, b, err)
			}
			want = fmt.Sprintf("frame %d\x00", i)
			_, _ = io.WriteString(conn, want)
		}
		_ = conn.(*net.TCPConn).CloseWrite()
		if b, err := io.ReadAll(r); err != nil || string(b) != want+"bye" {
			t.Errorf("%v: %q %v after all was said", asked, b, err)
		}
	}
}

// Nobody goes on in a version of HTTP that is not read here: what an application would answer with 101 it is not asked for.
func TestUpgradesToHTTP(t *testing.T) {
	s := newMesh(t).sites[paris]
	s.app.set(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Upgrade"])+len(r.Header["Http2-Settings"])+len(r.Header["Connection"]) > 0 {
			w.WriteHeader(http.StatusSwitchingProtocols)
		}
	})
	for _, protocol := range []string{"h2c", "H2C", "websocket, h2c", "HTTP/2.0", "TLS/1.0"} {
		got := rawHTTP(t, strings.TrimPrefix(s.url, "http://"), "GET /x HTTP/1.1\r\nHost: x\r\nUpgrade: "+protocol+"\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\nGET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if strings.Count(got, "HTTP/1.1 200 OK") != 2 {
			t.Errorf("%s: %q", protocol, got)
		}
	}
}

// What only HTTP/2 carries goes to the application in it, both ways at once, with what comes after the body.
func TestPassesGRPC(t *testing.T) {
	s := newMesh(t).sites[paris]
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	app := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 || r.Header.Get("Te") != "trailers" {
			http.Error(w, "no gRPC", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/grpc")
		_ = http.NewResponseController(w).Flush()
		b := make([]byte, 7) // a message of two bytes
		for n := 0; ; n++ {
			if _, err := io.ReadFull(r.Body, b); err != nil {
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(n))
				return
			}
			_, _ = w.Write(b)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	app.Config.Protocols = protocols
	app.Start()
	defer app.Close()
	s.handler.Upstream.Host = strings.TrimPrefix(app.URL, "http://")
	transport := &http.Transport{Protocols: protocols}
	protocols = new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport.Protocols = protocols
	defer transport.CloseIdleConnections()
	body, out := io.Pipe()
	r, _ := http.NewRequest("POST", s.url+"/lab.Service/Method", body)
	r.Header.Set("Content-Type", "application/grpc+proto")
	r.Header.Set("Te", "trailers")
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for i := range 3 {
		message := "\x00\x00\x00\x00\x02a" + strconv.Itoa(i)
		_, _ = io.WriteString(out, message)
		b := make([]byte, len(message))
		if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != message {
			t.Fatalf("%q %v, want %q; %v", b, err, message, resp)
		}
	}
	out.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || len(b) > 0 || resp.Trailer.Get("Grpc-Status") != "3" || resp.Header.Get("Content-Type") != "application/grpc" {
		t.Errorf("%q %v %v %v", b, err, resp.Header, resp.Trailer)
	}
}

func TestTrailersAndInformation(t *testing.T) {
	s := newMesh(t).sites[paris]
	s.app.set(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Trailer", "X-Sum")
		_, _ = w.Write(b)
		sum := r.Trailer.Get("X-Client-Sum")
		for _, own := range []string{"X-Forwarded-User", "X-Real-Ip", "Forwarded", "Skerry-User", "X-Forwarded-For"} { // what the agent alone says
			sum += r.Trailer.Get(own)
		}
		w.Header().Set("X-Sum", sum)
		w.Header().Set(http.TrailerPrefix+"X-Late", "unannounced")
	})
	got := rawHTTP(t, strings.TrimPrefix(s.url, "http://"), "POST /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\nTrailer: X-Client-Sum, X-Forwarded-User\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n"+
		"X-Client-Sum: 5\r\nX-Forwarded-User: root\r\nX-Forwarded-For: 127.0.0.1\r\nX-Real-Ip: 127.0.0.1\r\nForwarded: for=x\r\nSkerry-User: root\r\n\r\n")
	for _, want := range []string{"HTTP/1.1 103 Early Hints\r\nLink: </style.css>", "abcde", "\r\nX-Sum: 5\r\n", "\r\nX-Late: unannounced\r\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

// A client that asks first sends its body only when the application wants it.
func TestExpectContinue(t *testing.T) {
	s := newMesh(t).sites[paris]
	talk := func(request, body string) (first, last string) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(conn, request)
		r := textproto.NewReader(bufio.NewReader(conn))
		if first, err = r.ReadLine(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(first, " 100 ") {
			return first, ""
		}
		_, _ = r.ReadLine()
		_, _ = io.WriteString(conn, body)
		last, _ = r.ReadLine()
		return first, last
	}
	request := "POST /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
	if first, last := talk(request, "12345"); !strings.Contains(last, " 200 ") || s.app.asked()[0].body != "12345" {
		t.Errorf("%q, then %q: %+v", first, last, s.app.asked())
	}
	s.app.set(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(401) })
	if first, _ := talk(request, "12345"); !strings.Contains(first, " 401 ") {
		t.Errorf("a refused body was asked for: %q", first)
	}
	large := strings.Replace(request, "Content-Length: 5", "Scope: paris & nantes\r\nContent-Length: 9999999999", 1)
	if first, _ := talk(strings.Replace(large, "/x", "/images", 1), ""); !strings.Contains(first, " 413 ") {
		t.Errorf("a body over the limit was asked for: %q", first)
	}
}

// pair is an application of bare TCP that answers with fixed bytes and tells what it was sent.
func pair(t interface {
	Helper()
	Fatal(...any)
}, s *siteUnderTest, request, response []byte) (sent *http.Request, sentBody []byte, got *http.Response, gotBody []byte) {
	t.Helper()
	received := make(chan struct{})
	s.app.set(func(w http.ResponseWriter, r *http.Request) {
		defer close(received)
		sent = r
		sentBody, _ = io.ReadAll(r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		// Else the next request might go out on this connection, which is about to close.
		_, _ = conn.Write(bytes.Replace(response, []byte("\r\n"), []byte("\r\nConnection: close\r\n"), 1))
		conn.Close()
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Write(request); err != nil {
		t.Fatal(err)
	}
	got, err = http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: strings.Fields(string(request))[0]})
	if err != nil {
		t.Fatal(err)
	}
	gotBody, err = io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-received:
	case <-time.After(time.Minute):
		t.Fatal("the application was not asked; the answer is", string(gotBody))
	}
	return sent, sentBody, got, gotBody
}

// Whatever a client and an application say to each other without a scope arrives as it was said: method, target byte
// for byte, headers, status, bodies byte for byte. Only what concerns the connection is the agent's.
func TestPassesEverything(t *testing.T) {
	s := newMesh(t).sites[paris]
	token := rapid.StringMatching(`[A-Za-z][A-Za-z0-9-]{0,12}`)
	value := rapid.StringMatching(`[!-~]([ -~]{0,30}[!-~])?`)
	header := rapid.MapOfN(rapid.Map(token, func(s string) string { return "X-" + s }), rapid.SliceOfN(value, 1, 3), 0, 8)
	rapid.Check(t, func(t *rapid.T) {
		method := rapid.SampledFrom([]string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "BREW", "TRACE"}).Draw(t, "method")
		target := "/" + rapid.StringMatching(`([!-"$-~]|%[0-9A-Fa-f]{2}){0,40}`).Filter(func(s string) bool {
			return !strings.HasPrefix(s, "/") && wellEscaped(s)
		}).Draw(t, "target")
		body := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "body")
		in, out := header.Draw(t, "in"), header.Draw(t, "out")
		status := rapid.SampledFrom([]int{200, 201, 206, 299, 302, 400, 404, 418, 500, 599}).Draw(t, "status")
		answer := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "answer")
		var request, response bytes.Buffer
		_, _ = fmt.Fprintf(&request, "%s %s HTTP/1.1\r\nHost: some.host\r\nContent-Length: %d\r\n%s\r\n%s", method, target, len(body), lines(in), body)
		_, _ = fmt.Fprintf(&response, "HTTP/1.1 %d X\r\nContent-Length: %d\r\n%s\r\n%s", status, len(answer), lines(out), answer)
		sent, sentBody, got, gotBody := pair(t, s, request.Bytes(), response.Bytes())
		if sent.Method != method || sent.RequestURI != target || sent.Host != "some.host" || !bytes.Equal(sentBody, body) {
			t.Fatalf("sent %s %q to %s with %q", sent.Method, sent.RequestURI, sent.Host, sentBody)
		}
		if got.StatusCode != status || !bytes.Equal(gotBody, answer) {
			t.Fatalf("got %d with %q", got.StatusCode, gotBody)
		}
		compare(t, "request", sent.Header, in)
		compare(t, "answer", got.Header, out)
	})
}

func lines(h map[string][]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			b.WriteString(name + ": " + v + "\r\n")
		}
	}
	return b.String()
}

func compare(t *rapid.T, what string, got http.Header, want map[string][]string) {
	expected := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		for _, v := range want[name] {
			expected.Add(name, v)
		}
	}
	got = got.Clone()
	got.Del("Content-Length")
	agents(got)
	delete(expected, "X-Scope")
	if !maps.EqualFunc(got, expected, slices.Equal) {
		t.Fatalf("the %s has the header %v, want %v", what, got, expected)
	}
}

// agents takes out what the agent says of its own to an application.
func agents(h http.Header) {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		h.Del(name)
	}
}

func wellEscaped(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			if i+2 >= len(s) {
				return false
			}
			if _, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err != nil {
				return false
			}
		}
	}
	return true
}

func TestNothingIsMadeUp(t *testing.T) {
	s := newMesh(t).sites[paris]
	sent, _, got, _ := pair(t, s, []byte("GET /x? HTTP/1.1\r\nHost: h\r\n\r\n"), []byte("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"))
	agents(sent.Header)
	if len(sent.Header) != 0 || sent.RequestURI != "/x?" {
		t.Errorf("the application sees %s %v", sent.RequestURI, sent.Header)
	}
	got.Header.Del("Content-Length")
	if len(got.Header) != 0 {
		t.Errorf("the client sees %v", got.Header)
	}
	_, _, got, _ = pair(t, s, []byte("GET /x HTTP/1.1\r\nHost: h\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n"), []byte("HTTP/1.1 204 No Content\r\nSkerry-Site: forged\r\nSkerry-Operation: forged\r\n\r\n"))
	if got.StatusCode != 204 || got.Header.Get("Skerry-Site") != "" || got.Header.Get("Skerry-Operation") != "" {
		t.Errorf("%v", got)
	}
	_, _, got, _ = pair(t, s, []byte("HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n"), []byte("HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n"))
	if got.ContentLength != 77 {
		t.Errorf("HEAD: length %d", got.ContentLength)
	}
}

func TestLongHeaders(t *testing.T) {
	s := newMesh(t).sites[paris]
	long := strings.Repeat("x", 500<<10)
	s.app.set(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("X-Long"))
	})
	if a := s.do("GET", "/x", "", "X-Long: "+long); a.status != 200 || a.header.Get("X-Echo") != long {
		t.Errorf("%d, %d bytes came back", a.status, len(a.header.Get("X-Echo")))
	}
	s.do("GET", "/x", "", "Scope: "+strings.Repeat("paris & ", 5000)+"paris").problem(t, 400, "scope-syntax")
	s.do("GET", "/x", "", "Scope: "+strings.Repeat("(", 5000)).problem(t, 400, "scope-syntax")
}

// A gigabyte passes both ways without being held.
func TestLargeBodiesAreNotHeld(t *testing.T) {
	s := newMesh(t).sites[paris]
	const size = 1 << 30
	s.app.set(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.CopyBuffer(io.Discard, struct{ io.Reader }{r.Body}, make([]byte, 1<<20))
		w.Header().Set("X-Read", strconv.FormatInt(n, 10))
		w.Header().Set("Content-Length", strconv.Itoa(size/4))
		piece := make([]byte, 1<<20)
		for range size / 4 / len(piece) {
			_, _ = w.Write(piece)
		}
	})
	var peak atomic.Uint64
	body := &watched{left: size, every: 64 << 20, peak: &peak}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	req, _ := http.NewRequest("PUT", s.url+"/x", body)
	req.ContentLength = size
	client := http.Transport{WriteBufferSize: 1 << 20}
	defer client.CloseIdleConnections()
	resp, err := client.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{resp.Body}, make([]byte, 1<<20))
	if err != nil || n != size/4 || resp.Header.Get("X-Read") != strconv.Itoa(size) {
		t.Fatalf("%d bytes, %v; the application read %s", n, err, resp.Header.Get("X-Read"))
	}
	if grown := int64(peak.Load()) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

// watched is a body of zeros that notes how large the heap is while it is read.
type watched struct {
	left, since, every int64
	peak               *atomic.Uint64
}

func (w *watched) Read(p []byte) (int, error) {
	if w.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), w.left)
	w.left -= n
	if w.since += n; w.since >= w.every {
		w.since = 0
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w.peak.Store(max(w.peak.Load(), m.HeapAlloc))
	}
	return int(n), nil
}

func TestUpstreamTrouble(t *testing.T) {
	silent := newMeshWith(t, request.Limits{}, 50*time.Millisecond).sites[paris]
	silent.app.set(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	silent.do("GET", "/x", "").problem(t, 504, "upstream")
	s := newMesh(t).sites[paris]
	for _, garbage := range []string{"SSH-2.0-OpenSSH\r\n", "", "HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: nonsense\r\n\r\n"} {
		s.app.set(func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, garbage)
				conn.Close()
			}
		})
		s.do("POST", "/x", "body").problem(t, 502, "upstream")
	}
	// A body that breaks off is broken off for the client too, never taken for the whole.
	s.app.set(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "short")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	resp, err := http.Get(s.url + "/x")
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("a short answer was taken for a whole one")
	}
	s.handler.Upstream.Host = "127.0.0.1:1" // where nobody listens
	s.do("GET", "/x", "").problem(t, 502, "upstream")
}

// When the client goes, the application's work is not left running.
func TestClientGoes(t *testing.T) {
	s := newMesh(t).sites[paris]
	started, stopped := make(chan struct{}), make(chan struct{})
	s.app.set(func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
		close(stopped)
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
	<-started
	conn.Close()
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		t.Fatal("the application still works for a client that has gone")
	}
}

// net/http repeats requests with an Idempotency-Key on its own when a reused connection breaks. The agent must not: who
// wrote the key did not ask the agent for it.
func TestNeverRepeats(t *testing.T) {
	s := newMesh(t).sites[paris]
	var n atomic.Int32
	raw := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 2 {
			panic(http.ErrAbortHandler)
		}
	}))
	defer raw.Close()
	s.handler.Upstream.Host = strings.TrimPrefix(raw.URL, "http://")
	s.do("POST", "/x", "", "Idempotency-Key: k").want(t, 200)
	s.do("POST", "/x", "", "Idempotency-Key: k").problem(t, 502, "upstream")
	if n.Load() != 2 {
		t.Errorf("two requests reached the application %d times", n.Load())
	}
}
