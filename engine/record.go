package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// locked opens the resource of a document and holds its mutex until unlock is called, which has to be done after an error too.
func (s *Site) locked(ctx context.Context, id DocumentID) (r *resource, v *view, unlock func(), err error) {
	r = s.registry.acquire(id)
	r.mu.Lock()
	unlock = func() {
		r.mu.Unlock()
		s.registry.release(r)
	}
	opened := false
	defer func() {
		if !opened { // it panics
			unlock()
		}
	}()
	v, err = s.open(ctx, r)
	opened = true
	return r, v, unlock, err
}

// open loads the view of a resource. The caller holds r.mu.
func (s *Site) open(ctx context.Context, r *resource) (*view, error) {
	if r.view != nil {
		return r.view, nil
	}
	row, err := s.cfg.Store.Document(ctx, r.id)
	if err != nil {
		return nil, fmt.Errorf("open document %s: %w", r.id, err)
	}
	var about About
	if err := json.Unmarshal(row.About, &about); err != nil {
		return nil, fmt.Errorf("open document %s: %w", r.id, err)
	}
	if !about.Schema.ofResource() {
		return nil, fmt.Errorf("open document %s: %w: it is no resource's", r.id, ErrRefused)
	}
	kind := s.known.Load().by[kindKey{about.Service, about.Kind}]
	if kind == nil {
		return nil, fmt.Errorf("open document %s: %w: the catalog has no kind %s.%s", r.id, ErrNotFound, about.Service, about.Kind)
	}
	v := newView(s.cfg.Self, s.name, r.id, about, row.About, kind)
	v.clock, v.patience = s.cfg.Now, s.cfg.LeaveWithin
	if err := s.openEpochs(ctx, v, row); err != nil {
		return nil, fmt.Errorf("open document %s: %w", r.id, err)
	}
	clear(v.touched)
	v.asked, v.reordered = false, false
	r.view = v
	return v, nil
}

// takeIn takes an entry in and passes over one that makes no sense: its author signed it, so it is in the document
// for good, and harms nothing but what that author may write.
// It returns the operation that the entry is, if it is one.
func (s *Site) takeIn(v *view, e Entry) *Operation {
	var o *Operation
	var err error
	if e.Map == MapOperations {
		if o, err = DecodeOperation(e.Key, e.Value); err == nil && !s.admits(v, o) {
			s.cfg.Log.Warn("operation left out: the catalog sees another kind or type in it",
				"operation", string(o.ID), "resource", string(v.about.Key), "peer", string(o.Origin))
			v.refused++
			return o
		}
	}
	if err == nil {
		err = v.take(e, o)
	}
	if err != nil {
		if e.Map == MapOperations {
			v.refused++
		}
		s.cfg.Log.Warn("entry left out", "resource", string(v.about.Key), "err", err)
	}
	return o
}

// admits classifies an operation again: what its origin says must be what this site's catalog says, of the resource of its
// document and no other, and its headers must be of those that travel.
func (s *Site) admits(v *view, o *Operation) bool {
	if o.Type == TypePlace {
		return o.Method == "" && o.Path == "" && o.Query == "" && len(o.Header) == 0 && len(o.Body) == 0 && o.Blob == nil && o.Change == nil
	}
	for name := range o.Header {
		if !slices.Contains(travelling, http.CanonicalHeaderKey(name)) {
			return false
		}
	}
	if rest, ok := strings.CutPrefix(o.Path, v.kind.Item); !ok && (o.Type != TypeCreate || o.Path != v.kind.Collection) ||
		ok && (rest != "" && rest[0] != '/' || strings.Contains(rest, "{id}")) {
		return false
	}
	kind, t, ok := s.cfg.Classify(v.about.Service, o.Method, o.Path, o.Header)
	if !ok || kind != v.about.Kind {
		return false
	}
	return t == o.Type || (t == TypeReplace || t == TypeAbsolute) && o.Type == TypeCreate ||
		t == TypePatch && o.Type == TypeCreate && v.kind.CreatesByPatch(o.Header["Content-Type"]) ||
		t == TypeReplace && o.Type == TypeAbsolute || (t == TypeMerge || t == TypePatch) && o.Type == TypeAction
}

// travelling are the headers that an operation may have: those that describe its body.
var travelling = []string{"Content-Type", "Content-Language", "Content-Encoding"}

// write makes one change of the document with entries, takes it into the view, makes all of it durable together with
// b and publishes it. The caller holds r.mu, and r.view is loaded. When it fails, nothing has happened.
func (s *Site) write(ctx context.Context, r *resource, entries []Entry, b *Batch) error {
	if err := s.Writable(); err != nil {
		s.forget(r)
		return err
	}
	current := r.view.current()
	change, err := s.cfg.Documents.Write(ctx, current.id, entries)
	if err != nil {
		s.forget(r)
		return fmt.Errorf("write document %s: %w", current.id, err)
	}
	b.Changes = append(b.Changes, change)
	current.count([]ChangeRow{change})
	r.view.learn(entries)
	r.view.from = current.number
	for _, e := range entries {
		s.takeIn(r.view, e)
	}
	if err := s.store(ctx, r, b); err != nil {
		return err
	}
	s.network.Publish(r.view.correspondents(), Envelope{
		Document: current.id, About: current.raw, Changes: []SignedChange{change.SignedChange},
	})
	return nil
}

