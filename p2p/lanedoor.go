package p2p

import (
	"net"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	below "github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/libp2p/go-libp2p/p2p/transport/tcpreuse"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// laneDoor is where lanes come in: beside libp2p's connections, on the listeners of TCP.
type laneDoor struct {
	mu   sync.Mutex
	take func(net.Conn) // nil: none is taken; guarded by mu
}

func (d *laneDoor) open(take func(net.Conn)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.take = take
}

func (d *laneDoor) enter(c net.Conn) {
	d.mu.Lock()
	take := d.take
	d.mu.Unlock()
	if take == nil {
		c.Close()
		return
	}
	take(c)
}

// tcpBeside is libp2p's TCP, which leaves lanes to a laneDoor. It implements transport.Transport.
type tcpBeside struct {
	*tcp.TcpTransport
	upgrader below.Upgrader
	door     *laneDoor
}

// newTCP returns what makes it, as libp2p.Transport takes it. Two sites that dial each other at once from their listening ports may never connect
// over TCP, so that no port is used twice.
func newTCP(door *laneDoor) func(below.Upgrader, network.ResourceManager, *tcpreuse.ConnMgr) (*tcpBeside, error) {
	return func(u below.Upgrader, m network.ResourceManager, shared *tcpreuse.ConnMgr) (*tcpBeside, error) {
		t, err := tcp.NewTCPTransport(u, m, shared, tcp.DisableReuseport())
		return &tcpBeside{t, u, door}, err
	}
}

// Listen implements transport.Transport.
func (t *tcpBeside) Listen(at multiaddr.Multiaddr) (below.Listener, error) {
	l, err := manet.Listen(at)
	if err != nil {
		return nil, err
	}
	return t.upgrader.UpgradeGatedMaListener(t, newSorted(t.upgrader.GateMaListener(l), t.door)), nil
}

// sorted is a listener without the lanes among what comes in. Close ends the goroutines that sort, with the connections that they have in hand,
// and waits for them.
type sorted struct {
	below.GatedMaListener
	door   *laneDoor
	others chan accepted
	closed chan struct{} // once nothing comes any more
	err    error         // why; written before closed
	all    sync.WaitGroup

	mu     sync.Mutex
	stop   chan struct{}     // closed by Close, once, under mu
	inHand map[net.Conn]bool // connections that are being sorted, lanes until they are taken among them; guarded by mu
}

// accepted is a connection, or why there was none for now.
type accepted struct {
	conn  manet.Conn
	scope network.ConnManagementScope
	err   error
}

func newSorted(l below.GatedMaListener, door *laneDoor) *sorted {
	s := &sorted{GatedMaListener: l, door: door, others: make(chan accepted), closed: make(chan struct{}), stop: make(chan struct{}), inHand: map[net.Conn]bool{}}
	s.all.Go(s.sort)
	return s
}

// Close implements net.Listener.
func (s *sorted) Close() error {
	err := s.GatedMaListener.Close()
	s.mu.Lock()
	if !s.stopped() {
		close(s.stop)
	}
	for c := range s.inHand {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.all.Wait()
	return err
}

func (s *sorted) stopped() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

func (s *sorted) sort() {
	defer close(s.closed)
	for {
		c, scope, err := s.GatedMaListener.Accept()
		if err != nil {
			if passes, ok := err.(interface{ Temporary() bool }); ok && passes.Temporary() && s.tell(err) {
				continue
			}
			s.err = err
			return
		}
		if t, ok := c.(interface {
			SetLinger(int) error
			SetKeepAlive(bool) error
		}); ok { // as libp2p has its own
			_ = t.SetLinger(0)
			_ = t.SetKeepAlive(true)
		}
		s.all.Go(func() { s.one(accepted{conn: c, scope: scope}) })
	}
}

// tell has libp2p know that nothing can be accepted for now, such as for one file too many: libp2p then waits a little before it accepts again.
// It reports false once the listener is closed.
func (s *sorted) tell(err error) bool {
	select {
	case s.others <- accepted{err: err}:
		return true
	case <-s.stop:
		return false
	}
}

// one finds out what a connection is. Those that say nothing are libp2p's, which bounds them.
func (s *sorted) one(a accepted) {
	if !s.take(a.conn) {
		a.drop()
		return
	}
	defer s.leave(a.conn)
	_ = a.conn.SetReadDeadline(time.Now().Add(laneTime))
	first, err := peek(a.conn)
	_ = a.conn.SetReadDeadline(time.Time{})
	if err == nil && first == laneHello[0] {
		s.door.enter(a.conn)
		a.scope.Done() // it is counted with those of its site now
		return
	}
	select {
	case s.others <- a:
	case <-s.stop:
		a.drop()
	}
}

// drop ends what nobody wants.
func (a accepted) drop() {
	a.conn.Close()
	a.scope.Done()
}

// take has Close end a connection, until leave is called. It reports false where that has happened already.
func (s *sorted) take(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped() {
		return false
	}
	s.inHand[c] = true
	return true
}

func (s *sorted) leave(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inHand, c)
}

// Accept implements transport.GatedMaListener.
func (s *sorted) Accept() (manet.Conn, network.ConnManagementScope, error) {
	select {
	case a := <-s.others:
		return a.conn, a.scope, a.err
	case <-s.closed:
		return nil, nil, s.err
	}
}
