package engine

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Config hands a Site everything it works with. All fields must be set, except the durations and counts, whose
// zero values stand for the defaults named.
type Config struct {
	Self  SiteID
	Kinds []*Kind
	// Unknown is told of a kind that another site's document has and this site does not know, and reports whether it may come to be known
	// (Learn); nil: it never does, and such documents break the rules.
	Unknown   func(ServiceName, KindName) bool
	Documents Documents
	Store     Store
	Ledger    Ledger
	Blobs     Blobs
	Spools    Spools
	App       Application
	Log       *slog.Logger
	// Now is the wall clock, NewID makes a new UUID of version 7, Random fills b with random bytes.
	Now    func() time.Time
	NewID  func() string
	Random func(b []byte)
	// Vault encrypts what contains credentials for this site's own disk.
	Vault Vault
	// Classify tells the kind and type of an operation by this site's own catalog, so that a peer cannot pass one
	// thing off as another.
	Classify func(service ServiceName, method, path string, header map[string]string) (KindName, Type, bool)

	// Items takes the answer to a GET on the collection of a kind apart; nil: what lies in containers without the agent having made
	// it is not seen.
	Items func(k *Kind, body []byte) ([][]byte, error)

	// Workers is how many resources of each service are brought up to date at once (16), so that a service that hangs holds
	// up no other. Cache is how many stay in memory (2048).
	Workers, Cache int
	// MaxBlob is the most bytes of a body that this site takes in from others (5 GiB).
	MaxBlob int64
	// History is how many operations of a resource are kept one by one once every site has settled them (256); an eighth of
	// it may come before a checkpoint takes their place.
	History int
	// Epoch is how many operations a document of a resource takes before the resource goes on in another one (256).
	Epoch int
	// CallTimeout bounds one call to the application for an operation (30 s).
	CallTimeout time.Duration
	// RetryMin and RetryMax bound the wait between tries (200 ms, 30 s).
	RetryMin, RetryMax time.Duration
	// Deletions bound what a site that comes back deletes unconfirmed.
	Deletions DeletionLimits
	// LookAfter is how long after the last operation the site looks at what its application shows of a resource (250 ms),
	// LookEvery how often it looks at every resource besides (1 h).
	LookAfter, LookEvery time.Duration
	// CompareWithin is how long what an earlier process has left open waits for a comparison with another site (10 s).
	CompareWithin time.Duration
	// LeaveWithin is how long the others wait for a site that was removed to say that it has left (7 days).
	LeaveWithin time.Duration
	// KeepOperations is how long the row of an operation stays that is settled at all sites (30 days), MaxOperations how many
	// such rows there are at most (1,000,000).
	KeepOperations time.Duration
	MaxOperations  int
}

// Site is the engine of one site: it accepts operations, merges those of others and brings its application to what
// they amount to. It is safe for concurrent use. Attach must be called before Run.
type Site struct {
	cfg       Config
	network   Network
	forwarder Forwarder
	known     atomic.Pointer[kindSet]
	registry  *registry
	queue     *queue
	gates     map[ServiceName]*gate // of the services of this site's application
	lanes     *lanes
	mesh      mesh
	bell      bell
	reach     bell // struck when another site has come into reach or gone out of it
	deletions *deletions
	twin      twin
	compared  comparing
	lines     waitingLines
	awaited   awaited
	learning  sync.Mutex // held by who changes known
	borrowed  borrowed
	requests  openRequests
	started   time.Time
	keyed     keyedRequests
	naming    naming
	fetching  fetching
	claims    sync.Map // of names that are being given inside containers, to true
	runID     string   // names this run of the agent in the lines of its operations
	// opened holds the operations whose request may have reached the application, and the answer where there was one
	// that could not be recorded.
	opened sync.Map // of OperationID to *Reply
	// making holds the last request of each resource that makes its object, as long as it is opened.
	making sync.Map // of DocumentID to *crossing
	// leftOver holds the documents that an earlier process has left something to do for.
	leftOver sync.Map // of DocumentID to true
	// unsure holds the operations that were sent without a certain answer, by themselves or in a correction; resumed holds
	// the documents of which an earlier process may have sent any that is not settled.
	unsure, resumed sync.Map // of OperationID and of DocumentID to true
	// aside holds the documents of resources that are set aside, with what the list says of that; listed those that an earlier process had.
	aside, listed sync.Map // of DocumentID to *Pause and to true
	// claimed holds the documents whose object is in the way of an earlier resource of the same name.
	claimed sync.Map // of DocumentID to bool: whether that is to be given back, where it was adopted, rather than deleted
	// swept is where the slow look at all resources has come to; owned by the one job that it is.
	swept string
	// asking holds the requests of this site's clients whose answer is still to come.
	asking sync.Map // of OperationID to true
	// left holds the requests of this site's clients that an earlier process has left without an answer.
	left sync.Map // of OperationID to true
}

