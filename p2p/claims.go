package p2p

import (
	"sync"
	"time"
)

// claimTime is how long other comparisons leave a document to the one that pulls it.
const claimTime = 5 * time.Second

// claims keep two comparisons from pulling the same documents from two members at the same time, as after a cut: the later one asks
// once the first has them, and gets nothing twice.
type claims struct {
	mu      sync.Mutex
	held    map[id]time.Time // until when
	changed chan struct{}    // closed and made anew when some are released
}

func newClaims() *claims { return &claims{held: map[id]time.Time{}, changed: make(chan struct{})} }

// take claims up to most of ids. It returns those, the others, in the same memory, and what is closed when some are released.
func (c *claims) take(ids []id, most int, now time.Time) (mine, others []id, released <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var taken []id // by others
	i := 0
	for ; i < len(ids) && len(mine) < most; i++ {
		d := ids[i]
		if now.Before(c.held[d]) {
			taken = append(taken, d)
			continue
		}
		c.held[d] = now.Add(claimTime)
		mine = append(mine, d)
	}
	return mine, append(ids[i:], taken...), c.changed
}

func (c *claims) release(ids []id) {
	if len(ids) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range ids {
		delete(c.held, d)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}
