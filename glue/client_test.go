package glue

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

type seen struct {
	method, uri, body string
	header            http.Header
}

// application is a server that keeps what it was sent and answers as told.
func application(t *testing.T, answer http.HandlerFunc) (string, *[]seen) {
	t.Helper()
	var log []seen
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		log = append(log, seen{r.Method, r.RequestURI, string(b), r.Header.Clone()})
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, &log
}

func TestDoTranslatesAndPresents(t *testing.T) {
	url, log := application(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Location", "http://"+r.Host+"/servers/9")
		w.WriteHeader(201)
		_, _ = io.WriteString(w, `{"id":9,"image":"img-1"}`)
	})
	c := testClient(t, "http://127.0.0.1:1", url, ids)
	r, err := c.Do(t.Context(), engine.Call{
		Kind: server, Method: "POST", Path: "/servers", Query: "image=M1", Key: "op.site",
		Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(`{"image":"M1","n":1.0}`),
		Credentials: &engine.Credentials{Header: http.Header{
			"Authorization": {"Bearer x"}, "Scope": {"paris"}, "Skerry-Via": {"a"}, "Connection": {"X-Hop"}, "X-Hop": {"1"},
			"If-Match": {`"e"`}, "Idempotency-Key": {"theirs"}, "Content-Length": {"1"},
		}},
	})
	if err != nil || r.Status != 201 || r.Local != "9" {
		t.Fatalf("%+v %v", r, err)
	}
	got := (*log)[0]
	if got.uri != "/servers?image=img-1" || got.body != `{"image":"img-1","n":1.0}` {
		t.Errorf("sent %+v", got)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer x", "If-Match": `"e"`, "Idempotency-Key": `"op.site"`, "Content-Type": "application/json",
		"Scope": "", "Skerry-Via": "", "X-Hop": "", "Connection": "",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
		}
	}
	p, err := c.Present(t.Context(), server, r)
	if err != nil || string(p.Body) != `{"id":9,"image":"M1"}` || p.Header.Get("Location") != "/servers/9" {
		t.Errorf("%s %v %v", p.Body, p.Header, err)
	}
}

func TestDoReadsTheIdentifierFromLocation(t *testing.T) {
	url, _ := application(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/base/images/a%20b")
		w.WriteHeader(201)
	})
	c := testClient(t, url+"/base", "http://127.0.0.1:1", table{})
	r, err := c.Do(t.Context(), engine.Call{Kind: image, Method: "POST", Path: "/images"})
	if err != nil || r.Local != "a b" {
		t.Fatalf("%+v %v", r, err)
	}
}

// Applications that number their resources get numbers, those whose identifiers only look like numbers get text.
func TestDoKeepsTheTypeOfIdentifiers(t *testing.T) {
	for shown, want := range map[string]string{`{"id":6}`: `{"image":6}`, `{"id":"6"}`: `{"image":"6"}`} {
		images, imagesLog := application(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, shown) })
		servers, log := application(t, func(w http.ResponseWriter, r *http.Request) {})
		c := testClient(t, images, servers, table{"images.image/M": "6"})
		for range 2 {
			_, err := c.Do(t.Context(), engine.Call{Kind: server, Method: "POST", Path: "/servers", Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(`{"image":"M"}`)})
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := (*log)[1].body; got != want {
			t.Errorf("shown %s: sent %s, want %s", shown, got, want)
		}
		if len(*imagesLog) != 1 || (*imagesLog)[0].uri != "/images/6" {
			t.Errorf("asked %+v, want once", *imagesLog)
		}
	}
}

func TestDoPutsSettableIdentifiersIn(t *testing.T) {
	kind := *image
	kind.ID.Settable, kind.ID.At = true, "/metadata/id"
	url, log := application(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(201) })
	c := testClient(t, url, "http://127.0.0.1:1", table{})
	for body, want := range map[string]string{
		`{"a":1}`:                   `{"metadata":{"id":"M"},"a":1}`,
		`{}`:                        `{"metadata":{"id":"M"}}`,
		`{"metadata":{"id":"old"}}`: `{"metadata":{"id":"M"}}`,
		`{"metadata":{"x":[1]}}`:    `{"metadata":{"id":"M","x":[1]}}`,
		`{"metadata":3}`:            "",
		`[1]`:                       "",
	} {
		*log = nil
		_, err := c.Do(t.Context(), engine.Call{Kind: &kind, Method: "POST", Path: "/images", Local: "M", Body: []byte(body)})
		if want == "" {
			if err == nil || len(*log) != 0 {
				t.Errorf("%s: sent %+v", body, *log)
			}
			continue
		}
		if err != nil || (*log)[0].body != want {
			t.Errorf("%s: sent %+v (%v), want %s", body, *log, err, want)
		}
	}
}

