package page

import (
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
)

// spent is which part of one core's time live views may take together: a hundred and fiftieth. What streams cost themselves comes on top.
const spent = 150

// pace bounds what live views cost, however many people look and however much happens: the longer it takes to make a view, and the more of
// them are open, the longer each stream rests after news. What happens after a quiet time is told at once. It is safe for concurrent use.
type pace struct {
	streams atomic.Int64
	load    atomic.Int64 // how long making a view again has taken of late, in nanoseconds
}

// rest is how long a stream that has told news waits before it tells more: long enough that all views, each made again once in
// that time, take no more than their share; never so long that a view is older than a pulse.
func (p *pace) rest() time.Duration {
	return min(max(time.Duration(p.load.Load()*p.streams.Load()*spent), settle), pulse)
}

// weighed notes how long h takes to make a view that the stream has made a browser ask for again.
func (p *pace) weighed(h echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Header.Get("HX-Request") != "true" {
			return h(c)
		}
		begin := time.Now()
		err := h(c)
		p.weigh(time.Since(begin))
		return err
	}
}

// weigh takes in how long one took. Two that end at once may lose one of them, which does not matter to a mean.
func (p *pace) weigh(took time.Duration) {
	const memory = 8 // loads
	before := p.load.Load()
	if before == 0 {
		p.load.Store(int64(took))
		return
	}
	p.load.Store(before + (int64(took)-before)/memory)
}
