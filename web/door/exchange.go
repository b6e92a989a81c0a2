package door

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// patience is how long an answer may keep one waiting before anybody looks whether its client is still there, and a body before its
	// answer is looked for: hardly any takes so long, and then it costs little beside.
	patience = 40 * time.Millisecond
	// spliced is how long a body is at least that the kernel moves, splicedAtOnce how much of it while nobody looks.
	spliced, splicedAtOnce = 64 << 10, 16 << 20
	// longestAnswer is the most bytes of the head of an answer, interims is how many heads may come before it.
	longestAnswer, interims = 1 << 20, 100
)

var (
	// ErrLate: the application's answer did not begin in time.
	ErrLate = errors.New("the application did not answer in time")
	// errGone: the client is not there any more.
	errGone = errors.New("the client has gone")
)

// exchange is one request on its way to the application, and its answer on its way back.
type exchange struct {
	c      *client
	r      *Request
	to     *Links
	k      *link
	answer answer
	out    []byte // what is written next
	head   []byte // of the answer, where it is turned
	held   []byte // of such an answer as it goes on if it is not turned after all
	whole  []byte // the body of such an answer
	told   int    // the status that the client was told
	length int64  // of the answer's body, -1 where its head does not say
	body   flow   // of the request
	began  time.Time
	took   time.Duration // until the answer began
	sent   time.Time
	// upload tells how the rest of the body has gone, while it goes beside; nil: there is nothing more to send.
	upload chan error
	// cut is set when the body went out only in part.
	cut bool
	// slow is set once patience was not enough; ended is closed when the watch over the client has ended, nil without one.
	slow  bool
	ended chan struct{}
	gone  atomic.Bool
}

var exchanges = sync.Pool{New: func() any { return &exchange{out: make([]byte, 0, 4<<10)} }}

// outcome is what becomes of a connection after a request.
type outcome int

const (
	ends     outcome = iota // it has no other one
	goesOn                  // it can have another one
	passedOn                // Config.Rest is to take this one, of which nothing has been answered
)

// lasts is the outcome of a request that has been answered.
func lasts(well bool) outcome {
	if well {
		return goesOn
	}
	return ends
}

// exchange passes on the request whose head was read, and its answer.
func (c *client) exchange() (o outcome) {
	x := exchanges.Get().(*exchange)
	*x = exchange{c: c, r: &c.request, to: cmp.Or(c.request.To, c.d.Application), out: x.out[:0], head: x.head[:0], held: x.held[:0], whole: x.whole[:0], answer: answer{fields: x.answer.fields[:0]},
		length: -1, began: time.Now()}
	defer func() {
		if o != passedOn {
			c.d.Desk.Told(x.r, x.told, x.length, x.took)
		} else if x.r.Leave != nil {
			x.r.Leave(false)
		}
		if cap(x.out)+cap(x.held)+cap(x.whole) <= 192<<10 {
			x.c, x.r, x.to, x.k = nil, nil, nil, nil
			exchanges.Put(x)
		}
	}()
	return x.run()
}

func (x *exchange) run() outcome {
	// What comes after the last chunk and was not announced nobody has asked for, and it might be taken for fields of the head.
	x.body = flow{left: x.r.length, bare: true}
	x.out = x.r.head(x.out, x.to.prefix)
	var err error
	if x.out, err = x.body.move(x.out, &x.c.stream); err != nil {
		return x.fail(err)
	}
	for fresh := false; ; fresh = true {
		if err = x.ask(fresh); err == nil {
			err = x.await()
		}
		if err == nil {
			return x.pass()
		}
		if x.k == nil {
			return x.fail(err)
		}
		x.k.conn.Close()
		again := x.k.used && x.k.w == 0 && x.r.repeatable() && !errors.Is(err, errGone) && !errors.Is(err, ErrLate)
		if !again {
			return x.fail(err)
		}
	}
}

// ask sends the request, as far as it has come in.
func (x *exchange) ask(fresh bool) (err error) {
	if x.k, err = x.to.take(fresh); err != nil {
		return err
	}
	x.r.Trace.Cross()
	if _, err = x.k.conn.Write(x.out); err != nil {
		x.cut = true // there may be an answer all the same, from who did not want to read so far
	} else if !x.body.done() {
		err = x.feed()
	}
	x.sent = time.Now()
	return err
}

