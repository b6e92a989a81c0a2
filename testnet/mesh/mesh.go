package mesh

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/site"
	"github.com/skerry/skerry/testnet/world"
)

// Image is the kind of resource that the sites keep.
var Image = &engine.Kind{
	Service: "images", Name: "image", Collection: "/images", Item: "/images/{id}",
	ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}, Label: "/name",
}

// lookEvery is how often a site looks at each resource.
const lookEvery = 10 * time.Minute

// maxBlob is the most bytes of a body that sites take from each other.
const maxBlob = 8 << 20

// Mesh is several sites in one process. One thing happens at a time, and time passes as the tests let it.
type Mesh struct {
	*world.World
	Sites []*Site
	// keepOperations is how long sites list operations that are settled, from their next start on; 0: for as long as others do.
	keepOperations time.Duration
}

// Site is one of them.
type Site struct {
	*world.Site
	App *Application

	mesh *Mesh
	disk fullDisk
	// deletions are the limits from the next start on, shared that on resources that it shares with another site.
	deletions engine.DeletionLimits
	shared    int
}

// Open makes a mesh of n sites. Their applications have the kind, and more.
func Open(kind *engine.Kind, n int, more ...*engine.Kind) (*Mesh, error) {
	m := &Mesh{}
	for i := range n {
		m.Sites = append(m.Sites, &Site{mesh: m, App: newApplication(string(rune('a' + i))), disk: fullDisk{good: -1}})
	}
	w, err := world.New(world.Options{Sites: n, Kinds: append([]*engine.Kind{kind}, more...),
		Rng: rand.New(rand.NewPCG(1, 1)), Luck: rand.New(rand.NewPCG(1, 2)), Limits: m.limits,
		Store: func(s *world.Site) (engine.Store, error) { return limited{s.Disk, &m.Sites[s.N].disk}, nil }})
	if err != nil {
		return nil, err
	}
	m.World = w
	for i, s := range w.Sites {
		m.Sites[i].Site = s
		m.Sites[i].wire()
	}
	return m, nil
}

// wire puts the application in front of which the agent is in its place.
func (s *Site) wire() {
	s.App.await, s.App.ids, s.Instead = s.mesh.Await, s.Proc.Site, s.App
}

// limits are such that short tests compact, and that little has to be waited for.
func (m *Mesh) limits(s *world.Site) site.Limits {
	return site.Limits{Deletions: m.Sites[s.N].deletions, KeepOperations: m.keepOperations, Shared: m.Sites[s.N].shared, History: 8, Epoch: 16, MaxBlob: maxBlob,
		RetryMin: 5 * time.Millisecond, RetryMax: 50 * time.Millisecond, LookAfter: 5 * time.Millisecond, LookEvery: lookEvery}
}

// Restart ends the site's process and starts it anew from what is on disk.
func (s *Site) Restart() error {
	s.Proc.Die()
	return s.begin()
}

// begin starts the site's agent.
func (s *Site) begin() error {
	if err := s.Start(); err != nil {
		return err
	}
	s.wire()
	s.mesh.Settle()
	return nil
}

// Cut separates a site from the others, or ends that.
func (m *Mesh) Cut(s *Site, cut bool) {
	for _, other := range m.Sites {
		m.Link(s.Site, other.Site, cut)
		m.Link(other.Site, s.Site, cut)
	}
}

// rest lets time pass.
func (m *Mesh) rest(d time.Duration) {
	for end := m.Now.Add(d); m.Now.Before(end); {
		m.Pass(end.Sub(m.Now))
		m.Reconcile()
	}
}

