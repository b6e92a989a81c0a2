package site

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/beside"
	"github.com/skerry/skerry/engine/names"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/service"
)

// Site is the loop of one site. It is safe for concurrent use. Attach must be called before Run.
type Site struct {
	cfg       Config
	network   engine.Network
	forwarder engine.Forwarder
	*names.Names
	*exchange
	*pacing
	*prints
	*watch
	inbox   *inbox
	calls   *calls
	events  bell
	stopped chan struct{} // closed when Run has ended: nothing is taken any more
	met     met
	full    atomic.Bool // the last commit has found no room
	beside  *beside.Beside

	// mu is held by a wake-up until what it has stepped is durable, and by who looks at what the loop owns, which is the rest.
	mu        sync.Mutex
	residents *residents
	deletions *service.Deletions
	takings   map[nameOf]*taking
	claimed   map[engine.DocumentID]bool // their object is in the way of an earlier resource of their name
	// leftOver are the documents that an earlier process has left something to do for, or a commit that failed.
	leftOver map[engine.DocumentID]bool
	early    early
	tidings  tidings
	rejoins  bool // this site's disk was set back
	ends     bool // nothing is begun any more
	// anew are the resources that join anew, before the next wake-up does anything else with them.
	anew   []anew
	writes writes
	rooms  rooms
}

