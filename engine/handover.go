package engine

import (
	"context"
	"errors"
	"net/http"
	"slices"
)

// A site that was set back, without its application, can make a new resource of an object that its lost run had for another one. Once it hears
// of that, which was created earlier and so has the name, the object goes back to it as it was when it was taken for the new one: it has what the lost
// run had done to it, actions too, and is neither deleted nor made anew.

// adopted returns the create by which this site has made a resource of an object that was there already; nil: it has made the object, or
// made it anew since.
func (v *view) adopted() *Operation {
	born := v.history.born(anyOperation)
	began := len(v.about.Placement) == 1 && v.about.Placement[0] == v.self // nothing else begins so
	if born == nil || !began || v.replicas[v.self].Made > 0 {
		return nil
	}
	return born
}

// handedOver has a later resource of the same name, which this site has made of the object local that the lost run had for r, give it back. It
// reports whether that is still to be waited for. The caller holds the turn.
func (s *Site) handedOver(ctx context.Context, r *resource, k *Kind, local LocalID, first *Operation) (waits bool, err error) {
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return false, err
	}
	key, mine := v.about.Key, s.claimOf(v)
	unlock()
	if !k.Natural() || mine.local == local {
		return false, nil
	}
	others, err := s.rivals(ctx, k, key, r.id)
	if err != nil {
		return true, err
	}
	for _, other := range others {
		if other.adopted && other.local == local && mine.before(other) {
			s.claimed.Store(other.document, true)
			s.queue.add(job{document: other.document}, 0)
			return true, s.note(ctx, r, first, Reply{}, errors.New("another resource of this name, created later, was made of its object"))
		}
	}
	return false, nil
}

// giveBack takes back what a resource has changed in the object that it was made of by create. It reports whether to try again later. The caller
// holds the turn.
func (s *Site) giveBack(ctx context.Context, r *resource, k *Kind, create *Operation) (again bool, err error) {
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return false, err
	}
	local, h := v.local(), v.history
	since := h.touching(slices.DeleteFunc(slices.Clone(h.ordered), func(o *Operation) bool { return o == create }), anyOperation)
	changed := alone(create).restoring(since, FoldOf(h, anyOperation))
	unlock()
	shown, err := s.shown(ctx, k, local)
	if isGone(shown, err) {
		return false, nil
	}
	if err != nil || shown.Status != http.StatusOK {
		return true, s.later(ctx, r, create, shown, err, s.heard(ctx, k.Service, r.id, shown, err, false))
	}
	left := changed.missingFrom(k, shown.Body)
	if left.Empty() {
		return false, nil
	}
	call, err := s.correction(k, r, left, shown, local)
	if err != nil { // it shows no JSON
		return false, nil
	}
	bounded, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	reply, err := s.cfg.App.Do(bounded, call)
	cancel()
	ctx = context.WithoutCancel(ctx)
	denied := s.heard(ctx, k.Service, r.id, reply, err, true)
	switch judge(TypeReplace, reply, err) {
	case verdictDone, verdictRefused: // what is refused is left to the owner as it is
		return false, nil
	}
	return true, s.later(ctx, r, create, reply, err, denied)
}
