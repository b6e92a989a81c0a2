package p2p

import (
	"sync"
	"time"
)

const (
	// compareGap is the least time between two comparisons with one member, whatever asks for them.
	compareGap = 200 * time.Millisecond
	// secondSide is how long the other side of a new connection leaves the comparison to the first.
	secondSide = time.Second
	// Where two pings in a row tell of a difference, the sites compare. While both write, what is under way makes them differ
	// all the time: as long as no ping tells that they agree, the time between such comparisons doubles, from firstGap to
	// largestGap. So does the time after which one that has failed is tried again.
	firstGap   = 2 * time.Second
	largestGap = 30 * time.Second
)

// sum stands, in a ping, for all that a site shares with another.
type sum [32]byte

// agreement decides when this site compares what it has with what one member has. It is safe for concurrent use.
type agreement struct {
	wake  chan struct{} // capacity 1: next may have another answer
	first bool          // of the two sites this one begins

	mu    sync.Mutex
	due   time.Time // of the next comparison; zero: none is
	asked time.Time // when something was lost or failed last; zero: a comparison has answered that
	last  time.Time // when the last comparison ended, whoever began it
	// differ counts the pings in a row that told of a difference, seen is what the last one told, of both sites, and compared
	// what had been seen when the last comparison began.
	differ         int
	seen, compared [2]sum
	gap            time.Duration
}

func newAgreement(first bool) *agreement {
	return &agreement{wake: make(chan struct{}, 1), first: first}
}

func (a *agreement) nudge() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// lost has the member compared with soon, because something did not reach this site or that one.
func (a *agreement) lost() {
	a.mu.Lock()
	a.asked = time.Now()
	a.earlier(a.asked)
	a.mu.Unlock()
	a.nudge()
}

// earlier brings the next comparison forward. The caller holds mu.
func (a *agreement) earlier(t time.Time) {
	if least := a.last.Add(compareGap); t.Before(least) {
		t = least
	}
	if a.due.IsZero() || t.Before(a.due) {
		a.due = t
	}
}

// connected is called when the member has come back: one ping that tells of a difference is enough then.
func (a *agreement) connected(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.differ, a.gap, a.due = 1, 0, time.Time{}
	if a.asked.IsZero() {
		return
	}
	if a.due = now; !a.first {
		a.due = now.Add(secondSide)
	}
	a.nudge()
}

// pinged takes in what a ping has told of both sites, mine as it was when the ping was sent. The second site waits for one ping
// more, as the first begins by then.
func (a *agreement) pinged(now, sent time.Time, mine, theirs sum) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if mine == theirs {
		a.differ, a.gap = 0, 0
		if !a.asked.After(sent) { // what was lost has come by another way
			a.asked, a.due = time.Time{}, time.Time{}
		}
		return
	}
	seen := [2]sum{mine, theirs}
	steady := seen == a.seen
	a.seen = seen
	a.differ++
	need := 2
	if !a.first {
		need = 3
	}
	if a.differ < need {
		return
	}
	// A difference that stays as it is was lost; unless it is what the last comparison has left.
	if steady && seen != a.compared || !now.Before(a.last.Add(a.gap)) {
		a.earlier(now)
		a.nudge()
	}
}

// begun is called when this site begins a comparison.
func (a *agreement) begun() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due, a.compared = time.Time{}, a.seen
}

// ended is called when a comparison has ended that began at a time here, whichever site began it. Whole says that both have now
// what the other had.
func (a *agreement) ended(now, began time.Time, whole bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last, a.differ = now, 0
	a.gap = min(max(firstGap, 2*a.gap), largestGap)
	switch {
	case !whole:
		a.asked, a.due = now, time.Time{}
		a.earlier(now.Add(a.gap))
	case !a.asked.After(began):
		a.asked, a.due = time.Time{}, time.Time{}
	default: // something was lost meanwhile
		a.due = time.Time{}
		a.earlier(now)
	}
	a.nudge()
}

// busy is called when the member makes a comparison with this site already: it may leave nothing to do.
func (a *agreement) busy(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due = now.Add(secondSide)
}

// next reports whether to compare now and, when not, after what time to ask again; zero: when wake tells.
func (a *agreement) next(now time.Time) (compare bool, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.due.IsZero():
		return false, 0
	case !a.due.After(now):
		return true, 0
	}
	return false, a.due.Sub(now)
}
