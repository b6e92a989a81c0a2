package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// wakeUp is one turn of the loop: everything that waited is stepped, one commit makes durable what all of it wants to be kept, and
// what is to be done follows.
type wakeUp struct {
	s   *Site
	ctx context.Context
	now time.Time
	// stepped are the replicas of this wake-up, in the order in which they were first stepped, with what they have asked for.
	stepped []*resident
	work    map[*resident]*work
	idle    []*work // of earlier wake-ups, empty
	at      env     // of the replica that is stepped
	batch   engine.Batch
	written []*engine.Change // by this site, to be signed
	mail    mail
	outlook
	kept []keptRow
	// done are told what became of the commit, after is done once it is durable.
	done  []func(error)
	after []func()
}

// work is what the steps of one replica have asked for.
type work struct {
	entries []engine.Entry
	epoch   uint64 // that entries are written into
	changed bool
	// statuses says that statuses of other sites have come, progress that they tell of nothing else, flies that a request goes out.
	statuses, progress, flies bool
	checkpoint                []byte
	calls                     []*replica.Call
	given                     []replica.GivenTo
	decided                   []replica.DecidedOf
}

// wakeUp takes one turn and reports whether there was anything to do.
func (s *Site) wakeUp(ctx context.Context) bool {
	now := s.cfg.Now()
	items, due, more := s.inbox.take(now)
	if s.ends {
		due = nil
	}
	if len(items) == 0 && len(due) == 0 {
		return false
	}
	s.mu.Lock()
	w := &wakeUp{s: s, ctx: ctx, now: now, outlook: outlook{site: s}}
	s.rooms.lend(w)
	begin := s.anew
	s.anew = nil
	for _, a := range begin {
		w.rejoin(a)
	}
	followed(items)
	for _, i := range items {
		w.take(i)
	}
	for _, id := range due {
		switch id {
		case ticks:
			w.tick()
		case tells: // send sees to it
		case lags:
			for _, r := range w.s.residents.caughtUp(w.s.inbox, w.now) {
				w.of(r).changed = true
			}
		default:
			w.step(id, nil, replica.Wake{})
		}
	}
	err := w.commit()
	s.residents.shrink(func(r *resident) bool { return neededSoon(w, r) })
	s.mu.Unlock()
	s.inbox.back(items)
	for _, done := range w.done {
		done(err)
	}
	for i := range w.kept {
		s.beside.Kept(&w.kept[i].before, w.kept[i].now)
	}
	for _, f := range w.after {
		f()
	}
	s.rooms.takeBack(w)
	if more {
		s.inbox.ring()
	}
	return true
}

// rooms are the lists of a wake-up, empty, that the next one fills: it makes most of them anew each time otherwise. They belong to the loop.
type rooms struct {
	records    []engine.Record
	operations []engine.OperationRow
	events     []engine.Event
	kept       []keptRow
	stepped    []*resident
	work       map[*resident]*work
	idle       []*work
}

// lend gives a wake-up the lists of the last one.
func (r *rooms) lend(w *wakeUp) {
	w.batch.Records, w.batch.Operations, w.batch.Events, w.kept = r.records, r.operations, r.events, r.kept
	w.stepped, w.work, w.idle = r.stepped, r.work, r.idle
	if *r = (rooms{}); w.work == nil {
		w.work = map[*resident]*work{}
	}
}

// takeBack leaves them to the next: nobody keeps what was in them.
func (r *rooms) takeBack(w *wakeUp) {
	for _, k := range w.work {
		*k = work{}
		w.idle = append(w.idle, k)
	}
	clear(w.work)
	*r = rooms{emptied(w.batch.Records), emptied(w.batch.Operations), emptied(w.batch.Events), emptied(w.kept),
		emptied(w.stepped), w.work, w.idle}
}

// emptied returns a list without what is in it; what was long is not kept.
func emptied[T any](list []T) []T {
	if cap(list) > most {
		return nil
	}
	clear(list)
	return list[:0]
}

