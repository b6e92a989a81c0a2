package door

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// smallest is how much room a connection has for what is read of it, unless it needs more.
const smallest = 4 << 10

// client is one connection of a client. It belongs to one goroutine.
type client struct {
	stream
	d       *Door
	request Request
	mu      sync.Mutex
	busy    bool // a request is under way, or has begun to come in; guarded by mu
	// once says that the connection ends with its next answer, so that the client comes again.
	once bool
	// first says that nothing has been asked yet.
	first bool
	since time.Time // when the connection was made, or the last request had been answered
	// waits is since when everything waits for the client, in Unix nanoseconds: to ask, to go on with what it has begun to send, to take what
	// it has asked for. 0: nothing does.
	waits atomic.Int64
}

// serve answers requests until the client goes, or somebody else is to answer the next one, because it is not plain or the door is left: then
// it reports true, and what was read of that one is in the buffer.
func (c *client) serve() (over bool) {
	if c.began(); c.buf == nil {
		c.buf = make([]byte, smallest)
	}
	for ; ; c.first = false {
		n, err := c.head()
		if err == nil {
			err = c.request.read(c.buf[c.r : c.r+n])
		}
		switch {
		case errors.Is(err, errHead):
			c.unread(http.StatusBadRequest)
			return false
		case errors.Is(err, errUnknownCoding):
			c.unread(http.StatusNotImplemented)
			return false
		case errors.Is(err, errLong):
			c.unread(http.StatusRequestHeaderFieldsTooLarge)
			return false
		case errors.Is(err, errLeft):
			return true
		case late(err) && c.w > c.r:
			c.unread(http.StatusRequestTimeout)
			return false
		case err != nil:
			return false
		case c.request.special || !c.d.Desk.Plain(&c.request):
			return true
		}
		c.r += n
		c.request.closes = c.request.closes || c.once
		switch c.exchange() {
		case ends:
			return false
		case passedOn: // it has no body, so that nothing was read after it
			c.r -= n
			return true
		}
		if c.began(); len(c.buf) > smallest && c.w-c.r <= smallest {
			c.buf, c.r, c.w = append(make([]byte, 0, smallest), c.buf[c.r:c.w]...)[:smallest], 0, c.w-c.r
		}
	}
}

// began notes that from now on the client is waited for.
func (c *client) began() {
	c.since = time.Now()
	c.waits.Store(c.since.UnixNano())
}

// isBusy notes whether a request is under way. No nudge disturbs it after that.
func (c *client) isBusy(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy = is; is && (c.d.heir.Load() != nil || c.d.closing.Load()) {
		c.until = past
		c.by(time.Time{})
	}
}

// nudge has a read end that waits for a request.
func (c *client) nudge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.busy {
		_ = c.conn.SetReadDeadline(past)
	}
}

// remember takes what was read of the next request elsewhere.
func (c *client) remember(before []byte) {
	if len(before) > 0 {
		c.buf, c.w = append(make([]byte, 0, max(smallest, len(before))), before...), len(before)
		c.buf = c.buf[:cap(c.buf)]
	}
}

// head reads until the head of a request is there, and returns its length.
func (c *client) head() (int, error) {
	wait := c.d.Idle
	if c.first {
		wait = c.d.HeadTimeout
	}
	for looked := 0; ; {
		if c.w > c.r {
			if looked == 0 {
				c.isBusy(true)
			}
			n, err := end(c.buf[c.r:c.w], looked, true)
			if n > 0 || err != nil {
				c.waits.Store(0)
				return n, err
			}
			if looked == 0 { // it has begun
				wait = c.d.HeadTimeout
				c.began()
			}
			looked = c.w - c.r
		} else {
			c.isBusy(false)
		}
		if !c.grow(c.d.Head) {
			return 0, errLong
		}
		// That a connection is idle ends a little late rather than that a deadline is set for each request.
		if until := c.since.Add(wait); c.until.Before(until.Add(-wait/4)) || c.until.After(until) {
			c.by(until)
		}
		if c.w == c.r && c.d.heir.Load() != nil {
			return 0, errLeft
		}
		if c.d.closing.Load() && c.w == c.r {
			return 0, errIdle
		}
		if err := c.fill(); late(err) && time.Since(c.since) < wait && !c.d.closing.Load() {
			c.until = past
			c.by(time.Time{})
		} else if err != nil {
			return 0, err
		}
	}
}

var (
	errIdle = errors.New("the connection has no request")
	errLeft = errors.New("another process answers the next request")
)

// unread refuses a request whose head cannot be read.
func (c *client) unread(status int) {
	c.d.Desk.Told(&Request{Client: c.request.Client, TLS: c.request.TLS}, status, -1, time.Since(c.since))
	c.refuse(status, nil, nil)
}

// refuse answers a request that the application does not get, or not get whole, and closes the connection.
func (c *client) refuse(status int, header http.Header, body []byte) {
	if header == nil {
		header, body = http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, []byte(strconv.Itoa(status)+" "+http.StatusText(status))
	}
	if _, err := c.conn.Write(c.reply(nil, status, header, body, true)); err == nil {
		c.linger()
	}
}

// reply appends an answer of the agent's own.
func (c *client) reply(b []byte, status int, header http.Header, body []byte, last bool) []byte {
	a := answer{status: status, reason: []byte(" " + http.StatusText(status))}
	for name, values := range header {
		for _, value := range values {
			a.fields = append(a.fields, Field{Name: []byte(name), Value: []byte(value)})
		}
	}
	slices.SortStableFunc(a.fields, func(x, y Field) int { return slices.Compare(x.Name, y.Name) })
	a.fields = append(a.fields, Field{Name: []byte("Content-Length"), Value: strconv.AppendInt(nil, int64(len(body)), 10)})
	if b = a.head(b, nil, last); c.request.Method != http.MethodHead {
		b = append(b, body...)
	}
	return b
}

const (
	// lingering is how long a connection stays open after an answer that its client was not waiting for, and so much is read of it: what is
	// closed while something comes in loses the answer on its way.
	lingering, lingered = 500 * time.Millisecond, 256 << 10
)

// linger lets the client read the last answer before the connection is closed.
func (c *client) linger() {
	if w, ok := c.conn.(interface{ CloseWrite() error }); !ok || w.CloseWrite() != nil {
		return
	}
	c.by(time.Now().Add(lingering))
	for n := 0; n < lingered; n += c.w {
		if c.r, c.w = 0, 0; c.fill() != nil {
			return
		}
	}
}
