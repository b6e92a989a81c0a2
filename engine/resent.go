package engine

import (
	"context"
	"net/http"
)

// A request without a certain answer is sent again where that does no harm, and may be refused: an application that has moved on
// since the first time refuses to move once more. What it shows then says whether the first time counted.

// seen tells what an application shows of an operation that it has refused when it was sent again: that it was done, that it was
// not (verdictRefused), neither (verdictUnknown), or nothing now (verdictLater). Before is what was there before the first time.
func (s *Site) seen(ctx context.Context, k *Kind, o *Operation, before Fold, local LocalID) (verdict, Reply) {
	if local == "" { // what it may have made cannot be found
		return verdictUnknown, Reply{}
	}
	if v := s.written(ctx, k, o, local); v != verdictUnknown {
		return v, Reply{Status: http.StatusNoContent}
	}
	shown, err := s.shown(ctx, k, local)
	there := err == nil && shown.Status == http.StatusOK
	switch {
	case !there && !isGone(shown, err):
		return verdictLater, shown
	case o.Type == TypeDelete && !there:
		return verdictDone, Reply{Status: http.StatusNoContent}
	case o.Type == TypeDelete, o.Type == TypeCreate && !there:
		return verdictRefused, shown
	case !there || o.Change.Empty() || len(o.Change.Add) > 0: // nothing can be seen of it
		return verdictUnknown, shown
	case showsChange(k, shown.Body, o.Change):
		shown.Local = local
		return verdictDone, shown
	case o.Type == TypeAction || o.Type == TypeCreate:
		return verdictUnknown, shown
	case showsChange(k, shown.Body, before.restoring([]*Operation{o})):
		return verdictRefused, shown
	}
	return verdictUnknown, shown
}

// sentBefore reports whether an operation may have reached the application already.
func (s *Site) sentBefore(r *resource, o *Operation) bool {
	_, opened := s.opened.Load(o.ID)
	_, unsure := s.unsure.Load(o.ID)
	_, resumed := s.resumed.Load(r.id)
	return opened || unsure || resumed
}

// refusedAgain decides about an operation of another site that was refused when it may have been done before. decided is false
// when it certainly was not. The caller holds the turn.
func (s *Site) refusedAgain(ctx context.Context, r *resource, k *Kind, o *Operation, local LocalID, refusal Reply, step Step) (decided, again bool, err error) {
	before, _, err := s.standsAt(ctx, r)
	if err != nil {
		return true, false, err
	}
	switch v, shown := s.seen(ctx, k, o, before, local); v {
	case verdictDone:
		return true, false, s.succeed(ctx, r, k, o, shown, local, step)
	case verdictLater:
		return true, true, s.note(ctx, r, o, refusal, nil)
	case verdictRefused:
		return false, false, nil
	}
	return true, false, s.fail(ctx, r, o, Outcome{State: StateUncertain, Status: refusal.Status, Blocks: true, Error: againRefused + tell(refusal, nil)})
}

// refusedAtOrigin decides about a request of this site that was refused when it was sent again. It reports whether to try once more.
// The caller holds the turn of r, unless it is nil.
func (s *Site) refusedAtOrigin(ctx context.Context, r *resource, k *Kind, c *crossing, before Fold, local LocalID, refusal Reply) (again bool, err error) {
	if c.About != nil { // what the request had was its container
		local = s.here(ctx, k, string(c.About.Key))
	}
	if !c.Plain {
		if err := s.fix(k, &c.Operation, before, c.shown(before)); err != nil {
			return true, err
		}
	}
	if n := k.effect(&c.Operation); n != nil && !k.needsBefore(&c.Operation) {
		c.Operation.Change = n.change(k, nil, nil)
	}
	division, err := s.divisionOf(ctx, r, k, c)
	if err != nil {
		return true, err
	}
	o, stood := division.mine(&c.Operation, before)
	switch v, shown := s.seen(ctx, k, o, stood, local); v {
	case verdictDone:
		return s.published(ctx, r, k, c, shown)
	case verdictLater:
		return true, nil
	case verdictRefused:
		return false, s.dismiss(ctx, c, OperationStatus{State: StateRejected, Status: refusal.Status, Error: tell(refusal, nil), At: s.cfg.Now()})
	}
	c.Asked, c.Why = true, againRefused+tell(refusal, nil)
	return false, s.ask(ctx, c)
}

const againRefused = "it was sent again after it had had no certain answer: "
