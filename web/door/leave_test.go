package door_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skerry/skerry/web/door"
)

// generation is a door that says in its answers to what is not plain which one it is.
type generation struct {
	*door.Door
	ended chan error
	held  chan struct{} // requests for /held wait for it
	began chan struct{} // one for each of those
}

func newGeneration(t *testing.T, ctx context.Context, name, upstream string, l net.Listener) *generation {
	g := &generation{ended: make(chan error, 1), held: make(chan struct{}), began: make(chan struct{}, 10)}
	h := &house{t: t}
	g.Door = door.New(door.Config{Desk: h, Log: slog.New(slog.DiscardHandler),
		Rest: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				t.Error(err)
			}
			switch r.URL.Path {
			case "/passes":
				door.Pass(r.Context())
				fallthrough
			case "/held":
				g.began <- struct{}{}
				<-g.held
			}
			_, _ = io.WriteString(w, name)
		}),
		Application: door.Application(func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", upstream) }, "")})
	go func() { g.ended <- g.Serve(ctx, l) }()
	return g
}

// copyOf is another listener on the socket of one.
func copyOf(t *testing.T, l net.Listener) net.Listener {
	t.Helper()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	other, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	return other
}

const notPlain = "POST /rest HTTP/1.1\r\nHost: h\r\nX-Rest: 1\r\nContent-Length: 2\r\n\r\nok"

// Whoever is idle when a door is left, in its own hands or in net/http's, has its next request answered by the heir, on the same connection.
// What is under way ends where it has begun, and Leave waits for that unless it is said to need nobody.
func TestLeaveGivesClientsOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := listen(t)
	inherited := copyOf(t, l)
	upstream := serving(t, says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	first := newGeneration(t, ctx, "first", upstream, l)
	idle, lent, held, passes, half := dial(t, l.Addr().String()), dial(t, l.Addr().String()), dial(t, l.Addr().String()), dial(t, l.Addr().String()), dial(t, l.Addr().String())
	plain := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	idle.say(get).want(plain)
	lent.say(notPlain).head()
	lent.want("first")
	held.say("GET /held HTTP/1.1\r\nHost: h\r\nX-Rest: 1\r\n\r\n")
	passes.say("GET /passes HTTP/1.1\r\nHost: h\r\nX-Rest: 1\r\n\r\n")
	<-first.began
	<-first.began
	half.say(get).want(plain)
	half.say(notPlain[:20])

	second := newGeneration(t, ctx, "second", upstream, inherited)
	close(second.held)
	left, given := make(chan struct{}), make(chan string, 10)
	go func() {
		defer close(left)
		first.Leave(ctx, func(h door.Handed) bool {
			defer func() { given <- h.Conn.RemoteAddr().String() }()
			h.Before = append([]byte(nil), h.Before...)
			return second.Adopt(ctx, h)
		})
	}()
	for waits := []string{idle.LocalAddr().String(), lent.LocalAddr().String()}; len(waits) > 0; {
		one := <-given
		waits = slices.DeleteFunc(waits, func(w string) bool { return w == one })
	}
	for _, c := range []*client{idle, lent} {
		c.say(get).want(plain)
		c.say(notPlain).head()
		c.want("second")
	}
	half.say(notPlain[20:]).head()
	half.want("second")
	fresh := dial(t, inherited.Addr().String())
	fresh.say(notPlain).head()
	fresh.want("second")
	select {
	case <-left:
		t.Fatal("Leave does not wait for what is under way")
	default:
	}
	first.held <- struct{}{} // one of both
	first.held <- struct{}{}
	<-left
	for _, c := range []*client{held, passes} {
		c.head()
		c.want("first")
		c.say(notPlain).head()
		c.want("second")
	}
	if err := <-first.ended; err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-second.ended; err != nil {
		t.Error(err)
	}
}

// What passes holds nobody up who leaves.
func TestLeaveDoesNotWaitForWhatPasses(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := listen(t)
	g := newGeneration(t, ctx, "first", "127.0.0.1:1", l)
	c := dial(t, l.Addr().String())
	c.say("GET /passes HTTP/1.1\r\nHost: h\r\nX-Rest: 1\r\n\r\n")
	<-g.began
	g.Leave(ctx, func(door.Handed) bool { return false }) // it would take ten seconds
	select {
	case err := <-g.ended:
		t.Fatalf("the door has ended before its client was answered: %v", err)
	default:
	}
	close(g.held)
	c.head()
	c.want("first")
	if err := <-g.ended; err != nil {
		t.Error(err)
	}
}

