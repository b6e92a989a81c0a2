package p2p

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// A lane is a connection between two agents that carries one request at a time: TCP and Noise with the sites' keys as libp2p has them, and no
// streams above. What reads a stream is told by what reads the connection, and what it writes is written by somebody else: of a small request, these
// hand-overs between goroutines cost more than all else. There are lanes only beside a link that is up and direct, they end with it, and where
// none comes about, requests go over streams as any do.
//
// Who opens one says laneHello before Noise. libp2p's own connections begin with the length of what they say (multistream-select), which is another
// byte: so both come in at one port.

const (
	laneHello = "/skerry/lane/1\n"
	// laneTime is how long one may take to come about, laneRetry how long nobody tries again after it did not.
	laneTime  = 3 * time.Second
	laneRetry = 5 * time.Second
	// mostLanes is how many one site opens to another. More requests at once go over streams, which share a connection. The other site takes twice
	// as many: those of a process before may not have ended.
	mostLanes = 64
)

// lane is one of them. It implements peerConn.
type lane struct {
	net.Conn // that Noise secures
	wire     net.Conn
	link     *link
	remote   siteAddr
	ended    sync.Once
	done     func()
}

// NetConn returns the connection below Noise.
func (c *lane) NetConn() net.Conn { return c.wire }

// RemoteAddr implements net.Conn: it is the site.
func (c *lane) RemoteAddr() net.Addr { return c.remote }

// LocalAddr implements net.Conn.
func (c *lane) LocalAddr() net.Addr { return siteAddr(c.link.n.self) }

// CloseWrite ends what this side sends.
func (c *lane) CloseWrite() error {
	if w, ok := c.wire.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// Close implements net.Conn.
func (c *lane) Close() error {
	err := c.Conn.Close()
	c.ended.Do(func() {
		c.link.lanes.remove(c)
		c.done()
	})
	return err
}

// Reset closes it.
func (c *lane) Reset() error { return c.Close() }

// Stale reports whether another request had better go elsewhere: the site has not been heard lately.
func (c *lane) Stale() bool { return !c.link.fits() }

// lanes are those to and from one other site, and how one more is had. It is safe for concurrent use.
type lanes struct {
	mu     sync.Mutex // guards the rest
	all    map[*lane]bool
	out    int
	shut   bool                // the link is down, or has not been up
	at     multiaddr.Multiaddr // where one has come about; nil: nowhere yet
	tried  time.Time           // when none came about last
	trying bool
}

// add keeps one that has come about. It reports false where the link is down by now.
func (s *lanes) add(c *lane) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return false
	}
	if s.all == nil {
		s.all = map[*lane]bool{}
	}
	s.all[c] = true
	return true
}

func (s *lanes) remove(c *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, c)
}

// set says whether the link is up. Those of one that is not end.
func (s *lanes) set(up bool) {
	s.mu.Lock()
	s.shut = !up
	var all []*lane
	if !up {
		for c := range s.all {
			all = append(all, c)
		}
		s.at, s.tried = nil, time.Time{}
	}
	s.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}

// known reports whether lanes come about, so that streams need not be used.
func (s *lanes) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at != nil && s.out < mostLanes
}

// reserve returns where a lane comes about, and counts it. Nil: there is none to be had; try says that somebody should find out where.
func (s *lanes) reserve() (at multiaddr.Multiaddr, try bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.shut || s.out >= mostLanes:
		return nil, false
	case s.at == nil:
		try = !s.trying && time.Since(s.tried) >= laneRetry
		s.trying = s.trying || try
		return nil, try
	}
	s.out++
	return s.at, false
}

func (s *lanes) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out--
}

// found notes where a lane has come about, nil for nowhere.
func (s *lanes) found(at multiaddr.Multiaddr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at, s.trying = at, false; at == nil || s.shut {
		s.at, s.tried = nil, time.Now()
	}
}

// openLane opens a lane, if one can be had at once. If none has been tried, that begins, and nobody waits for it.
func (l *link) openLane(ctx context.Context) *lane {
	at, try := l.lanes.reserve()
	if try {
		l.n.spawn(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), laneTime)
			defer cancel()
			go func() {
				select {
				case <-l.n.streams.done:
					cancel()
				case <-ctx.Done():
				}
			}()
			l.lanes.found(l.seekLane(ctx))
		})
	}
	if at == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, laneTime)
	defer cancel()
	c, err := l.dialLane(ctx, at)
	if err != nil {
		l.lanes.release()
		l.lanes.found(nil)
		l.n.log.Debug("no lane comes about any more", "peer", l.site, "at", at, "err", err)
		return nil
	}
	return c
}

