package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// A repair that has to be repeated is contention: something else goes on changing the object. After repairsMost repairs
// within repairsWithin the agent stops and leaves it to a person.
const (
	repairsMost   = 3
	repairsWithin = 10 * time.Minute
	maxKept       = 16 // times that a site remembers
)

// isGone reports whether an answer says that the application has no such object.
func isGone(r Reply, err error) bool {
	return err == nil && (r.Status == http.StatusNotFound || r.Status == http.StatusGone)
}

// vanished takes in that the application has no object of the resource any more, though no operation deleted it. It is made
// anew from the fold by what is done next, unless that has had to be done too often: done is false then, and the resource is
// contended. The caller holds the turn.
func (s *Site) vanished(ctx context.Context, r *resource, local LocalID) (done bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return false, err
	}
	mine, now := v.replica(s.cfg.Self), s.cfg.Now()
	if mine.Local != local {
		return true, nil
	}
	mine.At = now
	repairs := v.repairsHere(now)
	if done = len(repairs) < repairsMost; done {
		mine.Local, mine.Observed, mine.Repairs, mine.Contended = "", nil, append(repairs, now), ""
	} else if mine.Contended != "" {
		return false, nil
	} else {
		mine.Contended = fmt.Sprintf("it was made anew %d times within %s and was gone from the application again: find out what deletes it, then keep a site",
			len(repairs), repairsWithin)
	}
	s.cfg.Log.Warn("an object is gone from the application, though no operation deleted it", "resource", string(v.about.Key), "again", done)
	b := &Batch{}
	for _, o := range v.history.ordered { // a patch that may have run on it is not there any more
		if _, sent := s.opened.Load(o.ID); done && sent && o.Type == TypePatch {
			b.Settled = append(b.Settled, o.ID)
		}
	}
	if err := s.write(ctx, r, []Entry{v.replicaAs(mine)}, b); err != nil {
		return done, err
	}
	for _, id := range b.Settled {
		s.opened.Delete(id)
	}
	return done, nil
}

// replicaAs is this site's entry about its replica, in the epoch that it writes in.
func (v *view) replicaAs(r Replica) Entry {
	current := v.current().number
	if r.Settled = without(r.Settled, current); r.Settled == nil {
		r.Settled = map[Line]uint64{}
	}
	r.Hindsight = maps.Clone(r.Hindsight)
	maps.DeleteFunc(r.Hindsight, func(name Line, _ Hindsight) bool { return name.over(current) })
	r.Final, r.Whole, r.Over = v.final(), current > 0 && v.whole(), current > 0 && len(v.epochs) == 1
	return Entry{Map: MapReplicas, Key: string(v.self), Value: compactStruct(r)}
}

// repairsHere lists when this site has made its object anew lately, and since a person last decided what is to be kept.
func (v *view) repairsHere(now time.Time) []time.Time {
	since := now.Add(-repairsWithin)
	for _, at := range v.keeps(now) {
		if at.After(since) {
			since = at
		}
	}
	return after(since, v.replica(v.self).Repairs)
}

// keeps lists when somebody has had the sites corrected to one of them lately.
func (v *view) keeps(now time.Time) []time.Time {
	var all []time.Time
	for _, s := range v.placement().Sites {
		all = append(all, after(now.Add(-repairsWithin), v.replica(s).Kept)...)
	}
	return all
}

func after(since time.Time, times []time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(times), func(at time.Time) bool { return !at.After(since) })
}

// gone finds out whether an answer of 404 to a change means that the object is gone, and has it made anew then. handled is
// false when the answer is to be taken for the refusal that it is. The caller holds the turn.
func (s *Site) gone(ctx context.Context, r *resource, k *Kind, o *Operation, local LocalID, reply Reply) (handled, again bool, err error) {
	if o.Type == TypeCreate || !isGone(reply, nil) {
		return false, false, nil
	}
	shown, err := s.read(ctx, k, local)
	switch {
	case err != nil, shown.Status >= 500:
		return true, true, s.note(ctx, r, o, shown, err)
	case !isGone(shown, nil):
		return false, false, nil
	}
	handled, err = s.vanished(ctx, r, local)
	return handled, false, err
}

