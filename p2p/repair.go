package p2p

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/skerry/skerry/engine"
)

const (
	// maxPulls bounds the documents that wait to be pulled from one member; more are found again by comparing.
	maxPulls = 64 << 10
	// compareGap is the least time between two comparisons that something asked for.
	compareGap = 200 * time.Millisecond
	// secondCompare is how long the other side of a new connection leaves the comparison to the first.
	secondCompare = time.Second
	// retryCompare is when a comparison or a change that failed is tried again.
	retryCompare = 2 * time.Second
)

// repairs says what is to be done to have the same as one member.
type repairs struct {
	wake chan struct{} // capacity 1

	mu    sync.Mutex
	pulls map[engine.DocumentID]bool
	due   time.Time // of the next comparison; zero: none before the member is connected
	asked time.Time // when compare or compareLater was called last; zero: a comparison has answered that
	last  time.Time // when the last comparison ended
	news  bool      // a comparison has ended well; what it found is told once all of it is pulled
}

func newRepairs() *repairs {
	return &repairs{wake: make(chan struct{}, 1), pulls: map[engine.DocumentID]bool{}}
}

func (r *repairs) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// pull has a document pulled from the member.
func (r *repairs) pull(id engine.DocumentID) {
	r.mu.Lock()
	if len(r.pulls) < maxPulls {
		r.pulls[id] = true
	} else {
		r.asked = time.Now()
		r.earlier(r.asked)
	}
	r.mu.Unlock()
	r.nudge()
}

// earlier brings the next comparison forward. The caller holds mu.
func (r *repairs) earlier(t time.Time) {
	if least := r.last.Add(compareGap); t.Before(least) {
		t = least
	}
	if r.due.IsZero() || t.Before(r.due) {
		r.due = t
	}
}

// compare has the member compared with soon, because something was lost.
func (r *repairs) compare() { r.compareIn(0) }

// compareLater does so after a while, because something failed that may not fail again.
func (r *repairs) compareLater() { r.compareIn(retryCompare) }

func (r *repairs) compareIn(d time.Duration) {
	r.mu.Lock()
	r.asked = time.Now()
	r.earlier(r.asked.Add(d))
	r.mu.Unlock()
	r.nudge()
}

// connected has the member compared with: by one side of the connection at once, by the other when that does not.
func (r *repairs) connected(first bool) {
	r.mu.Lock()
	r.due = time.Now()
	if !first {
		r.due = r.due.Add(secondCompare)
	}
	r.mu.Unlock()
	r.nudge()
}

// compared is called when a comparison that this site began has ended well. It makes those needless that were due, but not one
// that was asked for since this one began.
func (r *repairs) compared(began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.news = time.Now(), true
	if r.asked.Before(began) {
		r.asked, r.due = time.Time{}, time.Time{}
	}
}

// served is called when a comparison that the member began has ended well. What the member had was read when it began, at a
// time that is not known here: what was asked for may have come after.
func (r *repairs) served() {
	r.mu.Lock()
	r.last, r.news = time.Now(), true
	if r.asked.IsZero() {
		r.due = time.Time{}
	}
	r.mu.Unlock()
	r.nudge()
}

// level reports, once for each comparison, that everything that it found has been pulled.
func (r *repairs) level() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.news || len(r.pulls) > 0 {
		return false
	}
	r.news = false
	return true
}

// broken takes in that not everything was pulled that a comparison has found; the next one finds it again.
func (r *repairs) broken() {
	r.mu.Lock()
	r.news = false
	r.mu.Unlock()
	r.compareLater()
}

// next returns what to do now, and how long to wait when that is nothing.
func (r *repairs) next(every time.Duration) (pulls []engine.DocumentID, compare bool, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.pulls {
		pulls = append(pulls, id)
	}
	clear(r.pulls)
	now := time.Now()
	if r.due.IsZero() {
		r.due = now.Add(time.Duration(float64(every) * (0.75 + 0.5*rand.Float64())))
	}
	if !r.due.After(now) {
		r.due = time.Time{}
		return pulls, true, 0
	}
	return pulls, false, r.due.Sub(now)
}

// repairAll pulls and compares as needed, while the member is there.
func (l *link) repairAll(ctx context.Context) {
	every := l.n.cfg.Reconcile
	var turns turns
	for ctx.Err() == nil {
		if !l.isUp() {
			select {
			case <-ctx.Done():
			case <-l.repair.wake:
			}
			continue
		}
		pulls, compare, wait := l.repair.next(every)
		var err error
		if len(pulls) > 0 {
			err = l.fetch(ctx, pulls)
		}
		if compare && err == nil {
			begin := time.Now()
			var differ [][32]byte
			if differ, err = l.compare(ctx); err == nil {
				for _, id := range differ {
					l.repair.pull(documentID(id))
				}
				// Reading many documents' summaries takes a while; it is to stay a small part of the time.
				every = max(l.n.cfg.Reconcile, 50*time.Since(begin))
			}
		}
		if err != nil && ctx.Err() == nil {
			l.n.log.Debug("what differs from a site was not repaired", "peer", l.site, "err", err)
			if errors.Is(err, engine.ErrRefused) {
				l.n.refuse(l.site, err)
			}
			l.repair.broken()
		}
		if err == nil && l.repair.level() {
			l.n.cfg.OnCompared(l.site)
			turns.next(l)
		}
		if len(pulls) > 0 || compare {
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-l.repair.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// turnGap is the least time between two turns.
const turnGap = 5 * time.Second

// turns has each address that a member has connected from heard in its turn. Two agents that run with one key, because a data
// directory was copied, are one member here; every stream goes to the same one of them as long as both are connected, and neither
// would hear of the other.
type turns struct {
	at   time.Time
	last string // the address that stayed connected
}

// next closes all connections of the member but those with the address that is next. It is to be called when all is had of the one
// that was heard until now, whoever has begun that comparison.
func (t *turns) next(l *link) {
	from := map[string][]network.Conn{}
	for _, c := range l.n.host.Network().ConnsToPeer(l.pid) {
		ip, err := manet.ToIP(c.RemoteMultiaddr())
		if err != nil {
			return // it is relayed
		}
		from[ip.String()] = append(from[ip.String()], c)
	}
	if len(from) < 2 || time.Since(t.at) < turnGap {
		return
	}
	addresses := slices.Sorted(maps.Keys(from))
	stays := addresses[0]
	if i := slices.IndexFunc(addresses, func(a string) bool { return a > t.last }); i >= 0 {
		stays = addresses[i]
	}
	t.at, t.last = time.Now(), stays
	for address, conns := range from {
		for _, c := range conns {
			if address != stays {
				_ = c.Close() // it was to go
			}
		}
	}
}
