package glue

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// closing is an application that ends each connection after its first answer, without saying so. It counts what it has got.
func closing(t *testing.T) (at string, got func() []*http.Request) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []*http.Request
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				mu.Lock()
				all = append(all, r)
				mu.Unlock()
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
			})
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return "http://" + l.Addr().String(), func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// deaf is a connection whose reader hears of its end only once it is told: what is sent meanwhile meets a connection that has ended.
type deaf struct {
	*net.TCPConn
	ended chan<- struct{}
	heard <-chan struct{}
}

func (d *deaf) Read(b []byte) (int, error) {
	n, err := d.TCPConn.Read(b)
	if errors.Is(err, io.EOF) {
		select {
		case d.ended <- struct{}{}:
		case <-d.heard:
		}
		<-d.heard
	}
	return n, err
}

// What is to go over a connection that the application has ended is sent over another one, and once: it has certainly not been read.
func TestDoSendsNothingOverWhatHasEnded(t *testing.T) {
	at, got := closing(t)
	base, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	ended, heard := make(chan struct{}), make(chan struct{})
	hear := sync.OnceFunc(func() { close(heard) })
	t.Cleanup(hear)
	c, err := NewClient(ClientConfig{Upstreams: []Upstream{{Service: image.Service, URL: base, Kinds: testKinds()}}, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &deaf{conn.(*net.TCPConn), ended, heard}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	c.Use(table{})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		r, err := c.Do(t.Context(), engine.Call{Kind: image, Method: method, Path: "/images"})
		if err != nil || r.Status != http.StatusOK {
			t.Fatalf("%s: %+v %v", method, r, err)
		}
		if method == http.MethodGet {
			<-ended // and the client has not heard of it
		}
	}
	if all := got(); len(all) != 2 || all[1].Method != http.MethodPost {
		t.Errorf("the application has got %d requests", len(all))
	}

	// A body that is streamed cannot be sent again. It is certain that nothing of it was.
	<-ended
	_, err = c.Do(t.Context(), engine.Call{Kind: image, Method: http.MethodPost, Path: "/images", Content: strings.NewReader("bytes"), Length: 5})
	if !errors.Is(err, engine.ErrUnreachable) {
		t.Errorf("a streamed body: %v", err)
	}
	if n := len(got()); n != 2 {
		t.Errorf("the application has got %d requests", n)
	}
}

// givenUp is a connection that tells once its user closes it.
type givenUp struct {
	net.Conn
	told chan<- struct{}
	once sync.Once
}

func (g *givenUp) Close() error {
	g.once.Do(func() { g.told <- struct{}{} })
	return g.Conn.Close()
}

// What changes something has a connection of its own where the application ends each without saying so: it may be about to.
func TestWritesHaveTheirOwnConnectionsWhereNoneIsKept(t *testing.T) {
	at, got := closing(t)
	base, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	given := make(chan struct{}, 2*fewEnds)
	c, err := NewClient(ClientConfig{Upstreams: []Upstream{{Service: image.Service, URL: base, Kinds: testKinds()}}, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return &givenUp{Conn: conn, told: given}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	c.Use(table{})
	for range fewEnds {
		if _, err := c.Do(t.Context(), engine.Call{Kind: image, Method: http.MethodGet, Path: "/images"}); err != nil {
			t.Fatal(err)
		}
		<-given // the client has heard of the end
	}
	if _, err := c.Do(t.Context(), engine.Call{Kind: image, Method: http.MethodPost, Path: "/images"}); err != nil {
		t.Fatal(err)
	}
	all := got()
	if last := all[len(all)-1]; last.Method != http.MethodPost || !last.Close {
		t.Errorf("the last request is %s, of the last on its connection: %t", last.Method, last.Close)
	}

	// One that keeps them gets everything over those that it has.
	keeping, log := application(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	c = testClient(t, keeping, keeping, table{})
	up := c.upstreams[image.Service]
	up.ends.Store(fewEnds)
	for !up.keeps() { // until one was used twice
		if _, err := c.Do(t.Context(), engine.Call{Kind: image, Method: http.MethodGet, Path: "/images"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Do(t.Context(), engine.Call{Kind: image, Method: http.MethodPost, Path: "/images"}); err != nil {
		t.Fatal(err)
	}
	if n := len(*log); (*log)[n-1].header.Get("Connection") != "" {
		t.Error("an application that keeps connections is taken for one that does not")
	}
}

// An application that ends connections which were idle for long keeps those in use.
func TestAnIdleConnectionMayEnd(t *testing.T) {
	for _, c := range []struct {
		ago  time.Duration
		want int32
	}{{0, 1}, {time.Minute, 0}} {
		here, there := net.Pipe()
		var up upstream
		w := up.wire(here)
		go func() {
			_, _ = io.WriteString(there, "x")
			there.Close()
		}()
		b := make([]byte, 1)
		if _, err := w.Read(b); err != nil {
			t.Fatal(err)
		}
		w.(*wire).heard.Store(time.Now().Add(-c.ago).UnixNano())
		if _, err := w.Read(b); !errors.Is(err, io.EOF) || up.ends.Load() != c.want {
			t.Errorf("%v after its answer an end is %v, %d of those that count, want %d", c.ago, err, up.ends.Load(), c.want)
		}
	}
}
