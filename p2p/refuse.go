package p2p

import (
	"time"

	"github.com/skerry/skerry/engine"
)

const (
	// A member of which maxRefusals messages are refused within refusalTime is disconnected for banTime; each time
	// doubles it, up to maxBanTime.
	maxRefusals = 10
	refusalTime = time.Minute
	banTime     = time.Minute
	maxBanTime  = 30 * time.Minute
)

// refusals counts what one member did that no honest site of any version does.
type refusals struct {
	recent []time.Time // oldest first
	bans   int
}

// add counts one more and returns for how long the member is banned, zero: it is not.
func (r *refusals) add(now time.Time) (ban time.Duration) {
	for len(r.recent) > 0 && now.Sub(r.recent[0]) > refusalTime {
		r.recent = r.recent[1:]
	}
	if r.recent = append(r.recent, now); len(r.recent) < maxRefusals {
		return 0
	}
	ban = min(banTime<<min(r.bans, 8), maxBanTime)
	r.bans++
	r.recent = nil
	return ban
}

// refuse counts a message of a member that broke the rules, and disconnects a member that goes on.
func (n *Network) refuse(from engine.SiteID, err error) {
	n.counters.refused.Add(1)
	n.log.Warn("a message was refused", "peer", from, "err", err)
	l := n.link(from)
	if l == nil {
		return
	}
	l.mu.Lock()
	ban := l.refusals.add(time.Now())
	l.mu.Unlock()
	if ban == 0 {
		return
	}
	n.log.Error("a site that keeps breaking the rules is disconnected", "peer", from, "for", ban)
	n.gater.ban(l.pid, ban)
	if err := n.host.Network().ClosePeer(l.pid); err != nil {
		n.log.Debug("the connections of a banned site did not close", "peer", from, "err", err)
	}
}
