package auth

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// pace slows guessing down: after some free attempts each further one has to wait twice as long as the one before.
type pace struct {
	free    int           // attempts that need not wait
	longest time.Duration // that one has to wait
}

// Guesses from one address soon wait long. Those at one account, from wherever, wait for half a minute at most. Neither holds for a
// browser in which somebody has logged in to that account before (KnownCookie), which has a pace of its own: so nobody locks them out.
var (
	addressPace = pace{free: 8, longest: 15 * time.Minute}
	accountPace = pace{free: 8, longest: 30 * time.Second}
)

// attempt is what one try to log in counts as.
type attempt struct {
	who  string
	pace pace
}

// remembered is how many addresses and accounts attempts keeps in mind; the one that tried longest ago is forgotten first.
const remembered = 8192

// attempts counts what has failed since somebody last got in. It is safe for concurrent use.
type attempts struct {
	mu   sync.Mutex
	made *lru.Cache[string, tried] // guarded by mu
}

type tried struct {
	times int
	last  time.Time
}

func newAttempts() *attempts {
	made, err := lru.New[string, tried](remembered)
	if err != nil {
		panic(err) // the size is positive
	}
	return &attempts{made: made}
}

// begin counts an attempt, or returns how long it has to wait and counts nothing.
func (a *attempts) begin(who string, p pace, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, _ := a.made.Get(who)
	if left := t.last.Add(p.wait(t.times)).Sub(now); left > 0 {
		return left
	}
	if now.Sub(t.last) > 2*p.longest {
		t.times = 0
	}
	a.made.Add(who, tried{t.times + 1, now})
	return 0
}

// forget is for who got in.
func (a *attempts) forget(who string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made.Remove(who)
}

// wait is how long after the last of so many attempts the next may come.
func (p pace) wait(times int) time.Duration {
	if times < p.free {
		return 0
	}
	return min(time.Second<<min(times-p.free, 20), p.longest)
}
