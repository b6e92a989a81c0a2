package service

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// Limits are those of one service. A zero field stands for the default named.
type Limits struct {
	// Probes is the wait between requests that find out whether the service works again.
	Probes Backoff
	// Most is how many resources may send requests at once (16), so that a service that hangs holds up no more.
	Most int
}

const (
	// opens is how many different resources have to fail, none succeeding in between, before a service counts as failing. One
	// resource that makes the application stumble has its own wait and holds up no other.
	opens = 3
	// slow is how many resources may send requests once the service works again; each success lets one more.
	slow = 2
	// patience is by how many tries more the probes of a paused service wait: somebody has to change the credentials.
	patience = 8
	// maxWhy is the most bytes of a reason.
	maxWhy = 500
	// lasting is for how long a service fails fewer resources, and does nothing else, until people are told.
	lasting = time.Minute
)

// Service is the pacing of one service.
type Service struct {
	Vanishing Vanishing
	limits    Limits
	state     engine.QueueState
	since     time.Time
	reason    string
	// failed are the resources that have failed since something last succeeded.
	failed map[engine.DocumentID]bool
	// troubled is when the first of them failed, and trouble what the last of them was told.
	troubled time.Time
	trouble  string
	tries    int       // that failed since the service has stopped
	until    time.Time // nothing goes out before
	// stumbled counts the requests for each resource to which the service has given no certain answer, one after the other.
	stumbled map[engine.DocumentID]stumbling
	// flying are the resources that may send requests, at most window of them.
	flying map[engine.DocumentID]bool
	window int
	parked parking
	// admitted counts what the service has let in. Blamed are the resources that it has denied or put off and not let in
	// since, with that count then: should it do so again, and others were let in meanwhile, it is about the resource. Should
	// the credentials go bad later, any other resource finds out.
	admitted uint64
	blamed   map[engine.DocumentID]uint64
}

// New returns a service of which nothing is known but that requests go out.
func New(l Limits) *Service {
	l.Probes = l.Probes.withDefaults()
	if l.Most <= 0 {
		l.Most = 16
	}
	return &Service{limits: l, state: engine.QueueRunning, window: l.Most, failed: map[engine.DocumentID]bool{}, stumbled: map[engine.DocumentID]stumbling{},
		flying: map[engine.DocumentID]bool{}, blamed: map[engine.DocumentID]uint64{}, parked: newParking()}
}

// Turn is what has come of a call: the caller carries it out.
type Turn struct {
	// Go are resources that have waited and may send requests now. Each is to be tried, and Abandon called where it has nothing
	// to send, or waits for something else.
	Go []engine.DocumentID
	// Changed says that the queue's state is another than before.
	Changed bool
	// Alone says that the answer is about the resource and not the service. Wait is how long the resource, which is not done,
	// is at least to be left alone. It is zero where a backoff of its own says, and where the queue does not run: the
	// resource asks to be admitted again then, and waits in it.
	Alone bool
	Wait  time.Duration
}

// Admit reports whether a resource may send requests now, one after the other, until Report or Abandon is called for it. Of is the site
// whose operation it is to do. Otherwise it waits here, and comes out in a Turn; these go round the sites.
func (s *Service) Admit(d engine.DocumentID, of engine.SiteID, now time.Time) bool {
	switch {
	case s.flying[d]:
		return true
	case s.parked.len() > 0 || len(s.flying) >= s.window || now.Before(s.until):
		s.parked.add(d, of)
		return false
	}
	s.flying[d] = true
	return true
}

// Abandon takes a resource out that has nothing more to send for now.
func (s *Service) Abandon(d engine.DocumentID, now time.Time) Turn {
	delete(s.flying, d)
	s.parked.leave(d)
	return Turn{Go: s.next(now)}
}

// Forget takes a resource out that is no more.
func (s *Service) Forget(d engine.DocumentID, now time.Time) Turn {
	delete(s.blamed, d)
	delete(s.failed, d)
	delete(s.stumbled, d)
	return s.Abandon(d, now)
}

