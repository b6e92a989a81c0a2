package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// firm is how many times LookAfter lie between the looks that are to tell whether sites differ for good.
const firm = 4

// unlooked returns after what delay this site is to look at what its application shows, ok false when there is no need.
func (s *Site) unlooked(v *view) (delay time.Duration, ok bool) {
	mine := v.replica(s.cfg.Self)
	switch {
	case !v.exists() || !v.quiet(s.cfg.Self):
		return 0, false
	case mine.Observed == nil:
		return s.cfg.LookAfter, true
	}
	return firm * s.cfg.LookAfter, !mine.Observed.Steady && !v.agree(v.looked())
}

// lookSoon queues a look where one is needed. The caller holds r.mu.
func (s *Site) lookSoon(r *resource) {
	if r.view.asked {
		r.view.asked = false
		s.queue.add(job{look: r.id}, 0)
	}
	if delay, ok := s.unlooked(r.view); ok {
		s.queue.add(job{look: r.id}, delay)
	}
	if delay, ok := r.view.lapsesIn(); ok {
		s.queue.add(job{look: r.id}, delay)
	}
}

// Check has this site, and the others as soon as they hear of it, look at what their applications show of a resource.
// ErrNotFound: the document is not here.
func (s *Site) Check(ctx context.Context, id DocumentID) error {
	r, v, unlock, err := s.locked(ctx, id)
	defer unlock()
	if err != nil {
		return fmt.Errorf("have a resource looked at: %w", err)
	}
	if !v.holds(s.cfg.Self) {
		return fmt.Errorf("have a resource looked at: %w: this site has no replica", ErrNotFound)
	}
	mine := v.replica(s.cfg.Self)
	mine.Asked = s.cfg.Now()
	if err := s.write(ctx, r, []Entry{v.replicaAs(mine)}, &Batch{}); err != nil {
		return err
	}
	s.queue.add(job{look: id}, 0)
	return nil
}

// look reads what this site's application shows of a resource and publishes it when that is news. It holds no turn while
// the application answers, so that no request waits for it: what was read while one went out is thrown away. It reports
// whether to look again later.
func (s *Site) look(ctx context.Context, id DocumentID) (again bool, err error) {
	r := s.registry.acquire(id)
	defer s.registry.release(r)
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return false, err
	}
	if err := s.lapse(ctx, r); err != nil {
		return true, err
	}
	local, kind, ready := v.local(), v.kind, v.exists() && v.quiet(s.cfg.Self)
	unlock()
	crossed, under := r.crossed()
	switch {
	case !ready:
		return false, nil // what makes it ready asks for another look
	case under || !s.gates[kind.Service].reads(s.cfg.Now()):
		return true, nil
	}
	// Before the look is published: whoever looks again after a crash tells what it holds, too.
	if len(s.contained(kind)) > 0 {
		if err := s.tellContents(ctx, id); err != nil {
			return true, err
		}
	}
	reply, err := s.shown(ctx, kind, local)
	unlock = r.lock()
	defer unlock()
	v, opened := s.open(ctx, r)
	if opened != nil {
		return false, opened
	}
	if since, _ := r.crossed(); since != crossed || v.local() != local || !v.quiet(s.cfg.Self) {
		return v.quiet(s.cfg.Self), nil
	}
	if again, err = s.saw(ctx, r, reply, err); err != nil {
		return again, err
	}
	now := v.replica(s.cfg.Self)
	unlock()
	if o := now.Observed; o != nil && o.Unseen == UnseenGone && o.Steady && now.Contended == "" {
		return true, s.bringBack(ctx, r, kind, local)
	}
	return again, err
}

// saw takes in what a look has read, and publishes it when it is news. It reports whether to look again. The caller holds
// r.mu.
func (s *Site) saw(ctx context.Context, r *resource, reply Reply, err error) (again bool, _ error) {
	v := r.view
	now, why := s.observed(v, reply, err)
	if now == nil {
		return true, s.noteLook(ctx, r, why)
	}
	v.unseen = ""
	mine := v.replica(s.cfg.Self)
	now.Since = s.cfg.Now()
	v.remember(mine.Observed, now, s.cfg.Now().Sub(mine.At) >= firm/2*s.cfg.LookAfter)
	summary := v.summary(mine, now, reply.Body)
	if contended := v.contention(now, s.cfg.Now()); !now.equal(mine.Observed) || contended != mine.Contended || !bytes.Equal(summary, mine.Summary) {
		mine.Observed, mine.Summary, mine.Contended, mine.At = now, summary, contended, s.cfg.Now()
		if err := s.write(ctx, r, []Entry{v.replicaAs(mine)}, &Batch{}); err != nil {
			return true, fmt.Errorf("publish what the application shows of %s: %w", r.id, err)
		}
	}
	return !v.agree(v.looked()), nil
}

