package intercept

import (
	"bufio"
	"bytes"
	"context"
	"maps"
	"net"
	"net/http"
)

// maxHeld is the most bytes that are kept of an answer which another alternative may replace.
const maxHeld = 64 << 10

// trial takes the answer of one alternative. It is held until accept says, once and as soon as status and header are known,
// that it is the answer: from then on everything goes to the client at once. It belongs to one goroutine.
type trial struct {
	to     http.ResponseWriter
	accept func(*trial) bool
	header http.Header
	status int // zero: there is no answer yet
	passes bool
	held   bytes.Buffer
	limit  int  // the most bytes that are held
	cut    bool // more came than that
}

func newTrial(to http.ResponseWriter, accept func(*trial) bool) *trial {
	return &trial{to: to, accept: accept, header: http.Header{}, limit: maxHeld}
}

// Header implements http.ResponseWriter.
func (t *trial) Header() http.Header {
	if t.passes {
		return t.to.Header()
	}
	return t.header
}

// WriteHeader implements http.ResponseWriter. Informational answers are for the client of the one answer only.
func (t *trial) WriteHeader(status int) {
	switch {
	case status < 200 && status != http.StatusSwitchingProtocols:
	case t.status != 0:
	default:
		if t.status = status; t.accept(t) {
			t.pass()
		}
	}
}

func (t *trial) pass() {
	t.passes = true
	maps.Copy(t.to.Header(), t.header)
	t.to.WriteHeader(t.status)
}

// Write implements http.ResponseWriter. It fails for more than is held, which ends what writes it.
func (t *trial) Write(b []byte) (int, error) {
	t.WriteHeader(http.StatusOK)
	if t.passes {
		return t.to.Write(b)
	}
	if t.held.Len()+len(b) > t.limit {
		t.cut = true
		return 0, context.Canceled
	}
	return t.held.Write(b)
}

// How much a client learns from an answer. What tellsMore is good: an application has answered, and it has what was asked for.
const (
	tellsNothing = iota
	tellsAgent   // another agent says why there is no answer
	tellsFailed  // the application has failed
	tellsAbsent  // the application does not have it
	tellsMore
)

func (t *trial) tells() int {
	switch resp := (&http.Response{StatusCode: t.status, Header: t.header}); {
	case t.status == 0 || t.cut:
		return tellsNothing
	case agentFailed(resp):
		return tellsAgent
	case t.status >= 500:
		return tellsFailed
	case absent(resp):
		return tellsAbsent
	}
	return tellsMore
}

func (t *trial) good() bool { return t.tells() == tellsMore }

// replay gives the client an answer that was held. False: more came than was held.
func (t *trial) replay() bool {
	if t.cut || t.status == 0 {
		return false
	}
	t.pass()
	_, _ = t.to.Write(t.held.Bytes())
	return true
}

// FlushError, EnableFullDuplex and Hijack are for http.ResponseController.

func (t *trial) FlushError() error {
	if t.passes {
		return http.NewResponseController(t.to).Flush()
	}
	return nil
}

func (t *trial) EnableFullDuplex() error { return nil }

func (t *trial) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if t.status = http.StatusSwitchingProtocols; !t.accept(t) {
		return nil, nil, http.ErrNotSupported
	}
	t.passes = true
	return http.NewResponseController(t.to).Hijack()
}

// guarded runs f and returns what it has panicked with, as a proxied answer does that breaks off.
func guarded(f func()) (broken any) {
	defer func() {
		if broken = recover(); broken != nil && broken != http.ErrAbortHandler {
			panic(broken)
		}
	}()
	f()
	return nil
}