// Report takes in what an answer to a request of the agent's own for a resource tells. Unless it tells nothing, the
// resource has had its turn. Spread is random, at least 0 and less than 1.
func (s *Service) Report(d engine.DocumentID, a Answer, now time.Time, spread float64) Turn {
	if a.Health == Nothing {
		return Turn{}
	}
	before, probed := s.state, s.flying[d]
	delete(s.flying, d)
	t := Turn{}
	switch a.Health {
	case Works:
		delete(s.blamed, d)
		delete(s.stumbled, d)
		s.admitted++
		s.works(now)
	case Forbidden:
		t.Alone, t.Wait = true, s.limits.Probes.Max
		s.blamed[d] = s.admitted
		if s.state != engine.QueueRunning && probed { // it knows the agent, and answers
			s.works(now)
		}
	case Denied:
		t.Wait = s.limits.Probes.Max
		again := s.aboutIt(d)
		switch {
		case s.state == engine.QueueRunning && again:
			t.Alone = true
		case s.state != engine.QueuePaused:
			s.stop(engine.QueuePaused, a, now, spread)
		case probed:
			s.wait(a, now, spread)
		}
	case Fails:
		t.Wait = a.Rest
		lost := a.Lost && s.stumbles(d, now)
		if t.Alone = s.fails(d, a, probed, now, spread) || lost; t.Alone {
			delete(s.failed, d)
		}
	}
	if !t.Alone && s.state != engine.QueueRunning {
		t.Wait = 0
	}
	t.Changed = s.state != before
	t.Go = s.next(now)
	return t
}

// fails takes in that the service has failed a resource, and reports whether it is about the resource alone.
func (s *Service) fails(d engine.DocumentID, a Answer, probed bool, now time.Time, spread float64) (alone bool) {
	switch {
	case s.state == engine.QueueRunning:
		if len(s.failed) == 0 {
			s.troubled = now
		}
		s.failed[d], s.trouble = true, clip(a.Why)
		alone = a.Rest > 0 && s.aboutIt(d)
		if len(s.failed) >= opens || a.Rest > 0 && !alone {
			s.stop(engine.QueueFailing, a, now, spread)
			return false
		}
	case probed:
		s.wait(a, now, spread)
	case now.Add(a.Rest).After(s.until): // it went out before the queue stopped
		s.until = now.Add(a.Rest)
	}
	return alone
}

// stumbling are requests for one resource without a certain answer.
type stumbling struct {
	number, others int    // of them; and how many of them came after something that another resource was let in with
	admitted       uint64 // what the service had let in when the last of them came
	since          time.Time
}

const (
	// few is after how many stumbles over a resource it may be about that resource: when the service has meanwhile done again and again what
	// others asked for, or for long has done nothing else and does not count as failing.
	few, between = 8, 4
	long         = 5 * time.Minute
)

// stumbles takes note that the service has given no certain answer to a request for a resource: it has answered that it failed, or has closed
// the connection. It reports whether that is about the resource alone, which is to be left to a person then: its request may take the service
// down each time.
func (s *Service) stumbles(d engine.DocumentID, now time.Time) bool {
	st := s.stumbled[d]
	if st.number++; st.number > 1 && s.admitted > st.admitted {
		st.others++
	}
	if st.number == 1 {
		st.since = now
	}
	st.admitted = s.admitted
	s.stumbled[d] = st
	return st.number >= few && (st.others >= between || now.Sub(st.since) >= long && s.state == engine.QueueRunning)
}

// aboutIt reports whether the service, which has denied a resource or put it off, means the resource alone.
func (s *Service) aboutIt(d engine.DocumentID) bool {
	at, before := s.blamed[d]
	if before && s.admitted > at {
		return true
	}
	s.blamed[d] = s.admitted
	return false
}