// observed reads an answer. Nil: it tells nothing, err says why.
func (s *Site) observed(v *view, reply Reply, err error) (*Observed, error) {
	st := v.standing()
	settled := pick{in: st.Settled, fact: st.Executed}
	fold := foldOf(v.history, settled)
	unseen := func(u Unseen) (*Observed, error) { return &Observed{Unseen: u, Fold: fold.digest(v.document)}, nil }
	switch {
	case err != nil:
		return nil, err
	case isGone(reply, nil):
		return unseen(UnseenGone)
	case reply.Status >= 200 && reply.Status < 300:
		var divided []Pointer
		if v.history.spread != nil {
			divided = v.kind.Divide
		}
		return observe(v.kind, v.document, reply.Body, fold, v.history.fold(settled), divided), nil
	case reply.Status >= 300 && judge(TypeReplace, reply, nil) == verdictRefused:
		return unseen(UnseenUnreadable)
	}
	return nil, errors.New(tell(reply, nil))
}

// remember completes what a look saw by what an earlier one, in the same state, has seen. later says that a while has passed
// in between.
func (v *view) remember(before, now *Observed, later bool) {
	if before == nil {
		return
	}
	if before.shows() == now.shows() {
		now.Since = before.Since
		now.Was = before.Was
		now.Steady = before.Steady || later && !v.agree(v.looked())
		return
	}
	now.Was = before.Was
	if before.Was == "" || v.agree(v.looked()) {
		now.Was = before.shows()
	}
	if now.Was == now.shows() { // it is what it was
		now.Was = ""
	}
}

// contention is why repairs are to stop, empty while there is no reason. What this site has now seen is not yet in the view.
func (v *view) contention(now *Observed, at time.Time) string {
	was := v.replica(v.self).Contended
	switch {
	case now.Unseen == UnseenGone:
		return was
	case !now.Steady || v.agreesWith(now):
		return ""
	case was == "" && len(v.keeps(at)) >= repairsMost && (now.Was != "" || len(now.Differs) > 0):
		return fmt.Sprintf("it was repaired %d times within %s and changed behind the agent again: find out what changes it, then keep a site",
			len(v.keeps(at)), repairsWithin)
	}
	return was
}

// noteLook remembers why a look told nothing, so that it is visible. Nothing of it is published. The caller holds r.mu.
func (s *Site) noteLook(ctx context.Context, r *resource, why error) error {
	if text := why.Error(); r.view.unseen != text {
		r.view.unseen = text
		return s.store(ctx, r, &Batch{})
	}
	return nil
}

// lookAgain grows by half with each look that has found sites to differ, up to LookEvery.
func (s *Site) lookAgain(tries int) time.Duration {
	d := firm * s.cfg.LookAfter
	for range min(tries-1, 64) {
		if d += d / 2; d >= s.cfg.LookEvery {
			return s.cfg.LookEvery
		}
	}
	return d
}

// sweepPage is how many resources one page of the slow look has.
const sweepPage = 100

// sweep queues the looks at the next resources, so that each is looked at once in LookEvery, evenly over the time.
func (s *Site) sweep(ctx context.Context) error {
	counts, err := s.cfg.Store.CountResources(ctx)
	if err != nil {
		return fmt.Errorf("count the resources to look at: %w", err)
	}
	living := 0
	for state, n := range counts {
		if !state.Past() {
			living += n
		}
	}
	rows, next, err := s.cfg.Store.Resources(ctx, ResourceFilter{Limit: sweepPage, Cursor: s.swept})
	if err != nil {
		return fmt.Errorf("list the resources to look at: %w", err)
	}
	apart := s.cfg.LookEvery / time.Duration(max(living, 1))
	for i, row := range rows {
		s.queue.add(job{look: row.Document}, time.Duration(i+1)*apart)
	}
	s.swept = next
	s.queue.add(job{sweep: true}, time.Duration(max(len(rows), 1))*apart)
	return nil
}