// store commits b with the index rows that follow from the view. When it fails, document and view are loaded anew
// the next time. The caller holds r.mu.
func (s *Site) store(ctx context.Context, r *resource, b *Batch) error {
	err := s.index(ctx, r, b)
	if err == nil {
		err = s.commit(ctx, b)
	}
	if err != nil {
		s.forget(r)
		return err
	}
	clear(r.view.touched)
	r.view.bodiless = nil
	r.changed()
	if r.view.owner {
		r.view.owner = false
		s.queue.add(job{owner: r.id}, 0)
	}
	if r.view.shifted {
		r.view.shifted = false
		if s.canBeReliedOn(r.view.kind) {
			s.queue.add(job{relied: r.id}, 0)
		}
	}
	for _, h := range r.view.unneeded {
		s.dropBlob(context.WithoutCancel(ctx), h)
	}
	r.view.unneeded = nil
	key := kindKey{r.view.about.Service, r.view.about.Kind}
	s.known.Load().replicated[key].Store(true)
	if local := r.view.local(); local != "" && ResourceID(local) != r.view.about.Key {
		s.known.Load().translated[key].Store(true)
	}
	s.lookSoon(r)
	if _, differs, _ := s.untold(r.view); differs { // what a lost run has told is not open any more
		s.queue.add(job{supported: r.id}, 0)
	}
	if r.view.kind.Within != "" {
		s.tellLater(ctx, r.view)
	}
	return nil
}

// forget has document and view loaded anew the next time. The caller holds r.mu.
func (s *Site) forget(r *resource) {
	if r.view != nil {
		for _, e := range r.view.epochs {
			s.cfg.Documents.Forget(e.id)
		}
	}
	s.cfg.Documents.Forget(r.id)
	r.view = nil
}

// index adds to b the rows of the document, of the resource and of every operation that was touched, and the events
// that tell what has become different.
func (s *Site) index(ctx context.Context, r *resource, b *Batch) error {
	v, now := r.view, s.cfg.Now()
	for _, e := range v.epochs {
		row, err := s.shownTo(ctx, v, e)
		if err == nil && (e != v.current() || !v.orphaned()) { // else it is to be sent all
			row.Heads, err = s.cfg.Documents.Heads(ctx, e.id)
		}
		if err != nil {
			return fmt.Errorf("index of document %s: %w", e.id, err)
		}
		b.Documents = append(b.Documents, row)
	}
	if err := s.showLess(ctx, v, b); err != nil {
		return fmt.Errorf("index of document %s: %w", r.id, err)
	}
	if v.part(v.self) == partNone {
		return nil // what puts this site into the placement is still to come
	}
	conflicts := v.conflicts()
	row := v.row(now, conflicts)
	if _, wanted := s.unlooked(v); wanted || v.ending() {
		row.Pending = true
	}
	before, err := s.cfg.Store.ResourceByDocument(ctx, r.id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("index of document %s: %w", r.id, err)
	}
	row.Relations = append(row.Relations, destroyedAlong(v, before)...)
	if err := s.support(ctx, &row); err != nil {
		return err
	}
	s.tellOpen(v, &row, b.Settled)
	s.showAside(&row)
	b.Resources = append(b.Resources, row)
	v.owner = !v.exists() && (len(row.Relations) > 0 || s.mayHold(v.kind))
	v.shifted = v.shifted || shifts(before, row)
	data := map[string]any{"resource": row.ID, "service": row.Service, "kind": row.Kind, "state": row.State, "reason": row.Reason}
	if err != nil {
		b.Events = append(b.Events, s.event("resource.created", string(row.ID), data))
	}
	b.Events = append(b.Events, s.pauseEvents(before, row)...)
	if err := s.indexConflicts(ctx, r.id, conflicts, b); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(v.touched)) {
		if o := v.history.Get(id); o != nil {
			if err := s.indexOperation(ctx, v, o, b); err != nil {
				return err
			}
		}
	}
	if err := s.indexBodiless(ctx, v, b); err != nil {
		return err
	}
	for site, st := range row.Sites {
		told := maps.Clone(data)
		told["site"], told["reason"] = s.name(site), st.Reason
		if st.Drifted && !before.Sites[site].Drifted {
			b.Events = append(b.Events, s.event("resource.drifted", string(row.ID), told))
		}
		if st.Mismatch && !before.Sites[site].Mismatch {
			s.cfg.Log.Error("sites fold the same operations differently: a defect of the agent", "resource", string(row.ID), "site", string(s.name(site)))
			b.Events = append(b.Events, s.event("resource.fold-mismatch", string(row.ID), told))
		}
	}
	if row.State != before.State {
		b.Events = append(b.Events, s.event("resource."+string(row.State), string(row.ID), data))
	}
	return nil
}