func TestDoTellsWhatIsCertain(t *testing.T) {
	const closed = "http://127.0.0.1:1" // where nobody listens
	call := engine.Call{Kind: image, Method: "POST", Path: "/images"}
	c := testClient(t, closed, closed, table{})
	if _, err := c.Do(t.Context(), call); !errors.Is(err, engine.ErrUnreachable) {
		t.Errorf("refused connection: %v", err)
	}
	for name, answer := range map[string]string{"closes": "", "garbage": "SSH-2.0-x\r\n\r\n", "cut body": "HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nabc"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var requests atomic.Int32
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				requests.Add(1)
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, answer)
				conn.Close()
			}
		}()
		call.Key = "op.site"
		c := testClient(t, "http://"+l.Addr().String(), closed, table{})
		if _, err := c.Do(t.Context(), call); err == nil || errors.Is(err, engine.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
		if n := requests.Load(); n != 1 {
			t.Errorf("%s: sent %d times", name, n)
		}
		l.Close()
		<-done
	}
}

// What no HTTP message can carry is never sent, and never will be: that is no fault of the connection.
func TestDoSaysWhatCanNeverBeSent(t *testing.T) {
	url, seen := application(t, func(http.ResponseWriter, *http.Request) {})
	c := testClient(t, url, url, table{})
	for name, change := range map[string]func(*engine.Call){
		"a line break in a header": func(c *engine.Call) {
			c.Header = map[string]string{"Content-Encoding": "gzip\r\nX-Forwarded-User: admin"}
		},
		"no name of a header":     func(c *engine.Call) { c.Header = map[string]string{"Content Type": "x"} },
		"a line break in a query": func(c *engine.Call) { c.Query = "a=\r\nHost: x" },
		"a space in the method":   func(c *engine.Call) { c.Method = "PATCH /x HTTP/1.1" },
		"no identifier":           func(c *engine.Call) { c.Local = ".." },
	} {
		call := engine.Call{Kind: image, Method: "PATCH", Path: "/images/{id}", Local: "1", Header: map[string]string{}}
		change(&call)
		if _, err := c.Do(t.Context(), call); !errors.Is(err, engine.ErrUnsendable) || !errors.Is(err, engine.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(*seen); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// net/http repeats a request with an Idempotency-Key by itself when a reused connection breaks; only the engine may
// decide that.
func TestDoNeverRepeats(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 4096)
			for i := 0; ; i++ {
				if n, err := conn.Read(b); err != nil || n == 0 {
					break
				}
				requests.Add(1)
				if i == 1 { // the second request on a connection dies with it
					break
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
			conn.Close()
		}
	}()
	c := testClient(t, "http://"+l.Addr().String(), "http://127.0.0.1:1", table{})
	call := engine.Call{Kind: image, Method: "POST", Path: "/images/{id}/start", Local: "1", Key: "op.site"}
	if _, err := c.Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(t.Context(), call); err == nil || errors.Is(err, engine.ErrUnreachable) {
		t.Errorf("the lost answer is taken for %v", err)
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests were sent for two calls", n)
	}
	l.Close()
	c.CloseIdle()
	<-done
}

func TestDoBounds(t *testing.T) {
	url, _ := application(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/images/slow" {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 2000))
	})
	c := testClient(t, url, "http://127.0.0.1:1", table{})
	c.config.MaxReply = 1000
	if _, err := c.Do(t.Context(), engine.Call{Kind: image, Method: "GET", Path: "/images/{id}", Local: "1"}); !errors.Is(err, engine.ErrTooLarge) {
		t.Errorf("a read of a long answer: %v", err)
	}
	r, err := c.Do(t.Context(), engine.Call{Kind: image, Method: "PUT", Path: "/images/{id}", Local: "1"})
	if err != nil || r.Status != 200 || len(r.Body) != 0 || r.Header.Get("Content-Length") != "" {
		t.Errorf("a change with a long answer: %v %v", r, err)
	}
	c.config.Timeout = 20 * time.Millisecond
	if _, err := c.Do(context.Background(), engine.Call{Kind: image, Method: "PUT", Path: "/images/{id}", Local: "slow"}); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, engine.ErrUnreachable) {
		t.Errorf("a slow answer: %v", err)
	}
}

func TestClassify(t *testing.T) {
	c := testClient(t, "http://127.0.0.1:1", "http://127.0.0.1:1", table{})
	k, typ, ok := c.Classify("images", "PATCH", "/images/{id}", map[string]string{"content-type": "application/merge-patch+json"})
	if !ok || k != "image" || typ != engine.TypeMerge {
		t.Errorf("%s %s %v", k, typ, ok)
	}
	for _, x := range [][2]string{{"GET", "/images/{id}"}, {"PUT", "/x/../images/{id}"}, {"PUT", "/nothing"}, {"DELETE", "/images"}} {
		if k, typ, ok := c.Classify("images", x[0], x[1], nil); ok {
			t.Errorf("%v is taken for %s %s", x, k, typ)
		}
	}
}
