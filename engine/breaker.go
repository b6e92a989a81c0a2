package engine

import "time"

// QueueState says whether a site's requests to one service of its application go out.
type QueueState string

const (
	// QueueRunning: they do.
	QueueRunning QueueState = "running"
	// QueueFailing: the service does not answer, or answers that it cannot. One request at a time finds out whether it
	// can again.
	QueueFailing QueueState = "failing"
	// QueuePaused: the service does not let the agent in with its own credentials. One request at a time, at long
	// intervals, finds out whether it does again.
	QueuePaused QueueState = "paused"
	// QueueMismatch: an operation waits because sites have other rules for its kind than others. It is no state of a service.
	QueueMismatch QueueState = "catalog-mismatch"
)

// health is what one answer tells of a service.
type health int

const (
	healthNone   health = iota // nothing
	healthGood                 // it works
	healthBad                  // it cannot be reached, or cannot work now
	healthDenied               // it does not let the agent in
)

// healthOf reads an answer to a request that the agent has sent with its own credentials. That it may be read from says
// nothing about changes.
func healthOf(r Reply, err error, changes bool) health {
	switch v := judge(TypeReplace, r, err); {
	case v == verdictUnsent, v == verdictUnknown, v == verdictLater:
		return healthBad
	case v == verdictDenied:
		return healthDenied
	case changes:
		return healthGood
	}
	return healthNone
}

// breakerOpens is how many different resources have to fail, one after the other and none succeeding in between, before a
// service counts as failing. One resource that makes the application stumble has its own wait and holds up no other.
const breakerOpens = 3

// breaker decides when requests may go to one service. It is a state machine without a clock of its own.
type breaker struct {
	state  QueueState
	since  time.Time
	reason string
	// failed are the resources that have failed since something last succeeded.
	failed map[DocumentID]bool
	// probe is the resource whose request finds out how the service is, empty while none does.
	probe DocumentID
	tries int       // of probes that failed
	until time.Time // no probe before
}

func newBreaker() *breaker { return &breaker{state: QueueRunning, failed: map[DocumentID]bool{}} }

// admit reports whether a request for d may go out now. When the queue does not run, that makes it the probe; the caller
// then reports an answer, or calls abandon.
func (b *breaker) admit(d DocumentID, now time.Time) bool {
	switch {
	case b.state == QueueRunning, b.probe == d:
		return true
	case b.probe != "" || now.Before(b.until):
		return false
	}
	b.probe = d
	return true
}

// abandon gives the probe back that told nothing.
func (b *breaker) abandon(d DocumentID) {
	if b.probe == d {
		b.probe = ""
	}
}

// report takes in what an answer for d told, and why in words. Delay gives the wait after a number of failed probes. It
// returns whether the state is another than before.
func (b *breaker) report(d DocumentID, h health, why string, now time.Time, delay func(tries int) time.Duration) bool {
	before := b.state
	probed := b.probe == d
	switch {
	case h == healthNone:
		return false
	case h == healthGood:
		*b = *newBreaker()
		b.since = now
	case h == healthDenied && b.state != QueuePaused:
		b.enter(QueuePaused, why, now)
	case h == healthBad && b.state == QueueRunning:
		if b.failed[d] = true; len(b.failed) < breakerOpens {
			return false
		}
		b.enter(QueueFailing, why, now)
	case !probed: // it went out before the queue stopped
		return false
	}
	if b.state != QueueRunning {
		b.probe = ""
		b.tries++
		b.until = now.Add(delay(b.tries))
	}
	return b.state != before
}

func (b *breaker) enter(state QueueState, why string, now time.Time) {
	b.state, b.reason, b.since, b.tries = state, why, now, 0
	clear(b.failed)
}

// rest has no probe go out before t: the service has said so.
func (b *breaker) rest(t time.Time) {
	if b.state != QueueRunning && b.until.Before(t) {
		b.until = t
	}
}

// hurry lets the next probe go out at once.
func (b *breaker) hurry(now time.Time) {
	b.tries, b.until = 0, now
}
