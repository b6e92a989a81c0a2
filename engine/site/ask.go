package site

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// aboutOf encodes what a document is to begin with; nil for nil.
func (s *Site) aboutOf(a *engine.About) (*about, error) {
	if a == nil {
		return nil, nil
	}
	raw, _, err := s.cfg.Documents.Identify(*a)
	if err != nil {
		return nil, fmt.Errorf("make the document of %s: %w", a.Key, err)
	}
	return &about{*a, raw}, nil
}

// errStopped is what those get who come when the loop has ended.
var errStopped = fmt.Errorf("the site has stopped: %w", engine.ErrStorage)

// Ask has a client's request run at this site's replica and returns once what the client gets is durable. A nil about: the document is
// here (ErrNotFound: it is not). Otherwise it begins with about where it is not here. ctx ends the waiting only.
func (s *Site) Ask(ctx context.Context, id engine.DocumentID, begins *engine.About, a *replica.Ask) (replica.Given, error) {
	given := make(chan replica.Given, 1)
	a.Done = func(g replica.Given) { given <- g }
	failed, err := s.give(id, begins, a)
	if err != nil {
		return replica.Given{}, err
	}
	s.await(ctx, func() bool { return len(given)+len(failed) > 0 })
	select {
	case g := <-given:
		return g, g.Err
	case err := <-failed:
		return replica.Given{}, err
	case <-s.stopped:
		return replica.Given{}, errStopped
	case <-ctx.Done():
		return replica.Given{}, ctx.Err()
	}
}

// Decide does what a person has decided, and returns the operation that it has made, if any.
func (s *Site) Decide(ctx context.Context, id engine.DocumentID, begins *engine.About, d *replica.Decide) (engine.OperationID, error) {
	type decided struct {
		operation engine.OperationID
		err       error
	}
	done := make(chan decided, 1)
	d.Done = func(o engine.OperationID, err error) { done <- decided{o, err} }
	failed, err := s.give(id, begins, d)
	if err != nil {
		return "", err
	}
	s.await(ctx, func() bool { return len(done)+len(failed) > 0 })
	select {
	case d := <-done:
		return d.operation, d.err
	case err := <-failed:
		return "", err
	case <-s.stopped:
		return "", errStopped
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Tell hands an input to a replica and returns once it is durable.
func (s *Site) Tell(ctx context.Context, id engine.DocumentID, begins *engine.About, in replica.Input) error {
	a, err := s.aboutOf(begins)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	s.inbox.put(item{document: id, about: a, input: in, done: func(err error) { done <- err }})
	s.await(ctx, func() bool { return len(done) > 0 })
	select {
	case err := <-done:
		return err
	case <-s.stopped:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// give puts an input in that tells by itself what has come of it. Failed tells that it has not got to a replica.
func (s *Site) give(id engine.DocumentID, begins *engine.About, in replica.Input) (failed <-chan error, err error) {
	a, err := s.aboutOf(begins)
	if err != nil {
		return nil, err
	}
	c := make(chan error, 1)
	s.inbox.put(item{document: id, about: a, input: in, lost: func(err error) { c <- err }})
	return c, nil
}

// await lets a simulation go on until something is ready, or ctx ends.
func (s *Site) await(ctx context.Context, ready func() bool) {
	if s.cfg.Await != nil {
		s.cfg.Await(func() bool { return ready() || ctx.Err() != nil })
	}
}

func struck(ring <-chan struct{}) bool {
	select {
	case <-ring:
		return true
	default:
		return false
	}
}

// Look lets f look at a replica. f does no I/O, keeps nothing of it and changes nothing. ErrNotFound: it is not here.
func (s *Site) Look(ctx context.Context, id engine.DocumentID, f func(*replica.Replica)) error {
	return s.look(ctx, id, func(r *resident) { f(r.Replica) })
}

func (s *Site) look(ctx context.Context, id engine.DocumentID, f func(*resident)) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer contain(s.cfg.Log, id, &err)
	r, err := s.reach(ctx, id, nil)
	if err != nil {
		return err
	}
	f(r)
	return nil
}

// contain makes a panic in what is done with one document an error: it is a defect of the agent's own, which ends nothing but that.
func contain(log *slog.Logger, id engine.DocumentID, err *error) {
	if p := recover(); p != nil {
		log.Error("a defect has struck a resource", "document", string(id), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = fmt.Errorf("document %s: a defect of the agent: %v", id, p)
	}
}

// Present returns what a client gets, with identifiers as clients know them.
func (s *Site) Present(ctx context.Context, k *engine.Kind, g replica.Given) (engine.Answer, error) {
	a := g.Answer
	if !g.Presented {
		shown, err := s.cfg.App.Present(ctx, k, engine.Reply{Status: a.Status, Header: a.Header, Body: a.Body, Content: a.Content, Length: a.Length})
		if err != nil {
			return a, fmt.Errorf("translate the answer: %w", err)
		}
		a.Status, a.Header, a.Body, a.Content, a.Length = shown.Status, shown.Header, shown.Body, shown.Content, shown.Length
	}
	if g.Finish != nil {
		a = g.Finish(a)
	}
	return a, nil
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
func (s *Site) WaitEvents(ctx context.Context, after uint64) ([]engine.Event, error) {
	for {
		ring := s.events.wait()
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

// Met reports whether this site has been compared, since it was started, with all of some others, or need not be.
func (s *Site) Met(sites []engine.SiteID) bool { return s.met.with(sites, s.cfg.Now()) }

// SetBack reports whether this site has found that its disk was set back.
func (s *Site) SetBack() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rejoins
}

// Held lists the documents whose deletion waits to be confirmed, and tells how many ran before the first of them, 0 when that is not known.
func (s *Site) Held() (waiting []engine.DocumentID, ran []engine.OperationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deletions.Held()
}
