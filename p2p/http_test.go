package p2p

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// serve runs an HTTP server on the site's streams.
func (s *testSite) serve(t testing.TB, h http.Handler) {
	t.Helper()
	server := &http.Server{Handler: h, ReadHeaderTimeout: patience}
	done := make(chan error, 1)
	go func() { done <- server.Serve(s.net.Listener()) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
}

var transports = map[string]testConfig{
	"QUIC": {listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}},
	"TCP":  {listen: []string{"/ip4/127.0.0.1/tcp/0"}},
}

func TestForwardedRequest(t *testing.T) {
	for name, c := range transports {
		t.Run(name, func(t *testing.T) {
			sites := newTestMesh(t, 2, c)
			sites[1].serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				w.Header().Set("From", r.RemoteAddr)
				w.WriteHeader(http.StatusTeapot)
				_, _ = fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL, r.Header.Get("Skerry-Service"), b)
			}))
			for i := range 300 { // more than streams that leak would let through
				body := fmt.Sprint("body ", i)
				r, err := http.NewRequestWithContext(t.Context(), "PUT", "http://"+string(sites[1].id)+"/images/1?a=b", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Skerry-Service", "images")
				answer, err := sites[0].net.Transport().RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(answer.Body)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				if want := "PUT /images/1?a=b images " + body; string(b) != want || answer.StatusCode != http.StatusTeapot {
					t.Fatalf("%d %q, not %q", answer.StatusCode, b, want)
				}
				if got := answer.Header.Get("From"); got != string(sites[0].id) {
					t.Fatalf("the request came from %q, not %q", got, sites[0].id)
				}
			}
			eventually(t, "no request counts any more", func() bool {
				l := sites[1].net.link(sites[0].id)
				l.mu.Lock()
				defer l.mu.Unlock()
				return l.streams[httpProtocol] == 0
			})
		})
	}
}

// TestReadsTakeTurnsOnStreams: reads share streams; one that the other side has given up is no error, and what changes something never meets one.
func TestReadsTakeTurnsOnStreams(t *testing.T) {
	for name, c := range transports {
		t.Run(name, func(t *testing.T) {
			sites := newTestMesh(t, 2, c)
			var mu sync.Mutex
			conns, last := map[net.Conn]int{}, net.Conn(nil)
			server := &http.Server{
				ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					last = r.Context().Value(connKey{}).(net.Conn)
					conns[last]++
				}),
			}
			served := make(chan error, 1)
			go func() { served <- server.Serve(sites[1].net.Listener()) }()
			t.Cleanup(func() { _ = server.Close(); <-served })
			over := sites[0].net.Transport()
			ask := func(method string) {
				t.Helper()
				r, err := http.NewRequestWithContext(t.Context(), method, "http://"+string(sites[1].id)+"/", nil)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := over.RoundTrip(r)
				if err != nil {
					t.Fatal(method, err)
				}
				_ = answer.Body.Close()
			}
			for range 10 {
				ask("GET")
			}
			count := func() int { mu.Lock(); defer mu.Unlock(); return len(conns) }
			if n := count(); n != 1 {
				t.Errorf("ten reads one after the other took %d streams", n)
			}
			for range 10 {
				ask("DELETE")
			}
			if n := count() - 1; n != 10 {
				t.Errorf("ten deletions took %d streams", n)
			}
			ask("GET")
			for range 10 {
				mu.Lock()
				gone := last
				mu.Unlock()
				_ = gone.(*streamConn).Reset()
				ask("GET")
			}
		})
	}
}

type connKey struct{}

// 100 MB go there and come back while they go, so that neither side can hold them.
func TestForwardedStream(t *testing.T) {
	for name, c := range transports {
		t.Run(name, func(t *testing.T) {
			size := int64(100 << 20)
			if raceDetector {
				size = 10 << 20
			}
			sites := newTestMesh(t, 2, c)
			sites[1].serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).EnableFullDuplex()
				_, _ = io.Copy(w, r.Body)
			}))
			sent := sha256.New()
			body := io.TeeReader(io.LimitReader(&cheapRandom{}, size), sent)
			r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+string(sites[1].id)+"/", io.NopCloser(body))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := sites[0].net.Transport().RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			got := sha256.New()
			n, err := io.Copy(got, answer.Body)
			if err != nil || n != size {
				t.Fatalf("%d bytes came back: %v", n, err)
			}
			if string(got.Sum(nil)) != string(sent.Sum(nil)) {
				t.Error("other bytes came back")
			}
		})
	}
}

// cheapRandom yields bytes that do not repeat within a block.
type cheapRandom struct {
	block [64 << 10]byte
	n     byte
}

func (r *cheapRandom) Read(b []byte) (int, error) {
	if r.n == 0 {
		_, _ = rand.Read(r.block[:])
	}
	r.n++
	r.block[0] = r.n
	return copy(b, r.block[:]), nil
}

