package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/hear"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// Receive implements engine.Exchange. Everything is decoded and its signatures are checked in the goroutine of the caller; the loop
// gets what has passed.
func (x *exchange) Receive(ctx context.Context, from engine.SiteID, l *engine.Letter) error {
	s := x.site
	if !s.cfg.Members.IsMember(from) {
		return fmt.Errorf("receive from %s: %w: it is no member", from, engine.ErrRefused)
	}
	errs := []error{s.Writable()}
	if len(l.Records) > 0 { // a site that has found its copy answers it
		errs = append(errs, s.cfg.Members.Take(ctx, from, l.Records, l.Sent))
	}
	if errs[0] == nil {
		opened, err := x.open(from, l)
		if errs = append(errs, err); len(opened) > 0 {
			errs = append(errs, x.hear(ctx, opened, l.Sent))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("receive from %s: %w", from, err)
	}
	return nil
}

// opened is what a letter has of one epoch of a document.
type opened struct {
	id    engine.DocumentID
	about *about
	heard replica.Heard
}

// open decodes a letter. What is not as it should be is left out, and the error says why.
func (x *exchange) open(from engine.SiteID, l *engine.Letter) (list []*opened, err error) {
	s := x.site
	defer contain(s.cfg.Log, "", &err)
	var errs []error
	last := map[engine.DocumentID]*opened{}
	for i := range l.Parcels {
		o, err := x.openParcel(from, &l.Parcels[i])
		if err != nil {
			errs = append(errs, err)
		}
		if o != nil {
			list, last[o.id] = append(list, o), o
		}
	}
	var signed []engine.SignedStatus
	for _, one := range l.Statuses {
		if !s.cfg.Members.WasAdmitted(one.Site) { // a member may have made up its key, to have more to say
			errs = append(errs, fmt.Errorf("a status of %s: %w: no authority has let it in", one.Site, engine.ErrMissing))
		} else if err := s.cfg.Statuses.VerifyStatus(one); err != nil {
			return list, errors.Join(append(errs, err)...)
		} else {
			signed = append(signed, one)
		}
	}
	for _, b := range l.Batches {
		if !s.cfg.Members.IsMember(b.Site) {
			errs = append(errs, fmt.Errorf("statuses of %s: %w: it is no member", b.Site, engine.ErrMissing))
			continue
		}
		of, err := s.cfg.Statuses.OpenBatch(b)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		signed = append(signed, of...)
	}
	for _, one := range signed {
		st := &engine.Status{}
		err := engine.Decode(one.Status, st)
		if err == nil {
			err = st.Validate()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("a status of %s: %w", one.Site, err))
			continue
		}
		o := last[st.Document]
		if o == nil {
			o = &opened{id: st.Document, heard: replica.Heard{Said: hear.Said{From: from}}}
			list, last[o.id] = append(list, o), o
		}
		o.heard.Statuses = append(o.heard.Statuses, hear.Status{Signed: one, Status: st})
	}
	return list, errors.Join(errs...)
}

// openParcel decodes one parcel, and checks its changes.
func (x *exchange) openParcel(from engine.SiteID, p *engine.Parcel) (*opened, error) {
	s := x.site
	of, id, err := s.cfg.Documents.Decode(p.About)
	if err != nil {
		return nil, err
	}
	if s.Kind(of.Service, of.Kind) == nil {
		if s.cfg.Unknown != nil {
			s.cfg.Unknown(of.Service, of.Kind)
		}
		return nil, fmt.Errorf("document %s: %w: the catalog has no kind %s.%s", id, engine.ErrUnknown, of.Service, of.Kind)
	}
	if p.Checkpoint != nil && s.cfg.Accept != nil {
		if err := s.cfg.Accept.Checkpoint(from, of); err != nil {
			return nil, fmt.Errorf("document %s: a checkpoint: %w: %w", id, engine.ErrUnknown, err)
		}
	}
	o := &opened{id: id, about: &about{of, p.About}, heard: replica.Heard{Said: hear.Said{From: from, Epoch: p.Epoch, Checkpoint: p.Checkpoint, More: p.More,
		First: s.cfg.Documents.First(of, id, p.Epoch)}}}
	for _, signed := range p.Changes {
		c, err := s.cfg.Documents.Read(of, id, p.Epoch, signed, false)
		if err != nil {
			return o, err
		}
		o.heard.Changes = append(o.heard.Changes, c)
	}
	return o, nil
}