// await reads the head of the answer, and passes on those that come before it.
func (x *exchange) await() error {
	k, looked := x.k, 0
	for before := 0; before < interims; {
		n, _ := end(k.buf[k.r:k.w], looked, false)
		if n == 0 {
			if looked = k.w - k.r; !k.grow(longestAnswer) {
				return errors.New("the head of the answer is too long")
			}
			if err := x.more(true); err != nil {
				return err
			}
			continue
		}
		head := k.buf[k.r : k.r+n]
		if x.r.Turn != nil { // which wants to see it when more has been read
			x.head = append(x.head[:0], head...)
			head = x.head
		}
		if err := x.answer.read(head, x.r.Method, x.to.agent); err != nil {
			return err
		}
		k.r += n
		switch a := &x.answer; {
		case a.status == http.StatusSwitchingProtocols:
			return errors.New("the application switched protocols unasked")
		case a.status >= 200:
			return nil
		}
		looked, before = 0, before+1
		if _, err := x.c.conn.Write(x.answer.head(nil, nil, false)); err != nil {
			return errGone
		}
	}
	return errors.New("too much came before the answer")
}

// more reads on of the answer; with head it has not begun yet.
func (x *exchange) more(head bool) error {
	for {
		x.limit(head)
		if x.gone.Load() {
			return errGone
		}
		if err := x.k.fill(); !late(err) {
			if err != nil && x.gone.Load() {
				err = errGone
			}
			return err
		}
		if err := x.waited(head); err != nil {
			return err
		}
	}
}

// limit says how long the next read may take.
func (x *exchange) limit(head bool) {
	now := time.Now()
	switch {
	case !x.slow:
		x.k.within(now, patience)
	case x.upload != nil:
		x.k.by(now.Add(time.Second))
	case head:
		x.k.by(x.sent.Add(x.c.d.AnswerTimeout))
	default:
		x.k.by(time.Time{})
	}
}

