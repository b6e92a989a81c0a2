package door_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skerry/skerry/web/door"
)

// house is a door with an application of bare TCP behind it: what comes there is told byte by byte, and what it says is.
type house struct {
	t       testing.TB
	address string
	stop    func()
	dialed  atomic.Int32
	rest    atomic.Pointer[http.HandlerFunc]
	wrong   atomic.Pointer[error] // the last reason for which there was no answer
}

// application answers on one connection.
type application func(in *bufio.Reader, out net.Conn)

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// serving returns the address of an application.
func serving(t testing.TB, app application) string {
	l := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				app(bufio.NewReader(conn), conn)
			}()
		}
	}()
	return l.Addr().String()
}

func open(t testing.TB, limits door.Limits, app application) *house {
	return openOn(t, listen(t), limits, serving(t, app))
}

func openOn(t testing.TB, l net.Listener, limits door.Limits, upstream string) *house {
	h := &house{t: t, address: l.Addr().String()}
	none := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "not plain", http.StatusTeapot) })
	h.rest.Store(&none)
	d := door.New(door.Config{Desk: h, Limits: limits, Log: slog.New(slog.DiscardHandler),
		Rest: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*h.rest.Load())(w, r) }),
		Application: door.Application(func(ctx context.Context) (net.Conn, error) {
			h.dialed.Add(1)
			return (&net.Dialer{}).DialContext(ctx, "tcp", upstream)
		}, "")})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Serve(ctx, l) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(h.stop)
	return h
}

// Plain implements door.Desk: all is plain but what says that it is not.
func (h *house) Plain(r *door.Request) bool {
	for i := range r.Fields {
		if r.Fields[i].Is("x-rest") {
			return false
		}
	}
	return true
}

// Told implements door.Desk.
func (h *house) Told(*door.Request, int, int64, time.Duration) {}

// Unanswered implements door.Desk.
func (h *house) Unanswered(_ *door.Request, err error) (int, http.Header, []byte) {
	h.wrong.Store(&err)
	status := http.StatusBadGateway
	if errors.Is(err, door.ErrLate) {
		status = http.StatusGatewayTimeout
	}
	return status, http.Header{"X-Why": {err.Error()}}, []byte("no answer")
}

// client is a connection to a house.
type client struct {
	net.Conn
	t  testing.TB
	in *bufio.Reader
}

func dial(t testing.TB, address string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return &client{conn, t, bufio.NewReader(conn)}
}

func (c *client) say(text string) *client {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// head reads a head as it came.
func (c *client) head() string {
	c.t.Helper()
	h, err := headOf(c.in)
	if err != nil {
		c.t.Fatalf("%v after %q", err, h)
	}
	return h
}

func headOf(in *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		line, err := in.ReadString('\n')
		b.WriteString(line)
		if err != nil || line == "\r\n" {
			return b.String(), err
		}
	}
}

func (c *client) want(text string) *client {
	c.t.Helper()
	b := make([]byte, len(text))
	if n, err := io.ReadFull(c.in, b); err != nil || string(b) != text {
		rest, _ := c.in.Peek(c.in.Buffered())
		c.t.Fatalf("got %q%q, %v; want %q", b[:n], rest, err, text)
	}
	return c
}

// ends wants nothing more to come.
func (c *client) ends() {
	c.t.Helper()
	if b, err := io.ReadAll(c.in); err != nil || len(b) > 0 {
		c.t.Fatalf("%q %v", b, err)
	}
}

// says answers every request with the same bytes, once it has the head and the body of Content-Length.
func says(answer string) application {
	return func(in *bufio.Reader, out net.Conn) {
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if _, err = io.WriteString(out, answer); err != nil {
				return
			}
		}
	}
}

const get = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"