// works takes in that the service does what it is asked to.
func (s *Service) works(now time.Time) {
	clear(s.failed)
	if s.state == engine.QueueRunning {
		s.window = min(s.window+1, s.limits.Most)
		return
	}
	s.state, s.since, s.reason, s.tries, s.until = engine.QueueRunning, now, "", 0, time.Time{}
	s.window = min(slow, s.limits.Most)
}

// stop lets one request at a time go out from now on. What is under way counts no more, unless it succeeds.
func (s *Service) stop(state engine.QueueState, a Answer, now time.Time, spread float64) {
	s.state, s.since, s.tries, s.window = state, now, 0, 1
	s.reason = clip(a.Why)
	clear(s.failed)
	clear(s.flying)
	s.wait(a, now, spread)
}

// clip bounds a reason.
func clip(why string) string { return strings.ToValidUTF8(why[:min(len(why), maxWhy)], "") }

// wait puts the next probe off.
func (s *Service) wait(a Answer, now time.Time, spread float64) {
	s.tries++
	tries := s.tries
	if s.state == engine.QueuePaused {
		tries += patience
	}
	s.until = now.Add(max(s.limits.Probes.After(tries, spread), a.Rest))
}

// Succeeded takes in that the service has done what a client asked for with its own credentials: it does not fail, then.
func (s *Service) Succeeded(now time.Time) Turn {
	if clear(s.failed); s.state != engine.QueueFailing {
		return Turn{}
	}
	s.works(now)
	return Turn{Changed: true, Go: s.next(now)}
}

// Hurry tries the service again at once. Retry are the resources that it has denied, put off or failed: they have waits of their own,
// which are over.
func (s *Service) Hurry(now time.Time) (t Turn, retry []engine.DocumentID) {
	if s.state != engine.QueueRunning {
		s.tries, s.until = 0, now
	}
	retry = slices.AppendSeq(slices.Collect(maps.Keys(s.blamed)), maps.Keys(s.failed))
	slices.Sort(retry)
	clear(s.blamed)
	clear(s.failed)
	return Turn{Go: s.next(now)}, slices.Compact(retry)
}

// Tick lets go out what may by now.
func (s *Service) Tick(now time.Time) Turn { return Turn{Go: s.next(now)} }

// Wake is when Tick is to be called; zero: nothing waits for a time.
func (s *Service) Wake() time.Time {
	if s.parked.len() == 0 || len(s.flying) >= s.window {
		return time.Time{}
	}
	return s.until
}

// next gives turns to those that wait.
func (s *Service) next(now time.Time) (list []engine.DocumentID) {
	for len(s.flying) < s.window && !now.Before(s.until) {
		d, ok := s.parked.next()
		if !ok {
			break
		}
		s.flying[d] = true
		list = append(list, d)
	}
	return list
}

// Readable reports whether the service may be asked what it shows. While it does not run, what waits for it goes first; where
// nothing does, nothing else would find out that it shows things again.
func (s *Service) Readable(now time.Time) bool {
	return s.state == engine.QueueRunning || s.parked.len() == 0 && len(s.flying) == 0 && !now.Before(s.until)
}

// Waits reports whether a resource waits for its turn.
func (s *Service) Waits(d engine.DocumentID) bool { return s.parked.places[d].number != 0 }

// Status is what the site tells of the service.
func (s *Service) Status() engine.QueueStatus {
	st := engine.QueueStatus{State: s.state, Since: s.since, Reason: s.reason}
	if s.state != engine.QueueRunning {
		if st.Waiting = s.parked.len(); st.Waiting > 0 {
			st.Next = s.until
		}
	}
	return st
}

// Told is what people are told of the service: its status, or that it fails where it has failed one resource or two for a while and has
// done nothing else. What others ask of it goes out all the same, since that may be about those resources.
func (s *Service) Told(now time.Time) engine.QueueStatus {
	if s.state != engine.QueueRunning || len(s.failed) == 0 || now.Sub(s.troubled) < lasting {
		return s.Status()
	}
	return engine.QueueStatus{State: engine.QueueFailing, Since: s.troubled, Reason: s.trouble, Waiting: len(s.failed)}
}
