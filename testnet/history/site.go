package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/memory"
)

// site is one location: its disk and its application, which stay, and the process of its agent, which comes and goes.
type site struct {
	w     *world
	n     int
	id    engine.SiteID
	name  engine.SiteName
	skew  time.Duration
	disk  *memory.Disk
	blobs *memory.Blobs
	app   *application
	full  bool     // the disk has room for nothing but what settles something
	now   *process // nil while there is none

	backup    *backup                     // the last one; nil: there is none
	restored  bool                        // that it was set back to one
	forgotten map[engine.OperationID]bool // what it knew before it was set back
	orphans   map[string]bool             // objects that its application may have of requests that nobody knows to have run
}

// process is one life of a site's agent.
type process struct {
	*engine.Site
	site *site
	dead bool
	disk *memory.Disk    // that it has begun with
	doom int             // with which effect it dies; 0: with none
	busy map[string]bool // the names of resources that requests are under way for
	deep int             // how many calls of it are under way, one inside the other
	done int             // effects since the outermost of them began
	met  []*site         // those that it has been compared with
	left bool            // it has waited for them for long enough, and gone on alone
}

func (s *site) String() string { return string(s.name) }

func (s *site) clock() time.Time { return s.w.now.Add(s.skew) }

// start opens the engine over what is on disk. It dies like any other call when the process is doomed.
func (s *site) start() {
	w := s.w
	p := &process{site: s, disk: s.disk, busy: map[string]bool{}}
	w.lives++
	actor := string(s.id) + "." + strconv.Itoa(w.lives)
	limits := engine.DeletionLimits{Late: 365 * 24 * time.Hour} // nobody is away for so long
	if w.knobs.holds {
		limits = engine.DeletionLimits{Late: 10 * time.Second, Number: 1}
	}
	var err error
	p.Site, err = engine.New(w.ctx, engine.Config{
		History: []int{2, 8, 1000}[w.Seed%3], // some compact early and often
		Epoch:   []int{8, 2, 8, 1000}[w.Seed%4],
		// Some forget what is settled as soon as can be.
		KeepOperations: []time.Duration{0, 0, 5 * time.Second}[w.Seed/2%3],
		Deletions:      limits, Self: s.id, Kinds: w.kinds, Documents: memory.NewDocuments(s.id, actor, s.disk, &w.changes), Store: mortal{s.disk, p},
		Ledger: s.disk, App: client{p}, Log: w.log.With("site", string(s.name)), Now: s.clock, NewID: w.newID, Random: w.fill,
		Blobs: s.blobs, Spools: memory.Spools{Blobs: s.blobs}, Vault: memory.Vault{}, Classify: w.classify,
		CallTimeout: 3 * time.Second, Items: items,
	})
	if err != nil {
		w.problem("start %s: %v", s.name, err)
		return
	}
	p.Attach(wire{p}, wire{p})
	s.now = p
}

// enter calls into the process and reports whether it has survived it.
func (p *process) enter(f func()) (alive bool) {
	if p.deep++; p.deep == 1 {
		p.done = 0
	}
	ended := make(chan struct{})
	go func() { // which is how a call can end half way, and the engine takes it for no defect of its own
		defer close(ended)
		f()
		alive = true
	}()
	<-ended
	p.deep--
	return alive && !p.dead
}

// unwind ends the calls of a process that has died.
func unwind() { runtime.Goexit() }

// die ends the process: its effects end with this one.
func (p *process) die() {
	p.site.w.tells("death", "site", p.site)
	p.dead = true
	if p.site.now == p {
		p.site.now = nil
	}
	p.site.w.deaths++
}

// tooMany effects of one call are a sign that it never ends.
const tooMany = 3000

// effect does what others, or a later life, can see; the process may die just before it or just after.
func (p *process) effect(do func()) {
	if p.dead {
		unwind()
	}
	if p.done++; p.done > tooMany {
		p.site.w.problem("%s does one thing after the other and never ends", p.site.name)
		p.die()
		unwind()
	}
	if p.doom > 0 {
		if p.doom--; p.doom == 0 {
			if p.site.w.chance(2) {
				do()
			}
			p.die()
			unwind()
		}
	}
	do()
	if p.dead { // something that happened meanwhile has ended it
		unwind()
	}
}

// mortal is the disk of a process.
type mortal struct {
	*memory.Disk
	p *process
}

// Commit implements engine.Store.
func (m mortal) Commit(ctx context.Context, b *engine.Batch) (err error) {
	settles := len(b.Settled)+len(b.Delivered) > 0 && len(b.Intents)+len(b.Outbox) == 0
	m.p.effect(func() {
		if m.p.site.full && !settles {
			err = fmt.Errorf("commit: %w", engine.ErrStorage)
			return
		}
		if err = m.Disk.Commit(ctx, b); err != nil {
			m.p.site.w.problem("%s: %v", m.p.site.name, err)
		}
		m.p.left = m.p.left || slices.ContainsFunc(b.Events, func(e engine.Event) bool { return e.Type == "site.alone" })
	})
	return err
}

// client is a process's way to its application.
type client struct{ p *process }

// Do implements engine.Application.
func (c client) Do(_ context.Context, call engine.Call) (r engine.Reply, err error) {
	if call, err = memory.Whole(call); err != nil {
		return r, err
	}
	w := c.p.site.w
	c.p.effect(func() {
		if c.p.meanwhile(); c.p.disk != c.p.site.disk { // that was set back: what was under way, also of one that had died before, does not arrive
			unwind()
		}
		c.p.repeats(call)
		r, err = c.p.site.app.serve(call, w.rng.IntN(1000))
		w.tells("application", "site", c.p.site, "method", call.Method, "path", call.Path, "local", call.Local,
			"key", call.Key, "body", content(call.Body), "status", r.Status, "answer", string(r.Body), "err", err)
		c.p.meanwhile()
	})
	return r, err
}

