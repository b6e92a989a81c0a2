package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Two sites that are cut off from each other can end up with two living resources of one name: one has deleted the resource
// and made it anew while the other made it too, or both have made it, with different placements. Wherever both are known the
// name belongs to the one that was created earlier. The other yields it: its object goes, and what it amounts to stays in its
// document until a person decides, or the owner is deleted.

// yielded reports whether another resource has this one's name at a site, as far as that site has said.
func (v *view) yielded(s SiteID) bool {
	return !v.replica(s).Yields.IsZero() && v.exists()
}

// claim is what a resource that has its name from clients has to do with that name at this site.
type claim struct {
	document DocumentID
	born     *Operation // nil: it does not exist, or is not for this site (any more)
	local    LocalID    // of its object here, which may still be there when it does not exist
	doubtful []*Operation
	yields   bool
	adopted  bool // its object was there before
}

// before reports whether the name is c's rather than d's.
func (c claim) before(d claim) bool {
	return c.born != nil && d.born != nil && Compare(c.born, d.born) < 0
}

// there reports whether c has, or may have, an object here.
func (c claim) there() bool { return c.local != "" || len(c.doubtful) > 0 }

// claimOf reads the claim off the view of r. The caller holds r.mu.
func (s *Site) claimOf(v *view) claim {
	c := claim{document: v.document, local: v.local(), yields: !v.replica(s.cfg.Self).Yields.IsZero()}
	st := s.standing(v)
	if v.part(s.cfg.Self) == partMember && !st.Dropped {
		c.born, c.adopted = v.history.born(anyOperation), v.adopted() != nil
	}
	for _, o := range v.history.ordered {
		if st.doubtful(o) {
			c.doubtful = append(c.doubtful, o)
		}
	}
	if made := s.maybeMade(v.document); made != nil && st.Gone && len(c.doubtful) == 0 { // of what is settled: it was to be made anew
		c.doubtful = []*Operation{&made.Operation}
	}
	return c
}

// rivals lists the claims of the other resources of the same name that are known here and not past. The caller holds the
// mutex of none.
func (s *Site) rivals(ctx context.Context, k *Kind, key ResourceID, self DocumentID) ([]claim, error) {
	rows, _, err := s.cfg.Store.Resources(ctx, ResourceFilter{ID: key, Service: k.Service, Kind: k.Name})
	if err != nil {
		return nil, fmt.Errorf("look for other resources called %s: %w", key, err)
	}
	var claims []claim
	for _, row := range rows {
		if row.Document == self {
			continue
		}
		c, err := s.claim(ctx, row.Document)
		if err != nil {
			return nil, fmt.Errorf("look for other resources called %s: %w", key, err)
		}
		claims = append(claims, c)
	}
	return claims, nil
}

func (s *Site) claim(ctx context.Context, id DocumentID) (claim, error) {
	_, v, unlock, err := s.locked(ctx, id)
	defer unlock()
	if err != nil {
		return claim{}, err
	}
	return s.claimOf(v), nil
}

// keepName sees to it that a resource has an object here only as long as its name is its own. It reports whether nothing
// else is to be done for the resource now, and if so, whether to try again later. The caller holds the turn.
func (s *Site) keepName(ctx context.Context, r *resource) (waits, again bool, err error) {
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return true, false, err
	}
	k, key, paused := v.kind, v.about.Key, v.replicas[s.cfg.Self].Paused != nil
	mine := s.claimOf(v)
	unlock()
	if !k.Natural() || paused {
		return false, false, nil
	}
	others, err := s.rivals(ctx, k, key, r.id)
	if err != nil || len(others) == 0 && !mine.yields {
		return err != nil, false, err
	}
	var owner *claim
	for i := range others {
		if others[i].before(mine) && (owner == nil || others[i].before(*owner)) {
			owner = &others[i]
		}
	}
	wake := func() {
		for _, c := range others {
			if c.born != nil {
				s.queue.add(job{document: c.document}, 0)
			}
		}
	}
	back, claimed := s.claimed.Load(r.id)
	switch {
	case mine.born == nil:
		if !mine.there() {
			wake() // the name is free
		}
		return false, false, nil
	case owner == nil:
		s.claimed.Delete(r.id)
		if mine.yields {
			err = s.yield(ctx, r, time.Time{})
		}
		return err != nil, false, err
	case !mine.there() && mine.yields:
		return true, false, nil
	case mine.there() && owner.local == "" && !claimed:
		s.queue.add(job{document: owner.document}, 0) // once nothing keeps it from being made, this one goes
		return false, false, nil
	case mine.there() && owner.local == "":
		if again, err := s.giveUp(ctx, r, k, key, back.(bool)); again || err != nil {
			return true, again, err
		}
	}
	if err := s.yield(ctx, r, s.cfg.Now()); err != nil {
		return true, false, err
	}
	s.claimed.Delete(r.id)
	wake()
	return true, false, nil
}

