package p2p

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
	"github.com/marcopolo/simnet"
	"github.com/quic-go/quic-go"
	"go.uber.org/fx"
)

// simulation is a network in virtual time. Packets of hosts that are cut off are dropped without a word.
type simulation struct {
	net *simnet.Simnet
	cut [24]atomic.Bool // by host
	n   int
}

func newSimulation(t *testing.T, latency time.Duration) *simulation {
	s := &simulation{net: &simnet.Simnet{LatencyFunc: simnet.StaticLatency(latency), Logger: testLog(t)}}
	s.net.Start()
	t.Cleanup(s.net.Close) // after the sites have stopped
	return s
}

// droppingConn drops what a host sends and receives while it is cut off.
type droppingConn struct {
	net.PacketConn
	cut *atomic.Bool
}

func (c droppingConn) WriteTo(b []byte, to net.Addr) (int, error) {
	if c.cut.Load() {
		return len(b), nil
	}
	return c.PacketConn.WriteTo(b, to)
}

func (c droppingConn) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := c.PacketConn.ReadFrom(b)
		if err != nil || !c.cut.Load() {
			return n, from, err
		}
	}
}

// mesh makes sites that know each other, and waits until each reaches all.
func (s *simulation) mesh(t *testing.T, count int) []*testSite {
	t.Helper()
	var sites []*testSite
	for range count {
		sites = append(sites, newTestSite(t, s.host()))
	}
	introduce(sites)
	for _, s := range sites {
		s.run(t)
	}
	within(t, 10*time.Second, "all are reachable", func() bool { return allUp(sites) })
	return sites
}

type fixedIP net.IP

func (ip fixedIP) PreferredSourceIPForDestination(*net.UDPAddr) (net.IP, error) {
	return net.IP(ip), nil
}

// host returns what makes a site the next host of the simulation.
func (s *simulation) host() testConfig {
	i := s.n
	s.n++
	ip := net.IPv4(10, 0, 0, byte(i+1)).To4()
	link := simnet.LinkSettings{BitsPerSecond: 100_000_000}
	option := libp2p.QUICReuse(
		func(l fx.Lifecycle, reset quic.StatelessResetKey, token quic.TokenGeneratorKey, opts ...quicreuse.Option) (*quicreuse.ConnManager, error) {
			m, err := quicreuse.NewConnManager(reset, token, opts...)
			if err == nil {
				l.Append(fx.StopHook(m.Close))
			}
			return m, err
		},
		quicreuse.OverrideSourceIPSelector(func() (quicreuse.SourceIPSelector, error) { return fixedIP(ip), nil }),
		quicreuse.OverrideListenUDP(func(_ string, a *net.UDPAddr) (net.PacketConn, error) {
			return droppingConn{s.net.NewEndpoint(a, simnet.NodeBiDiLinkSettings{Downlink: link, Uplink: link}), &s.cut[i]}, nil
		}))
	return testConfig{listen: []string{fmt.Sprintf("/ip4/%s/udp/8000/quic-v1", ip)}, options: []libp2p.Option{option}}
}
