package door

import (
	"errors"
	"io"
	"time"
)

// atHand is how long a body may be to be sent before its answer is looked for: so much the application's machine takes though nobody reads.
const atHand = 64 << 10

// feed sends what is left of the body of a request. A short one is here in a moment. Any other goes beside, while the answer is looked for.
func (x *exchange) feed() error {
	if x.body.left > 0 && x.body.left <= atHand {
		x.c.by(time.Now().Add(patience))
		err := x.send()
		if !late(err) {
			return x.fed(err)
		}
	}
	if len(x.c.buf) < 32<<10 {
		b := make([]byte, 32<<10)
		x.c.r, x.c.w, x.c.buf = 0, copy(b, x.c.buf[x.c.r:x.c.w]), b
	}
	x.c.by(time.Time{})
	x.upload = make(chan error, 1)
	go func() {
		err := x.send()
		if err != nil && !errors.Is(err, errCut) {
			x.gone.Store(errors.Is(err, errGone))
			x.k.conn.Close() // nobody waits for an answer to half a request
		}
		x.upload <- err
	}()
	return nil
}

// errCut: the application takes no more of the body. There may be an answer all the same.
var errCut = errors.New("the application does not take the body")

// send sends all that is left of the body. It ends early at the client's deadline.
func (x *exchange) send() error {
	c, k := x.c, x.k
	var out []byte
	for !x.body.done() {
		if c.r == c.w && x.body.left >= spliced && c.plain != nil && k.plain != nil {
			c.waits.Store(time.Now().UnixNano())
			n, err := k.plain.ReadFrom(&io.LimitedReader{R: c.plain, N: min(x.body.left, splicedAtOnce)})
			c.waits.Store(0)
			x.body.left -= n
			switch {
			case late(err):
				return err
			case err != nil:
				return errCut
			case n == 0:
				return errGone
			}
			continue
		}
		if c.r == c.w {
			c.waits.Store(time.Now().UnixNano())
			err := c.fill()
			if c.waits.Store(0); late(err) {
				return err
			} else if err != nil {
				return errGone
			}
		}
		var err error
		if out, err = x.body.move(out[:0], &c.stream); err != nil {
			return err
		}
		if _, err = k.conn.Write(out); err != nil {
			return errCut
		}
	}
	return nil
}

// fed takes in how the rest of the body has gone.
func (x *exchange) fed(err error) error {
	x.upload, x.sent = nil, time.Now()
	if errors.Is(err, errCut) {
		x.cut, err = true, nil
	}
	return err
}
