// Package vivaldi gives sites coordinates in a space in which distances are round trips, so that the round trip between any two
// sites can be told though only few pairs measure it.
//
// The algorithm is Vivaldi with height vectors (Dabek, Cox, Kaashoek, Morris: Vivaldi: A Decentralized Network Coordinate System,
// SIGCOMM 2004): each measurement is a spring between two sites, and each site moves a little to where its springs are at rest.
// The height is what a site adds to every one of its round trips: its access link. Single measurements pass a filter first, and
// small movements are not told, as Ledlie, Gardner and Seltzer propose (Network Coordinates in the Wild, NSDI 2007).
//
// The package is pure: clock and randomness are handed in.
package vivaldi

import (
	"math"
	"slices"
	"time"
)

// Dimensions are those of the space, beside the height.
const Dimensions = 3

// Coordinate is where a site is. Lengths are milliseconds of round trip.
type Coordinate struct {
	Vector [Dimensions]float64 `json:"vector"`
	Height float64             `json:"height"`
	// Error is how far off the distances to it are about, relative to them: 1 says that nothing is known yet.
	Error float64 `json:"error"`
}

const (
	// unknown is the error that a site begins with.
	unknown = 1.0
	// settled is the error from which on a coordinate means something.
	settled = 0.5
	// How much of a measurement counts for the error and for the position (ce and cc in the paper).
	errorGain, moveGain = 0.25, 0.25
	// minHeight keeps sites apart that no measurement tells apart.
	minHeight = 0.01
	// farthest bounds what is believed of another site: no round trip is longer.
	farthest = 60_000
)

// New returns the coordinate of a site about which nothing is known.
func New() Coordinate { return Coordinate{Height: minHeight, Error: unknown} }

// Valid reports whether a coordinate from outside makes sense.
func (c Coordinate) Valid() bool {
	good := c.Height >= 0 && c.Height <= farthest && c.Error >= 0 && c.Error <= 2*unknown
	for _, x := range c.Vector {
		good = good && math.Abs(x) <= farthest
	}
	return good // comparisons with NaN are false
}

// Settled reports whether the coordinate is good enough to be told to others.
func (c Coordinate) Settled() bool { return c.Error < settled }

// Distance estimates the round trip between two sites.
func (c Coordinate) Distance(d Coordinate) time.Duration {
	return time.Duration(c.between(d) * float64(time.Millisecond))
}

func (c Coordinate) between(d Coordinate) float64 {
	return norm(minus(c.Vector, d.Vector)) + c.Height + d.Height
}

// Site is one site's own coordinate on its way to rest. It is not safe for concurrent use.
type Site struct {
	at     Coordinate
	random func() float64 // in [0, 1)
	recent map[string][]float64
	scale  float64    // the round trip to the nearest site: what counts as far here
	calm   Coordinate // the average of where it was lately: at without its trembling
	shown  Coordinate // what other sites measure against
	told   Coordinate
	when   time.Time // of the last time that it was told
	times  int       // that it was told
}

// Start returns a site that begins at a coordinate, such as the one it had before a restart.
func Start(at Coordinate, random func() float64) *Site {
	if !at.Valid() {
		at = New()
	}
	return &Site{at: at, calm: at, shown: at, told: at, random: random, recent: map[string][]float64{}}
}

// Coordinate returns where the site is, for those that measure the way to it. It stays the same while the site moves but little:
// if all followed each other's every movement, the whole space would turn and drift for ever.
func (s *Site) Coordinate() Coordinate { return s.shown }

// far reports whether the site has moved noticeably from c, or times as much.
func (s *Site) far(c Coordinate, times float64) bool {
	moved := norm(minus(s.calm.Vector, c.Vector)) + math.Abs(s.calm.Height-c.Height)
	return moved > times*(noticed+noticedShare*s.scale)
}

// lately is over how many measurements a site's place is averaged.
const lately = 32

// window is how many of the last measurements to a site the filter looks at: the least of them is what the way takes, the rest is
// queues and busy processors.
const window = 4

// Measured takes in a round trip to the site called name, which says that it is at other.
func (s *Site) Measured(name string, other Coordinate, rtt time.Duration) {
	ms := float64(rtt) / float64(time.Millisecond)
	if !other.Valid() || ms <= 0 || ms > farthest {
		return
	}
	recent := append(s.recent[name], ms)
	recent = recent[max(0, len(recent)-window):]
	s.recent[name] = recent
	ms = slices.Min(recent)
	s.scale = ms
	for _, other := range s.recent {
		s.scale = math.Min(s.scale, slices.Min(other))
	}
	s.pull(other, ms)
	if !s.calm.Settled() {
		s.calm = s.at
	}
	for i := range s.calm.Vector {
		s.calm.Vector[i] += (s.at.Vector[i] - s.calm.Vector[i]) / lately
	}
	s.calm.Height += (s.at.Height - s.calm.Height) / lately
	s.calm.Error = s.at.Error
	if !s.shown.Settled() || s.far(s.shown, 1) {
		s.shown = s.calm
	}
}

// Forget drops what was measured to a site that is not pinged any more.
func (s *Site) Forget(name string) { delete(s.recent, name) }

// pull moves the site along the spring between it and other, whose length at rest is ms.
func (s *Site) pull(other Coordinate, ms float64) {
	distance := s.at.between(other)
	weight := s.at.Error / math.Max(s.at.Error+other.Error, 1e-6)
	wrong := math.Abs(distance-ms) / ms
	s.at.Error = math.Min(unknown, wrong*errorGain*weight+s.at.Error*(1-errorGain*weight))
	force := moveGain * weight * math.Min(1, 8*s.at.Error) * (ms - distance) // gently once it is about right
	direction := minus(s.at.Vector, other.Vector)
	length := norm(direction)
	if length < 1e-6 { // in the same place: apart, whichever way
		for i := range direction {
			direction[i] = s.random() - 0.5
		}
		length = math.Max(norm(direction), 1e-6)
	}
	for i := range direction {
		s.at.Vector[i] += force * direction[i] / length
	}
	if distance > 0 {
		s.at.Height += force * (s.at.Height + other.Height) / distance
	}
	s.at.Height = math.Max(s.at.Height, minHeight)
	if !s.at.Valid() {
		s.at = New()
	}
}

const (
	// A coordinate is told at once, again after firstWait, and more and more rarely then: after longestWait, unless the site has
	// moved far.
	firstWait, longestWait, farWait = 2 * time.Second, 15 * time.Minute, time.Minute
	// noticed is how far a site must have moved from what it has told, in milliseconds and as a share of the round trip to its
	// nearest neighbour.
	noticed, noticedShare = 0.3, 0.2
)

// Tell returns the site's coordinate when the others ought to know it: it means something, and it is not where the site last
// said it was.
func (s *Site) Tell(now time.Time) (Coordinate, bool) {
	wait := longestWait
	switch {
	case s.times < 6:
		wait = firstWait << s.times
	case s.far(s.told, 4):
		wait = farWait
	}
	if !s.shown.Settled() || s.told.Settled() && !s.far(s.told, 1) || s.times > 0 && now.Sub(s.when) < wait {
		return Coordinate{}, false
	}
	s.told, s.when, s.times = s.shown, now, s.times+1
	return s.told, true
}

func minus(a, b [Dimensions]float64) [Dimensions]float64 {
	for i := range a {
		a[i] -= b[i]
	}
	return a
}

func norm(v [Dimensions]float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}