type kindKey struct {
	service ServiceName
	kind    KindName
}

// New returns the engine of one site. It reads from the store what the site belongs to and what an earlier process has
// left to do.
func New(ctx context.Context, cfg Config) (*Site, error) {
	cfg.Workers = orDefault(cfg.Workers, 16)
	cfg.Cache = orDefault(cfg.Cache, 2048)
	cfg.MaxBlob = orDefault(cfg.MaxBlob, 5<<30)
	cfg.History = orDefault(cfg.History, 256)
	cfg.Epoch = orDefault(cfg.Epoch, 256)
	cfg.CallTimeout = orDefault(cfg.CallTimeout, 30*time.Second)
	cfg.RetryMin = orDefault(cfg.RetryMin, 200*time.Millisecond)
	cfg.RetryMax = orDefault(cfg.RetryMax, 30*time.Second)
	cfg.LookAfter = orDefault(cfg.LookAfter, 250*time.Millisecond)
	cfg.LookEvery = orDefault(cfg.LookEvery, time.Hour)
	cfg.CompareWithin = orDefault(cfg.CompareWithin, 10*time.Second)
	cfg.LeaveWithin = orDefault(cfg.LeaveWithin, 7*24*time.Hour)
	cfg.KeepOperations = orDefault(cfg.KeepOperations, 30*24*time.Hour)
	cfg.MaxOperations = orDefault(cfg.MaxOperations, 1_000_000)
	s := &Site{
		cfg: cfg, registry: newRegistry(cfg.Cache), queue: newQueue(cfg.Now, max(1, cfg.Workers/4)),
		gates: map[ServiceName]*gate{}, lanes: newLanes(cfg.Workers),
		deletions: newDeletions(cfg.Deletions),
	}
	var run [4]byte
	cfg.Random(run[:])
	s.runID = hex.EncodeToString(run[:])
	s.bell.ring, s.reach.ring = make(chan struct{}), make(chan struct{})
	s.compared.with, s.compared.more = map[SiteID]bool{}, map[SiteID]bool{}
	s.lines.lines = map[queueKey]*waitingLine{}
	s.awaited.results = map[OperationID]chan result{}
	s.keyed.running = map[[32]byte]bool{}
	s.naming.taken = map[nameKey]chan struct{}{}
	s.requests.by, s.requests.of = map[DocumentID]map[OperationID]openRequest{}, map[OperationID]DocumentID{}
	s.borrowed.from, s.started = map[DocumentID][]SiteID{}, cfg.Now()
	s.fetching.running = map[BlobHash]bool{}
	s.mesh.init()
	s.known.Store(&kindSet{})
	if _, err := s.learn(ctx, cfg.Kinds); err != nil {
		return nil, err
	}
	if err := s.loadMesh(ctx); err != nil {
		return nil, err
	}
	// Before the first request comes: its intent is not to be taken for one that an earlier process left open.
	if err := s.takeUp(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func orDefault[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

// Attach gives the site its ways to other sites. They are made after it, because they call it.
func (s *Site) Attach(n Network, f Forwarder) { s.network, s.forwarder = n, f }

// Run works until ctx ends; it returns when all work has stopped.
func (s *Site) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	for range s.cfg.Workers*(len(s.gates)+1) + maxFetches { // one share is for what waits for other sites
		workers.Go(func() { s.work(ctx) })
	}
	workers.Wait()
	return nil
}

// takeUp queues what an earlier process has left to do.
func (s *Site) takeUp(ctx context.Context) error {
	pending, err := s.cfg.Store.Pending(ctx)
	if err != nil {
		return fmt.Errorf("list what is pending: %w", err)
	}
	intents, err := s.cfg.Store.Intents(ctx)
	if err != nil {
		return fmt.Errorf("list open intents: %w", err)
	}
	kept, err := s.cfg.Store.Outbox(ctx)
	if err != nil {
		return fmt.Errorf("list kept requests: %w", err)
	}
	if err := s.sweepBodies(ctx, kept); err != nil {
		return err
	}
	for _, i := range intents {
		var c crossing
		if err := s.unseal(i.Operation, i.Data, &c); err != nil {
			return fmt.Errorf("open intent %s: %w", i.Operation, err)
		}
		if c.Received { // its resource is pending and asks for it
			s.opened.Store(i.Operation, (*Reply)(nil))
			s.made(&c)
		} else {
			s.left.Store(i.Operation, true)
			s.listLeft(ctx, i, &c)
			s.queue.add(job{intent: i.Operation}, 0)
		}
	}
	for _, d := range pending {
		// What is held is known before anything runs: it keeps other late deletions from passing.
		row, err := s.cfg.Store.ResourceByDocument(ctx, d)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("list what is held: %w", err)
		}
		if row.Sites[s.cfg.Self].Held {
			s.deletions.hold(d)
		}
		if s.wasAside(row) {
			s.listed.Store(d, true)
		}
		s.leftOver.Store(d, true)
		s.resumed.Store(d, true)
		s.queue.add(job{document: d}, 0)
	}
	s.lineUp(kept)
	for _, k := range kept {
		s.queue.add(job{kept: k.Operation}, 0)
	}
	s.waitForOthers()
	if err := s.takeUpNames(ctx); err != nil {
		return err
	}
	s.queue.add(job{sweep: true}, 0)
	s.queue.add(job{forget: true}, min(forgetEvery, s.cfg.KeepOperations))
	s.takeUpRemovals()
	return s.takeUpRelations(ctx)
}

func (s *Site) work(ctx context.Context) {
	for {
		j, err := s.queue.take(ctx)
		if err != nil {
			return
		}
		service := s.serviceOf(ctx, j)
		if !s.lanes.enter(service, j) {
			continue // whoever leaves the lane takes it up
		}
		for ok := true; ok; j, ok = s.lanes.leave(service) {
			s.do(ctx, j)
		}
	}
}

// Step does one job that is due and reports whether there was one. It is for simulations, which call it instead of Run and so
// decide themselves when which site does what.
func (s *Site) Step(ctx context.Context) bool {
	j, wait := s.queue.takeDue()
	if wait > 0 {
		return false
	}
	s.do(ctx, j)
	return true
}

// Due returns when the next job is due; false when none waits.
func (s *Site) Due() (time.Time, bool) { return s.queue.next() }

func (s *Site) do(ctx context.Context, j job) {
	if s.twin.isCloned() { // what is left is taken up by the next run
		s.queue.done(j, false, s.backoff)
		return
	}
	delay := s.backoff
	if j.look != "" {
		delay = s.lookAgain
	}
	again, err := s.tryJob(ctx, j)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrNotFound) {
		s.cfg.Log.Error("work", "resource", j.about(), "operation", string(j.intent+j.kept+j.body.operation), "err", err)
		again = true
	}
	s.queue.done(j, again, delay)
}

