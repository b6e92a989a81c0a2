package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// QueueStatus is what a site tells of its requests to one service of its application.
type QueueStatus struct {
	State QueueState `json:"state"`
	// Since is when it began to be so; zero: always, as far as this agent knows.
	Since  time.Time `json:"since,omitzero"`
	Reason string    `json:"reason,omitempty"` // empty while it runs
	// Waiting counts the resources that wait for it to run. It is known of this site only.
	Waiting int `json:"waiting,omitempty"`
	// Next is when it is tried next, this site only; zero: when there is something to try with.
	Next time.Time `json:"next,omitzero"`
}

// gate holds what waits for a service that fails or does not let the agent in. It is safe for concurrent use.
type gate struct {
	mu      sync.Mutex
	breaker *breaker
	parked  parking
	// admitted counts what the service has let in, refused at which count a resource was denied last while that told
	// something of the service.
	admitted uint64
	refused  map[DocumentID]uint64
}

func newGate() *gate {
	return &gate{breaker: newBreaker(), parked: parking{places: map[DocumentID]uint64{}}, refused: map[DocumentID]uint64{}}
}

// parking lists what waits, each once, in the order in which it is to be tried.
type parking struct {
	places map[DocumentID]uint64
	order  []place // places that were left meanwhile among them
	last   uint64
}

type place struct {
	document DocumentID
	number   uint64
}

func (p *parking) add(d DocumentID) {
	if _, ok := p.places[d]; ok {
		return
	}
	p.last++
	p.places[d] = p.last
	p.order = append(p.order, place{d, p.last})
}

func (p *parking) leave(d DocumentID) { delete(p.places, d) }

// next returns the first that waits and puts it at the end.
func (p *parking) next() (DocumentID, bool) {
	for len(p.order) > 0 {
		first := p.order[0]
		p.order = p.order[1:]
		if p.places[first.document] == first.number {
			p.leave(first.document)
			p.add(first.document)
			return first.document, true
		}
	}
	return "", false
}

// all empties the parking.
func (p *parking) all() []DocumentID {
	var list []DocumentID
	for _, at := range p.order {
		if p.places[at.document] == at.number {
			list = append(list, at.document)
		}
	}
	p.order = nil
	clear(p.places)
	return list
}

func (g *gate) status() QueueStatus {
	g.mu.Lock()
	defer g.mu.Unlock()
	st := QueueStatus{State: g.breaker.state, Since: g.breaker.since, Reason: g.breaker.reason, Waiting: len(g.parked.places)}
	if st.State != QueueRunning && st.Waiting > 0 {
		st.Next = g.breaker.until
	}
	return st
}

// reads reports whether the service may be asked what it shows. While it does not run, what waits for it goes first; where nothing
// does, nothing else would find out that it shows things again.
func (g *gate) reads(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.breaker.state == QueueRunning || len(g.parked.places) == 0 && !now.Before(g.breaker.until)
}

// Queues tells how this site's requests to each service of its application get on.
func (s *Site) Queues() map[ServiceName]QueueStatus {
	all := make(map[ServiceName]QueueStatus, len(s.gates))
	for name, g := range s.gates {
		all[name] = g.status()
	}
	return all
}

// NextTry is when this site goes on with an operation that waits here for its application or for another site; zero: something
// else has to happen first, or it is under way.
func (s *Site) NextTry(o OperationRow) time.Time {
	var due time.Time
	for _, j := range []job{{intent: o.ID}, {kept: o.ID}, {body: bodyJob{o.Document, o.ID}}, {document: o.Document}} {
		if due = s.queue.due(j); !due.IsZero() {
			break
		}
	}
	if g := s.gates[o.Service]; g != nil {
		if next := g.status().Next; next.After(due) { // what waits for its service is in no queue
			due = next
		}
	}
	return due
}

