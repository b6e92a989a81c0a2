package passage

import (
	"bufio"
	"bytes"
	"context"
	"maps"
	"net"
	"net/http"

	"github.com/skerry/skerry/web/intercept/peer"
)

// maxHeld is the most bytes that are kept of an answer which another alternative may replace.
const maxHeld = 64 << 10

// Trial takes the answer of one alternative. It is held until accept says, once and as soon as status and header are known,
// that it is the answer: from then on everything goes to the client at once. It belongs to one goroutine.
type Trial struct {
	to     http.ResponseWriter
	accept func(*Trial) bool
	header http.Header
	Status int // zero: there is no answer yet
	Passes bool
	Held   bytes.Buffer
	Limit  int  // the most bytes that are held
	Cut    bool // more came than that
}

// NewTrial returns one for the client behind to. Accept may look at Tells and Good.
func NewTrial(to http.ResponseWriter, accept func(*Trial) bool) *Trial {
	return &Trial{to: to, accept: accept, header: http.Header{}, Limit: maxHeld}
}

// Header implements http.ResponseWriter.
func (t *Trial) Header() http.Header {
	if t.Passes {
		return t.to.Header()
	}
	return t.header
}

// WriteHeader implements http.ResponseWriter. Informational answers are for the client of the one answer only.
func (t *Trial) WriteHeader(status int) {
	switch {
	case status < 200 && status != http.StatusSwitchingProtocols:
	case t.Status != 0:
	default:
		if t.Status = status; t.accept(t) {
			t.pass()
		}
	}
}

func (t *Trial) pass() {
	t.Passes = true
	maps.Copy(t.to.Header(), t.header)
	t.to.WriteHeader(t.Status)
}

// Write implements http.ResponseWriter. It fails for more than is held, which ends what writes it.
func (t *Trial) Write(b []byte) (int, error) {
	t.WriteHeader(http.StatusOK)
	if t.Passes {
		return t.to.Write(b)
	}
	if t.Held.Len()+len(b) > t.Limit {
		t.Cut = true
		return 0, context.Canceled
	}
	return t.Held.Write(b)
}

// How much a client learns from an answer. What TellsMore is good: an application has answered, and it has what was asked for.
const (
	TellsNothing = iota
	TellsAgent   // another agent says why there is no answer
	TellsFailed  // the application has failed
	TellsAbsent  // the application does not have it
	TellsMore
)

// Tells ranks the answer by what a client learns from it.
func (t *Trial) Tells() int {
	switch resp := (&http.Response{StatusCode: t.Status, Header: t.header}); {
	case t.Status == 0 || t.Cut:
		return TellsNothing
	case peer.AgentFailed(resp):
		return TellsAgent
	case t.Status >= 500:
		return TellsFailed
	case peer.Absent(resp):
		return TellsAbsent
	}
	return TellsMore
}

// Good reports whether an application has answered, and has what was asked for.
func (t *Trial) Good() bool { return t.Tells() == TellsMore }

// Replay gives the client an answer that was held. False: more came than was held.
func (t *Trial) Replay() bool {
	if t.Cut || t.Status == 0 {
		return false
	}
	t.pass()
	_, _ = t.to.Write(t.Held.Bytes())
	return true
}

// FlushError, EnableFullDuplex and Hijack are for http.ResponseController.

func (t *Trial) FlushError() error {
	if t.Passes {
		return http.NewResponseController(t.to).Flush()
	}
	return nil
}

func (t *Trial) EnableFullDuplex() error { return nil }

func (t *Trial) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if t.Status = http.StatusSwitchingProtocols; !t.accept(t) {
		return nil, nil, http.ErrNotSupported
	}
	t.Passes = true
	return http.NewResponseController(t.to).Hijack()
}

// Guarded runs f and returns what it has panicked with, as a proxied answer does that breaks off.
func Guarded(f func()) (broken any) {
	defer func() {
		if broken = recover(); broken != nil && broken != http.ErrAbortHandler {
			panic(broken)
		}
	}()
	f()
	return nil
}