// perform does one job. It reports whether to try again later.
func (s *Site) perform(ctx context.Context, j job) (again bool, err error) {
	switch {
	case j.look != "":
		return s.look(ctx, j.look)
	case j.alone:
		return false, s.goAlone(ctx)
	case j.sweep:
		return false, s.sweep(ctx)
	case j.forget:
		return false, s.forgetRows(ctx)
	case j.relied != "":
		return false, s.seeRelying(ctx, j.relied)
	case j.owner != "":
		return false, s.destroyAlong(ctx, j.owner)
	case j.supported != "":
		return false, s.seeSupport(ctx, j.supported)
	case j.vacate != "":
		return false, s.vacate(ctx, j.vacate)
	case j.document != "":
		return s.bringUpToDate(ctx, j.document)
	case j.intent != "":
		return s.settleIntent(ctx, j.intent)
	case j.contents != "":
		return false, s.tellContents(ctx, j.contents)
	case j.body != (bodyJob{}):
		return s.fetchBody(ctx, j.body)
	case j.probe != "":
		s.probe(j.probe)
		return false, nil
	}
	return s.deliver(ctx, j.kept)
}

// backoff grows by half with each try and is spread by a fifth, so that sites do not come back all at once.
func (s *Site) backoff(tries int) time.Duration {
	d := float64(s.cfg.RetryMin)
	for range min(tries-1, 64) {
		if d *= 1.5; d >= float64(s.cfg.RetryMax) {
			d = float64(s.cfg.RetryMax)
			break
		}
	}
	var spread [2]byte
	s.cfg.Random(spread[:])
	return time.Duration(d * (0.8 + 0.4*float64(binary.BigEndian.Uint16(spread[:]))/(1<<16)))
}