// New returns the loop of one site. It reads from the store what an earlier process has left to do.
func New(ctx context.Context, cfg Config) (*Site, error) {
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Clock == nil {
		cfg.Clock = cfg.Now
	}
	s := &Site{cfg: cfg, inbox: newInbox(), residents: newResidents(cfg.Limits.Cache),
		deletions: service.NewDeletions(cfg.Limits.Deletions), Names: names.New(cfg.Self, cfg.Store), takings: map[nameOf]*taking{}, claimed: map[engine.DocumentID]bool{},
		leftOver: map[engine.DocumentID]bool{}}
	s.watch = &watch{site: s, of: map[engine.DocumentID][]*watcher{}}
	s.exchange, s.pacing = &exchange{s}, &pacing{s, map[engine.ServiceName]*service.Service{}}
	s.calls = &calls{s: s, inline: cfg.Inline, ctx: context.WithoutCancel(ctx), sending: map[engine.DocumentID]int{}}
	s.events.ring, s.stopped = make(chan struct{}), make(chan struct{})
	s.writes.given = engine.Given{}
	s.writes.begin(cfg, "")
	s.met.begin(cfg.Self, cfg.Now().Add(cfg.Limits.CompareWithin))
	if _, err := s.Learn(ctx, cfg.Kinds); err != nil {
		return nil, err
	}
	var err error
	if s.prints, err = loadPrints(ctx, cfg.Store); err != nil {
		return nil, err
	}
	if err := s.takeUp(ctx); err != nil {
		return nil, err
	}
	if err := s.surround(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// takeUp has everything woken that an earlier process has left something to do for.
func (s *Site) takeUp(ctx context.Context) error {
	pending, err := s.cfg.Store.Pending(ctx)
	if err != nil {
		return fmt.Errorf("list what is pending: %w", err)
	}
	for _, k := range s.Kinds() {
		s.serviceOf(k.Service)
	}
	now := s.cfg.Now()
	for _, id := range pending {
		// What is held is known before anything runs: it keeps other late deletions from passing.
		row, err := s.cfg.Store.ResourceByDocument(ctx, id)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return fmt.Errorf("list what is held: %w", err)
		}
		if row.Sites[s.cfg.Self].Held {
			s.deletions.Hold(id)
		}
		s.leftOver[id] = true
		s.inbox.wakeAt(id, now)
	}
	return nil
}

// Attach gives the site its ways to other sites. They are made after it, because they call it.
func (s *Site) Attach(n engine.Network, f engine.Forwarder) {
	s.network, s.forwarder = n, f
}

// Run works until ctx ends; it returns when all work has stopped.
func (s *Site) Run(ctx context.Context) error {
	defer close(s.stopped)
	var others sync.WaitGroup
	others.Go(func() { s.beside.Run(ctx) })
	for s.inbox.wait(ctx, s.cfg.Now) {
		runtime.Gosched() // whoever is about to put something in does so first: what waits together has one commit
		s.wakeUp(ctx)
	}
	others.Wait()
	s.calls.running.Wait()
	s.ends = true
	for s.wakeUp(context.WithoutCancel(ctx)) { // answers that have come since are made durable; what is next, or due, is left to the next run
		s.calls.running.Wait()
	}
	return nil
}

// Step takes one turn, or makes one call, and reports whether there was anything to do. It is for simulations, which call it instead
// of Run and so decide themselves when which site does what.
func (s *Site) Step(ctx context.Context) bool {
	if s.calls.one() {
		return true
	}
	return s.wakeUp(ctx) || s.beside.Step(ctx)
}

// Due returns when there is something to do next; false: nothing.
func (s *Site) Due() (time.Time, bool) {
	now := s.cfg.Now()
	s.calls.mu.Lock()
	waiting := len(s.calls.waiting) > 0
	s.calls.mu.Unlock()
	if waiting {
		return now, true
	}
	at, ok := s.inbox.next(now)
	if other, due := s.beside.Due(); due && (!ok || other.Before(at)) {
		at, ok = other, true
	}
	return at, ok
}

// Self is this site.
func (s *Site) Self() engine.SiteID { return s.cfg.Self }

// Writable returns a *engine.Refusal while this site must not write.
func (s *Site) Writable() error { return s.cfg.Members.Writable() }

// Commit makes a batch durable that is no resource's, and wakes who waits for its events.
func (s *Site) Commit(ctx context.Context, b *engine.Batch) error {
	// A commit is not given up half way because a client has gone: what it records has happened.
	if err := s.cfg.Store.Commit(context.WithoutCancel(ctx), b); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if len(b.Events) > 0 {
		s.events.strike()
	}
	return nil
}

// MeshChanged is to be called when what sites say in the mesh has changed. Joined says that some have joined, rules that some have other
// rules for a kind than before.
func (s *Site) MeshChanged(joined, rules bool) {
	s.events.strike() // the mesh has events of its own
	if joined || s.cfg.Accept != nil && s.cfg.Accept.Restricts(s.cfg.Self) {
		judgeAnew(s)
	}
	if !rules {
		return
	}
	s.inbox.put(item{job: func(w *wakeUp) {
		for id, r := range s.residents.by {
			if r.Me.Wait(engine.WaitMismatch) != nil {
				w.wakeLater(id, &replica.News{Hurry: true})
			}
		}
	}})
}

// SiteChanged is to be called when another site has come into reach or has gone out of it.
func (s *Site) SiteChanged(ctx context.Context, id engine.SiteID, up bool) {
	kind := "site.down"
	if up {
		kind = "site.up"
	}
	tellOfSite(ctx, s, id, kind)
	s.beside.SiteChanged(id, up)
}

// tellOfSite records an event about another site.
func tellOfSite(ctx context.Context, s *Site, id engine.SiteID, kind string) {
	name := s.cfg.Members.Name(id)
	event := report.Event(kind, string(name), s.cfg.Now(), map[string]any{"site": name, "peer_id": id})
	if err := s.Commit(ctx, &engine.Batch{Events: []engine.Event{event}}); err != nil {
		s.cfg.Log.Error("record what has become of a site", "peer", string(id), "event", kind, "err", err)
	}
}

// Compared is to be called when this site has all that another one has, as often as that is found out. First says that it is the first time
// since that one has come into reach: from then on it is known again what it has. It reports whether this run had not been compared with that one before.
func (s *Site) Compared(ctx context.Context, other engine.SiteID, first bool) bool {
	if first {
		tellOfSite(ctx, s, other, "site.known")
	}
	if !s.met.add(other) {
		return false
	}
	s.inbox.put(item{job: func(w *wakeUp) {
		for id := range s.leftOver {
			s.inbox.wakeAt(id, w.now)
		}
		for id, r := range s.residents.by {
			if r.Me.Rejoins {
				s.inbox.wakeAt(id, w.now)
			}
		}
	}})
	return true
}
