package p2p

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
)

// memberTick is how often the list of members is looked at when nothing tells of a change.
const memberTick = 250 * time.Millisecond

// watchMembers keeps one link for each other member and none for anyone else, and shows guests the door.
func (n *Network) watchMembers(ctx context.Context) {
	var links sync.WaitGroup
	defer links.Wait()
	stops := map[engine.SiteID]context.CancelFunc{}
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	guests := map[string]time.Time{} // connection id → since when
	tick := time.NewTicker(memberTick)
	defer tick.Stop()
	for {
		membership := n.gater.members()
		members := membership.Members()
		present := make(map[engine.SiteID]bool, len(members))
		for _, m := range members {
			if m.ID == n.self || !membership.IsMember(m.ID) { // its certificate is over
				continue
			}
			pid, err := peerOf(m.ID)
			if err != nil {
				continue // a member's own fault; nobody can reach it
			}
			present[m.ID] = true
			l := n.link(m.ID)
			if l == nil {
				l = newLink(n, m.ID, pid)
				n.mu.Lock()
				n.links[m.ID] = l
				close(n.linked)
				n.linked = make(chan struct{})
				n.mu.Unlock()
				linkCtx, stop := context.WithCancel(ctx)
				stops[m.ID] = stop
				links.Go(func() {
					l.run(linkCtx)
					if ctx.Err() == nil { // no member any more; at the end of Run nobody is to be told
						l.setUp(false)
					}
				})
			}
			l.setAddresses(m.Addresses, len(members))
		}
		for id, stop := range stops {
			if !present[id] {
				stop()
				// Streams that it opened as a member end with its connections.
				if pid, err := peerOf(id); err == nil {
					_ = n.host.Network().ClosePeer(pid)
					n.outside.forget(pid)
				}
				delete(stops, id)
				n.position.forget(id)
				n.mu.Lock()
				delete(n.links, id)
				n.mu.Unlock()
			}
		}
		n.closeOthers(guests)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-n.changed:
		}
	}
}

// closeOthers closes the connections of sites that are no members, or no longer, when a guest's time is over, and those of the
// latest guests when there are too many.
func (n *Network) closeOthers(guests map[string]time.Time) {
	var strangers []network.Conn
	present := map[string]bool{}
	for _, c := range n.host.Network().Conns() {
		if p := c.RemotePeer(); n.gater.member(p) || n.gater.host(p) {
			continue
		}
		strangers = append(strangers, c)
		present[c.ID()] = true
		if _, known := guests[c.ID()]; !known {
			guests[c.ID()] = time.Now()
		}
	}
	maps.DeleteFunc(guests, func(id string, _ time.Time) bool { return !present[id] })
	slices.SortFunc(strangers, func(a, b network.Conn) int { return guests[a.ID()].Compare(guests[b.ID()]) })
	stay := 0
	for _, c := range strangers {
		if n.gater.open(addressIP(c.RemoteMultiaddr())) && time.Since(guests[c.ID()]) <= guestTime && stay < maxGuests {
			stay++
			continue
		}
		// Letting it in may have used the last invitation: it has become a member since the first look, and waits for its answer.
		if n.gater.member(c.RemotePeer()) {
			continue
		}
		n.log.Debug("closing the connection of a stranger", "peer", c.RemotePeer())
		_ = c.Close()
	}
}
