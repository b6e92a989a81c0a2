package service

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/skerry/skerry/engine"
)

// Health is what one answer tells of a service.
type Health int

const (
	Nothing   Health = iota // nothing
	Works                   // it does what it is asked to
	Fails                   // it cannot be reached, or cannot work now
	Denied                  // it does not let the agent in
	Forbidden               // it does, and not to this resource, or not with this request
	Unsent                  // nothing: the request cannot be made
)

// Answer is what Report is told.
type Answer struct {
	Health Health
	// Rest is how long the service has asked to be left alone; zero: it has not.
	Rest time.Duration
	// Lost says that the answer, or that there is none, leaves open what came of the request.
	Lost bool
	// Why is for people: what the service has answered.
	Why string
}

// Hear reads an answer to a request that the agent has sent with its own credentials; err is why there is none. That
// a service may be read from says nothing about changes. The agent's own end of a request must not be told.
func Hear(r engine.Reply, err error, changes bool, why string, now time.Time) Answer {
	a := Answer{Why: why}
	switch s := r.Status; {
	case errors.Is(err, engine.ErrUnsendable):
		a.Health = Unsent
	case err != nil:
		a.Health, a.Lost = Fails, !errors.Is(err, engine.ErrUnreachable)
	case s == http.StatusUnauthorized:
		a.Health = Denied
	case s == http.StatusForbidden && !r.Closed:
		a.Health = Forbidden
	case s == http.StatusTooManyRequests, s == http.StatusRequestTimeout,
		s >= 500 && s != http.StatusNotImplemented && s != http.StatusHTTPVersionNotSupported:
		a.Health, a.Rest = Fails, retryAfter(r.Header, now)
		a.Lost = a.Rest == 0 && s != http.StatusTooManyRequests && s != http.StatusServiceUnavailable
	case changes:
		a.Health = Works
	}
	return a
}

// maxRest bounds what a service may ask for with Retry-After.
const maxRest = 10 * time.Minute

// retryAfter reads the Retry-After of an answer (RFC 9110, section 10.2.3): seconds or a date. Zero: there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	after := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(after, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRest)
	}
	if at, err := http.ParseTime(after); err == nil {
		return min(max(at.Sub(now), 0), maxRest)
	}
	return 0
}

// Backoff bounds the wait between tries. A zero field stands for the default named.
type Backoff struct {
	Min, Max time.Duration // 200 ms, 30 s
}

// After is the wait after a number of tries, from 1. It grows by half with each and is spread by a fifth, so that sites do
// not come back all at once; spread is random, at least 0 and less than 1.
func (b Backoff) After(tries int, spread float64) time.Duration {
	b = b.withDefaults()
	d := float64(b.Min)
	for range min(tries-1, 64) {
		d = min(d*1.5, float64(b.Max))
	}
	return time.Duration(d * (0.8 + 0.4*spread))
}

func (b Backoff) withDefaults() Backoff {
	if b.Min <= 0 {
		b.Min = 200 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = 30 * time.Second
	}
	return b
}
