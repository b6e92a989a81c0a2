package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Receive implements Replicas: it takes in what another member sent, makes it durable and sees to what follows.
func (s *Site) Receive(ctx context.Context, from SiteID, e Envelope) error {
	if !s.IsMember(from) {
		return fmt.Errorf("receive from %s: %w: not a member", from, ErrRefused)
	}
	if e.Document == s.mesh.documentID() {
		return s.receiveMesh(ctx, e)
	}
	r := s.registry.acquire(e.Document)
	defer s.registry.release(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	first := errors.Is(err, ErrNotFound)
	if first {
		v, err = s.begin(r, e)
	}
	if err != nil {
		return fmt.Errorf("receive document %s from %s: %w", e.Document, from, err)
	}
	stored := !first
	defer func() {
		if !stored { // a document begins with its first stored change
			s.forget(r)
		}
	}()
	if v.history.Len()+v.history.Held()+v.refused >= 2*maxOperations {
		s.cfg.Log.Error("a resource has too many operations: no more are taken in", "resource", string(v.about.Key),
			"peer", string(from), "operations", v.history.Len())
		return fmt.Errorf("receive document %s from %s: %w: it has too many operations", e.Document, from, ErrRefused)
	}
	if !slices.Contains(v.about.Placement, from) {
		return fmt.Errorf("receive document %s from %s: %w: the site has no part in it", e.Document, from, ErrRefused)
	}
	for _, c := range e.Changes {
		if !slices.Contains(v.about.Placement, c.Author) {
			return fmt.Errorf("receive document %s from %s: %w: %s has no part in it", e.Document, from, ErrRefused, c.Author)
		}
	}
	rows, entries, mergeErr := s.cfg.Documents.Merge(ctx, e.Document, e.Changes, func(a SiteID) bool {
		return slices.Contains(v.about.Placement, a)
	})
	if len(rows) > 0 {
		for _, entry := range entries {
			s.takeIn(v, entry)
		}
		s.watchClock(v, entries)
		if err := s.store(ctx, r, &Batch{Changes: rows}); err != nil {
			return fmt.Errorf("receive document %s from %s: %w", e.Document, from, err)
		}
		stored = true
		if v.history.Outside() { // its origin did not know what every member had settled: it is merged with all that the document has
			s.forget(r)
		}
		s.queue.add(job{document: e.Document}, 0)
	}
	if mergeErr != nil {
		return fmt.Errorf("receive document %s from %s: %w", e.Document, from, mergeErr)
	}
	return nil
}

// begin makes a document that another site made first. Nothing of it is on disk before its first changes are.
func (s *Site) begin(r *resource, e Envelope) (*view, error) {
	about, err := s.cfg.Documents.Create(e.Document, e.About)
	if err != nil {
		return nil, err
	}
	kind := s.kinds[kindKey{about.Service, about.Kind}]
	switch {
	case about.Schema != SchemaResource || kind == nil:
		err = fmt.Errorf("%w: the catalog has no kind %s.%s", ErrRefused, about.Service, about.Kind)
	case !slices.Contains(about.Placement, s.cfg.Self):
		err = fmt.Errorf("%w: this site has no part in it", ErrRefused)
	}
	if err != nil {
		s.cfg.Documents.Forget(e.Document)
		return nil, err
	}
	r.view = newView(s.cfg.Self, s.name, e.Document, about, e.About, kind)
	return r.view, nil
}

// watchClock says when an operation comes from the future, and takes note of which deletions come late.
func (s *Site) watchClock(v *view, entries []Entry) {
	for _, e := range entries {
		if e.Map != MapOperations {
			continue
		}
		o, err := DecodeOperation(e.Key, e.Value)
		if err != nil {
			continue
		}
		s.hearDeletion(o)
		if ahead := time.UnixMicro(o.Time).Sub(s.cfg.Now()); ahead > farOff {
			s.cfg.Log.Warn("clock of another site is ahead of this one's: its later writes win until the clocks agree",
				"site", string(s.name(o.Origin)), "ahead", ahead.Round(time.Millisecond), "operation", string(o.ID))
		}
	}
}

// Summaries implements Replicas.
func (s *Site) Summaries(ctx context.Context, with SiteID, from, to DocumentID) ([]Summary, error) {
	if !s.IsMember(with) {
		return nil, fmt.Errorf("summaries for %s: %w: not a member", with, ErrRefused)
	}
	return s.cfg.Ledger.Summaries(ctx, with, from, to)
}

// Version implements Replicas.
func (s *Site) Version(ctx context.Context, id DocumentID) (Version, error) {
	return s.cfg.Ledger.Version(ctx, id)
}

// Missing implements Replicas.
func (s *Site) Missing(ctx context.Context, with SiteID, id DocumentID, have Version, limit int) (Envelope, bool, error) {
	row, err := s.cfg.Store.Document(ctx, id)
	if err != nil {
		return Envelope{}, false, err
	}
	if !s.IsMember(with) || !row.Mesh && !slices.Contains(row.Sites, with) {
		return Envelope{}, false, ErrNotFound // whether it exists is not that site's to know
	}
	rows, more, err := s.cfg.Ledger.Changes(ctx, id, have, limit)
	if err != nil {
		return Envelope{}, false, fmt.Errorf("changes of document %s: %w", id, err)
	}
	e := Envelope{Document: id, About: row.About, Changes: make([]SignedChange, len(rows))}
	for i, c := range rows {
		e.Changes[i] = c.SignedChange
	}
	return e, more, nil
}
