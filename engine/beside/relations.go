package beside

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

const (
	// settling is how long after the start of an agent a site that it has not seen yet does not count as out of reach.
	settling = 10 * time.Second
	// maxLacking is how many of the things that a resource lacks its reason names.
	maxLacking = 3
	// sweepPage is how many resources are listed at once.
	sweepPage = 100
)

// directory is what the site knows of kinds and of resources by their names: a *Site.
type directory interface {
	Kind(service engine.ServiceName, name engine.KindName) *engine.Kind
	Kinds() []*engine.Kind
	Replicates(k *engine.Kind) bool
	Lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error)
}

// index is where the rows of resources are: an engine.Store.
type index interface {
	ResourceByID(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) (engine.ResourceRow, error)
	ResourceByDocument(ctx context.Context, id engine.DocumentID) (engine.ResourceRow, error)
	Resources(ctx context.Context, f engine.ResourceFilter) (rows []engine.ResourceRow, next string, err error)
}

// relating is what relations work with.
type relating struct {
	self  engine.SiteID
	known directory
	index index
	// status is what is known of the way to each other site.
	status func() map[engine.SiteID]engine.SiteStatus
	// look lets f look at a replica: Site.Look.
	look func(ctx context.Context, id engine.DocumentID, f func(*replica.Replica)) error
	// tell hands an input to a replica, and does not wait.
	tell    func(engine.DocumentID, replica.Input)
	name    func(engine.SiteID) engine.SiteName
	newID   func() string
	now     func() time.Time
	backoff func(tries int) time.Duration
	log     *slog.Logger
}

// relations sees to what is between resources: what one relies on and lacks here, what waits for another, what the application destroys
// along with another. It is safe for concurrent use.
type relations struct {
	relating
	due     *agenda[relationKey]
	started time.Time

	mu sync.Mutex
	// relies are the resources here that rely on others.
	relies map[engine.DocumentID]reliance
	// refers is what each resource of this site refers to, referred how many refer to something: of most resources nothing has to be looked for when
	// they shift. Awaited is what each waits for whose row may not say so yet.
	refers   map[engine.DocumentID][]engine.Target
	referred map[engine.Target]int
	awaited  map[engine.Target]engine.Target
	// asked are those that were asked to be no more, and have not answered, since when.
	asked map[engine.DocumentID]time.Time
}

// reliance is what a resource here relies on, and from which other sites it has that.
type reliance struct {
	on   []engine.Relation
	from []engine.SiteID
}

// relationKey names a resource whose relations are to be looked at. Exactly one field is set.
type relationKey struct {
	relies engine.DocumentID // it may lack something
	target engine.DocumentID // others may refer to it, or lie in it
	ended  engine.DocumentID // it is no more, and may have had parts
}

func newRelations(r relating) *relations {
	return &relations{relating: r, due: newAgenda[relationKey](r.now, r.backoff, 1), started: r.now(),
		relies: map[engine.DocumentID]reliance{}, refers: map[engine.DocumentID][]engine.Target{}, referred: map[engine.Target]int{},
		awaited: map[engine.Target]engine.Target{}, asked: map[engine.DocumentID]time.Time{}}
}

// kept is to be called when the row of a resource was stored, in place of another or none.
func (r *relations) kept(before, now *engine.ResourceRow) {
	id := now.Document
	on := r.reliesOn(now)
	r.mu.Lock()
	was, known := r.relies[id]
	news := !slices.EqualFunc(was.on, on, sameRelation)
	switch {
	case len(on) > 0:
		r.relies[id] = reliance{on, was.from}
	case known:
		delete(r.relies, id)
	}
	r.refer(now)
	itself := engine.Target{Service: now.Service, Kind: now.Kind, ID: now.ID}
	r.await(itself, engine.Target{}) // its row says what it waits for
	referred := r.referred[itself] > 0
	r.mu.Unlock()
	if news {
		r.due.add(relationKey{relies: id}, 0)
	}
	k := r.known.Kind(now.Service, now.Kind)
	if k == nil {
		return
	}
	if r.shifts(before, now) && (referred || r.mayHold(k)) {
		r.due.add(relationKey{target: id}, 0)
	}
	if r.gone(now) && !(before.Document != "" && r.gone(before)) && (len(composed(now.Relations)) > 0 || r.mayHold(k) || k.Within != "") {
		r.due.add(relationKey{ended: id}, 0)
	}
}

// reliesOn are the references of a resource that it needs for as long as it lives here.
func (r *relations) reliesOn(row *engine.ResourceRow) []engine.Relation {
	if st, here := row.Sites[r.self]; !here || st.State == engine.StateLeaving || row.State.Past() {
		return nil
	}
	var on []engine.Relation
	for _, to := range row.Relations {
		if to.Type == engine.RelationReliance {
			on = append(on, to)
		}
	}
	return on
}

func sameRelation(a, b engine.Relation) bool {
	return a.Target == b.Target && slices.Equal(a.Found, b.Found)
}

