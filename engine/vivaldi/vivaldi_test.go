package vivaldi

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// cities are round trips in milliseconds as they are measured between data centres; they break the triangle inequality here and
// there, as real ones do.
var cities = []string{"paris", "nantes", "lyon", "london", "frankfurt", "madrid", "stockholm", "newyork", "sanfrancisco", "tokyo", "sydney", "saopaulo"}

var roundTrips = [][]float64{
	{0, 9, 7, 8, 10, 20, 30, 73, 141, 230, 280, 195},
	{9, 0, 14, 15, 19, 21, 38, 80, 150, 238, 289, 201},
	{7, 14, 0, 15, 13, 22, 35, 79, 148, 226, 276, 202},
	{8, 15, 15, 0, 14, 25, 31, 70, 137, 232, 270, 187},
	{10, 19, 13, 14, 0, 30, 21, 82, 150, 226, 284, 203},
	{20, 21, 22, 25, 30, 0, 48, 90, 160, 245, 298, 185},
	{30, 38, 35, 31, 21, 48, 0, 103, 172, 250, 300, 218},
	{73, 80, 79, 70, 82, 90, 103, 0, 68, 165, 200, 115},
	{141, 150, 148, 137, 150, 160, 172, 68, 0, 108, 140, 175},
	{230, 238, 226, 232, 226, 245, 250, 165, 108, 0, 105, 260},
	{280, 289, 276, 270, 284, 298, 300, 200, 140, 105, 0, 310},
	{195, 201, 202, 187, 203, 185, 218, 115, 175, 260, 310, 0},
}

// world is sites that ping some of the others, with jitter and now and then a far too long answer.
type world struct {
	rtt   [][]float64
	peers [][]int
	sites []*Site
	rng   *rand.Rand
	told  []Coordinate
	tells int
	now   time.Time
}

func newWorld(rtt [][]float64, neighbours int, seed uint64) *world {
	w := &world{rtt: rtt, rng: rand.New(rand.NewPCG(seed, 1)), told: make([]Coordinate, len(rtt)), now: time.Unix(1e9, 0)}
	for i := range rtt {
		w.sites = append(w.sites, Start(New(), w.rng.Float64))
		var peers []int
		for _, p := range w.rng.Perm(len(rtt)) {
			if p != i && len(peers) < neighbours {
				peers = append(peers, p)
			}
		}
		w.peers = append(w.peers, peers)
	}
	return w
}

// second has every site ping its peers once.
func (w *world) second() {
	w.now = w.now.Add(time.Second)
	for i, s := range w.sites {
		for _, p := range w.peers[i] {
			ms := w.rtt[i][p] * (1 + 0.05*w.rng.Float64())
			if w.rng.IntN(50) == 0 {
				ms *= 5
			}
			s.Measured(fmt.Sprint(p), w.sites[p].Coordinate(), time.Duration(ms*float64(time.Millisecond)))
		}
		if c, ok := s.Tell(w.now); ok {
			w.told[i] = c
			w.tells++
		}
	}
}

// errors are how far off the told coordinates are for each pair, relative to its round trip; sorted.
func (w *world) errors() []float64 {
	var errs []float64
	for i := range w.sites {
		for j := range i {
			estimate := float64(w.told[i].Distance(w.told[j])) / float64(time.Millisecond)
			errs = append(errs, math.Abs(estimate-w.rtt[i][j])/w.rtt[i][j])
		}
	}
	slices.Sort(errs)
	return errs
}

func TestRoundTripsBetweenCities(t *testing.T) {
	for neighbours, bound := range map[int]float64{len(cities) - 1: 0.5, 5: 0.8} {
		for seed := range uint64(5) {
			w := newWorld(roundTrips, neighbours, seed)
			for range 120 {
				w.second()
			}
			errs := w.errors()
			median, most := errs[len(errs)/2], errs[len(errs)*9/10]
			if median > 0.12 || most > bound {
				t.Errorf("%d neighbours, seed %d: half of the pairs are off by more than %.0f %%, a tenth by more than %.0f %%", neighbours, seed, median*100, most*100)
			}
		}
	}
}

// plane is many sites on a plane, each with an access link of its own.
func plane(n int, rng *rand.Rand) [][]float64 {
	type site struct{ x, y, height float64 }
	sites := make([]site, n)
	for i := range sites {
		sites[i] = site{rng.Float64() * 80, rng.Float64() * 80, rng.Float64() * 5}
	}
	rtt := make([][]float64, n)
	for i, a := range sites {
		rtt[i] = make([]float64, n)
		for j, b := range sites {
			rtt[i][j] = math.Hypot(a.x-b.x, a.y-b.y) + a.height + b.height
		}
	}
	return rtt
}

// Each of 300 sites pings 12 others: four in a hundred pairs are measured, and all are known.
func TestFewProbesTellAllPairs(t *testing.T) {
	w := newWorld(plane(300, rand.New(rand.NewPCG(7, 7))), 12, 3)
	for range 90 {
		w.second()
	}
	errs := w.errors()
	if median, most := errs[len(errs)/2], errs[len(errs)*9/10]; median > 0.08 || most > 0.25 {
		t.Errorf("half of the pairs are off by more than %.0f %%, a tenth by more than %.0f %%", median*100, most*100)
	}
}

// What is at rest is hardly told again, and what moves is.
func TestOnlyMovementsAreTold(t *testing.T) {
	w := newWorld(roundTrips, 6, 1)
	for range 300 {
		w.second()
	}
	w.tells = 0
	for range 3600 {
		w.second()
	}
	if w.tells > 3*len(w.sites) {
		t.Errorf("%d sites at rest have told their coordinates %d times in an hour", len(w.sites), w.tells)
	}
	far := slices.Clone(w.rtt)
	for i := range far { // tokyo moves to paris' side
		far[i] = slices.Clone(far[i])
		far[i][9], far[i][9] = far[i][0]+2, far[i][0]+2
	}
	for j := range far {
		far[9][j] = far[j][9]
	}
	w.rtt = far
	for range 600 {
		w.second()
	}
	if d := w.told[9].Distance(w.told[7]); d > 110*time.Millisecond {
		t.Errorf("a site that came nearer is still told to be %v away", d)
	}
}

func TestNonsenseFromOutsideIsNotBelieved(t *testing.T) {
	s := Start(New(), rand.New(rand.NewPCG(1, 1)).Float64)
	before := s.Coordinate()
	for _, c := range []Coordinate{
		{Vector: [3]float64{math.NaN()}}, {Vector: [3]float64{math.Inf(1)}}, {Vector: [3]float64{0, 1e9}}, {Height: -1}, {Height: math.NaN()},
		{Error: -1}, {Error: 5}, {Error: math.NaN()},
	} {
		s.Measured("x", c, time.Millisecond)
	}
	s.Measured("x", New(), -time.Second)
	s.Measured("x", New(), time.Hour)
	if s.Coordinate() != before {
		t.Errorf("it has moved to %+v", s.Coordinate())
	}
}