// ResumeQueue tries a service again that fails or does not let the agent in, or all of them when service is empty: at once and
// with one request. When that one gets through, all that waits follows. It returns ErrNotFound for a service that the
// catalog does not have.
func (s *Site) ResumeQueue(service ServiceName) error {
	names := slices.Sorted(maps.Keys(s.gates))
	if service != "" {
		if s.gates[service] == nil {
			return fmt.Errorf("resume service %s: %w", service, ErrNotFound)
		}
		names = []ServiceName{service}
	}
	for _, name := range names {
		g := s.gates[name]
		g.mu.Lock()
		g.breaker.hurry(s.cfg.Now())
		denied := slices.Sorted(maps.Keys(g.refused))
		clear(g.refused)
		g.mu.Unlock()
		s.queue.add(job{probe: name}, 0)
		for _, d := range denied { // those that are denied alone have a wait of their own
			r := s.registry.acquire(d)
			r.mu.Lock()
			r.notBefore = time.Time{}
			r.mu.Unlock()
			s.registry.release(r)
			s.queue.add(job{document: d}, 0)
		}
	}
	return nil
}

// admit reports whether a request for a resource may go to a service now, and whether it is the one that finds out how the
// service is. What may not is parked: it comes again by itself.
func (s *Site) admit(service ServiceName, d DocumentID) (ok, probe bool) {
	g := s.gates[service]
	g.mu.Lock()
	defer g.mu.Unlock()
	ok = g.breaker.admit(d, s.cfg.Now())
	if !ok {
		s.park(service, g, d)
		return false, false
	}
	g.parked.leave(d)
	return true, g.breaker.probe == d
}

// enter reports whether a request for a resource may go to the application now; what waits says why. The caller holds r.mu, and
// r.view is loaded.
func (s *Site) enter(ctx context.Context, r *resource) (bool, error) {
	service := r.view.about.Service
	admitted, probe := s.admit(service, r.id)
	switch {
	case !admitted:
		return false, s.hold(ctx, r, s.waitingFor(service))
	case probe:
		return true, nil
	case r.notBefore.After(s.cfg.Now()):
		return false, nil
	}
	r.view.wait(nil)
	return true, nil
}

// park has a resource wait for its service. The caller holds g.mu.
func (s *Site) park(service ServiceName, g *gate, d DocumentID) {
	g.parked.add(d)
	s.planProbe(service, g)
}

// planProbe has a probe go out when it is time. The caller holds g.mu.
func (s *Site) planProbe(service ServiceName, g *gate) {
	if g.breaker.state != QueueRunning && g.breaker.probe == "" && len(g.parked.places) > 0 {
		s.queue.add(job{probe: service}, max(0, g.breaker.until.Sub(s.cfg.Now())))
	}
}

// waits parks a resource that has to be tried again, if its service does not run; it gives the probe back that it may have. One that
// could have been the probe waits for something else, for as long as ever: parked, it would be tried at once, and without end.
func (s *Site) waits(service ServiceName, d DocumentID) bool {
	g := s.gates[service]
	g.mu.Lock()
	defer g.mu.Unlock()
	g.breaker.abandon(d)
	switch {
	case g.breaker.state == QueueRunning:
		return false
	case g.breaker.probe == "" && !s.cfg.Now().Before(g.breaker.until):
		g.parked.leave(d)
		s.planProbe(service, g)
		return false
	}
	s.park(service, g, d)
	return true
}

// leaves gives back the probe of a resource that waits for nothing here any more.
func (s *Site) leaves(service ServiceName, d DocumentID) {
	g := s.gates[service]
	g.mu.Lock()
	defer g.mu.Unlock()
	g.breaker.abandon(d)
	g.parked.leave(d)
	s.planProbe(service, g)
}

// probe lets the next of what is parked try, when it is time.
func (s *Site) probe(service ServiceName) {
	g := s.gates[service]
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.breaker.state == QueueRunning || g.breaker.probe != "" {
		return
	}
	if g.breaker.until.After(s.cfg.Now()) {
		s.planProbe(service, g)
		return
	}
	if d, ok := g.parked.next(); ok { // the next probe is another's, should this one find nothing out
		s.queue.add(job{document: d}, 0)
	}
}