// yields reports whether the name of a resource, as far as it is known, is another's here.
func (r *resource) yields() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view != nil && r.view.yielded(r.view.self)
}

// giveUp deletes the object of a resource whose name is another's, or gives it back. It reports whether to try again later. The caller
// holds the turn.
func (s *Site) giveUp(ctx context.Context, r *resource, k *Kind, key ResourceID, back bool) (again bool, err error) {
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return false, err
	}
	born, adopted := v.history.born(anyOperation), v.adopted()
	admitted, _ := s.admit(k.Service, r.id)
	if !admitted {
		err = s.hold(ctx, r, s.waitingFor(k.Service))
	}
	unlock()
	if !admitted || err != nil {
		return true, err
	}
	release, err := s.naming.take(ctx, k, key)
	if err != nil {
		return true, err
	}
	defer release()
	defer r.crossing()()
	if back && adopted != nil {
		return s.giveBack(ctx, r, k, adopted)
	}
	o := &Operation{ID: born.ID, Type: TypeDelete, Method: http.MethodDelete, Path: k.Item}
	reply, err := s.call(ctx, k, o, s.here(ctx, k, string(key)), nil, "")
	ctx = context.WithoutCancel(ctx)
	alone := s.heard(ctx, k.Service, r.id, reply, err, true)
	if judge(TypeDelete, reply, err) == verdictDone {
		return false, nil
	}
	return true, s.later(ctx, r, born, reply, err, alone)
}

// yield publishes since when another resource has the name of this one here; zero: none has. The caller holds the turn.
func (s *Site) yield(ctx context.Context, r *resource, since time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	b := &Batch{}
	for _, o := range s.claimOf(v).doubtful {
		if !since.IsZero() { // what it may have made is gone
			b.Settled = append(b.Settled, o.ID)
		}
	}
	mine := v.replica(s.cfg.Self)
	v.wait(nil)
	mine.Local, mine.Observed, mine.Waits, mine.Yields, mine.At = "", nil, nil, since, s.cfg.Now()
	if err := s.write(ctx, r, []Entry{v.replicaAs(mine)}, b); err != nil {
		return fmt.Errorf("tell who has the name %s: %w", v.about.Key, err)
	}
	for _, id := range b.Settled {
		s.opened.Delete(id)
	}
	if !since.IsZero() {
		s.leftOver.Delete(r.id)
	}
	return nil
}

// takeName has whatever else is called the same go before a create of r is sent. It reports whether that has to wait. The
// caller holds the turn.
func (s *Site) takeName(ctx context.Context, r *resource, k *Kind, o *Operation, key ResourceID) (waits bool, err error) {
	intents, err := s.cfg.Store.Intents(ctx)
	if err != nil {
		return true, fmt.Errorf("list open intents: %w", err)
	}
	for _, i := range intents {
		var c crossing
		if err := s.unseal(i.Operation, i.Data, &c); err != nil {
			return true, fmt.Errorf("open intent %s: %w", i.Operation, err)
		}
		// What another site has asked for and changes the object waits for that itself. A request for another resource, or for none, may
		// make what is called the same, or change it, when it is sent again.
		waits := i.Operation != o.ID && (!c.Received || c.Operation.Type == TypeCreate)
		if i.Document != r.id {
			waits = s.concerns(ctx, &c, k, s.here(ctx, k, string(key)))
		}
		if waits {
			return true, s.note(ctx, r, o, Reply{}, errors.New("an earlier request of this site for it has had no certain answer yet"))
		}
	}
	others, err := s.rivals(ctx, k, key, r.id)
	if err != nil {
		return true, err
	}
	unlock := r.lock()
	defer unlock()
	ended := r.view != nil && r.view.history.born(anyOperation) == nil
	unlock()
	for _, other := range others {
		if !other.there() || ended && other.born == nil && other.local == "" { // of those that have ended, each finds out what it has made
			continue
		}
		if ended { // it was to be found out whether o was done: what it may have made is not there any more
			s.leftOver.Delete(r.id)
			return true, s.forgo(ctx, r, o)
		}
		why := errors.New("another incarnation of it is still here")
		if other.born != nil {
			s.claimed.Store(other.document, false)
			why = errors.New("another resource of this name, created later, is still here")
		}
		s.queue.add(job{document: other.document}, 0)
		return true, s.note(ctx, r, o, Reply{}, why)
	}
	return false, nil
}

