package front

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/outbox"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/waiting"
)

// Front takes requests until they have an answer. It is safe for concurrent use. Attach must be called before anything else is.
type Front struct {
	*around
	keys       *keys.Keys
	outbox     *outbox.Outbox
	errands    *Errands
	names      *Names
	containers *Containers
	adoption   *Adoption
	turns      turns
	queue      *queue
}

// New returns the front of one site. It reads from the store what an earlier process has left to do.
func New(ctx context.Context, cfg Config) (*Front, error) {
	a := &around{Config: cfg.withDefaults(), self: cfg.Site.Self(), closing: make(chan struct{})}
	q, t := waiting.NewQueue[job](a.Now, a.Workers), turns{waiting.NewTurns[turn](a.Await)}
	f := &Front{around: a, keys: keys.New(keys.Config{Answer: a.Store.Answer, Commit: a.Site.Commit, Log: a.Log, Now: a.Now}), names: &Names{a}, turns: t, queue: q}
	f.containers = &Containers{around: a, turns: t, queue: q}
	f.outbox = outbox.New(outbox.Config{Site: a.Site, Store: a.Store, Keys: f.keys, Spools: a.Spools, Members: a.Members, Log: a.Log, Now: a.Now, Clock: a.Clock,
		CallTimeout: a.CallTimeout, RetryMin: a.RetryMin, Kept: a.Kept, Await: a.Await, Run: f.Submit,
		Queue: func(id engine.OperationID, in waiting.Lane, delay time.Duration) { q.Add(job{kept: id}, in, delay) }})
	f.errands = newErrands(a, f.keys, f.names, f.containers, t, q)
	f.adoption = &Adoption{around: a, errands: f.errands, turns: t}
	if err := f.errands.takeUp(ctx); err != nil {
		return nil, err
	}
	if err := f.outbox.TakeUp(ctx); err != nil {
		return nil, err
	}
	return f, nil
}

// Attach gives front its ways to other sites. They are made after it, because they call it.
func (f *Front) Attach(n Network, to engine.Forwarder) {
	f.network = n
	f.outbox.Attach(n, to)
}

// Run hands kept requests over and settles what has had no certain answer, until ctx ends; it returns when all work has stopped.
func (f *Front) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	defer f.closed.Do(func() { close(f.closing) })
	for {
		j, err := f.queue.Take(ctx)
		if err != nil {
			return nil
		}
		running.Go(func() { f.do(ctx, j) })
	}
}

// Step does one thing that is due and reports whether there was one. It is for simulations, which call it instead of Run and so
// decide themselves when which site does what.
func (f *Front) Step(ctx context.Context) bool {
	j, wait := f.queue.Due()
	if wait > 0 {
		return false
	}
	f.do(ctx, j)
	return true
}

// Due returns when there is the next thing to do; false when nothing waits.
func (f *Front) Due() (time.Time, bool) { return f.queue.Next() }

func (f *Front) do(ctx context.Context, j job) {
	if f.Site.Writable() != nil { // what is left is taken up by the next run
		f.queue.Done(j, true, f.Site.Backoff)
		return
	}
	var again bool
	var err error
	switch {
	case j.kept != "":
		again, err = f.outbox.Deliver(ctx, j.kept)
	case j.errand != "":
		again, err = f.errands.settle(ctx, j.errand)
	default:
		err = f.Site.Tell(ctx, j.contents, nil, &replica.News{Look: true})
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrNotFound) {
		f.Log.Error("work", "operation", string(j.kept+j.errand), "resource", string(j.contents), "err", err)
		again = true
	}
	f.queue.Done(j, again, f.Site.Backoff)
}

// SiteChanged is to be called when another site has come into reach or gone out of it.
func (f *Front) SiteChanged(up bool) {
	f.moved.Strike()
	if up {
		f.queue.Hurry(outbox.ToOthers)
	}
}

// Compared is to be called when this site has been compared with another one: what waits for that may go on.
func (f *Front) Compared() {
	f.learned.Strike()
	f.queue.Hurry(ours)
}