// seekLane returns where lanes come about, nil for nowhere.
func (l *link) seekLane(ctx context.Context) multiaddr.Multiaddr {
	direct := l.direct()
	if direct == nil {
		return nil
	}
	l.mu.Lock()
	addrs := slices.Clone(l.addrs)
	l.mu.Unlock()
	if direct.Stat().Direction == network.DirOutbound {
		addrs = slices.Insert(addrs, 0, direct.RemoteMultiaddr())
	}
	for _, at := range addrs {
		if !overTCP(at) || ctx.Err() != nil {
			continue
		}
		l.lanes.count()
		c, err := l.dialLane(ctx, at)
		if err == nil {
			_ = c.Close()
			return at
		}
		l.lanes.release()
		l.n.log.Debug("no lane comes about", "peer", l.site, "at", at, "err", err)
	}
	return nil
}

func (s *lanes) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out++
}

// overTCP reports whether an address is one of TCP and of nothing above.
func overTCP(a multiaddr.Multiaddr) bool {
	for i, part := range a {
		if part.Code() == multiaddr.P_TCP {
			return len(a) == i+1 || a[i+1].Code() == multiaddr.P_P2P
		}
	}
	return false
}

// dialLane opens a lane at an address, and waits until the other side has taken it.
func (l *link) dialLane(ctx context.Context, at multiaddr.Multiaddr) (*lane, error) {
	if !l.n.gater.admits(l.pid, l.site) {
		return nil, errors.New("the site may not be talked to")
	}
	kind, address, err := manet.DialArgs(at)
	if err != nil {
		return nil, err
	}
	wire, err := new(net.Dialer).DialContext(ctx, kind, address)
	if err != nil {
		return nil, err
	}
	c, err := l.n.secureLane(ctx, wire, l.pid)
	if err != nil {
		wire.Close()
		return nil, err
	}
	made := &lane{Conn: c, wire: wire, link: l, remote: siteAddr(l.site), done: l.lanes.release}
	if !l.lanes.add(made) {
		c.Close()
		return nil, errors.New("the link is down")
	}
	return made, nil
}

// secureLane says what is to come and proves who both sides are.
func (n *Network) secureLane(ctx context.Context, wire net.Conn, to peer.ID) (net.Conn, error) {
	deadline, _ := ctx.Deadline()
	_ = wire.SetDeadline(deadline)
	if _, err := io.WriteString(wire, laneHello); err != nil {
		return nil, err
	}
	c, err := n.noise.SecureOutbound(ctx, wire, to)
	if err != nil {
		return nil, fmt.Errorf("prove who both sides are: %w", err)
	}
	var taken [1]byte
	if _, err := io.ReadFull(c, taken[:]); err != nil {
		return nil, fmt.Errorf("the lane was not taken: %w", err)
	}
	_ = wire.SetDeadline(time.Time{})
	return c, nil
}

// takeLane serves a lane that another site has opened.
func (n *Network) takeLane(wire net.Conn) {
	if err := n.serveLane(wire); err != nil {
		wire.Close()
		n.log.Debug("a lane was not taken", "from", wire.RemoteAddr(), "err", err)
	}
}

func (n *Network) serveLane(wire net.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), laneTime)
	defer cancel()
	deadline, _ := ctx.Deadline()
	_ = wire.SetDeadline(deadline)
	var hello [len(laneHello)]byte
	if _, err := io.ReadFull(wire, hello[:]); err != nil {
		return err
	}
	if string(hello[:]) != laneHello {
		return fmt.Errorf("it begins with %q", hello)
	}
	c, err := n.noise.SecureInbound(ctx, wire, "")
	if err != nil {
		return err
	}
	p := c.RemotePeer()
	l := n.link(siteOf(p))
	if !n.gater.member(p) || l == nil || !l.opened(laneCount, 2*mostLanes) {
		return errors.New("it is of no member, or one too many")
	}
	made := &lane{Conn: c, wire: wire, link: l, remote: siteAddr(l.site), done: func() { l.closed(laneCount) }}
	if !l.lanes.add(made) {
		l.closed(laneCount)
		return errors.New("the link is down")
	}
	if _, err := c.Write([]byte{1}); err != nil {
		_ = made.Close()
		return err
	}
	if _ = wire.SetDeadline(time.Time{}); !n.streams.offer(made) {
		_ = made.Close()
		return errors.New("too many requests of other sites are waiting")
	}
	return nil
}

// laneCount is under which lanes are counted among the streams of a member.
const laneCount = "lane"

// newLaneNoise is Noise that takes no connection of another kind for a lane.
func newLaneNoise(cfg Config) (*noise.SessionTransport, error) {
	t, err := noise.New(noise.ID, cfg.Key, nil)
	if err != nil {
		return nil, err
	}
	return t.WithSessionOptions(noise.Prologue([]byte(laneHello)))
}