// takeUpNames queues the resources whose name was another's when this process began: it may be free.
func (s *Site) takeUpNames(ctx context.Context) error {
	f := ConflictFilter{Kind: ConflictName, Site: s.cfg.Self, Limit: 1000}
	for {
		list, next, err := s.cfg.Store.Conflicts(ctx, f)
		if err != nil {
			return fmt.Errorf("list the names that are another's: %w", err)
		}
		for _, c := range list {
			s.queue.add(job{document: c.Document}, 0)
		}
		if f.Cursor = next; next == "" {
			return nil
		}
	}
}

// contest has all resources of a name looked at once one of them was created here.
func (s *Site) contest(ctx context.Context, k *Kind, key ResourceID) {
	rows, _, err := s.cfg.Store.Resources(ctx, ResourceFilter{ID: key, Service: k.Service, Kind: k.Name})
	if err != nil {
		s.cfg.Log.Error("look for other resources of the same name", "resource", string(key), "err", err)
		return
	}
	for _, row := range rows {
		if len(rows) > 1 {
			s.queue.add(job{document: row.Document}, 0)
		}
	}
}

// nameConflicts are the sites at which another resource has the name of this one.
func (v *view) nameConflicts() []Conflict {
	born := v.history.born(anyOperation)
	if born == nil {
		return nil
	}
	var list []Conflict
	for _, s := range v.placement().Sites {
		r := v.replica(s)
		if r.Yields.IsZero() {
			continue
		}
		list = append(list, Conflict{
			ID: conflictID(string(v.document), string(s), "name"), Kind: ConflictName, Document: v.document, Resource: v.about.Key,
			Service: v.about.Service, KindName: v.about.Kind, Site: s, Operation: born.ID, Type: TypeCreate, Since: r.Yields,
			Reason: "another resource of this name was created earlier and has the object here", Blocks: true,
			Actions: []Action{ActionDrop},
		})
	}
	return list
}

// dropName gives a resource up wherever another one has its name: those sites are removed from its placement, and where that
// would leave none it is deleted.
func (s *Site) dropName(ctx context.Context, id DocumentID) error {
	r := s.registry.acquire(id)
	defer s.registry.release(r)
	if err := r.take(ctx); err != nil {
		return err
	}
	defer r.pass()
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	unlock()
	if err != nil {
		return fmt.Errorf("drop a resource whose name is another's: %w", err)
	}
	others, err := s.rivals(ctx, v.kind, v.about.Key, id)
	if err != nil {
		return fmt.Errorf("drop a resource whose name is another's: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, err = s.open(ctx, r); err != nil {
		return fmt.Errorf("drop a resource whose name is another's: %w", err)
	}
	if !v.yielded(s.cfg.Self) || v.part(s.cfg.Self) != partMember {
		return ErrSettled
	}
	if !slices.ContainsFunc(others, func(c claim) bool { return c.before(s.claimOf(v)) }) { // it has its name again, as is known now
		s.queue.add(job{document: id}, 0)
		return ErrSettled
	}
	o := &Operation{ID: OperationID(s.cfg.NewID()), Type: TypePlace, Place: &PlacementChange{}}
	for _, site := range v.placement().Sites {
		if v.yielded(site) && len(o.Place.Remove) < maxPlaced {
			o.Place.Remove = append(o.Place.Remove, site)
		}
	}
	if len(o.Place.Remove) == len(v.placement().Sites) {
		o.Type, o.Method, o.Path, o.Place = TypeDelete, http.MethodDelete, v.kind.Item, nil
	}
	// What it goes with is to have seen all that is known here, so that nothing of that survives.
	passed := []Entry(nil)
	var over []*Operation
	for _, p := range v.history.ordered {
		if !v.settled(s.cfg.Self, p) {
			passed, over = append(passed, s.outcomeEntry(p, Outcome{State: StateSuperseded, Error: "it was dropped: its name is another's"})), append(over, p)
		}
	}
	if len(over) > 0 && o.Type == TypeDelete {
		settled := &Batch{}
		for _, p := range over {
			settled.Settled = append(settled.Settled, p.ID)
		}
		if err := s.write(ctx, r, append(passed, s.replicaEntry(v, "", over...)), settled); err != nil {
			return fmt.Errorf("drop a resource whose name is another's: %w", err)
		}
	}
	s.stamp(v, o)
	encoded, err := o.Encode()
	if err != nil {
		return fmt.Errorf("drop a resource whose name is another's: %w", err)
	}
	if err := s.write(ctx, r, []Entry{{Map: MapOperations, Key: o.Key(), Value: encoded}, s.replicaEntry(v, "", o)}, &Batch{}); err != nil {
		return fmt.Errorf("drop a resource whose name is another's: %w", err)
	}
	s.queue.add(job{document: id}, 0)
	return nil
}