// Clients that never stop asking, in one way and the other, lose nothing while a door is left time and again.
func TestLeaveUnderLoad(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := listen(t)
	address := "http://" + l.Addr().String() + "/x"
	upstream := serving(t, says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	now := newGeneration(t, ctx, "0", upstream, l)
	over, over2 := context.WithCancel(ctx)
	var clients sync.WaitGroup
	answered := make(chan struct{})
	for i := range 16 {
		clients.Go(func() {
			transport := &http.Transport{MaxIdleConnsPerHost: 1}
			defer transport.CloseIdleConnections()
			for n := i; over.Err() == nil; n++ {
				r, _ := http.NewRequestWithContext(ctx, "POST", address, io.LimitReader(zeros{}, int64(n%5)*1000))
				r.ContentLength = int64(n%5) * 1000
				if r.ContentLength == 0 {
					r.Body = http.NoBody
				}
				if n%3 == 0 {
					r.Header.Set("X-Rest", "1")
				}
				resp, err := transport.RoundTrip(r)
				if err != nil {
					t.Error(err)
					over2()
					return
				}
				if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 {
					t.Errorf("%d %q %v", resp.StatusCode, b, err)
				}
				resp.Body.Close()
				select {
				case answered <- struct{}{}:
				case <-over.Done():
				}
			}
		})
	}
	for n := 1; n <= 20; n++ {
		for range 50 {
			select {
			case <-answered:
			case <-over.Done():
			}
		}
		inherited := copyOf(t, l)
		next := newGeneration(t, ctx, fmt.Sprint(n), upstream, inherited)
		now.Leave(ctx, func(h door.Handed) bool {
			h.Before = append([]byte(nil), h.Before...)
			return next.Adopt(ctx, h)
		})
		if err := <-now.ended; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		now, l = next, inherited
	}
	over2()
	clients.Wait()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// pipes is a listener whose clients are in this process.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	over  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.over) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// newInProcess is a generation that goes by simulated time, and a client of it.
func newInProcess(t *testing.T, ctx context.Context) (*generation, *client) {
	l := &pipes{conns: make(chan net.Conn), over: make(chan struct{})}
	g := newGeneration(t, ctx, "first", "", l)
	ours, theirs := net.Pipe()
	l.conns <- theirs
	return g, &client{ours, t, bufio.NewReader(ours)}
}

// TestLeaveWaitsForWhatHasBegun: a request counts from its first byte on, and until net/http waits for the next one, however long either takes.
func TestLeaveWaitsForWhatHasBegun(t *testing.T) {
	for name, before := range map[string]string{"the first request of a connection": "", "one after another": notPlain} {
		for _, cut := range []int{1, 20, len(notPlain) - 1} {
			if before == "" && cut < len(notPlain)-2 {
				continue // what has no whole head yet the heir gets
			}
			t.Run(fmt.Sprintf("%s, %d bytes of it", name, cut), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					g, c := newInProcess(t, ctx)
					defer c.Close()
					if before != "" {
						c.say(before).head()
						c.want("first")
					}
					c.say(notPlain[:cut])
					synctest.Wait()
					left := make(chan struct{})
					var answered atomic.Bool
					go func() {
						defer close(left)
						g.Leave(ctx, func(door.Handed) bool {
							if !answered.Load() {
								t.Error("the heir gets it")
							}
							return false
						})
					}()
					time.Sleep(5 * time.Second)
					select {
					case <-left:
						t.Fatal("Leave does not wait for a request that has begun to come in")
					default:
					}
					answered.Store(true)
					c.say(notPlain[cut:]).head()
					c.want("first")
					c.Close()
					<-left
					if err := <-g.ended; err != nil && !errors.Is(err, net.ErrClosed) {
						t.Error(err)
					}
				})
			})
		}
	}
}

// TestLeaveAndWhatPassesGoesOn: who is answered yet by what needs nobody here has its next request answered by the heir, though it was said before
// that, and net/http has read the beginning of it.
func TestLeaveAndWhatPassesGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		g, c := newInProcess(t, ctx)
		defer c.Close()
		c.say("GET /passes HTTP/1.1\r\nHost: h\r\nX-Rest: 1\r\n\r\n")
		<-g.began
		given := make(chan string, 1)
		g.Leave(ctx, func(h door.Handed) bool {
			given <- string(h.Before)
			return false
		})
		said := make(chan struct{})
		go func() {
			defer close(said)
			_, _ = io.WriteString(c, notPlain) // of which nobody reads more than what is kept
		}()
		synctest.Wait()
		close(g.held)
		c.head()
		c.want("first")
		select {
		case got := <-given:
			if got != notPlain[:1] {
				t.Errorf("the heir gets %q", got)
			}
		case <-time.After(time.Hour):
			t.Fatal("the heir gets nothing")
		}
		<-said
		if err := <-g.ended; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}
