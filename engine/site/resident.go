package site

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/names"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// resident is a replica that is in memory, with what is remembered of what is stored of it.
type resident struct {
	*replica.Replica
	id engine.DocumentID
	// stored says that something of it is on disk; row is its row there, digest with peers and apart what anti-entropy compares.
	stored bool
	row    engine.ResourceRow
	shared shared
	// works says that its row, as it is stored, tells of something that is under way, or may.
	works bool
	// rows are the states of its operations as they are stored; nil: stored, and not read yet.
	rows map[engine.OperationID]map[engine.SiteID]engine.OperationStatus
	// conflicts are those that are stored.
	conflicts map[engine.ConflictID]engine.Conflict
	// admitted says that it has a place at its service, which it gives back when it has nothing to send.
	admitted bool
	// asks are the requests of clients that it has, and decisions likewise: whoever waits is told should it be forgotten.
	asks    []*replica.Ask
	decides []*replica.Decide
	// rivals are the other documents of its name, once that is known, whether they are in memory or not.
	rivals     []engine.DocumentID
	namesKnown bool
	// lags says that other sites have come further than is stored, behind until when that may be so, and lagged how often it was stored for that
	// alone since the resource was converged.
	lags   bool
	behind time.Time
	lagged int
	place  *list.Element // in list, which orders those that may be forgotten
	list   *list.List
}

// shared is what anti-entropy compares of a resource, and with whom.
type shared struct {
	digest engine.Fingerprint
	peers  []engine.SiteID
	apart  map[engine.SiteID]engine.Fingerprint
}

// working reports whether something is under way or to be found out that no operation tells of.
func (r *resident) working() bool { return r.Busy() || r.Looks() || r.Settles() }

// newResident returns a replica of which nothing is known but what its document begins with.
func (s *Site) newResident(id engine.DocumentID, a *about) (*resident, error) {
	kind := s.Kind(a.Service, a.Kind)
	if kind == nil {
		return nil, fmt.Errorf("document %s: %w: the catalog has no kind %s.%s", id, engine.ErrUnknown, a.Service, a.Kind)
	}
	v := view.New(s.writes.line, id, a.About, a.raw, kind, s.cfg.Members.Name)
	v.Epochs = []*view.Epoch{view.NewEpoch(0, s.cfg.Documents.First(a.About, id, 0))}
	return &resident{Replica: replica.New(v, s.cfg.Limits.replica(), false), id: id,
		rows: map[engine.OperationID]map[engine.SiteID]engine.OperationStatus{}}, nil
}

// load reads a replica from the store. ErrNotFound: nothing of it is stored. A panic is a defect of the agent's own: the resource cannot be
// loaded, and others can.
func (s *Site) load(ctx context.Context, id engine.DocumentID) (r *resident, err error) {
	defer contain(s.cfg.Log, id, &err)
	rec, err := s.cfg.Store.Record(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("load document %s: %w", id, err)
	}
	of, _, err := s.cfg.Documents.Decode(rec.About)
	if err != nil {
		return nil, fmt.Errorf("load document %s: %w", id, err)
	}
	if r, err = s.newResident(id, &about{of, rec.About}); err != nil {
		return nil, err
	}
	r.Replica = replica.New(r.View, s.cfg.Limits.replica(), s.leftOver[id])
	if err := s.restore(ctx, r, &rec); err != nil {
		return nil, fmt.Errorf("load document %s: %w", id, err)
	}
	return r, nil
}