// blocked reports whether an operation waits for a person at some site.
func (v *view) blocked(o *Operation) bool {
	for _, at := range v.outcomes {
		if at[o.ID].Blocks {
			return true
		}
	}
	return false
}

func (s *Site) indexOperation(ctx context.Context, v *view, o *Operation, b *Batch) error {
	row := v.operationRow(o)
	before, err := s.cfg.Store.Operation(ctx, o.ID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("index of operation %s: %w", o.ID, err)
	}
	first := err != nil
	if first && (row.Settled() || v.history.base.has(o)) {
		old, err := s.forgotten(ctx, row.IssuedAt)
		if err != nil {
			return err
		}
		if old && row.Settled() && !v.blocked(o) {
			return nil
		}
		first = !old // it comes back because a site that was added has it to do
	}
	tries := v.attempts[o.ID]
	if tries != nil {
		tries.join(before.Sites[v.self])
	}
	if before.NeedsBlob && !row.NeedsBlob {
		v.unneeded = append(v.unneeded, before.Blob.Hash)
	}
	if err == nil && v.history.base.reduces(o) { // it was more when it came
		row.Body, row.Blob, row.Change, row.Parents = before.Body, before.Blob, before.Change, before.Parents
	}
	data := map[string]any{
		"operation": o.ID, "resource": row.Resource, "service": row.Service, "kind": row.Kind, "type": o.Type, "origin": s.name(o.Origin),
	}
	if first || err == nil && before.Document == "" {
		b.Events = append(b.Events, s.event("operation.accepted", string(o.ID), data))
	}
	converged := true
	for site, now := range row.Sites {
		old := before.Sites[site]
		waits := now.State == StateRejected || now.State == StateUncertain
		again := waits && now.Error != "" && now.Error != old.Error        // for another reason, or a person has dropped it
		if old.State == now.State && now.State != StatePending && !again { // what was known when it happened stays
			row.Sites[site] = old
			now = old
		}
		if site == v.self {
			if tries == nil { // none since the document was loaded
				now.Attempts, now.Tries = old.Attempts, old.Tries
			} else {
				tries.tell(&now)
			}
			row.Sites[site] = now
		}
		converged = converged && (now.State == StateApplied || now.State == StateSuperseded)
		if old.State == now.State {
			continue
		}
		told := map[string]any{"site": s.name(site), "state": now.State, "status": now.Status, "error": now.Error}
		for k, d := range data {
			told[k] = d
		}
		switch {
		case now.State == StateApplied && site == v.self:
			b.Events = append(b.Events, s.event("operation.applied", string(o.ID), told))
		case now.State == StateRejected || now.State == StateUncertain || now.State == StateHeld:
			b.Events = append(b.Events, s.event("operation."+string(now.State), string(o.ID), told))
		}
	}
	if old := before.State; converged && old != StateApplied && old != StateSuperseded {
		b.Events = append(b.Events, s.event("operation.converged", string(o.ID), data))
	}
	b.Operations = append(b.Operations, row)
	return nil
}

// replicaEntry is this site's entry about its replica once ops are settled.
func (s *Site) replicaEntry(v *view, local LocalID, ops ...*Operation) Entry {
	return v.replicaAs(v.withSettled(local, s.cfg.Now(), ops...))
}

// outcomeEntry is this site's entry about one operation.
func (s *Site) outcomeEntry(o *Operation, out Outcome) Entry {
	out.At = s.cfg.Now()
	return Entry{Map: MapOutcomes, Key: outcomeKey(s.cfg.Self, o.ID), Value: compactStruct(out)}
}

// stamp makes o the next operation of this site: its place in time, what it has seen, with all that this has seen, and its number.
func (s *Site) stamp(v *view, o *Operation) {
	o.Origin, o.Run, o.Epoch = s.cfg.Self, s.runID, v.current().number
	o.line = lineOf(o.Origin, o.Run, o.Epoch)
	o.Seq = v.history.issued(o.line) + 1
	o.Time, o.Seen = max(o.Time, s.cfg.Now().UnixMicro(), v.history.compactedUntil()+1), map[Line]uint64{}
	mine := v.replica(v.self)
	o.sees(mine.Settled)
	if lost := mine.lost(); lost != nil { // others may have folded away already what the lost run had settled
		known, until := v.history.known(lost.Settled)
		o.sees(known)
		o.Time = max(o.Time, until+1)
	}
	if base := v.history.base; base != nil { // what has not seen what is folded away, nobody could take in, this site included
		o.sees(base.Seen)
	}
	last := map[Line]*Operation{}         // of its line it has seen most, and is the newest
	for _, p := range v.history.ordered { // its own line is not settled where the site has joined anew since
		if mine.settled(p) || p.Line() == o.line {
			last[p.Line()] = p
		}
	}
	for _, p := range last {
		o.sees(p.Seen) // what it had seen may not count as settled here any more: by what a lost run had settled, it was
		o.Time = max(o.Time, p.Time+1)
	}
	delete(o.Seen, o.line)
}

// farOff is how far another site's clock may be ahead before it is said.
const farOff = time.Second
