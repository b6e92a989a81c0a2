package p2p

import (
	"net/netip"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
	"golang.org/x/time/rate"

	"github.com/skerry/skerry/engine"
)

const (
	// maxGuests is how many strangers may be connected at once, guestTime how long each may stay.
	maxGuests = 16
	guestTime = 10 * time.Second
	// Strangers may connect guestBurst times at once and guestRate times a second from then on.
	guestRate  = 5
	guestBurst = 32
	// A source that was refused maxWrong times in wrongTime may not try again before the oldest is that old.
	maxWrong  = 5
	wrongTime = time.Minute
	// maxSources bounds the memory for the above.
	maxSources = 1024
)

// gater decides who may be connected. It is safe for concurrent use.
type gater struct {
	knocks *rate.Limiter

	mu         sync.Mutex
	membership engine.Membership          // nil before a mesh is known
	isolated   bool                       // no connection at all
	hosts      map[peer.ID]int            // strangers this site dials in order to join
	banned     map[peer.ID]time.Time      // until when
	wrong      map[netip.Addr][]time.Time // refused join requests by source
}

func newGater() *gater {
	return &gater{
		knocks: rate.NewLimiter(guestRate, guestBurst),
		hosts:  map[peer.ID]int{},
		banned: map[peer.ID]time.Time{},
		wrong:  map[netip.Addr][]time.Time{},
	}
}

func (g *gater) attach(m engine.Membership) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.membership = m
}

// members returns the list of members, nil before there is one.
func (g *gater) members() engine.Membership {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.membership
}

// member reports whether p is a member that may be talked to now.
func (g *gater) member(p peer.ID) bool { return g.admits(p, siteOf(p)) }

// admits is member for a peer of which the SiteID is at hand: making that from the peer takes a while.
func (g *gater) admits(p peer.ID, site engine.SiteID) bool {
	g.mu.Lock()
	m, shut := g.membership, g.isolated || time.Now().Before(g.banned[p])
	g.mu.Unlock()
	return !shut && m != nil && m.IsMember(site)
}

// host reports whether p is a site that this one is asking to be let in by.
func (g *gater) host(p peer.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.isolated && g.hosts[p] > 0
}

// joinBy lets p be dialled until done is called.
func (g *gater) joinBy(p peer.ID) (done func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hosts[p]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.hosts[p]--; g.hosts[p] == 0 {
			delete(g.hosts, p)
		}
	}
}

// open reports whether a stranger from this address may knock now.
func (g *gater) open(from netip.Addr) bool {
	g.mu.Lock()
	m := g.membership
	ok := !g.isolated && m != nil && g.wrongOf(from) < maxWrong
	g.mu.Unlock()
	return ok && m.Inviting()
}

// refused counts a join request that was refused.
func (g *gater) refused(from netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wrongOf(from)
	if len(g.wrong) >= maxSources {
		clear(g.wrong) // so many sources are no mistake of one person; the rate of knocks still holds
	}
	g.wrong[from] = append(g.wrong[from], time.Now())
}

// wrongOf counts the recent refusals and forgets the old ones. The caller holds mu.
func (g *gater) wrongOf(from netip.Addr) int {
	recent := g.wrong[from]
	for len(recent) > 0 && time.Since(recent[0]) > wrongTime {
		recent = recent[1:]
	}
	if len(recent) == 0 {
		delete(g.wrong, from)
	} else {
		g.wrong[from] = recent
	}
	return len(recent)
}

func (g *gater) ban(p peer.ID, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p, until := range g.banned {
		if time.Now().After(until) {
			delete(g.banned, p)
		}
	}
	g.banned[p] = time.Now().Add(d)
}

func (g *gater) isolate(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isolated = on
}

func (g *gater) isIsolated() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.isolated
}

// InterceptPeerDial, InterceptAddrDial, InterceptAccept, InterceptSecured and InterceptUpgraded implement libp2p's
// connmgr.ConnectionGater.
func (g *gater) InterceptPeerDial(p peer.ID) bool { return g.member(p) || g.host(p) }

func (g *gater) InterceptAddrDial(p peer.ID, _ multiaddr.Multiaddr) bool {
	return g.member(p) || g.host(p)
}

func (g *gater) InterceptAccept(network.ConnMultiaddrs) bool { return !g.isIsolated() }

func (g *gater) InterceptSecured(d network.Direction, p peer.ID, addrs network.ConnMultiaddrs) bool {
	if g.member(p) || g.host(p) {
		return true
	}
	if d != network.DirInbound {
		return false
	}
	g.mu.Lock()
	banned := time.Now().Before(g.banned[p])
	g.mu.Unlock()
	if circuit(addrs.RemoteMultiaddr()) {
		return false // strangers knock themselves: where one comes from is what slows down guessing
	}
	return !banned && g.open(addressIP(addrs.RemoteMultiaddr())) && g.knocks.Allow()
}

func (g *gater) InterceptUpgraded(network.Conn) (bool, control.DisconnectReason) { return true, 0 }