// restore takes in what is stored of a replica.
func (s *Site) restore(ctx context.Context, r *resident, rec *engine.Record) error {
	v := r.View
	v.Epochs = []*view.Epoch{view.NewEpoch(rec.Epoch, s.cfg.Documents.First(v.About, r.id, rec.Epoch))}
	if rec.Checkpoint != nil {
		if err := v.Begin(rec.Checkpoint); err != nil {
			return err
		}
	}
	changes, err := stored(ctx, s, r)
	if err != nil {
		return err
	}
	first := func(n uint64) engine.Tip { return s.cfg.Documents.First(v.About, r.id, n) }
	admits := func(o *engine.Operation) bool { return names.Admits(s.cfg.Catalog, r.Kind, o) }
	note := func(err error) { s.note(r.id, "an entry of a document was left out", err) }
	for _, c := range changes {
		v.Open(c.Epoch, first)
		if e := v.Numbered(c.Epoch); e != nil {
			e.Wrote(c)
			v.TakeEntries(e, c.Line, c.Number, c.Entries, admits, note)
		}
	}
	if run := v.LastRun(v.Self, nil); run > s.writes.line.Run() {
		s.writes.begin(s.cfg, run)
		v.Line = s.writes.line
	}
	if err := v.RestoreStatuses(rec.Statuses); err != nil {
		return err
	}
	if err := r.Restore(rec.Mine); err != nil {
		return err
	}
	view.Unsettle(v)
	v.Open(r.Me.Epoch, first) // nobody may have written in it yet
	clear(v.Touched)
	for _, o := range v.History.Ordered() {
		r.rows[o.ID] = nil
	}
	conflicts, err := s.cfg.Store.ConflictsOf(ctx, r.id)
	if err != nil {
		return err
	}
	r.conflicts = make(map[engine.ConflictID]engine.Conflict, len(conflicts))
	for _, c := range conflicts {
		r.conflicts[c.ID] = c
	}
	r.stored, r.row, r.works = true, listed(rec), rec.Row.Pending
	r.shared = shared{rec.Digest, rec.Peers, rec.Apart}
	return nil
}