// arrived is a letter that was opened.
type arrived struct {
	list             []*opened
	sent             []engine.SiteID // to whom it went
	missing, refused error           // what came of it
}

// hear hands what was opened to the loop, all of it in one wake-up, and waits until it is durable.
func (x *exchange) hear(ctx context.Context, list []*opened, sent []engine.SiteID) error {
	s := x.site
	done := make(chan error, 1)
	a := &arrived{list: list, sent: sent}
	s.inbox.put(item{until: x.mayWait(a), arrived: a, done: func(err error) { done <- err }})
	s.await(ctx, func() bool { return len(done) > 0 })
	select {
	case err := <-done:
		return errors.Join(err, a.missing, a.refused)
	case <-s.stopped:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mayWait is until when a letter may wait for more: what sites say of themselves holds nobody up, unless somebody waits for it, or a
// comparison does, whose letters went to this site alone.
func (x *exchange) mayWait(a *arrived) time.Time {
	s := x.site
	if s.cfg.Inline || s.watch.others.Load() > 0 || len(a.sent) == 0 {
		return time.Time{}
	}
	for _, o := range a.list {
		if len(o.heard.Changes) > 0 || o.heard.Checkpoint != nil {
			return time.Time{}
		}
	}
	return s.cfg.Now().Add(gather)
}

// followed marks what is followed by more of its resource in the same wake-up: what comes of it is seen to with the last.
func followed(items []item) {
	last := map[engine.DocumentID]*replica.Heard{}
	for _, i := range items {
		if i.arrived == nil {
			continue
		}
		for _, o := range i.arrived.list {
			if before := last[o.id]; before != nil && len(o.heard.Changes) == 0 {
				before.Follows = true
			}
			last[o.id] = &o.heard
		}
	}
}

// arrive takes in a letter.
func (w *wakeUp) arrive(a *arrived) {
	w.mail.sent = a.sent
	for _, o := range a.list {
		m, r := w.heard(o)
		a.missing, a.refused = errors.Join(a.missing, m), errors.Join(a.refused, r)
	}
	w.mail.sent = nil
}

// heard hands what came of one document to its replica.
func (w *wakeUp) heard(o *opened) (missing, refused error) {
	defer contain(w.s.cfg.Log, o.id, &refused)
	r, err := w.s.reach(w.ctx, o.id, o.about)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		w.s.early.put(o.id, o.heard.Statuses)
		return nil, nil
	case errors.Is(err, engine.ErrUnknown):
		return nil, err
	case err != nil:
		w.s.note(o.id, "a resource could not be loaded", err)
		return err, nil
	}
	fresh := !r.stored && w.work[r] == nil
	if full := r.History.Len() + view.HeldBack(r.Replica.View); len(o.heard.Changes) > 0 && full >= 2*engine.MaxOperations {
		return nil, fmt.Errorf("document %s: %w: it has too many operations", o.id, engine.ErrTooLarge)
	}
	if fresh && w.s.prints.full(o.heard.Placer(), w.s.cfg.Limits.Shared) {
		w.forget(r, engine.ErrNotFound)
		return nil, fmt.Errorf("document %s: %w: as many resources as may be are shared with the site that has placed it", o.id, engine.ErrUnknown)
	}
	if fresh {
		o.heard.Statuses = append(o.heard.Statuses, w.s.early.take(o.id)...)
	}
	k := w.of(r)
	k.statuses = k.statuses || len(o.heard.Statuses) > 0
	out := w.stepOf(r, &o.heard)
	if out.Late {
		w.s.anew[len(w.s.anew)-1].told = o
	}
	switch {
	case fresh && (out.Refused || r.Empty() && !out.Own): // a document begins with its first stored change
		w.drop(r)
	case out.Pass != nil:
		w.batch.Changes = append(w.batch.Changes, out.Pass.Changes...)
		fallthrough
	default:
		forked(w, r, out.Forked)
	}
	if out.Missing {
		missing = fmt.Errorf("document %s: %w", o.id, engine.ErrMissing)
	}
	if out.Refused && fresh {
		refused = fmt.Errorf("document %s: %w: this site, or who has sent it, has no part in it", o.id, engine.ErrUnknown)
	}
	return missing, refused
}

// drop takes a replica out of this wake-up of which nothing is to be kept.
func (w *wakeUp) drop(r *resident) {
	w.forget(r, engine.ErrNotFound)
	delete(w.work, r)
	w.stepped = slices.DeleteFunc(w.stepped, func(other *resident) bool { return other == r })
}
