package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// isOurs reports whether what the application shows under the identifier that the lost run had is the resource's replica.
// This run may have known it already. Otherwise no other resource has that identifier here, or the next one of its name, which taken
// tells, and, unless clients choose the identifiers of its kind, what it shows at the paths that its create has set is what some
// operation has put there: an application that was restored assigns the same identifiers again.
func (s *Site) isOurs(ctx context.Context, r *resource, k *Kind, local LocalID, shown Reply) (ours, taken bool, _ error) {
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return false, false, err
	}
	known := v.local() == local
	operations, divided := v.history.ordered, v.history.spread.divided()
	unlock()
	if known {
		return true, false, nil
	}
	if taken, err := s.isTaken(ctx, r, k, local); taken || err != nil {
		return false, taken, err
	}
	if k.Natural() {
		return true, false, nil
	}
	p, err := s.cfg.App.Present(ctx, k, shown)
	if err != nil {
		return false, false, nil
	}
	tree, err := k.parse(p.Body)
	if err != nil {
		return false, false, nil
	}
	return showsSome(tree, operations, divided), false, nil
}

// isTaken reports whether another resource has the identifier local here, or the next one of its name may have it: what was to make that one has
// had no answer.
func (s *Site) isTaken(ctx context.Context, r *resource, k *Kind, local LocalID) (bool, error) {
	other, err := s.cfg.Store.ResourceByLocal(ctx, k.Service, k.Name, local)
	if err == nil && other.Document != r.id {
		return true, nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, fmt.Errorf("look who has the identifier %s: %w", local, err)
	}
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil || v.exists() || !k.Natural() {
		return false, err
	}
	key := v.about.Key
	unlock()
	others, err := s.rivals(ctx, k, key, r.id)
	return slices.ContainsFunc(others, claim.there), err
}

// doubtMade takes the creates of gap for requests without a certain answer, where an object does not show what was set and may be
// the replica that a lost run had made: an operation that nobody else knew may have changed it, or the application may have given its
// identifier to something else since. A key tells, by how often the lost run had made it anew, or the marker that the object, which shown shows, has; where it has none, for what has
// changed it may have taken it away, a person does. What the lost run had run beside is in doubt, too. The caller holds the turn.
func (s *Site) doubtMade(ctx context.Context, r *resource, k *Kind, local LocalID, made uint64, shown Reply, gap []*Operation) error {
	for _, o := range gap {
		if o.Type != TypeCreate {
			continue
		}
		if err := s.mayHaveMade(ctx, r, k, o, s.firstKey(o)+madeAnew(made)); err != nil {
			return err
		}
		if resendable(k, o) || s.marks(k, o) && k.isMarked(shown.Body) {
			continue
		}
		why := fmt.Sprintf("this site was restored from a backup, and %s %s, which was the replica here, shows something else than was set", k.Name, local)
		if err := s.fail(ctx, r, o, Outcome{State: StateUncertain, Blocks: true, Error: why}); err != nil {
			return err
		}
	}
	_, _, err := s.doubts(ctx, r, "", gap)
	return err
}

// likeliest returns which of the objects that lost runs had is taken for the replica, with what was settled there: that of the last, unless
// another one shows what was set, and that does not. Again: it is to be tried again later. The caller holds the turn.
func (s *Site) likeliest(ctx context.Context, r *resource, k *Kind, mine Replica) (at LocalID, had map[Line]uint64, again bool, err error) {
	objects := mine.Lost.objects()
	if len(objects) == 0 {
		return "", mine.Lost.Settled, false, nil
	}
	for _, o := range objects {
		if mine.Local != "" || len(objects) == 1 {
			break
		}
		shown, err := s.read(ctx, k, o.Local)
		if isGone(shown, err) {
			continue
		}
		if err != nil || shown.Status != http.StatusOK {
			s.heard(ctx, k.Service, r.id, shown, err, false)
			return "", nil, true, nil
		}
		if ours, _, err := s.isOurs(ctx, r, k, o.Local, shown); ours || err != nil {
			return o.Local, o.Settled, false, err
		}
	}
	return objects[0].Local, objects[0].Settled, false, nil
}