// take takes one thing that waited.
func (w *wakeUp) take(i item) {
	if i.job != nil || i.arrived != nil {
		if i.arrived != nil {
			w.arrive(i.arrived)
		} else {
			i.job(w)
		}
		if i.done != nil {
			w.done = append(w.done, i.done)
		}
		return
	}
	if i.to != nil && w.s.residents.by[i.document] != i.to {
		closeReply(i.input) // it was forgotten; what was loaded anew has waited for the end of that, and finds out what came of it
		if r := w.s.residents.by[i.document]; r != nil {
			w.stepOf(r, replica.Wake{})
		}
		return
	}
	err := w.step(i.document, i.about, i.input)
	switch {
	case err != nil && i.lost != nil:
		i.lost(err)
	case i.done == nil:
	case err != nil:
		i.done(err)
	default:
		w.done = append(w.done, i.done)
	}
}

// step hands an input to a replica. The error says that there is none.
func (w *wakeUp) step(id engine.DocumentID, a *about, in replica.Input) error {
	r, err := w.s.reach(w.ctx, id, a)
	if err != nil {
		if !errors.Is(err, engine.ErrNotFound) && !errors.Is(err, engine.ErrUnknown) {
			w.s.note(id, "a resource could not be loaded", err)
		}
		return err
	}
	w.stepOf(r, in)
	return nil
}

// stepOf hands an input to a replica and collects its effects. A panic is a defect of the agent's own: it sets the resource aside.
func (w *wakeUp) stepOf(r *resident, in replica.Input) (out *replica.Effects) {
	k := w.of(r)
	switch in := in.(type) {
	case *replica.Ask:
		r.asks = append(r.asks, in)
	case *replica.Decide:
		r.decides = append(r.decides, in)
	}
	func() {
		defer func() {
			if p := recover(); p != nil {
				w.s.cfg.Log.Error("a defect has struck a resource: it is set aside", "resource", string(r.About.Key), "document", string(r.id),
					"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				why := fmt.Sprintf("a defect of the agent has struck it: %v", p)
				out = r.SetAside(w.env(r), why)
				r.tellAll(k, out, why+"; it is set aside until somebody resumes it")
			}
		}()
		out = r.Step(w.env(r), in)
	}()
	w.collect(r, k, out)
	if r.admitted && !r.Busy() {
		w.leave(r)
	}
	return out
}

// tellAll refuses those who wait for a replica and have got nothing, neither by an earlier step of the wake-up nor by out.
func (r *resident) tellAll(k *work, out *replica.Effects, why string) {
	given, decided := slices.Concat(k.given, out.Given), slices.Concat(k.decided, out.Decided)
	for _, a := range r.asks {
		refusal := &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "aside", Detail: why}
		if f := r.Own; f != nil && f.Operation.ID == a.Operation { // it may have run
			refusal = &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: a.Operation, Detail: why}
		}
		if !slices.ContainsFunc(given, func(g replica.GivenTo) bool { return g.Ask == a }) {
			out.Given = append(out.Given, replica.GivenTo{Ask: a, Given: replica.Given{Err: refusal}})
		}
	}
	for _, d := range r.decides {
		if !slices.ContainsFunc(decided, func(o replica.DecidedOf) bool { return o.Decide == d }) {
			out.Decided = append(out.Decided, replica.DecidedOf{Decide: d, Err: &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "aside", Detail: why}})
		}
	}
}

// of returns what the steps of a replica have asked for, so far.
func (w *wakeUp) of(r *resident) *work {
	k := w.work[r]
	if k == nil {
		if n := len(w.idle); n > 0 {
			k, w.idle = w.idle[n-1], w.idle[:n-1]
		} else {
			k = &work{}
		}
		w.work[r] = k
		w.stepped = append(w.stepped, r)
	}
	return k
}

func (w *wakeUp) collect(r *resident, k *work, out *replica.Effects) {
	defer defect(w, r, k)
	if len(out.Entries) > 0 {
		if len(k.entries) > 0 && k.epoch != out.Epoch {
			w.write(r, k)
		}
		k.entries, k.epoch = append(k.entries, out.Entries...), out.Epoch
		if len(k.entries) > engine.MaxEntries/4 {
			w.write(r, k)
		}
	}
	k.changed, k.progress, k.flies = k.changed || out.Changed, k.progress || out.Progress, k.flies || out.Flies
	k.calls = append(k.calls, out.Calls...)
	k.given, k.decided = append(k.given, out.Given...), append(k.decided, out.Decided...)
	if out.Checkpoint != nil {
		k.checkpoint = out.Checkpoint
	}
	if out.Ended != nil {
		w.write(r, k)
		w.batch.Dropped = append(w.batch.Dropped, engine.EpochOf{Document: r.id, Epoch: *out.Ended})
	}
	w.batch.Answers = append(w.batch.Answers, out.Answers...)
	w.batch.Events = append(w.batch.Events, out.Events...)
	w.batch.Settles = w.batch.Settles || out.Settles
	recording{w}.requestRows(r, out.Rows)
	if !out.Wake.IsZero() {
		w.s.inbox.wakeAt(r.id, out.Wake)
	}
	for _, other := range out.Others {
		w.wakeLater(other, replica.Wake{})
	}
	if out.Own {
		w.ownHeard(r)
	}
	if out.Late {
		w.late(r)
	}
	if out.Unfold {
		w.then(func() { w.s.inbox.put(item{job: func(w *wakeUp) { recast(w, r.id) }}) })
	}
	w.surroundings(r, out)
}