// gone reports whether a resource was deleted, as far as this site is concerned.
func (r *relations) gone(row *engine.ResourceRow) bool {
	return row.State == engine.StateDeleted || row.GoneAt(r.self)
}

// shifts reports whether what refers to a resource may have to be seen anew: it came, went, lives elsewhere, has an object here, or is to have none.
func (r *relations) shifts(before, now *engine.ResourceRow) bool {
	same := maps.EqualFunc(before.Sites, now.Sites, func(a, b engine.ReplicaStatus) bool {
		return (a.State == engine.StateLeaving) == (b.State == engine.StateLeaving)
	})
	return before.Document == "" || !same || before.State.Past() != now.State.Past() || (before.Local == "") != (now.Local == "") ||
		before.GoneAt(r.self) != now.GoneAt(r.self)
}

// refer notes what a resource refers to. It is called with mu held.
func (r *relations) refer(row *engine.ResourceRow) {
	var to []engine.Target
	if !row.State.Past() {
		for _, on := range row.Relations {
			to = append(to, on.Target)
			r.referred[on.Target]++
		}
	}
	for _, t := range r.refers[row.Document] {
		r.refersNoMore(t)
	}
	if delete(r.refers, row.Document); len(to) > 0 {
		r.refers[row.Document] = to
	}
}

// await notes that a resource waits for another one, which comes in the same wake-up maybe; zero: for none. It is called with mu held.
func (r *relations) await(itself, to engine.Target) {
	before := r.awaited[itself]
	if delete(r.awaited, itself); to != (engine.Target{}) {
		r.awaited[itself] = to
		r.referred[to]++
	}
	if before != (engine.Target{}) {
		r.refersNoMore(before)
	}
}

// refersNoMore takes out one that has referred to something. It is called with mu held.
func (r *relations) refersNoMore(to engine.Target) {
	if r.referred[to]--; r.referred[to] == 0 {
		delete(r.referred, to)
	}
}

// reached is to be called when another site has come into reach, or has gone out of it.
func (r *relations) reached(site engine.SiteID) {
	r.mu.Lock()
	var ids []engine.DocumentID
	for id, on := range r.relies {
		if slices.Contains(on.from, site) {
			ids = append(ids, id)
		}
	}
	r.mu.Unlock()
	slices.Sort(ids)
	for _, id := range ids {
		r.due.add(relationKey{relies: id}, 0)
	}
}

// takeUp is for the start: what others rely on may have changed meanwhile, which is seen to once the other sites have had time to be
// found, and parts may be left of what was deleted.
func (r *relations) takeUp(ctx context.Context) error {
	for _, state := range []engine.State{"", engine.StateDeleted} {
		err := r.list(ctx, engine.ResourceFilter{Related: true, State: state}, func(row engine.ResourceRow) {
			on := r.reliesOn(&row)
			r.mu.Lock()
			if r.refer(&row); len(on) > 0 {
				r.relies[row.Document] = reliance{on: on}
			}
			r.mu.Unlock()
			if len(on) > 0 {
				r.due.add(relationKey{relies: row.Document}, settling)
			}
			if r.gone(&row) && len(composed(row.Relations)) > 0 {
				r.due.add(relationKey{ended: row.Document}, 0)
			}
		})
		if err != nil {
			return fmt.Errorf("list what has relations: %w", err)
		}
	}
	return r.takeUpContainers(ctx)
}

// list calls each for every resource that a filter selects.
func (r *relations) list(ctx context.Context, f engine.ResourceFilter, each func(engine.ResourceRow)) error {
	f.Limit = sweepPage
	for {
		rows, next, err := r.index.Resources(ctx, f)
		if err != nil {
			return err
		}
		for _, row := range rows {
			each(row)
		}
		if f.Cursor = next; next == "" {
			return nil
		}
	}
}

// step does one thing that is due, and returns when the next is due; zero: nothing is.
func (r *relations) step(ctx context.Context, now time.Time) time.Time {
	return r.due.step(now, func(k relationKey) (again bool) {
		var err error
		switch {
		case k.relies != "":
			err = r.support(ctx, k.relies)
		case k.target != "":
			err = r.shifted(ctx, k.target)
		default:
			if again, err = r.destroyAlong(ctx, k.ended); err == nil {
				err = r.wakeContainer(ctx, k.ended)
			}
		}
		if err == nil || errors.Is(err, engine.ErrNotFound) {
			return again
		}
		if ctx.Err() == nil {
			r.log.Error("see to the relations of a resource", "document", string(k.relies+k.target+k.ended), "err", err)
		}
		return true
	})
}