// Answers reach the client as the application has written them, apart from what is for the connection; and the next request comes through.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct{ request, answer, want string }{
		"length":                 {get, "HTTP/1.1 200 Fine\r\nx-b:  1 \r\nContent-Length: 2\r\nX-A: 2\r\n\r\nok", "HTTP/1.1 200 Fine\r\nx-b: 1\r\nContent-Length: 2\r\nX-A: 2\r\n\r\nok"},
		"chunks":                 {get, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
		"trailer":                {get, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\nSkerry-Site: forged\r\n\r\n", "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"},
		"both":                   {get, "HTTP/1.1 200 OK\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		"no content":             {get, "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n", "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n"},
		"not modified":           {get, "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"},
		"head":                   {"HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"},
		"head without length":    {"HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"},
		"interim":                {get, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"hop by hop":             {get, "HTTP/1.1 200 OK\r\nX-Hop: 1\r\nConnection: x-hop, keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"agents' alone":          {get, "HTTP/1.1 200 OK\r\nskerry-operation: forged\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"bare lines and folds":   {get, "HTTP/1.1 200 OK\nA: b\n  c\nContent-Length: 0\n\n", "HTTP/1.1 200 OK\r\nA: b c\r\nContent-Length: 0\r\n\r\n"},
		"no reason":              {get, "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"},
		"the same length twice":  {get, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
		"a body of a request":    {"PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"chunks of a request":    {"PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"the last word":          {"GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"},
		"the application's last": {get, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, door.Limits{}, says(c.answer))
			conn := dial(t, h.address)
			for range 3 {
				conn.say(c.request).want(c.want)
				if strings.Contains(c.request, "close") {
					conn.ends()
					conn = dial(t, h.address)
				}
			}
		})
	}
}

// A body that ends with its connection comes in chunks, so that the client knows that it has ended and may go on.
func TestUntilTheEnd(t *testing.T) {
	h := open(t, door.Limits{}, func(in *bufio.Reader, out net.Conn) {
		if _, err := headOf(in); err == nil {
			_, _ = io.WriteString(out, "HTTP/1.0 200 OK\r\nA: b\r\n\r\nhello")
		}
	})
	c := dial(t, h.address)
	for range 2 {
		if c.say(get); c.head() != "HTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n" {
			t.Fatal("another head")
		}
		c.want("5\r\nhello\r\n0\r\n\r\n")
	}
}

// What an answer has wrong becomes a refusal, and the client can go on.
func TestNoAnswers(t *testing.T) {
	for _, answer := range []string{
		"", "SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 099 Low\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "HTTP/1.1 200 OK\r\nA: \x00\r\n\r\n", "HTTP/1.1 200 OK\r\n: b\r\n\r\n", "HTTP/2 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
	} {
		h := open(t, door.Limits{}, func(in *bufio.Reader, out net.Conn) {
			if _, err := headOf(in); err == nil {
				_, _ = io.WriteString(out, answer)
			}
		})
		c := dial(t, h.address)
		for _, method := range []string{"POST", "GET"} {
			c.say(method + " /x HTTP/1.1\r\nHost: h\r\n\r\n")
			if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 502 Bad Gateway\r\nX-Why: ") {
				t.Errorf("%.100q: %q", answer, got)
			}
			c.want("no answer")
		}
	}
}

// An answer that breaks off is broken off for the client, never taken for a whole one.
func TestBrokenAnswers(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 900000),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\n0\r\n\r\n",
	} {
		h := open(t, door.Limits{}, func(in *bufio.Reader, out net.Conn) {
			if _, err := headOf(in); err == nil {
				_, _ = io.WriteString(out, answer)
			}
		})
		c := dial(t, h.address).say(get)
		resp, err := http.ReadResponse(c.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode == http.StatusOK {
			t.Errorf("%.60q was taken for a whole answer", answer)
		}
	}
}

// A request that changes nothing is sent again when an idle connection turns out to be closed; any other is sent once.
func TestConnectionsThatAreClosedMeanwhile(t *testing.T) {
	var n atomic.Int32
	// The second request on a connection meets its end, and nobody could see that coming.
	h := open(t, door.Limits{}, func(in *bufio.Reader, out net.Conn) {
		for i := range 2 {
			if _, err := headOf(in); err != nil || i > 0 {
				n.Add(1)
				return
			}
			_, _ = io.WriteString(out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	c := dial(t, h.address)
	for range 3 {
		c.say(get).want("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	}
	if n.Load() != 2 || h.dialed.Load() != 3 {
		t.Errorf("%d connections broke, %d were made", n.Load(), h.dialed.Load())
	}
	if c.say("POST /x HTTP/1.1\r\nHost: h\r\nIdempotency-Key: k\r\n\r\n"); !strings.HasPrefix(c.head(), "HTTP/1.1 502 ") {
		t.Error("a request that may change something was sent twice")
	}
}

// What an application says on an idle connection is the answer to nothing.
func TestUnaskedAnswers(t *testing.T) {
	unasked := make(chan struct{})
	var once sync.Once
	h := open(t, door.Limits{}, func(in *bufio.Reader, out net.Conn) {
		for {
			if _, err := headOf(in); err != nil {
				return
			}
			_, _ = io.WriteString(out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			once.Do(func() {
				<-unasked // after the answer was taken for whole
				_, _ = io.WriteString(out, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
				unasked <- struct{}{}
			})
		}
	})
	c := dial(t, h.address)
	c.say(get).want("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	c.say("GET /y HTTP/1.1\r\nHost: h\r\nX-Rest: 1\r\n\r\n") // its answer says that the door has done with the one before
	c.head()
	unasked <- struct{}{}
	<-unasked
	dial(t, h.address).say(get).want("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
}

// An answer may come before the request has ended, and be complete before that.
func TestEarlyAnswers(t *testing.T) {
	for _, framing := range []string{"Content-Length: 10\r\n\r\nabc", "Content-Length: 10000000\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"} {
		h := open(t, door.Limits{}, func(in *bufio.Reader, out net.Conn) {
			if _, err := headOf(in); err == nil {
				_, _ = io.WriteString(out, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
				_, _ = io.Copy(io.Discard, in)
			}
		})
		c := dial(t, h.address).say("PUT /x HTTP/1.1\r\nHost: h\r\n" + framing)
		c.want("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno").ends()
	}
}

// Both bodies flow at once, whoever waits for whom.
func TestBothWaysAtOnce(t *testing.T) {
	h := open(t, door.Limits{}, func(in *bufio.Reader, out net.Conn) {
		_, _ = headOf(in)
		_, _ = io.WriteString(out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for {
			b := make([]byte, 8)
			if _, err := io.ReadFull(in, b[:6]); err != nil {
				return
			}
			if _, _ = out.Write(b[:6]); string(b[:1]) == "0" {
				return
			}
		}
	})
	c := dial(t, h.address).say("POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
	c.head()
	for range 5 {
		c.say("1\r\nx\r\n").want("1\r\nx\r\n")
	}
}

// When the client goes, the application's work is not left running: whether its answer has begun or not.
func TestClientGoes(t *testing.T) {
	for _, begun := range []string{"", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"} {
		asked, stopped := make(chan struct{}), make(chan struct{})
		h := open(t, door.Limits{}, func(in *bufio.Reader, out net.Conn) {
			_, _ = headOf(in)
			_, _ = io.WriteString(out, begun)
			close(asked)
			_, _ = in.ReadByte()
			close(stopped)
		})
		c := dial(t, h.address).say(get)
		if <-asked; begun != "" {
			c.head()
		}
		c.Close()
		select {
		case <-stopped:
		case <-time.After(time.Minute):
			t.Fatalf("the application still works for a client that has gone, after %q", begun)
		}
	}
}

// An application that takes too long is given up; the client can go on.
func TestLateAnswers(t *testing.T) {
	h := open(t, door.Limits{AnswerTimeout: 100 * time.Millisecond}, func(in *bufio.Reader, out net.Conn) { _, _ = io.Copy(io.Discard, in) })
	c := dial(t, h.address)
	for range 2 {
		if c.say(get); !strings.HasPrefix(c.head(), "HTTP/1.1 504 ") {
			t.Error("another status")
		}
		c.want("no answer")
	}
}

// Requests that wait in a connection are answered in their order.
func TestPipelines(t *testing.T) {
	h := open(t, door.Limits{}, func(in *bufio.Reader, out net.Conn) {
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			b, _ := io.ReadAll(r.Body)
			b = append([]byte(r.URL.Path), b...)
			_, _ = io.WriteString(out, "HTTP/1.1 200 OK\r\nContent-Length: "+string(rune('0'+len(b)))+"\r\n\r\n"+string(b))
		}
	})
	c := dial(t, h.address)
	c.say("PUT /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nabGET /2 HTTP/1.1\r\nHost: h\r\n\r\nPUT /3 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nz\r\n0\r\n\r\nGET /4 HTTP/1.1\r\nHost: h\r\n\r\n")
	for _, want := range []string{"/1ab", "/2", "/3z", "/4"} {
		c.head()
		c.want(want)
	}
}

// What is not plain goes to net/http from its first byte on, with what came after it.
func TestHandsOver(t *testing.T) {
	h := open(t, door.Limits{}, says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	seen := make(chan string, 10)
	rest := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen <- r.Proto + " " + r.Method + " " + r.RequestURI + " " + string(b)
	})
	h.rest.Store(&rest)
	for _, c := range []struct{ request, want string }{
		{"GET /a HTTP/1.0\r\n\r\n", "HTTP/1.0 GET /a "},
		{"GET http://h/a HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 GET http://h/a "},
		{"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", ""},
		{"PUT /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 PUT /a ab"},
		{"GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "HTTP/1.1 GET /a "},
		{"GET /a HTTP/1.1\r\nHost: h\r\nConnection: X-Hop\r\n\r\n", "HTTP/1.1 GET /a "},
		{"GET /a HTTP/1.1\r\nHost: h\r\nTE: trailers\r\n\r\n", "HTTP/1.1 GET /a "},
		{"PUT /a HTTP/1.1\r\nHost: h\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nz\r\n0\r\nX: 1\r\n\r\n", "HTTP/1.1 PUT /a z"},
		{"GET /a%zz HTTP/1.1\r\nHost: h\r\n\r\n", ""},
		{"CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n", "HTTP/1.1 CONNECT h:1 "},
		{"GET /a HTTP/1.1\r\nHost: h\r\nX-Rest: 1\r\n\r\n", "HTTP/1.1 GET /a "},
	} {
		conn := dial(t, h.address).say(get)
		conn.head()
		conn.say(c.request).head()
		if c.want == "" {
			continue // net/http answers by itself
		}
		if got := <-seen; got != c.want {
			t.Errorf("%q came as %q", c.request, got)
		}
	}
	if len(seen) > 0 {
		t.Errorf("net/http was handed %q", <-seen)
	}
}

// A connection comes back from net/http with a plain request, unless net/http has read the beginning of that by then.
func TestTakesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g, c := newInProcess(t, ctx)
		const plain = "no answer" // the application has no address
		for range 3 {
			for range 2 {
				c.say(notPlain).head()
				c.want("first")
				synctest.Wait() // net/http waits for the next one
			}
			c.say("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab").head()
			c.want(plain)
			synctest.Wait()
		}
		for cut := 1; cut < 6; cut++ {
			c.say(notPlain + get[:cut]).head()
			c.want("first")
			c.say(get[cut:]).head()
			c.want("first")
			synctest.Wait()
			c.say(get).head()
			c.want(plain)
		}
		c.say(notPlain).head()
		c.want("first")
		synctest.Wait()
		c.say("GET / HTTP/1.1\nHost: h\nX-Rest: 1\n\n").want("HTTP/1.1 400 Bad Request\r\n") // net/http would answer it
		c.Close()
		cancel()
		if err := <-g.ended; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

// A head that is too long is refused, and one that does not come ends the connection, as one does over which nothing comes.
func TestLimits(t *testing.T) {
	h := open(t, door.Limits{Head: 8 << 10, HeadTimeout: 100 * time.Millisecond, Idle: 50 * time.Millisecond}, says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	c := dial(t, h.address).say("GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 8<<10))
	if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 431 ") {
		t.Error(got)
	}
	dial(t, h.address).ends()
	c = dial(t, h.address).say("GET / HTTP/1.1\r\nHost")
	if got := c.head(); !strings.HasPrefix(got, "HTTP/1.1 408 ") {
		t.Error(got)
	}
	c.want("408 Request Timeout").ends()
	c = dial(t, h.address).say(get)
	c.head()
	c.ends()
}

// What is under way when the agent stops has time to end; the client is told that it was the last.
func TestStops(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	h := open(t, door.Limits{}, func(in *bufio.Reader, out net.Conn) {
		if _, err := headOf(in); err != nil {
			return
		}
		close(asked)
		<-answer
		_, _ = io.WriteString(out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	idle := dial(t, h.address).say("GET /x HTTP/1.1\r\nHost: h\r\n") // which never ends
	c := dial(t, h.address).say(get)
	<-asked
	idle.say("X-Rest: 1\r\n\r\n").head() // net/http has it, and is idle
	stopped := make(chan struct{})
	go func() { h.stop(); close(stopped) }()
	for { // until nobody is let in any more
		conn, err := net.Dial("tcp", h.address)
		if err != nil {
			break
		}
		conn.Close()
	}
	close(answer)
	c.want("HTTP/1.1 200 OK\r\n")
	rest, _ := io.ReadAll(c.in)
	if !bytes.HasSuffix(rest, []byte("\r\n\r\nok")) {
		t.Errorf("%q", rest)
	}
	<-stopped
}
