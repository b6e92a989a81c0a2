package request

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// Bodies bounds the memory that bodies take which are read whole, from when they come in until their requests are answered. When there is
// no more, the one that comes in slowest gives way: so nobody fills it with bodies that never end. It is safe for concurrent use.
type Bodies struct {
	// Stall is how long a body may bring nothing before it is given up. Patience is how long one waits for memory.
	Stall, Patience time.Duration

	mu     sync.Mutex
	free   int64                // guarded by mu
	coming map[*coming]struct{} // guarded by mu
	waits  []*coming            // for memory, the newest last, who comes first: older ones may wait for nothing already; guarded by mu
	more   chan struct{}        // closed when some is given back, or one waits no more; guarded by mu
}

// Small is how much of each body is not counted.
const Small = 16 << 10

// young is how long a body comes in before it is compared with others.
const young = time.Second

// NewBodies returns a bound of so many bytes.
func NewBodies(bytes int64, stall time.Duration) *Bodies {
	return &Bodies{Stall: stall, Patience: 10 * time.Second, free: bytes, coming: map[*coming]struct{}{}, more: make(chan struct{})}
}

var (
	// ErrSlow is the error of a body that comes in too slowly.
	ErrSlow = errors.New("the body comes in too slowly")
	// ErrBusy is the error of a body for which there was no memory.
	ErrBusy = errors.New("too many bodies are held already")
)

// coming is a body that is being read.
type coming struct {
	body  io.Reader
	rc    *http.ResponseController
	stall time.Duration

	mu    sync.Mutex
	begun time.Time // guarded by mu
	read  int64     // guarded by mu
	cut   bool      // guarded by mu
}

// Read implements io.Reader.
func (c *coming) Read(p []byte) (int, error) {
	c.mu.Lock()
	if c.cut {
		c.mu.Unlock()
		return 0, ErrSlow
	}
	_ = c.rc.SetReadDeadline(time.Now().Add(c.stall)) // what is in memory already has none
	c.mu.Unlock()
	n, err := c.body.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read += int64(n)
	if err == nil {
		return n, nil
	}
	if c.cut || errors.Is(err, os.ErrDeadlineExceeded) {
		return n, ErrSlow
	}
	_ = c.rc.SetReadDeadline(time.Time{}) // its request may take what it takes
	return n, err
}

func (c *coming) Close() error { return nil }

// end has it read no more.
func (c *coming) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	_ = c.rc.SetReadDeadline(time.Unix(1, 0))
}

// over lets what may be left of it take the time that it takes.
func (c *coming) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.cut {
		_ = c.rc.SetReadDeadline(time.Time{})
	}
}

// rate is for how long it has come in so far, and how fast.
func (c *coming) rate(now time.Time) (age time.Duration, rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	age = now.Sub(c.begun)
	return age, float64(c.read) / age.Seconds()
}

// Coming returns the body of a request as one that may not stall.
func (q *Request) Coming() io.ReadCloser { return q.coming() }

func (q *Request) coming() *coming {
	c := &coming{begun: time.Now(), body: q.Body, rc: http.NewResponseController(q.W), stall: time.Minute}
	if q.Bodies != nil {
		c.stall = q.Bodies.Stall
	}
	return c
}

// readAll reads up to limit bytes of the body of a request.
func (q *Request) readAll(limit int64) ([]byte, error) {
	c := q.coming()
	defer c.over()
	if b := q.Bodies; b != nil {
		b.mu.Lock()
		b.coming[c] = struct{}{}
		b.mu.Unlock()
		defer func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			delete(b.coming, c)
		}()
	}
	// Who says how long it is waits before the first byte, and not halfway, holding what others wait for.
	if err := q.hold(c, min(q.ContentLength, limit)); err != nil {
		return nil, err
	}
	body := make([]byte, 0, 512)
	for int64(len(body)) < limit {
		if len(body) == cap(body) {
			size := min(int64(2*cap(body)), limit)
			if err := q.hold(c, size); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, size), body...)
		}
		n, err := c.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return body, nil
}

// hold counts that the body of a request takes so many bytes until Release.
func (q *Request) hold(c *coming, size int64) error {
	if q.Bodies == nil || size <= Small || size <= q.held {
		return nil
	}
	if err := q.Bodies.take(q, c, size-q.held); err != nil {
		return err
	}
	q.held = size
	return nil
}

// Release gives back what the body of a request has taken. It is called once, when the request has been answered.
func (q *Request) Release() {
	if b := q.Bodies; b != nil && q.held > 0 {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.free += q.held
		q.held = 0
		b.tell()
	}
}

// tell wakes all that wait. The caller holds mu.
func (b *Bodies) tell() {
	close(b.more)
	b.more = make(chan struct{})
}

// take waits until there are n bytes for a body. While it waits it is not slow.
func (b *Bodies) take(q *Request, c *coming, n int64) error {
	late := time.NewTimer(b.Patience)
	defer late.Stop()
	begun := time.Now()
	b.mu.Lock()
	delete(b.coming, c)
	b.waits = append(b.waits, c)
	b.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.begun = c.begun.Add(time.Since(begun))
		c.mu.Unlock()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.coming[c] = struct{}{}
		b.waits = slices.DeleteFunc(b.waits, func(other *coming) bool { return other == c })
		b.tell()
	}()
	for {
		b.mu.Lock()
		if b.free >= n && b.waits[len(b.waits)-1] == c {
			b.free -= n
			b.mu.Unlock()
			return nil
		}
		more, slowest := b.more, b.slowest()
		if slowest != nil {
			delete(b.coming, slowest)
		}
		b.mu.Unlock()
		if slowest != nil {
			slowest.end()
		}
		select {
		case <-more:
		case <-time.After(young / 4): // another one may have become the slowest
		case <-late.C:
			return ErrBusy
		case <-q.Context().Done():
			return q.Context().Err()
		}
	}
}

// Free is how many bytes may still be taken.
func (b *Bodies) Free() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free
}

// slowest returns the body that has come in slowest of those that have for a while, nil for none. The caller holds mu.
func (b *Bodies) slowest() (c *coming) {
	now, least := time.Now(), 0.0
	for other := range b.coming {
		age, rate := other.rate(now)
		if age < young {
			continue
		}
		if c == nil || rate < least {
			c, least = other, rate
		}
	}
	return c
}