// shifted has what relies on a resource looked at, and what waits for it tried again.
func (r *relations) shifted(ctx context.Context, id engine.DocumentID) error {
	row, err := r.index.ResourceByDocument(ctx, id)
	if err != nil {
		return fmt.Errorf("find what refers to document %s: %w", id, err)
	}
	to := engine.Target{Service: row.Service, Kind: row.Kind, ID: row.ID}
	decided := !row.State.Past() && (row.Local != "" || row.GoneAt(r.self)) // nothing has to wait for it any more
	err = r.list(ctx, engine.ResourceFilter{RefersTo: to}, func(other engine.ResourceRow) {
		if slices.ContainsFunc(r.reliesOn(&other), func(on engine.Relation) bool { return on.Target == to }) {
			r.due.add(relationKey{relies: other.Document}, 0)
		}
		if other.Pending && decided {
			r.tell(other.Document, &replica.News{Hurry: true})
		}
	})
	if err != nil {
		return fmt.Errorf("find what refers to %s: %w", row.ID, err)
	}
	k := r.known.Kind(row.Service, row.Kind)
	if k == nil || !decided {
		return nil
	}
	return r.inside(ctx, k, row.ID, func(other engine.ResourceRow) {
		if other.Pending {
			r.tell(other.Document, &replica.News{Hurry: true})
		}
	})
}

// wakeContainer has the container tried again of what has ended: its deletion may have waited for that.
func (r *relations) wakeContainer(ctx context.Context, id engine.DocumentID) error {
	row, err := r.index.ResourceByDocument(ctx, id)
	if err != nil {
		return fmt.Errorf("find the container of document %s: %w", id, err)
	}
	k := r.known.Kind(row.Service, row.Kind)
	if k == nil || k.Within == "" {
		return nil
	}
	within, _ := k.Split(string(row.ID))
	c := r.known.Kind(k.Service, k.Within)
	if c == nil || within == "" {
		return nil
	}
	owner, err := r.index.ResourceByID(ctx, c.Service, c.Name, engine.ResourceID(c.FromContainer(within)))
	if err == nil && owner.Pending {
		r.tell(owner.Document, &replica.News{Hurry: true})
	}
	if errors.Is(err, engine.ErrNotFound) {
		err = nil
	}
	return err
}

// support sees what a resource lacks at this site of what it relies on, and tells it where that is news.
func (r *relations) support(ctx context.Context, id engine.DocumentID) error {
	row, err := r.index.ResourceByDocument(ctx, id)
	if err != nil {
		return fmt.Errorf("see what document %s relies on: %w", id, err)
	}
	fresh := r.started.Add(settling).Sub(r.now())
	reachable := r.reachable(fresh > 0)
	var reasons []string
	var from []engine.SiteID
	on := r.reliesOn(&row)
	for _, to := range on {
		var target *engine.ResourceRow
		found, err := r.index.ResourceByID(ctx, to.Service, to.Kind, to.ID)
		switch {
		case err == nil:
			target = &found
		case !errors.Is(err, engine.ErrNotFound):
			return fmt.Errorf("find what %s relies on: %w", row.ID, err)
		}
		if sites := holdersOf(to, target); !slices.Contains(sites, r.self) {
			from = append(from, sites...)
		}
		if why := r.unsupported(to, target, reachable); why != "" && len(reasons) < maxLacking {
			reasons = append(reasons, why)
		}
	}
	r.mu.Lock()
	if len(on) > 0 {
		r.relies[id] = reliance{on, from}
	}
	r.mu.Unlock()
	if fresh > 0 && len(from) > 0 { // a site that was not seen yet has been given time
		r.due.add(relationKey{relies: id}, fresh)
	}
	if len(reasons) > 0 || row.Reason != "" { // a resource that lacks something says so
		r.tell(id, &replica.Lacks{Why: strings.Join(reasons, "; ")})
	}
	return nil
}

// reachable tells which other sites can be reached now; fresh says that those which were not seen yet may be.
func (r *relations) reachable(fresh bool) func(engine.SiteID) bool {
	status := r.status()
	return func(id engine.SiteID) bool {
		st := status[id]
		return st.Reachable || fresh && st.LastSeen.IsZero()
	}
}

// holdersOf returns where what a relation names is, as far as this site knows. Target is nil when it does not share it.
func holdersOf(to engine.Relation, target *engine.ResourceRow) []engine.SiteID {
	if target != nil && target.State != engine.StateLeft {
		return sitesOf(target)
	}
	return to.Found
}

// sitesOf lists the sites of a resource that are to stay.
func sitesOf(row *engine.ResourceRow) []engine.SiteID {
	var ids []engine.SiteID
	for id, st := range row.Sites {
		if st.State != engine.StateLeaving {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// unsupported says why a resource lacks here what it relies on; empty when it does not, as far as is known.
func (r *relations) unsupported(to engine.Relation, target *engine.ResourceRow, reachable func(engine.SiteID) bool) string {
	if target != nil && target.State == engine.StateDeleted {
		return fmt.Sprintf("relies on %s %s, which was deleted", to.Kind, to.ID)
	}
	sites := holdersOf(to, target)
	if len(sites) == 0 || slices.ContainsFunc(sites, func(s engine.SiteID) bool { return s == r.self || reachable(s) }) {
		return ""
	}
	names := make([]string, len(sites))
	for i, s := range sites {
		names[i] = string(r.name(s))
	}
	slices.Sort(names)
	return fmt.Sprintf("relies on %s %s, and no site that has it can be reached (%s)", to.Kind, to.ID, strings.Join(names, ", "))
}