// stored reads what is stored of a document and counts: forks first, which say where lines end.
func stored(ctx context.Context, s *Site, r *resident) ([]*engine.Change, error) {
	forks, err := s.cfg.Store.Forks(ctx, r.id)
	if err != nil {
		return nil, err
	}
	for _, f := range forks {
		r.Fork(f.Fork)
	}
	stored, _, err := s.cfg.Store.Changes(ctx, r.id, nil, 0)
	if err != nil {
		return nil, err
	}
	list := make([]*engine.Change, 0, len(stored))
	for _, one := range stored {
		c, err := s.cfg.Documents.Read(r.View.About, r.id, one.Epoch, one.SignedChange, true)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	view.End(r.View, list)
	return list, nil
}

// neededSoon reports whether a replica waits for its turn at a service, or for other sites that can all be reached to be done.
func neededSoon(w *wakeUp, r *resident) bool {
	others := r.Others()
	return w.s.serviceOf(r.Kind.Service).Waits(r.id) || r.row.State == engine.StateConverging && len(w.reachable(others)) == len(others)
}

// residents are the replicas in memory. Those that are idle are forgotten when there are too many, the longest unused first. Those that are needed
// soon stay, up to the bound, and the others give way to them but for a quarter of it: each that waits is needed once more, the
// first to have come first. Of more of them the last go. Of those that all sites are done with a quarter of the bound stays: they are not needed
// for what is under way.
type residents struct {
	most int
	by   map[engine.DocumentID]*resident
	// used orders them, the last used first; waiting has those that were found to be needed soon, in the order in which they were used, done
	// those that all sites were found to be done with, the last first.
	used, waiting, done *list.List
	// lagging are those of which something came that is not stored, some of it meanwhile.
	lagging []*resident
	// names are the documents in memory of each name.
	names map[nameOf]map[engine.DocumentID]bool
}

// nameOf is what a resource is called.
type nameOf struct {
	service engine.ServiceName
	kind    engine.KindName
	key     engine.ResourceID
}

func newResidents(most int) *residents {
	return &residents{most: most, by: map[engine.DocumentID]*resident{}, used: list.New(), waiting: list.New(), done: list.New(), names: map[nameOf]map[engine.DocumentID]bool{}}
}

func (l *residents) get(id engine.DocumentID) *resident {
	r := l.by[id]
	if r != nil {
		l.use(r)
	}
	return r
}

// use puts a replica first among those that were used.
func (l *residents) use(r *resident) { l.put(r, l.used) }

// put puts a replica first in a list.
func (l *residents) put(r *resident, first *list.List) {
	if r.list == first {
		first.MoveToFront(r.place)
		return
	}
	if r.list != nil {
		r.list.Remove(r.place)
	}
	r.list, r.place = first, first.PushFront(r)
}

func (l *residents) add(r *resident) {
	l.by[r.id] = r
	l.use(r)
	name := r.name()
	if l.names[name] == nil {
		l.names[name] = map[engine.DocumentID]bool{}
	}
	for id := range l.names[name] {
		l.by[id].addRival(r.id)
		r.addRival(id)
	}
	l.names[name][r.id] = true
}

func (l *residents) drop(r *resident) {
	if l.by[r.id] != r {
		return
	}
	delete(l.by, r.id)
	r.list.Remove(r.place)
	name := r.name()
	if delete(l.names[name], r.id); len(l.names[name]) == 0 {
		delete(l.names, name)
	}
}

func (r *resident) name() nameOf {
	return nameOf{r.View.About.Service, r.View.About.Kind, r.View.About.Key}
}

// lag is how long it may take until what is stored of a resource tells how far other sites have come, unless they are all done: of many sites
// each takes its time. It doubles each time, mostLag at most.
const (
	lag     = time.Second
	mostLag = 8 * lag
)

// lags stands among the documents that are woken for those that lag.
const lags engine.DocumentID = "lags"

// lag has the loop see to a replica after a while, of which something is not stored.
func (l *residents) lag(r *resident, b *inbox, now time.Time) {
	r.lags, r.behind = true, now.Add(min(lag<<r.lagged, mostLag))
	if r.behind.Sub(now) < mostLag {
		r.lagged++
	}
	b.wakeAt(lags, r.behind)
	l.lagging = append(l.lagging, r)
}

// caughtUp takes out those that have lagged for long enough.
func (l *residents) caughtUp(b *inbox, now time.Time) (list []*resident) {
	var next time.Time
	l.lagging = slices.DeleteFunc(l.lagging, func(r *resident) bool {
		switch {
		case !r.lags || l.by[r.id] != r:
			return true
		case !r.behind.After(now):
			list = append(list, r)
			return true
		case next.IsZero() || r.behind.Before(next):
			next = r.behind
		}
		return false
	})
	if !next.IsZero() {
		b.wakeAt(lags, next)
	}
	return list
}

// shrink forgets idle replicas beyond the bound. waits reports whether one is needed soon.
func (l *residents) shrink(waits func(*resident) bool) {
	for l.done.Len() > l.most/4 {
		if r := l.done.Back().Value.(*resident); r.Idle() && !r.lags {
			l.drop(r)
		} else {
			l.use(r)
		}
	}
	excess := l.used.Len() - max(l.most-l.waiting.Len()-l.done.Len(), l.most/4)
	for at := l.used.Back(); at != nil && excess > 0; {
		r, before := at.Value.(*resident), at.Prev()
		switch {
		case !r.Idle() || r.lags:
		case waits(r):
			l.used.Remove(at)
			r.list, r.place = l.waiting, l.waiting.PushBack(r)
			excess--
		default:
			l.drop(r)
			excess--
		}
		at = before
	}
	for l.waiting.Len() > l.most {
		l.drop(l.waiting.Back().Value.(*resident))
	}
}

// reach returns the replica of a document, loaded where it is not in memory, or made where nothing of it is stored and a is not nil.
func (s *Site) reach(ctx context.Context, id engine.DocumentID, a *about) (*resident, error) {
	if r := s.residents.get(id); r != nil {
		return r, nil
	}
	r, err := s.load(ctx, id)
	if errors.Is(err, engine.ErrNotFound) && a != nil {
		r, err = s.newResident(id, a)
	}
	if err != nil {
		return nil, err
	}
	s.residents.add(r)
	return r, nil
}
