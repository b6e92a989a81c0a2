package p2p

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/engine"
)

// connectTo connects to the member at these addresses, and tells what came of each where that fails. A site that refuses this one lets the
// connection succeed and closes it: what counts is that it still stands when the other side has introduced itself.
func (l *link) connectTo(ctx context.Context, timeout time.Duration, addrs ...multiaddr.Multiaddr) []engine.Try {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	clearBackoff(l.n.host, l)
	ps := l.n.host.Peerstore()
	ps.ClearAddrs(l.pid)
	ps.AddAddrs(l.pid, addrs, peerstore.TempAddrTTL)
	l.n.dials.begin(l)
	err := l.n.host.Connect(ctx, peer.AddrInfo{ID: l.pid})
	// Those that no transport has given up by then have not answered.
	failed := l.n.dials.end(l)
	switch {
	case err == nil && l.connectedness():
		return nil
	case err == nil:
		return []engine.Try{{Result: engine.TryTurnedAway, Detail: "the connection was closed at once", At: time.Now()}}
	}
	var all *swarm.DialError
	if errors.As(err, &all) && len(all.DialErrors) > 0 {
		failed = all.DialErrors
	}
	var tries []engine.Try
	told := map[string]bool{}
	for _, f := range failed {
		tries = append(tries, tryOf(f.Address, f.Cause))
		told[f.Address.String()] = true
	}
	if len(tries) == 0 || errors.Is(err, context.DeadlineExceeded) {
		for _, a := range ps.Addrs(l.pid) {
			// A name stands for the addresses that DNS knows for it, and is told itself where there is none.
			named := slices.ContainsFunc(tries, func(t engine.Try) bool { return !startsWithName(t.Address) })
			if !told[a.String()] && !(named && startsWithName(a.String())) {
				tries = append(tries, tryOf(a, err))
			}
		}
	}
	if len(tries) == 0 {
		tries = []engine.Try{{Result: resultOf(err), Detail: err.Error(), At: time.Now()}}
	}
	slices.SortStableFunc(tries, func(x, y engine.Try) int { return strings.Compare(x.Address, y.Address) })
	return tries
}

func startsWithName(address string) bool { return strings.HasPrefix(address, "/dns") }

// tryOf tells what came of one address.
func tryOf(a multiaddr.Multiaddr, err error) engine.Try {
	t := engine.Try{Address: a.String(), Result: resultOf(err), Detail: err.Error(), At: time.Now()}
	var other sec.ErrPeerIDMismatch
	if errors.As(err, &other) {
		t.Other = siteOf(other.Actual)
	}
	return t
}

// resultOf says in our words why a connection did not come about. Where libp2p has no error of its own for it, its text decides.
func resultOf(err error) engine.TryResult {
	var other sec.ErrPeerIDMismatch
	var name *net.DNSError
	var silent net.Error
	text := err.Error()
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
	}
	switch {
	case errors.As(err, &other) || has("peer id mismatch"):
		return engine.TryOtherKey
	case errors.As(err, &name):
		return engine.TryNoName
	case has("NO_RESERVATION"):
		return engine.TryNoPlace
	case has("RESOURCE_LIMIT_EXCEEDED"):
		return engine.TryRelayFull
	case has("PERMISSION_DENIED"):
		return engine.TryTurnedAway
	case errors.Is(err, syscall.ECONNREFUSED) || has("connection refused"):
		return engine.TryRefused
	case errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH) || has("no route to host", "network is unreachable", "host is unreachable"):
		return engine.TryNoRoute
	case has("protocols not supported"):
		return engine.TryOtherVersion
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &silent) && silent.Timeout() ||
		has("no recent network activity", "CONNECTION_FAILED", "handshake did not complete in time"):
		return engine.TrySilent
	case errors.Is(err, swarm.ErrGaterDisallowedConnection) || has("gater", "reset", "EOF", "closed"):
		return engine.TryTurnedAway
	}
	return engine.TryFailed
}

// errorOf says what came of some tries in one error.
func errorOf(tries []engine.Try) error {
	var all []error
	for _, t := range tries {
		at := t.Address
		if t.Relay != "" {
			at = "through " + string(t.Relay)
		}
		all = append(all, fmt.Errorf("%s: %s: %s", at, t.Result, t.Detail))
	}
	return errors.Join(all...)
}

// dials hears from libp2p what each transport says of an address. What Connect returns leaves that out where it ends for want of time, and
// an address that refuses at once stands beside one that is silent in nearly every dial.
type dials struct {
	mu sync.Mutex
	// of are the links that dial, with what has failed so far.
	of map[*link][]swarm.TransportError
}

func (d *dials) begin(l *link) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of[l] = nil
}

func (d *dials) end(l *link) []swarm.TransportError {
	d.mu.Lock()
	defer d.mu.Unlock()
	failed := d.of[l]
	delete(d.of, l)
	return failed
}

// FailedDialing implements swarm.MetricsTracer. It does not say for whom an address was tried: who dials it now is told, but for another one's key.
func (d *dials) FailedDialing(a multiaddr.Multiaddr, err, _ error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var other sec.ErrPeerIDMismatch
	mismatch := errors.As(err, &other)
	for l := range d.of {
		if (!mismatch || other.Expected == l.pid) && len(d.of[l]) < maxTokenAddrs && slices.ContainsFunc(l.n.host.Peerstore().Addrs(l.pid), a.Equal) {
			d.of[l] = append(d.of[l], swarm.TransportError{Address: a, Cause: err})
		}
	}
}

// The rest of swarm.MetricsTracer.
func (*dials) OpenedConnection(network.Direction, crypto.PubKey, network.ConnectionState, multiaddr.Multiaddr) {
}
func (*dials) ClosedConnection(network.Direction, time.Duration, network.ConnectionState, multiaddr.Multiaddr) {
}
func (*dials) CompletedHandshake(time.Duration, network.ConnectionState, multiaddr.Multiaddr) {}
func (*dials) DialCompleted(bool, int, time.Duration)                                         {}
func (*dials) DialRankingDelay(time.Duration)                                                 {}
func (*dials) UpdatedBlackHoleSuccessCounter(string, swarm.BlackHoleState, int, float64)      {}