// Lookup finds a resource that is replicated here by its meta-identifier or this site's own identifier. It returns
// ErrNotFound when there is none, or it was deleted.
func (s *Site) Lookup(ctx context.Context, k *Kind, id string) (ResourceRow, error) {
	if id == "" || !s.Replicates(k) {
		return ResourceRow{}, ErrNotFound
	}
	row, err := s.cfg.Store.ResourceByID(ctx, k.Service, k.Name, ResourceID(s.everywhere(ctx, k, id)))
	if errors.Is(err, ErrNotFound) {
		row, err = s.cfg.Store.ResourceByLocal(ctx, k.Service, k.Name, s.here(ctx, k, id))
	}
	if err == nil && (row.State.Past() || row.GoneAt(s.cfg.Self)) {
		return ResourceRow{}, ErrNotFound
	}
	return row, err
}

// Replicates reports whether resources of a kind are replicated here, or were.
func (s *Site) Replicates(k *Kind) bool {
	any := s.known.Load().replicated[kindKey{k.Service, k.Name}]
	return any != nil && any.Load()
}

// Local implements Identifiers.
func (s *Site) Local(ctx context.Context, service ServiceName, kind KindName, id ResourceID) (LocalID, bool) {
	if any := s.known.Load().replicated[kindKey{service, kind}]; any == nil || !any.Load() {
		return "", false
	}
	row, err := s.cfg.Store.ResourceByID(ctx, service, kind, id)
	return row.Local, err == nil && row.Local != ""
}

// Meta implements Identifiers.
func (s *Site) Meta(ctx context.Context, service ServiceName, kind KindName, id LocalID) (ResourceID, bool) {
	if any := s.known.Load().replicated[kindKey{service, kind}]; any == nil || !any.Load() {
		return "", false
	}
	row, err := s.cfg.Store.ResourceByLocal(ctx, service, kind, id)
	return row.ID, err == nil
}

// Translated implements Identifiers.
func (s *Site) Translated(service ServiceName, kind KindName) bool {
	t := s.known.Load().translated[kindKey{service, kind}]
	return t != nil && t.Load()
}

// bell wakes those who wait for something to happen.
type bell struct {
	mu   sync.Mutex
	ring chan struct{}
}

func (b *bell) strike() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.ring)
	b.ring = make(chan struct{})
}

func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ring
}

// WaitEvents returns the events after a number, oldest first, at most 256. It waits until there is one.
func (s *Site) WaitEvents(ctx context.Context, after uint64) ([]Event, error) {
	for {
		ring := s.bell.wait()
		events, err := s.cfg.Store.Events(ctx, after, 256)
		if err != nil || len(events) > 0 {
			return events, err
		}
		select {
		case <-ring:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// event makes an entry of the event log. Data holds what a reader needs to know without asking again.
func (s *Site) event(kind, subject string, data any) Event {
	return Event{Type: kind, Subject: subject, Time: s.cfg.Now(), Data: compactStruct(data)}
}

// SiteChanged is to be called when another site has come into reach or has gone out of it.
func (s *Site) SiteChanged(ctx context.Context, id SiteID, up bool) {
	s.reach.strike()
	kind := "site.down"
	if up {
		kind = "site.up"
		s.queue.hurry(func(j job) bool { return j.kept != "" || j.body != (bodyJob{}) })
	}
	for _, d := range s.borrowed.at(id) {
		s.queue.add(job{supported: d}, 0)
	}
	data := map[string]any{"site": s.name(id), "peer_id": id}
	if err := s.commit(ctx, &Batch{Events: []Event{s.event(kind, string(s.name(id)), data)}}); err != nil {
		s.cfg.Log.Error("record site event", "site", id, "err", err)
	}
}

// commit makes b durable and wakes those who wait for its events.
func (s *Site) commit(ctx context.Context, b *Batch) error {
	// A commit is not given up half way because a client has gone: what it records has happened.
	if err := s.cfg.Store.Commit(context.WithoutCancel(ctx), b); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	s.closed(b.Settled)
	if len(b.Events) > 0 {
		s.bell.strike()
	}
	return nil
}