func TestForwardedUpgrade(t *testing.T) {
	for name, c := range transports {
		t.Run(name, func(t *testing.T) {
			sites := newTestMesh(t, 2, c)
			sites[1].serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "Upgrade")
				w.Header().Set("Upgrade", "echo")
				w.WriteHeader(http.StatusSwitchingProtocols)
				conn, rw, err := http.NewResponseController(w).Hijack()
				if err != nil {
					return
				}
				defer conn.Close()
				_, _ = io.Copy(conn, rw)
			}))
			r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+string(sites[1].id)+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "echo")
			answer, err := sites[0].net.Transport().RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("answered %s", answer.Status)
			}
			conn, ok := answer.Body.(io.ReadWriteCloser)
			if !ok {
				t.Fatal("the upgraded connection cannot be written to")
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			for i := range 10 {
				line := fmt.Sprintf("line %d\n", i)
				if _, err := io.WriteString(conn, line); err != nil {
					t.Fatal(err)
				}
				if got, err := in.ReadString('\n'); err != nil || got != line {
					t.Fatalf("%q came back for %q: %v", got, line, err)
				}
			}
		})
	}
}

// What the other side sent last is there to be read also when it has closed the connection before this side ends its own half.
func TestEndedUpgradeIsReadWhole(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{})
	sites[1].serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "bye")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "bye")
		_ = conn.Close()
	}))
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+string(sites[1].id)+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "bye")
	answer, err := sites[0].net.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	conn, ok := answer.Body.(interface {
		io.ReadWriteCloser
		CloseWrite() error
	})
	if !ok {
		t.Fatal("the upgraded connection cannot be written to")
	}
	defer conn.Close()
	eventually(t, "the other side takes no more", func() bool {
		_, err := io.WriteString(conn, "x")
		return err != nil
	})
	if err := conn.CloseWrite(); err != nil {
		t.Errorf("the end of this side's half: %v", err)
	}
	if b, err := io.ReadAll(conn); string(b) != "bye" || err != nil {
		t.Errorf("%q came, %v", b, err)
	}
}

// A caller that gives up ends the request at the other site too.
func TestForwardedCancel(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{})
	began, ended := make(chan struct{}), make(chan struct{})
	sites[1].serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+string(sites[1].id)+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := sites[0].net.Transport().RoundTrip(r)
		failed <- err
	}()
	<-began
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller got %v", err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the request goes on at the other site")
	}
}

func TestForwardToNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 10*time.Millisecond).mesh(t, 2)
		_, stranger := testKey(t)
		get := func(site engine.SiteID) error {
			r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+string(site)+"/", strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := sites[0].net.Transport().RoundTrip(r)
			if err == nil {
				_ = answer.Body.Close()
			}
			return err
		}
		if err := get(stranger); !errors.Is(err, engine.ErrUnreachable) {
			t.Errorf("to a stranger: %v", err)
		}
		if err := get(sites[0].id); !errors.Is(err, engine.ErrUnreachable) {
			t.Errorf("to itself: %v", err)
		}
		sites[1].stop()
		eventually(t, "the end of the other is noticed", func() bool { return !sites[0].net.Status()[sites[1].id].Reachable })
		begin := time.Now()
		if err := get(sites[1].id); !errors.Is(err, engine.ErrUnreachable) {
			t.Errorf("to a site that is down: %v", err)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("it took %v to say so", took)
		}
	})
}

func TestListenerOfClosedNetwork(t *testing.T) {
	s := newTestSite(t, testConfig{})
	if err := s.net.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.net.Listener().Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept: %v", err)
	}
}

// A request ends with its context, also while it waits for another site to read its body.
func TestABodyThatNobodyReadsWaitsNoLongerThanItsRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 10*time.Millisecond).mesh(t, 2)
		release := make(chan struct{})
		sites[1].serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+string(sites[1].id)+"/", endless{})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			answer, err := sites[0].net.Transport().RoundTrip(r)
			if err == nil {
				err = answer.Body.Close()
			}
			ended <- err
		}()
		time.Sleep(10 * time.Second) // as much is sent as the other side takes unread
		cancel()
		select {
		case err := <-ended:
			if err == nil {
				t.Error("it is answered")
			}
		case <-time.After(time.Second):
			t.Error("it does not end")
		}
		close(release)
		time.Sleep(time.Second) // a server does not let go at once of a connection whose request it has not read
	})
}

// A request ends with its context at once, also while the other site has not even agreed to speak HTTP.
func TestAStreamWithoutAnAnswerClosesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := sim.mesh(t, 2)
		conn, err := sites[0].net.dialHTTP(t.Context(), "tcp", string(sites[1].id)+":80")
		if err != nil {
			t.Fatal(err)
		}
		sim.cut[1].Store(true)
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\n"); err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		go func() {
			_, err := conn.Read(make([]byte, 1))
			read <- err
		}()
		time.Sleep(100 * time.Millisecond)
		begin := time.Now()
		_ = conn.Close()
		if err := <-read; err == nil {
			t.Error("something was read")
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("it took %v to close", took)
		}
	})
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }
