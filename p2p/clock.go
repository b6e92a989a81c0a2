package p2p

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// farOff is how far two clocks may differ before it is said.
	farOff = time.Second
	// together is how far apart two clocks may be to be taken for clocks that show one time.
	together = time.Hour
)

// Correction is what this machine's clock has to be set forward by, or back where it is negative, to show what the middle one of all clocks
// shows that can be heard: this site's own, and those of the members that answer pings. So a wrong clock gains nothing while others are
// heard. More than an hour it is only where most of all members are heard and none agrees with this site: members that lie, however many,
// lead nobody further astray who hears one that does not. The price: a clock that is wrong by more stays so beside another like it.
func (n *Network) Correction() time.Duration { return time.Duration(n.correction.now.Load()) }

// correction is kept, since the clock is asked several times for each request, and many members can be heard.
type correction struct {
	mu  sync.Mutex // held while it is computed
	now atomic.Int64
}

// correct computes it anew, once a clock was compared, or can be heard or not any more.
func (n *Network) correct() {
	n.correction.mu.Lock()
	defer n.correction.mu.Unlock()
	links := n.all()
	var ahead []time.Duration
	for _, l := range links {
		l.mu.Lock()
		if l.up && l.compared {
			ahead = append(ahead, l.ahead)
		}
		l.mu.Unlock()
	}
	n.correction.now.Store(int64(corrected(ahead, len(links))))
}

// corrected is the correction that follows from how far the clocks of the members that are heard are ahead, of so many other members.
func corrected(ahead []time.Duration, others int) time.Duration {
	far := func(d time.Duration) bool { return d.Abs() > together }
	most := 2*(len(ahead)+1) > others+1
	if near := slices.DeleteFunc(slices.Clone(ahead), far); len(near) > 0 || !most {
		ahead = near
	}
	return middle(append(ahead, 0))
}

// middle is the median of how far clocks are ahead of this site's own. Of the two in the middle of an even number it is what lies between
// them, or the one that is nearer to this site's where they are far apart.
func middle(offsets []time.Duration) time.Duration {
	slices.Sort(offsets)
	high := offsets[len(offsets)/2]
	if len(offsets)%2 == 1 {
		return high
	}
	switch low := offsets[len(offsets)/2-1]; {
	case high-low <= together:
		return low + (high-low)/2
	case low.Abs() < high.Abs():
		return low
	}
	return high
}

// clockMeasured takes in how far the member's clock is ahead, by one ping. The caller holds mu.
func (l *link) clockMeasured(ahead time.Duration) {
	was := l.ahead
	if !l.compared || (ahead-l.ahead).Abs() > farOff { // the first, or one of the two was set
		l.ahead = ahead
	} else {
		l.ahead += (ahead - l.ahead) / 8
	}
	if l.ahead.Abs() > farOff && (was.Abs() <= farOff || !l.compared) {
		l.n.log.Warn("the clocks of two sites disagree: each site goes by the middle one of those that it hears; set them by NTP",
			"peer", l.site, "ahead", l.ahead.Round(time.Millisecond))
	}
	l.compared = true
}