// bringBack has an object made anew that two looks have not found. It looks once more first, while no other request is under
// way, and none of this site's own is left open: that may have deleted it.
func (s *Site) bringBack(ctx context.Context, r *resource, k *Kind, local LocalID) error {
	if err := r.take(ctx); err != nil {
		return err
	}
	defer r.pass()
	var waits *Refusal
	if err := s.settleEarlier(ctx, r); errors.As(err, &waits) {
		return nil // the next look tells
	} else if err != nil {
		return err
	}
	if shown, err := s.read(ctx, k, local); !isGone(shown, err) {
		return nil // the next look tells
	}
	_, err := s.vanished(ctx, r, local)
	s.queue.add(job{document: r.id}, 0)
	return err
}

// remade makes anew what the application has lost, though no operation deleted it, before a request could make another object in its place:
// that would lack what had been set before, and nobody would see to it. The caller holds the turn.
func (s *Site) remade(ctx context.Context, r *resource, k *Kind) error {
	local, lost, err := s.lost(ctx, r)
	if err != nil {
		return err
	}
	if local != "" {
		shown, err := s.read(ctx, k, local)
		if err != nil || shown.Status >= 500 {
			return hides(k, errors.New(tell(shown, err)))
		}
		if lost = isGone(shown, nil); lost {
			if _, err := s.vanished(ctx, r, local); err != nil {
				return err
			}
		}
	}
	if !lost {
		return nil
	}
	if _, err := s.drain(ctx, r); err != nil {
		return err
	}
	if _, lost, err = s.lost(ctx, r); lost || err != nil {
		return &Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err, Detail: fmt.Sprintf(
			"the application's service %s has lost the %s, which has to be made anew first; nothing has happened, try again later", k.Service, k.Name)}
	}
	return nil
}

// lost returns this site's identifier of a resource, and whether its application has lost the object.
func (s *Site) lost(ctx context.Context, r *resource) (LocalID, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if errors.Is(err, ErrNotFound) { // what is to be created
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	return v.local(), v.unmade(s.cfg.Self) && !v.yielded(s.cfg.Self), nil
}

// Keep makes what this site's application shows of a resource what all sites show: it becomes an operation of this site. When
// that was done a few times lately and did not last, it is refused unless force says that the cause is found. ErrNotFound: the
// document is not here; otherwise the error may be a *Refusal.
func (s *Site) Keep(ctx context.Context, id DocumentID, user string, force bool) (OperationID, error) {
	r := s.registry.acquire(id)
	defer s.registry.release(r)
	if err := r.take(ctx); err != nil {
		return "", err
	}
	defer r.pass()
	if err := s.settleEarlier(ctx, r); err != nil {
		return "", err
	}
	if _, err := s.drain(ctx, r); err != nil {
		return "", err
	}
	before, local, err := s.standsAt(ctx, r)
	if err != nil {
		return "", err
	}
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		unlock()
		return "", fmt.Errorf("keep what this site shows: %w", err)
	}
	key, kind, keeps := v.about.Key, v.kind, len(v.keeps(s.cfg.Now()))
	unlock()
	switch {
	case local == "":
		return "", keepRefused("%s has no object of %s to keep; keep another site, or delete the resource", s.name(s.cfg.Self), key)
	case keeps >= repairsMost && !force:
		return "", &Refusal{Status: http.StatusConflict, Type: "contention", Detail: fmt.Sprintf(
			"%s was repaired %d times within %s and was changed again: find out what changes it, then force it", key, keeps, repairsWithin)}
	}
	shown, err := s.shown(ctx, kind, local)
	if err != nil || shown.Status != http.StatusOK {
		return "", keepRefused("%s does not show %s now (%s)", s.name(s.cfg.Self), key, tell(shown, err))
	}
	tree, err := kind.parse(shown.Body)
	if _, object := tree.(map[string]any); err != nil || !object {
		return "", keepRefused("the representation of %s is no JSON object: write it anew instead", key)
	}
	if tree, err = s.keptWhole(ctx, r, kind, tree, before); err != nil {
		return "", err
	}
	o := s.keeping(kind, tree, before)
	o.User = user
	return o.ID, s.publishKeep(ctx, r, o)
}