// surroundings has done what is no matter of this commit.
func (w *wakeUp) surroundings(r *resident, out *replica.Effects) {
	s, id := w.s, r.id
	for _, o := range out.Fetch {
		ref, op, from := *o.Blob, o.ID, w.nearest(r.Others())
		w.then(func() { s.beside.Want(id, op, ref, from) })
	}
	for _, h := range out.Drop {
		w.then(func() { s.beside.Drop(h) })
	}
	if out.Pass != nil {
		w.mail.pass(r, out.Pass)
	}
	if out.Contents {
		w.then(func() { s.beside.Contents(id) })
	}
}

// then has something done once all is durable.
func (w *wakeUp) then(f func()) { w.after = append(w.after, f) }

// wakeLater hands an input to a replica in the next wake-up.
func (w *wakeUp) wakeLater(id engine.DocumentID, in replica.Input) {
	w.then(func() { w.s.inbox.put(item{document: id, input: in}) })
}

// write makes a change of the entries of a replica, which has taken them in; several where they are too much for one.
func (w *wakeUp) write(r *resident, k *work) {
	entries, e := k.entries, r.Numbered(k.epoch)
	if k.entries = nil; e == nil && len(r.Others()) == 0 {
		return // it has ended since: this site has the resource alone, and the checkpoint stands for them
	}
	for len(entries) > 0 {
		n := len(entries)
		c, err := w.s.cfg.Documents.Write(r.About, r.id, k.epoch, r.Line, e.Tip(r.Line), entries)
		for ; err != nil && n > 1; c, err = w.s.cfg.Documents.Write(r.About, r.id, k.epoch, r.Line, e.Tip(r.Line), entries[:n]) {
			n = (n + 1) / 2
		}
		if err != nil { // each was bounded before
			panic(fmt.Sprintf("write a change of %s: %v", r.About.Key, err))
		}
		if w.s.writes.given.Has(c) {
			w.s.writes.begin(w.s.cfg, "") // the replica is loaded anew, and writes another line
			panic(fmt.Sprintf("change %d of %s in epoch %d was given before, and is not here any more", c.Number, c.Line, c.Epoch))
		}
		e.Wrote(c)
		w.written = append(w.written, c)
		w.batch.Changes = append(w.batch.Changes, c)
		w.mail.change(r, c)
		entries = entries[n:]
	}
}

// signWritten signs what this site has written in this wake-up, so far.
func signWritten(w *wakeUp) {
	w.s.cfg.Documents.SignChanges(w.written)
	w.written = nil
}

// commit makes durable what this wake-up has brought about. After an error nothing of it has happened: its replicas are forgotten.
func (w *wakeUp) commit() error {
	w.batch.Records = slices.Grow(w.batch.Records, len(w.stepped))
	w.batch.Operations = slices.Grow(w.batch.Operations, len(w.stepped))
	for _, r := range w.stepped {
		w.finish(r, w.work[r])
		w.s.calls.readNow(r, w.work[r])
	}
	signWritten(w)
	tellEarly(w)
	if !w.empty() {
		if err := w.s.cfg.Store.Commit(context.WithoutCancel(w.ctx), &w.batch); err != nil {
			w.fail(err)
			return fmt.Errorf("commit: %w", err)
		}
		w.s.full.Store(false)
	}
	for _, c := range w.batch.Changes {
		if c.Author() == w.s.cfg.Self {
			w.s.writes.given.Keep(c)
		}
	}
	for i := range w.batch.Records {
		w.committed(&w.batch.Records[i])
	}
	if len(w.batch.Events) > 0 {
		w.then(w.s.events.strike)
	}
	w.send()
	for _, r := range w.stepped {
		w.carryOut(r, w.work[r])
	}
	return nil
}