// heard takes in what an answer of a service to a request of the agent's own for a resource tells. It reports whether the
// resource alone was denied: others have been let in since it was denied first, so that the credentials are good. It stays
// alone until it is let in; should the credentials go bad meanwhile, any other resource finds out.
func (s *Site) heard(ctx context.Context, service ServiceName, d DocumentID, r Reply, err error, changes bool) (alone bool) {
	g, h := s.gates[service], healthOf(r, err, changes)
	g.mu.Lock()
	switch at, before := g.refused[d]; {
	case h == healthGood:
		g.admitted++
		delete(g.refused, d)
	case h == healthDenied:
		if alone = before && g.admitted > at; !alone {
			g.refused[d] = g.admitted
		}
	}
	if alone {
		h = healthNone
	}
	now := s.cfg.Now()
	changed := g.breaker.report(d, h, tell(r, err), now, func(tries int) time.Duration { return s.probeDelay(g.breaker.state, tries) })
	if wait := s.respite(r); wait > 0 && h == healthBad {
		g.breaker.rest(now.Add(wait))
	}
	var parked []DocumentID
	if changed && g.breaker.state == QueueRunning {
		parked = g.parked.all()
	}
	st := QueueStatus{State: g.breaker.state, Since: g.breaker.since, Reason: g.breaker.reason}
	g.mu.Unlock()
	for _, p := range parked {
		s.queue.add(job{document: p}, 0)
	}
	if changed {
		s.tellQueue(context.WithoutCancel(ctx), service, st)
	}
	return alone
}

// works takes in that a service has done what a client asked for with its own credentials: it does not fail, then.
func (s *Site) works(ctx context.Context, service ServiceName, d DocumentID, r Reply) {
	if s.gates[service].status().State == QueueFailing {
		s.heard(ctx, service, d, r, nil, true)
	}
}

// probeDelay is the wait after a number of failed probes. For a queue that is paused it is long: somebody has to change the
// credentials.
func (s *Site) probeDelay(state QueueState, tries int) time.Duration {
	if state == QueuePaused {
		tries += 8
	}
	return s.backoff(tries)
}

// tellQueue says that a service's queue has stopped or runs again: in the log, in the event log and, when people have to do
// something about it, to the other sites.
func (s *Site) tellQueue(ctx context.Context, service ServiceName, st QueueStatus) {
	kind, self := "queue."+string(st.State), s.name(s.cfg.Self)
	if st.State == QueueRunning {
		s.cfg.Log.Info("a service of the application takes the agent's requests again", "service", string(service))
	} else {
		s.cfg.Log.Warn("requests to a service of the application wait", "service", string(service), "queue", string(st.State), "reason", st.Reason)
	}
	data := map[string]any{"site": self, "service": service, "state": st.State, "reason": st.Reason}
	if err := s.commit(ctx, &Batch{Events: []Event{s.event(kind, string(self), data)}}); err != nil {
		s.cfg.Log.Error("record the state of a queue", "service", string(service), "err", err)
	}
	if err := s.announceQueue(ctx, service, st); err != nil {
		s.cfg.Log.Error("tell the other sites of a queue", "service", string(service), "err", err)
	}
}

// announceQueue writes into the mesh document that a queue is paused, or is so no more. A service that merely fails is told
// to no one: it may do so every few seconds for years.
func (s *Site) announceQueue(ctx context.Context, service ServiceName, st QueueStatus) error {
	s.mesh.change.Lock()
	defer s.mesh.change.Unlock()
	s.mesh.mu.RLock()
	record, known := s.mesh.sites[s.cfg.Self]
	s.mesh.mu.RUnlock()
	_, was := record.Queues[service]
	if !known || was == (st.State == QueuePaused) {
		return nil
	}
	record.Queues = maps.Clone(record.Queues)
	if delete(record.Queues, service); st.State == QueuePaused {
		if record.Queues == nil {
			record.Queues = map[ServiceName]QueueStatus{}
		}
		record.Queues[service] = st
	}
	record.At = s.cfg.Now()
	return s.writeMesh(ctx, Entry{Map: MapSites, Key: string(s.cfg.Self), Value: compactStruct(record)})
}

// Waiting says why a site does not apply what it has: its service fails, or does not let the agent in.
type Waiting struct {
	State  QueueState `json:"state"`
	Since  time.Time  `json:"since"`
	Reason string     `json:"reason"`
}

// waitingFor is why requests to a service do not go out now; nil when they do.
func (s *Site) waitingFor(service ServiceName) *Waiting {
	switch st := s.gates[service].status(); st.State {
	case QueuePaused:
		return &Waiting{st.State, st.Since, fmt.Sprintf("the application's service %s does not let the agent in: %s", service, st.Reason)}
	case QueueFailing:
		return &Waiting{st.State, st.Since, fmt.Sprintf("the application's service %s fails: %s", service, st.Reason)}
	}
	return nil
}