// besideLost ends the recheck where this run has made an object anew, local, before it heard of lost, which the lost run had made, and both are
// there: local stays the replica, what the lost run had done is to be done to it, and a person sees what becomes of the other, also where the resource
// is deleted. So it is where several lost runs had each made one. Again: it is to be tried again later. The caller holds the turn.
func (s *Site) besideLost(ctx context.Context, r *resource, k *Kind, lost, local LocalID) (ends, again bool, err error) {
	for _, at := range []LocalID{lost, local} {
		shown, err := s.read(ctx, k, at)
		if isGone(shown, err) {
			return false, false, nil
		}
		if err != nil || shown.Status != http.StatusOK {
			s.heard(ctx, k.Service, r.id, shown, err, false)
			return false, true, nil
		}
	}
	other, err := s.cfg.Store.ResourceByLocal(ctx, k.Service, k.Name, lost)
	if err == nil && other.Document != r.id { // it has been given to something else since
		return false, false, nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, false, fmt.Errorf("look who has the identifier %s: %w", lost, err)
	}
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return false, false, err
	}
	create := newestCreate(v.history.Living(func(o *Operation) bool { return v.settled(v.self, o) }))
	before := Outcome{}
	if create != nil {
		before = v.outcomes[v.self][create.ID]
	}
	unlock()
	if create == nil {
		return false, false, nil
	}
	why := fmt.Sprintf("this site was restored from a backup, and %s %s, which was the replica here, is there beside %s, which has been made since: "+
		"take over what is in it, delete it and say that this is done", k.Name, lost, local)
	if before.beside() && !strings.Contains(before.Error, why) { // so is what another lost run had made
		why = before.Error + "; " + why
	}
	if err := s.fail(ctx, r, create, Outcome{State: StateUncertain, Cause: ConflictExists, Error: why}); err != nil {
		return false, false, err
	}
	return true, false, s.endRecheck(ctx, r, local, nil)
}

// mayHaveMade takes a create for a request without a certain answer, which has gone out under a key; empty: that is not known.
func (s *Site) mayHaveMade(ctx context.Context, r *resource, k *Kind, o *Operation, key string) error {
	c := &crossing{Operation: *o, Service: k.Service, Kind: k.Name, Document: r.id, Received: true, Key: key}
	if err := s.declare(ctx, c); err != nil {
		return err
	}
	s.opened.Store(o.ID, (*Reply)(nil))
	s.made(c)
	return nil
}

// showsSome reports whether tree has, at every path that a create among ops sets and that is not divided, what one of ops has put there.
func showsSome(tree any, ops []*Operation, divided []Pointer) bool {
	for _, create := range ops {
		if create.Type != TypeCreate || create.Change == nil {
			continue
		}
		for at, value := range create.Change.Set {
			if isContainer(value) || slices.Contains(divided, at) {
				continue
			}
			got, ok := valueAt(tree, at)
			if !slices.ContainsFunc(ops, func(o *Operation) bool { return o.Change.puts(at, got, ok) }) {
				return false
			}
		}
	}
	return true
}

// puts reports whether c may leave got at a path, or, when ok is not set, nothing. What it has added to may be anything.
func (c *Change) puts(at Pointer, got any, ok bool) bool {
	if c == nil {
		return false
	}
	inside := func(q Pointer) bool { return q != at && at.Contains(q) }
	around := func(q Pointer) bool { return q != at && q.Contains(at) }
	set := sortedPointers(c.Set)
	if !ok {
		return c.Whole || slices.ContainsFunc(c.Unset, func(p Pointer) bool { return p.Contains(at) }) || slices.ContainsFunc(set, around)
	}
	if _, object := got.(map[string]any); object && slices.ContainsFunc(set, inside) {
		return true
	}
	if _, adds := c.Add[at]; adds {
		return true
	}
	value, sets := c.Set[at]
	return sets && bytes.Equal(canonical(value), compact(got))
}