func (m *Mesh) site(id engine.SiteID) *Site {
	for _, s := range m.Sites {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// work has all sites do what is due.
func (m *Mesh) work() {
	for _, s := range m.Sites {
		s.WorkOff()
	}
}

// Reconcile lets all letters arrive, and every two sites that reach each other exchange what one of them lacks.
func (m *Mesh) Reconcile() {
	m.DeliverAll()
	m.World.Reconcile()
	m.work()
}

// pull brings what this site lacks and another has.
func (s *Site) pull(from *Site) {
	s.mesh.Pull(s.Site, from.Site, 0, false)
	s.WorkOff()
}

// patience bounds what would never come.
const patience = 10 * time.Second

var errNoEnd = errors.New("it does not end")

// pending is something that takes its time.
type pending[T any] struct {
	done bool
	what T
	err  error
}

// begin has f done at the site's agent, as far as it comes before anything else happens.
func begin[T any](s *Site, f func(p *world.Process) (T, error)) *pending[T] {
	r := &pending[T]{}
	p := s.Proc
	s.mesh.Do(p, func() {
		r.what, r.err = f(p)
		r.done = true
	})
	return r
}

// finish lets sites work and time pass until it is done. No letter arrives meanwhile.
func finish[T any](m *Mesh, r *pending[T]) (T, error) {
	for deadline := time.Now().Add(patience); !r.done; m.Pass(10 * time.Millisecond) {
		if m.work(); !r.done && time.Now().After(deadline) {
			return r.what, errNoEnd
		}
	}
	return r.what, r.err
}

func call[T any](s *Site, f func(p *world.Process) (T, error)) (T, error) {
	return finish(s.mesh, begin(s, f))
}

func (s *Site) do(f func(p *world.Process) error) error {
	_, err := call(s, func(p *world.Process) (struct{}, error) { return struct{}{}, f(p) })
	return err
}

// given is what is to come of a request.
type given = pending[engine.Answer]

// ask begins with a request, as a client of the site would.
func (s *Site) ask(ctx context.Context, r engine.Request) *given {
	return begin(s, func(p *world.Process) (engine.Answer, error) { return p.Front.Submit(ctx, r) })
}

// Submit sends a request as a client of the site would.
func (s *Site) Submit(ctx context.Context, r engine.Request) (engine.Answer, error) {
	return finish(s.mesh, s.ask(ctx, r))
}

// person is who decides.
var person = engine.Decider{User: "ann"}

// Retry, Done and Drop, and the methods below, are what people ask of the site and decide (package desk).
func (s *Site) Retry(ctx context.Context, id engine.OperationID) error {
	return s.do(func(p *world.Process) error { return p.Desk.Retry(ctx, id, person) })
}

func (s *Site) Done(ctx context.Context, id engine.OperationID) error {
	return s.do(func(p *world.Process) error { return p.Desk.Done(ctx, id, person) })
}

func (s *Site) Drop(ctx context.Context, id engine.OperationID) error {
	return s.do(func(p *world.Process) error { return p.Desk.Drop(ctx, id, person) })
}

func (s *Site) AdoptObject(ctx context.Context, id engine.OperationID, local engine.LocalID) error {
	return s.do(func(p *world.Process) error { return p.Desk.AdoptObject(ctx, id, local, person) })
}

func (s *Site) Resolve(ctx context.Context, id engine.ConflictID, a engine.Action, local engine.LocalID) error {
	return s.do(func(p *world.Process) error { return p.Desk.Resolve(ctx, id, a, local, person) })
}

func (s *Site) PreviewConflict(ctx context.Context, id engine.ConflictID, local engine.LocalID) ([]engine.FieldDifference, error) {
	return call(s, func(p *world.Process) ([]engine.FieldDifference, error) {
		return p.Desk.PreviewConflict(ctx, id, local)
	})
}

func (s *Site) Preview(ctx context.Context, with engine.SiteID) (engine.Preview, error) {
	return call(s, func(p *world.Process) (engine.Preview, error) { return p.Desk.Preview(ctx, with, 0) })
}

func (s *Site) Confirm(ctx context.Context, by engine.SiteID) (int, error) {
	return call(s, func(p *world.Process) (int, error) { return p.Desk.Confirm(ctx, engine.Decider{Site: by}, nil) })
}

func (s *Site) Check(ctx context.Context, id engine.DocumentID) error {
	return s.do(func(p *world.Process) error { return p.Desk.Check(ctx, id) })
}

func (s *Site) Keep(ctx context.Context, id engine.DocumentID, user string) (engine.OperationID, error) {
	return call(s, func(p *world.Process) (engine.OperationID, error) {
		return p.Desk.Keep(ctx, id, engine.Decider{User: user}, false)
	})
}

func (s *Site) Pause(ctx context.Context, id engine.DocumentID, by engine.SiteID, reason string) error {
	return s.do(func(p *world.Process) error { return p.Desk.Pause(ctx, id, by, reason) })
}

func (s *Site) Resume(ctx context.Context, id engine.DocumentID) error {
	return s.do(func(p *world.Process) error { return p.Desk.Resume(ctx, id) })
}

func (s *Site) Place(ctx context.Context, id engine.DocumentID, q engine.PlaceRequest) (engine.OperationID, error) {
	return call(s, func(p *world.Process) (engine.OperationID, error) { return p.Desk.Place(ctx, id, q) })
}

func (s *Site) Superseded(ctx context.Context, id engine.DocumentID) ([]engine.Superseded, error) {
	return call(s, func(p *world.Process) ([]engine.Superseded, error) { return p.Desk.Superseded(ctx, id) })
}

func (s *Site) Restore(ctx context.Context, id engine.DocumentID, q engine.RestoreRequest) (engine.Answer, error) {
	return call(s, func(p *world.Process) (engine.Answer, error) { return p.Desk.Restore(ctx, id, q) })
}

func (s *Site) Chosen(ctx context.Context, k *engine.Kind, id string) (at engine.SiteID, here bool, err error) {
	at, err = call(s, func(p *world.Process) (engine.SiteID, error) {
		at, is, err := p.Front.Chosen(ctx, k, id)
		here = is
		return at, err
	})
	return at, here, err
}

func (s *Site) Lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error) {
	return call(s, func(p *world.Process) (engine.ResourceRow, error) { return p.Site.Lookup(ctx, k, id) })
}
