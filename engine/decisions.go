package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ErrSettled is what a person gets who settles an operation that does not wait for a decision at this site.
var ErrSettled = &Refusal{Status: http.StatusConflict, Type: "settled", Detail: "the operation does not wait for a decision at this site"}

// Decisions lists what a person can decide about an operation at this site now: those of ActionRetry, ActionDone and ActionDrop that
// would not be answered with ErrSettled, what is most likely wanted first. ErrNotFound: it is not known here.
func (s *Site) Decisions(ctx context.Context, id OperationID) ([]Action, error) {
	if c, ok := s.openIntent(ctx, id); ok {
		if !c.Asked || c.Again {
			return nil, nil // it is under way
		}
		return s.askedOf(c, time.Time{}).Actions, nil
	}
	if _, _, err := s.keptAs(ctx, id); !errors.Is(err, ErrNotFound) {
		return []Action{ActionDrop}, err
	}
	row, err := s.cfg.Store.Operation(ctx, id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("what can be decided about operation %s: %w", id, err)
	case s.isNowhereKnown(row):
		return []Action{ActionDone, ActionDrop}, nil
	case row.Document == "":
		return nil, nil
	}
	_, v, unlock, err := s.locked(ctx, row.Document)
	defer unlock()
	if err != nil {
		return nil, err
	}
	o := v.history.Get(id)
	out, told := v.outcomes[s.cfg.Self][id]
	if o == nil || !told || !v.decidable(o, out) {
		return nil, nil
	}
	return slices.DeleteFunc(v.conflict(s.cfg.Self, o, out).Actions, func(a Action) bool { return a == ActionAdopt || a == ActionDismiss }), nil
}

// decidable reports whether what became of an operation at a site waits for a person, or may be decided anew: of most of those that were
// refused a checkpoint keeps too little to try them again. The last opaque bytes of a path it keeps as they are.
func (v *view) decidable(o *Operation, out Outcome) bool {
	whole := o.Type == TypeDelete || o.Type == TypeAbsolute && (o.Body != nil || o.Blob != nil)
	return out.Blocks || out.State == StateUncertain || out.State == StateRejected && (whole || !v.history.base.has(o))
}

// Retry sends an uncertain or refused operation to this site's application again. ErrNotFound, ErrSettled.
func (s *Site) Retry(ctx context.Context, id OperationID) error {
	if c, ok := s.openIntent(ctx, id); ok {
		if !c.Asked || c.Again {
			return ErrSettled // it is under way
		}
		c.Again = true
		b := &Batch{}
		if err := s.askedNoMore(ctx, id, b); err != nil {
			return err
		}
		if err := s.declare(ctx, c); err != nil {
			return err
		}
		if err := s.commit(ctx, b); err != nil {
			return err
		}
		s.leftOpen(c, c.Why, s.cfg.Now())
		s.left.Delete(id) // who has said so knows what this site knows
		s.queue.add(job{intent: id}, 0)
		return nil
	}
	return s.decide(ctx, id, func(v *view, o *Operation, out Outcome) ([]Entry, error) {
		return []Entry{s.outcomeEntry(o, Outcome{State: StatePending, Again: out.Again || !out.Blocks})}, nil
	})
}

// Done says that this site's application has what an uncertain or refused operation sets. ErrNotFound, ErrSettled.
func (s *Site) Done(ctx context.Context, id OperationID) error {
	if c, ok := s.openIntent(ctx, id); ok {
		if !c.Asked || c.Again {
			return ErrSettled
		}
		k := s.known.Load().by[kindKey{c.Service, c.Kind}]
		if c.About != nil && c.About.Key == "" || c.About != nil && !k.Natural() {
			return &Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: id, Detail: fmt.Sprintf(
				"the identifier of the %s that it made is not known; drop the operation, delete what it made and issue it again", c.Kind)}
		}
		r := (*resource)(nil)
		if c.Document != "" {
			r = s.registry.acquire(c.Document)
			defer s.registry.release(r)
			if err := r.take(ctx); err != nil {
				return err
			}
			defer r.pass()
		}
		reply := Reply{Status: http.StatusOK}
		if c.About != nil {
			reply.Local = s.here(ctx, k, string(c.About.Key))
		}
		_, err := s.published(ctx, r, k, c, reply)
		return err
	}
	if done, err := s.decideNowhereKnown(ctx, id, OperationStatus{State: StateApplied}); done || err != nil {
		return err
	}
	return s.decide(ctx, id, func(v *view, o *Operation, out Outcome) ([]Entry, error) {
		local := v.local()
		if out.Blocks && (v.history.leaves(s.standing(v), o) || o.Type == TypeAction && v.unsettledBefore(o) != nil) {
			return []Entry{s.outcomeEntry(o, Outcome{State: StatePending, Ran: true, Again: out.Again})}, nil
		}
		if o.Type == TypeCreate && local == "" && !out.beside() { // else the replica may be deleted since
			if !v.kind.Natural() {
				return nil, &Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: id, Detail: fmt.Sprintf(
					"the identifier of the %s that it made here is not known; delete it at this site and retry", v.about.Kind)}
			}
			local = s.here(ctx, v.kind, string(v.about.Key))
		}
		if with := v.standing().shown().or(o); o.Type == TypeDelete && !foldOf(v.history, with).Exists {
			local = ""
		}
		return []Entry{s.outcomeEntry(o, Outcome{State: StateApplied}), s.replicaEntry(v, local, o)}, nil
	})
}

