package p2p

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

// position is this site's own coordinate (package vivaldi), which every ping that is answered moves a little.
type position struct {
	mu   sync.Mutex
	site *vivaldi.Site
}

func newPosition(at vivaldi.Coordinate) *position {
	return &position{site: vivaldi.Start(at, rand.Float64)}
}

func (p *position) coordinate() vivaldi.Coordinate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.site.Coordinate()
}

// measured takes in a round trip. It returns the coordinate when the other sites ought to know it.
func (p *position) measured(to engine.SiteID, at vivaldi.Coordinate, rtt time.Duration) (vivaldi.Coordinate, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.site.Measured(string(to), at, rtt)
	return p.site.Tell(time.Now())
}

func (p *position) forget(id engine.SiteID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.site.Forget(string(id))
}

// coordinateSize is what a coordinate takes in a pong: its vector, height and error as 32-bit floats.
const coordinateSize = 4 * (vivaldi.Dimensions + 2)

func putCoordinate(b []byte, c vivaldi.Coordinate) {
	for i, x := range append(c.Vector[:], c.Height, c.Error) {
		binary.BigEndian.PutUint32(b[4*i:], math.Float32bits(float32(x)))
	}
}

// readCoordinate returns whatever is there; whether it makes sense is for vivaldi to tell.
func readCoordinate(b []byte) (c vivaldi.Coordinate) {
	x := func(i int) float64 { return float64(math.Float32frombits(binary.BigEndian.Uint32(b[4*i:]))) }
	for i := range c.Vector {
		c.Vector[i] = x(i)
	}
	c.Height, c.Error = x(vivaldi.Dimensions), x(vivaldi.Dimensions+1)
	return c
}
