package waiting

import "sync"

// Share is how much of something there is, or may be.
type Share struct {
	Number int
	Bytes  int64
}

func (s Share) holds(t Share) bool { return t.Number <= s.Number && t.Bytes <= s.Bytes }

func (s Share) plus(number int, bytes int64) Share { return Share{s.Number + number, s.Bytes + bytes} }

// Rooms bound what is kept: in all, for each who has said who they are, and for all together who have not.
type Rooms struct{ All, Each, Nobody Share }

// DefaultRooms are the bounds where none are given.
var DefaultRooms = Rooms{All: Share{10_000, 2 << 30}, Each: Share{1000, 256 << 20}, Nobody: Share{1000, 64 << 20}}

// Room counts what is kept for whom. It is safe for concurrent use.
type Room struct {
	bounds Rooms
	mu     sync.Mutex
	used   map[string]Share // guarded by mu; "" is for who has not said who they are
	all    Share            // guarded by mu
}

// NewRoom returns an empty room. Zero bounds stand for DefaultRooms.
func NewRoom(bounds Rooms) *Room {
	if bounds == (Rooms{}) {
		bounds = DefaultRooms
	}
	return &Room{bounds: bounds, used: map[string]Share{}}
}

// Take counts one thing of so many bytes for who, unless it would be over a bound; must counts it all the same.
func (r *Room) Take(who string, bytes int64, must bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := r.bounds.Each
	if who == "" {
		most = r.bounds.Nobody
	}
	own, all := r.used[who].plus(1, bytes), r.all.plus(1, bytes)
	if !must && !(most.holds(own) && r.bounds.All.holds(all)) {
		return false
	}
	r.used[who], r.all = own, all
	return true
}

// Give takes one thing out again.
func (r *Room) Give(who string, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = r.all.plus(-1, -bytes)
	if r.used[who] = r.used[who].plus(-1, -bytes); r.used[who].Number <= 0 {
		delete(r.used, who)
	}
}