// Drop says that an uncertain or refused operation is not to be applied at this site, which differs from the others then, or that
// a request is not to be kept any longer for sites that cannot be reached. ErrNotFound, ErrSettled.
func (s *Site) Drop(ctx context.Context, id OperationID) error {
	if c, ok := s.openIntent(ctx, id); ok {
		if !c.Asked || c.Again {
			return ErrSettled
		}
		return s.dismiss(ctx, c, OperationStatus{State: StateRejected, At: s.cfg.Now(), Error: "dropped by an operator"})
	}
	if dropped, err := s.dropKept(ctx, id); dropped || err != nil {
		return err
	}
	if dropped, err := s.decideNowhereKnown(ctx, id, OperationStatus{State: StateRejected, Error: "dropped by an operator"}); dropped || err != nil {
		return err
	}
	return s.decide(ctx, id, func(v *view, o *Operation, out Outcome) ([]Entry, error) {
		if p := v.unsettledBefore(o); p != nil {
			return nil, &Refusal{Status: http.StatusConflict, Type: "settle", Operation: id,
				Detail: fmt.Sprintf("operation %s comes before it and is not settled here: decide what becomes of that first", p.ID)}
		}
		dropped := Outcome{State: StateRejected, Status: out.Status, Dropped: true, Error: droppedBecause(out)}
		return []Entry{s.outcomeEntry(o, dropped), s.replicaEntry(v, v.local(), o)}, nil
	})
}

// unsettledBefore returns what the origin of o has issued before it and is not settled here; nil: nothing. What is settled is counted by
// line, so none is settled before those.
func (v *view) unsettledBefore(o *Operation) *Operation {
	i := slices.IndexFunc(v.history.ordered, func(p *Operation) bool { return p.Line() == o.Line() && p.Seq < o.Seq && !v.settled(v.self, p) })
	if i < 0 {
		return nil
	}
	return v.history.ordered[i]
}

// droppedBecause says why a person has given an operation up.
func droppedBecause(out Outcome) string {
	const dropped = "dropped by an operator"
	switch {
	case out.Error == "" && out.Status == 0, strings.HasPrefix(out.Error, dropped):
		return cmp.Or(out.Error, dropped)
	case out.Error == "":
		return fmt.Sprintf("%s after status %d", dropped, out.Status)
	}
	return dropped + " after: " + out.Error
}

// decide writes what a person has decided about an operation that waits at this site.
func (s *Site) decide(ctx context.Context, id OperationID, entries func(*view, *Operation, Outcome) ([]Entry, error)) error {
	row, err := s.cfg.Store.Operation(ctx, id)
	if err != nil {
		return fmt.Errorf("settle operation %s: %w", id, err)
	}
	if row.Document == "" {
		return ErrSettled
	}
	r := s.registry.acquire(row.Document)
	defer s.registry.release(r)
	if err := r.take(ctx); err != nil {
		return err
	}
	defer r.pass()
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	o := v.history.Get(id)
	if o == nil && row.IssuedAt.UnixMicro() > v.history.compactedUntil() {
		return fmt.Errorf("settle operation %s: %w", id, ErrNotFound)
	}
	if o == nil {
		return ErrSettled // at every site
	}
	out, ok := v.outcomes[s.cfg.Self][id]
	if !ok || !v.decidable(o, out) {
		return ErrSettled
	}
	es, err := entries(v, o, out)
	if err != nil {
		return err
	}
	if err := s.write(ctx, r, es, &Batch{Settled: []OperationID{id}}); err != nil {
		return err
	}
	s.opened.Delete(id)
	r.notBefore = time.Time{}
	s.queue.add(job{document: row.Document}, time.Duration(0))
	return nil
}
