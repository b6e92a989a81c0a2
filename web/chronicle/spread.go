package chronicle

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Spread counts durations by size, in steps of a fifth: bounded, and two can be added up, so that an hour's is made of its minutes'.
type Spread map[int]int

// stepsPerDoubling is how fine it is: a duration that is read off is at most a fifth too long.
const stepsPerDoubling = 4

// Add counts one.
func (s Spread) Add(d time.Duration) {
	ms := max(float64(d)/float64(time.Millisecond), 1)
	s[int(math.Ceil(math.Log2(ms)*stepsPerDoubling))]++
}

// Join adds what another one has counted.
func (s Spread) Join(t Spread) {
	for step, n := range t {
		s[step] += n
	}
}

// Number is how many were counted.
func (s Spread) Number() (n int) {
	for _, k := range s {
		n += k
	}
	return n
}

// Within is how long it took at most for that share of them, zero when none were counted.
func (s Spread) Within(share float64) time.Duration {
	left := int(math.Ceil(share * float64(s.Number())))
	for _, step := range slices.Sorted(maps.Keys(s)) {
		if left -= s[step]; left <= 0 {
			return time.Duration(math.Exp2(float64(step)/stepsPerDoubling) * float64(time.Millisecond)).Round(time.Millisecond)
		}
	}
	return 0
}