// Present implements engine.Application: it puts the meta-identifier in the place of the application's own.
func (c client) Present(ctx context.Context, k *engine.Kind, r engine.Reply) (engine.Reply, error) {
	if len(r.Body) == 0 || r.Body[0] != '{' || k.Natural() {
		return r, nil
	}
	var o map[string]json.RawMessage
	var id, mark string
	if json.Unmarshal(r.Body, &o) != nil || json.Unmarshal(o["id"], &id) != nil {
		return r, nil
	}
	if k.Marker != "" && json.Unmarshal(o["mark"], &mark) == nil {
		o["mark"] = encode(engine.TrimMarker(mark))
		r.Body = encode(o)
	}
	if meta, ok := c.p.Meta(ctx, k.Service, k.Name, engine.LocalID(id)); ok {
		o["id"] = encode(string(meta))
		r.Body = encode(o)
	}
	return r, nil
}

// Find implements engine.Application.
func (c client) Find(_ context.Context, k *engine.Kind, request string) (found []engine.Reply, err error) {
	c.p.effect(func() {
		if c.p.site.app.mood.down {
			err = fmt.Errorf("connect: %w", engine.ErrUnreachable)
			return
		}
		for id, o := range c.p.site.app.objects[k.Name] {
			if mark, _ := o.fields["mark"].(string); engine.HasMarker(mark, request) {
				found = append(found, engine.Reply{Status: http.StatusOK, Body: encode(o.fields), Local: engine.LocalID(id)})
			}
		}
	})
	return found, err
}

// wire is a process's way to the others.
type wire struct{ p *process }

// Publish implements engine.Network.
func (w wire) Publish(placement []engine.SiteID, e engine.Envelope) {
	from := w.p.site
	for _, id := range placement {
		to := from.w.siteOf(id)
		if to != from && from.w.passes(from, to) && !from.w.chance(from.w.knobs.loss) {
			from.w.wire = append(from.w.wire, letter{from: from, to: to, envelope: e})
		}
	}
}

// Status implements engine.Network.
func (w wire) Status() map[engine.SiteID]engine.SiteStatus {
	from := w.p.site
	status := make(map[engine.SiteID]engine.SiteStatus, len(from.w.sites))
	for _, s := range from.w.sites {
		if s != from {
			status[s.id] = engine.SiteStatus{Reachable: from.w.passes(from, s) && from.w.passes(s, from) && s.now != nil,
				RTT: time.Duration(1+(from.n+s.n)%3) * time.Millisecond}
		}
	}
	return status
}

// Fetch implements engine.Network.
func (w wire) Fetch(ctx context.Context, from engine.SiteID, document engine.DocumentID, ref engine.BlobRef, into engine.Incoming) (err error) {
	world, here, there := w.p.site.w, w.p.site, w.p.site.w.siteOf(from)
	w.p.effect(func() {
		if there.now == nil || !world.passes(here, there) || !world.passes(there, here) {
			err = fmt.Errorf("dial %s: %w", there.name, engine.ErrUnreachable)
			return
		}
		if world.chance(world.knobs.loss) {
			err = errLost
			return
		}
		err = memory.Fetch(ctx, there.now, here.id, document, ref, into)
	})
	return err
}

var errLost = errors.New("the stream broke before the answer")

// Forward implements engine.Forwarder.
func (w wire) Forward(_ context.Context, to engine.SiteID, r engine.Request) (a engine.Answer, err error) {
	world, from := w.p.site.w, w.p.site
	w.p.effect(func() {
		other := world.siteOf(to)
		p := other.now
		if p == nil || !world.passes(from, other) || !world.passes(other, from) {
			err = fmt.Errorf("dial %s: %w", other.name, engine.ErrUnreachable)
			return
		}
		if world.chance(world.knobs.loss) { // it never arrives
			err = errLost
			return
		}
		world.tells("forward", "from", from, "to", other, "operation", r.Operation)
		r.Key = "" // it counts where the client asked
		r.Via = append(slices.Clone(r.Via), from.id)
		told := false
		a, told, err = p.submit(world.tagOf(r), r)
		var refusal *engine.Refusal
		switch {
		case !told || world.chance(world.knobs.loss) || !world.passes(other, from):
			a, err = engine.Answer{}, errLost
		case errors.As(err, &refusal): // over the wire it is an answer
			a, err = engine.Answer{Status: refusal.Status, Operation: refusal.Operation, Site: to,
				Header: http.Header{"Content-Type": {"application/problem+json"}},
				Body:   encode(map[string]any{"type": "/problems/" + refusal.Type, "detail": refusal.Detail})}, nil
		case err != nil:
			a, err = engine.Answer{Status: http.StatusInternalServerError, Site: to}, nil
		}
		world.tells("forwarded", "from", from, "to", other, "operation", r.Operation, "status", a.Status, "err", err)
	})
	return a, err
}

// submit hands a request to the process; told is false when no answer comes back. A request for a resource whose
// name another is under way for would wait longer than anybody waits for it here.
func (p *process) submit(tag string, r engine.Request) (a engine.Answer, told bool, err error) {
	name := named(tag)
	if p.busy[name] || p.stepping() {
		return a, false, nil
	}
	p.busy[name] = true
	told = p.enter(func() { a, err = p.Submit(p.site.w.ctx, r) })
	delete(p.busy, name)
	return a, told, err
}