// waited decides what to do when nothing has come for a while.
func (x *exchange) waited(head bool) error {
	x.slow = true
	if x.upload != nil {
		select {
		case err := <-x.upload:
			if err = x.fed(err); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	if head && time.Since(x.sent) >= x.c.d.AnswerTimeout {
		return ErrLate
	}
	if x.ended == nil && x.c.watches() {
		x.watch()
	}
	return nil
}

// watch has the connection to the application closed when the client goes, whose work then is for nobody.
func (x *exchange) watch() {
	x.c.by(time.Time{})
	x.ended = make(chan struct{})
	c, k, gone, ended := x.c, x.k, &x.gone, x.ended
	go func() {
		defer close(ended)
		if c.ended() {
			gone.Store(true)
			k.conn.Close()
		}
	}()
}

// pass gives the client the answer.
func (x *exchange) pass() outcome {
	a, last := &x.answer, x.r.closes || x.c.d.closing.Load()
	if x.to.agent && x.to.failed(a.status, a.fields) {
		return x.fail(errFailed)
	}
	body := flow{left: a.length}
	var begun []byte
	if x.r.Turn != nil {
		var err error
		if begun, err = x.turn(&body); err != nil {
			return x.fail(err)
		}
	}
	x.tell(a.status, max(a.length, -1))
	x.out = append(a.head(x.out[:0], x.r.Answer, last), begun...)
	for first := true; ; first = false {
		err := x.piece(&body, first)
		switch {
		case err == nil:
		case first && errors.Is(err, errChunk): // nothing of it has gone out
			return x.fail(errors.New("the chunks of the answer are malformed"))
		default:
			x.stop(false)
			return ends
		}
		if body.done() {
			break
		}
	}
	return lasts(x.stop(!a.closes) && !last)
}

// piece passes on what there is of the answer. The first one goes with its head, however much there is.
func (x *exchange) piece(body *flow, first bool) (err error) {
	c, k := x.c, x.k
	switch {
	case first && (body.done() || k.r == k.w):
	case k.r == k.w && body.left >= spliced && k.plain != nil && c.plain != nil:
		x.limit(false)
		c.waits.Store(time.Now().UnixNano())
		n, err := c.plain.ReadFrom(&io.LimitedReader{R: k.plain, N: min(body.left, splicedAtOnce)})
		c.waits.Store(0)
		if body.left -= n; late(err) {
			return x.waited(false)
		}
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		return err
	default:
		x.out, err = x.next(body, x.out)
	}
	if err == nil && len(x.out) > 0 {
		now := x.began.Add(x.took)
		if !first {
			now = time.Now()
		}
		c.waits.Store(now.UnixNano())
		_, err = c.conn.Write(x.out)
		c.waits.Store(0)
		x.out = x.out[:0]
	}
	return err
}

// next appends what there is of the answer's body, and waits where there is nothing.
func (x *exchange) next(body *flow, out []byte) ([]byte, error) {
	if x.k.r == x.k.w {
		if body.left >= spliced && len(x.k.buf) < largeRoom { // the kernel does not move it
			x.k.buf, x.k.r, x.k.w = make([]byte, largeRoom), 0, 0
		}
		switch err := x.more(false); {
		case errors.Is(err, io.EOF) && body.left == untilEnd:
			body.left = 0
			return append(out, "0\r\n\r\n"...), nil
		case err != nil:
			return out, err
		}
	}
	return body.move(out, &x.k.stream)
}

// stop ends what goes on beside, and gives the connection to the application back, if all went well. It reports whether the client can go on
// as well.
func (x *exchange) stop(well bool) bool {
	if x.upload != nil { // it may be about to say that it has sent all
		select {
		case err := <-x.upload:
			x.cut = x.fed(err) != nil || x.cut
		case <-time.After(patience):
			x.cut = true
		}
	}
	if x.ended != nil {
		x.c.by(past)
		<-x.ended
	}
	complete := !x.cut && !x.gone.Load()
	if well && complete && x.k.r == x.k.w {
		x.to.give(x.k)
	} else {
		x.k.conn.Close()
	}
	if x.upload != nil {
		x.c.by(past)
		<-x.upload
	}
	if well && !complete && !x.gone.Load() {
		x.c.linger()
	}
	return complete
}

// tell remembers what the client is told.
func (x *exchange) tell(status int, length int64) {
	x.told, x.length, x.took = status, length, time.Since(x.began)
}

// errFailed: another agent says that it has no answer.
var errFailed = errors.New("another agent has no answer")

// fail tells the client that there is no answer, or has somebody else look for one.
func (x *exchange) fail(err error) outcome {
	if x.k != nil {
		x.k.conn.Close()
	}
	if x.ended != nil {
		x.c.by(past)
		<-x.ended
	}
	if x.upload != nil {
		x.c.by(past)
		if fed := <-x.upload; errors.Is(fed, errChunk) || errors.Is(fed, errGone) {
			err = fed
		}
	}
	switch {
	case errors.Is(err, errGone), x.gone.Load():
		return ends
	case x.to.agent:
		return passedOn
	case errors.Is(err, errChunk):
		x.tell(http.StatusBadRequest, -1)
		x.c.refuse(http.StatusBadRequest, nil, nil)
		return ends
	}
	status, header, body := x.c.d.Desk.Unanswered(x.r, err)
	x.tell(status, int64(len(body)))
	if !x.body.done() {
		x.c.refuse(status, header, body)
		return ends
	}
	last := x.r.closes || x.c.d.closing.Load()
	_, err = x.c.conn.Write(x.c.reply(x.out[:0], status, header, body, last))
	return lasts(err == nil && !last)
}

// flow is a body on its way.
type flow struct {
	left   int64 // that are to come; inChunks or untilEnd where nobody knows
	chunks chunks
	// bare says that what comes after the last chunk is left out.
	bare bool
	// whole gets the body itself, unless nil.
	whole *[]byte
}

func (f *flow) keep(b []byte) {
	if f.whole != nil {
		*f.whole = append(*f.whole, b...)
	}
}

const inChunks, untilEnd = -1, -2

func (f *flow) done() bool { return f.left == 0 || f.left == inChunks && f.chunks.done() }

// move appends what was read of a body to what is written next.
func (f *flow) move(out []byte, from *stream) ([]byte, error) {
	b := from.buf[from.r:from.w]
	switch f.left {
	case untilEnd:
		f.keep(b)
		from.r = from.w
		out = append(strconv.AppendInt(out, int64(len(b)), 16), "\r\n"...)
		return append(append(out, b...), "\r\n"...), nil
	case inChunks:
		f.chunks.data = f.whole
		pass, used, err := f.chunks.scan(b)
		out, from.r = append(out, b[:pass]...), from.r+used
		if err == nil && f.chunks.done() {
			out, err = f.end(out)
		}
		return out, err
	default:
		n := int(min(f.left, int64(len(b))))
		f.keep(b[:n])
		f.left, from.r = f.left-int64(n), from.r+n
		return append(out, b[:n]...), nil
	}
}

// end appends what comes after the last chunk.
func (f *flow) end(out []byte) ([]byte, error) {
	trailer, err := fields(f.chunks.trailer, nil, false)
	if err != nil {
		return out, fmt.Errorf("%w: its trailer is %.100q", errChunk, f.chunks.trailer)
	}
	for i := range trailer {
		t := &trailer[i]
		t.Drop = f.bare || t.Begins("skerry-") || t.Is("content-length") || t.Is("transfer-encoding") || t.Is("connection")
	}
	return append(write(out, trailer), "\r\n"...), nil
}