// tellEarly has those answered with the commit who need not wait for it.
func tellEarly(w *wakeUp) {
	var early []replica.GivenTo
	for _, r := range w.stepped {
		k := w.work[r]
		k.given = slices.DeleteFunc(k.given, func(g replica.GivenTo) bool {
			if g.Given.Early {
				r.asks = without(r.asks, g.Ask)
				early = append(early, g)
			}
			return g.Given.Early
		})
	}
	if len(early) > 0 {
		w.batch.Told = func() {
			for _, g := range early {
				g.Ask.Done(g.Given)
			}
		}
	}
}

// defect catches a panic, which is a defect of the agent's own: the replica is forgotten, and loaded anew as one that nobody knows the state of.
func defect(w *wakeUp, r *resident, k *work) {
	if p := recover(); p != nil {
		w.s.cfg.Log.Error("a defect has struck a resource", "resource", string(r.About.Key), "document", string(r.id),
			"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		w.forget(r, fmt.Errorf("a defect of the agent has struck %s: %v", r.About.Key, p))
		*k = work{}
		w.s.leftOver[r.id] = true
	}
}

// finish adds what is to be stored of a replica to the batch.
func (w *wakeUp) finish(r *resident, k *work) {
	defer defect(w, r, k)
	w.write(r, k)
	switch {
	case k.changed || r.works && !r.working() || k.progress && w.s.cfg.Inline || k.flies && !r.row.Pending:
		w.record(r, k)
		return
	case k.flies:
		w.batch.Records = append(w.batch.Records, r.brief())
	}
	if k.progress && !r.lags {
		w.s.residents.lag(r, w.s.inbox, w.now)
	}
}

func (w *wakeUp) empty() bool {
	b := &w.batch
	return len(b.Records)+len(b.Changes)+len(b.Operations)+len(b.Dropped)+len(b.Answers)+len(b.Conflicts)+len(b.Resolved)+len(b.Events) == 0
}

// carryOut does what a replica has asked for, now that it is durable.
func (w *wakeUp) carryOut(r *resident, k *work) {
	s := w.s
	for _, c := range k.calls {
		s.calls.put(r, c, w.nearest(c.From))
	}
	for _, g := range k.given {
		r.asks = without(r.asks, g.Ask)
		w.then(func() { g.Ask.Done(g.Given) })
	}
	for _, d := range k.decided {
		r.decides = without(r.decides, d.Decide)
		w.then(func() { d.Decide.Done(d.Operation, d.Err) })
	}
	s.watch.tell(r)
}

// fail forgets the replicas of this wake-up: what they have become is not durable. They are loaded anew after a while.
func (w *wakeUp) fail(err error) {
	s := w.s
	s.full.Store(errors.Is(err, engine.ErrStorage))
	s.cfg.Log.Error("commit", "err", err)
	refusal := &engine.Refusal{Status: 507, Type: "storage", Err: err, Detail: "the site could not make it durable; nothing has happened, unless it says so elsewhere"}
	w.after, w.kept = nil, nil
	for _, r := range w.stepped {
		w.forget(r, refusal)
		s.leftOver[r.id] = true
		s.inbox.wakeAt(r.id, w.now.Add(s.cfg.Limits.RetryMin))
	}
}

// forget forgets a replica; whoever waits for it is told.
func (w *wakeUp) forget(r *resident, err error) {
	s := w.s
	for _, a := range r.asks {
		w.then(func() { a.Done(replica.Given{Err: err}) })
	}
	for _, d := range r.decides {
		w.then(func() { d.Done("", err) })
	}
	if r.admitted {
		w.leave(r)
	}
	for name := range s.takings {
		w.freeName(name, r.id)
	}
	s.residents.drop(r)
}

// without returns a list of who waits without one of them.
func without[T comparable](list []T, one T) []T {
	return slices.DeleteFunc(list, func(other T) bool { return other == one })
}

// closeReply closes what a reply that nobody gets holds open.
func closeReply(in replica.Input) {
	if a, ok := in.(*replica.Answered); ok {
		for _, r := range append([]engine.Reply{a.Reply, a.Presented}, a.List...) {
			if r.Content != nil {
				r.Content.Close()
			}
		}
	}
}