func keepRefused(format string, args ...any) *Refusal {
	return &Refusal{Status: http.StatusConflict, Type: "keep", Detail: fmt.Sprintf(format, args...)}
}

// keeping is the operation that sets all that a representation shows.
func (s *Site) keeping(k *Kind, tree any, before Fold) *Operation {
	for _, p := range k.Ignore {
		unsetAll(tree, p)
	}
	nothing := Fold{}
	change := replaceChange(tree, nothing).without(k)
	shown := map[Pointer]bool{}
	for p := range change.Set {
		shown[p] = true
	}
	for _, p := range sortedPointers(before.paths()) {
		if !shown[p] && !k.Ignored(p) {
			change.Unset = append(change.Unset, p)
		}
	}
	o := &Operation{ID: OperationID(s.cfg.NewID()), Type: TypeReplace, Method: http.MethodPut, Path: k.Item, Body: compact(tree),
		Header: map[string]string{"Content-Type": "application/json"}, Change: change, Repair: true}
	switch { // the body is JSON, and so is what a fold shows
	case k.MergePatch:
		o.Type, o.Method = TypeMerge, http.MethodPatch
		o.Body, _ = change.MergePatch(k, o.Body)
		o.Header["Content-Type"] = "application/merge-patch+json"
	case k.JSONPatch != "":
		o.Type, o.Method = TypePatch, http.MethodPatch
		o.Body, _ = change.JSONPatch(k, before.Representation())
		o.Header["Content-Type"] = k.JSONPatch
	}
	return o
}

// publishKeep publishes an operation whose effect this site's application shows already. The caller holds the turn.
func (s *Site) publishKeep(ctx context.Context, r *resource, o *Operation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	s.stamp(v, o)
	encoded, err := o.Encode()
	if err != nil || len(o.Body) > MaxInlineBody {
		return &Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Err: err,
			Detail: "the representation is more than an operation can carry to other sites; nothing has happened"}
	}
	mine := v.withSettled(v.local(), s.cfg.Now(), o)
	if mine.Kept = append(after(mine.At.Add(-repairsWithin), mine.Kept), mine.At); len(mine.Kept) > maxKept {
		mine.Kept = mine.Kept[1:]
	}
	entries := []Entry{{Map: MapOperations, Key: o.Key(), Value: encoded}, v.replicaAs(mine)}
	entries = append(entries, s.appliedAfterAll(v, v.madeGood(anyOperation), Reply{})...)
	if v.history.spread.divides(o) { // this part, too, is to show its share of what is kept
		entries = append(entries, s.outcomeEntry(o, Outcome{State: StatePending, Again: true}))
		s.queue.add(job{document: r.id}, 0)
	}
	return s.write(ctx, r, entries, &Batch{})
}

// madeGood lists the operations that were refused here and whose effect is there now, by what by tells: they are refused no
// more.
func (v *view) madeGood(by func(*Operation) bool) []*Operation {
	var ops []*Operation
	for _, o := range v.history.ordered {
		if out := v.outcomes[v.self][o.ID]; out.State == StateRejected && !out.Blocks && o.Change != nil && by(o) {
			ops = append(ops, o)
		}
	}
	return ops
}

// repairedBy tells which operations a repair among ops has made good: those that its site had settled.
func (v *view) repairedBy(ops []*Operation) func(*Operation) bool {
	return func(o *Operation) bool {
		return slices.ContainsFunc(ops, func(by *Operation) bool { return by.Repair && v.history.Before(o, by) })
	}
}
