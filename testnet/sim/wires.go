package sim

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
	"github.com/marcopolo/simnet"
	"github.com/quic-go/quic-go"
	"go.uber.org/fx"
)

// wires carry packets between sites, each way of each pair for itself. They are safe for concurrent use.
type wires struct {
	mu      sync.Mutex
	random  *rand.Rand
	conns   []*simnet.SimConn // by site; nil while its agent is down
	cut     [][]bool          // from one site to another
	apart   [][]bool          // the same, for good
	loss    float64           // share of all packets
	latency [][]time.Duration
}

func newWires(n int, random *rand.Rand) *wires {
	w := &wires{random: random, conns: make([]*simnet.SimConn, n), cut: make([][]bool, n), apart: make([][]bool, n), latency: make([][]time.Duration, n)}
	for i := range n {
		w.cut[i], w.apart[i], w.latency[i] = make([]bool, n), make([]bool, n), make([]time.Duration, n)
	}
	for i := range n {
		for j := range i {
			d := time.Duration(1+random.IntN(50)) * time.Millisecond
			w.latency[i][j], w.latency[j][i] = d, d
		}
	}
	return w
}

// set makes links pass or drop what is sent over them, what is under way included.
func (w *wires) set(links [][2]int, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range links {
		w.cut[l[0]][l[1]] = cut
	}
}

// part makes links drop everything until the end, whatever heals.
func (w *wires) part(links [][2]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range links {
		w.apart[l[0]][l[1]] = true
	}
}

func (w *wires) setLoss(share float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loss = share
}

// heal makes all links pass everything.
func (w *wires) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.cut {
		clear(w.cut[i])
	}
	w.loss = 0
}

// silence drops what a site sends and gets from now on: its process is dead.
func (w *wires) silence(site int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[site] = nil
}

// RecvPacket implements simnet.PacketReceiver: it takes what a site sends.
func (w *wires) RecvPacket(p *simnet.Packet) {
	from, to := siteAt(p.From), siteAt(p.To)
	w.mu.Lock()
	defer w.mu.Unlock()
	if from < 0 || to < 0 || from >= len(w.conns) || to >= len(w.conns) || w.conns[from] == nil || w.random.Float64() < w.loss {
		return
	}
	late := w.latency[from][to]
	late += time.Duration(w.random.Int64N(int64(late)/5 + 1))
	time.AfterFunc(late, func() {
		w.mu.Lock()
		c := w.conns[to]
		if w.cut[from][to] || w.apart[from][to] {
			c = nil
		}
		w.mu.Unlock()
		if c != nil {
			c.RecvPacket(p)
		}
	})
}

func address(site int) *net.UDPAddr {
	return &net.UDPAddr{IP: net.IPv4(10, 0, 0, byte(site+1)).To4(), Port: 8000}
}

func siteAt(a net.Addr) int {
	u, ok := a.(*net.UDPAddr)
	if !ok || u.IP.To4() == nil {
		return -1
	}
	return int(u.IP.To4()[3]) - 1
}

type fixedIP net.IP

func (ip fixedIP) PreferredSourceIPForDestination(*net.UDPAddr) (net.IP, error) {
	return net.IP(ip), nil
}

// plug returns the address a site listens on and what makes its libp2p host use these wires.
func (w *wires) plug(site int) (listen string, option libp2p.Option) {
	a := address(site)
	return fmt.Sprintf("/ip4/%s/udp/%d/quic-v1", a.IP, a.Port), libp2p.QUICReuse(
		func(l fx.Lifecycle, reset quic.StatelessResetKey, token quic.TokenGeneratorKey, opts ...quicreuse.Option) (*quicreuse.ConnManager, error) {
			m, err := quicreuse.NewConnManager(reset, token, opts...)
			if err == nil {
				l.Append(fx.StopHook(m.Close))
			}
			return m, err
		},
		quicreuse.OverrideSourceIPSelector(func() (quicreuse.SourceIPSelector, error) { return fixedIP(a.IP), nil }),
		quicreuse.OverrideListenUDP(func(_ string, at *net.UDPAddr) (net.PacketConn, error) {
			c := simnet.NewBlockingSimConn(at)
			c.SetUpPacketReceiver(w)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.conns[site] = c
			return c, nil
		}))
}
