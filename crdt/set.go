package crdt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/skerry/skerry/engine"
)

// Loader reads what is stored of documents. It is the store's and the ledger's side of engine.Store and
// engine.Ledger; their methods do what is said there. What it returns is not changed after.
type Loader interface {
	Document(ctx context.Context, id engine.DocumentID) (engine.DocumentRow, error)
	Version(ctx context.Context, id engine.DocumentID) (engine.Version, error)
	Changes(ctx context.Context, id engine.DocumentID, have engine.Version, limit int) ([]engine.ChangeRow, bool, error)
	// Snapshot returns what SaveSnapshot was given last for the document, or ErrNotFound. Nothing else depends on these
	// bytes: a store may lose them, and need not have them durable when SaveSnapshot returns.
	Snapshot(ctx context.Context, id engine.DocumentID) ([]byte, error)
	// SaveSnapshot does not keep b itself.
	SaveSnapshot(ctx context.Context, id engine.DocumentID, b []byte) error
}

// Set is this site's documents, a bounded number of which are open. It implements engine.Documents and is
// safe for concurrent use; calls on one document wait for each other, calls on different documents do not. The
// values of the entries that it returns are shared and must not be changed.
type Set struct {
	self   engine.SiteID
	key    crypto.PrivKey
	actor  actor
	loader Loader
	cache  *cache
	// every is how many changes there are from one snapshot to the next.
	every int
}

// New returns the documents of the site self, whose key is key, as loader has them. Random bytes from random make
// this process's actor. About open documents are kept open.
func New(self engine.SiteID, key crypto.PrivKey, random io.Reader, loader Loader, open int) (*Set, error) {
	public, err := decodeSite(self)
	if err != nil {
		return nil, fmt.Errorf("open documents: %w", err)
	}
	if !public.Equals(key.GetPublic()) {
		return nil, fmt.Errorf("open documents: the key is not of site %s", self)
	}
	if open < 1 {
		return nil, fmt.Errorf("open documents: a cache of %d", open)
	}
	a, err := actorOf(self, random)
	if err != nil {
		return nil, fmt.Errorf("open documents: %w", err)
	}
	return &Set{self: self, key: key, actor: a, loader: loader, cache: newCache(open), every: snapshotEvery}, nil
}

var _ engine.Documents = (*Set)(nil)

// Encode implements engine.Documents.
func (s *Set) Encode(about engine.About) ([]byte, engine.DocumentID, error) {
	b, err := encodeAbout(about)
	if err != nil {
		return nil, "", err
	}
	_, h := firstChange(about.Schema, b).encode()
	return b, documentID(h), nil
}

// Create implements engine.Documents. A document that is open or stored already stays as it is.
func (s *Set) Create(id engine.DocumentID, b []byte) (engine.About, error) {
	about, err := decodeAbout(b)
	if err != nil {
		return engine.About{}, fmt.Errorf("create document %.80q: %w", id, err)
	}
	if _, h := firstChange(about.Schema, b).encode(); documentID(h) != id {
		return engine.About{}, fmt.Errorf("create document %.80q: %w: its about makes document %s", id, engine.ErrRefused,
			documentID(h))
	}
	p := s.cache.lock(id)
	defer p.mu.Unlock()
	if p.doc != nil {
		return about, nil
	}
	p.doc = newDocument(about, slices.Clone(b))
	p.doc.fresh = true
	return about, nil
}

// use calls f with the document, which no one else uses meanwhile. It drops the document when f says it is broken.
func (s *Set) use(ctx context.Context, id engine.DocumentID, f func(*document) (broken bool, err error)) error {
	err := s.alone(ctx, id, f)
	s.cache.evict(ctx, s.stored)
	return err
}

func (s *Set) alone(ctx context.Context, id engine.DocumentID, f func(*document) (broken bool, err error)) error {
	p := s.cache.lock(id)
	defer p.mu.Unlock()
	broken := true // also when it panics
	defer func() {
		if broken {
			s.cache.drop(p)
		}
	}()
	if p.doc == nil || p.doc.fresh {
		if err := s.load(ctx, p); err != nil {
			broken = p.doc == nil
			return err
		}
	}
	s.keep(ctx, p.doc)
	var err error
	broken, err = f(p.doc)
	return err
}

// load opens the document of p. One that was made here stays if the store does not know it.
func (s *Set) load(ctx context.Context, p *place) error {
	row, err := s.loader.Document(ctx, p.id)
	if p.doc != nil && errors.Is(err, engine.ErrNotFound) {
		p.doc.fresh, p.doc.created = false, true
		return nil
	}
	if err != nil {
		return fmt.Errorf("open document %s: %w", p.id, err)
	}
	d, err := openDocument(ctx, s.loader, row)
	if err != nil {
		return err
	}
	p.doc = d
	return nil
}

// stored reports whether it is certain that the store has all of d. What it was given since it was opened is stored in
// the order in which it came, so the last of it tells.
func (s *Set) stored(ctx context.Context, d *document) bool {
	if d.fresh || d.created {
		if _, err := s.loader.Document(ctx, d.id); err != nil {
			return false
		}
	}
	if d.last.Seq == 0 {
		return true
	}
	v, err := s.loader.Version(ctx, d.id)
	return err == nil && v[d.last.Actor] >= d.last.Seq
}

// keep saves a snapshot of d, of which all is stored, once enough changes have come since the last one. It does so when a
// document is used and not when the change comes, which is stored only after; so the one call in a hundred that pays for
// it is one that has replayed those changes, or follows a hundred that did not wait. One that cannot be saved is
// tried again as many changes later, since a disk that is full stays full for a while.
func (s *Set) keep(ctx context.Context, d *document) {
	if len(d.history.changes)-d.kept < s.every || !s.stored(ctx, d) || s.wake(ctx, d) != nil {
		return
	}
	d.kept = len(d.history.changes)
	_ = s.loader.SaveSnapshot(ctx, d.id, d.snapshot()) // the changes are stored: nobody misses it
}

// wake sees to it that d has its core, by replaying all that is stored if what its snapshot held does not make one. A
// document whose core sleeps has no change that is not stored.
func (s *Set) wake(ctx context.Context, d *document) error {
	if d.wake() == nil {
		return nil
	}
	b, err := encodeAbout(d.about)
	if err != nil {
		return err
	}
	again := newDocument(d.about, b)
	if err := again.catchUp(ctx, s.loader); err != nil {
		return err
	}
	*d = *again
	return d.wake()
}

// Write implements engine.Documents. Of several entries with one key the last counts. ErrTooLarge: an entry, or
// all together, are over their bounds.
func (s *Set) Write(ctx context.Context, id engine.DocumentID, entries []engine.Entry) (engine.ChangeRow, error) {
	var row engine.ChangeRow
	err := s.use(ctx, id, func(d *document) (bool, error) {
		if err := s.wake(ctx, d); err != nil {
			return true, err
		}
		c, err := s.compose(d.history, entries)
		if err != nil {
			return false, err
		}
		chunk, h := c.encode()
		if len(chunk) > maxChange {
			return false, fmt.Errorf("%w: a change of %d bytes", engine.ErrTooLarge, len(chunk))
		}
		// The gate would not let it pass at other sites either.
		if err := d.history.check(c, s.self); err != nil {
			return false, err
		}
		signature, err := s.key.Sign(signed(h))
		if err != nil {
			return false, err
		}
		row = d.row(c, engine.SignedChange{Author: s.self, Signature: signature, Bytes: chunk}, h)
		err = d.apply(c, row)
		return err != nil, err
	})
	if err != nil {
		return engine.ChangeRow{}, fmt.Errorf("write to document %s: %w", id, err)
	}
	return row, nil
}

// Merge implements engine.Documents.
func (s *Set) Merge(ctx context.Context, id engine.DocumentID, changes []engine.SignedChange, writes func(engine.SiteID) bool) ([]engine.ChangeRow, []engine.Entry, error) {
	var rows []engine.ChangeRow
	var entries []engine.Entry
	err := s.use(ctx, id, func(d *document) (bool, error) {
		err := s.wake(ctx, d)
		if err != nil {
			return true, err
		}
		rows, entries, err = d.merge(changes, writes)
		return err != nil && !errors.Is(err, engine.ErrRefused) && !errors.Is(err, engine.ErrMissing), err
	})
	if err != nil {
		return rows, entries, fmt.Errorf("merge into document %s: %w", id, err)
	}
	return rows, entries, nil
}

// Entries implements engine.Documents. They come map by map, sorted by key.
func (s *Set) Entries(ctx context.Context, id engine.DocumentID) ([]engine.Entry, error) {
	var entries []engine.Entry
	err := s.use(ctx, id, func(d *document) (bool, error) {
		entries = d.history.entries()
		return false, nil
	})
	return entries, err
}

// WrittenAt implements engine.Documents.
func (s *Set) WrittenAt(ctx context.Context, id engine.DocumentID, m engine.MapName, key string) (heads [32]byte, have engine.Version, err error) {
	err = s.use(ctx, id, func(d *document) (bool, error) {
		k := d.history.cells[slot{d.history.object(m), key}]
		if k == nil {
			return false, fmt.Errorf("entry %s of %s in document %s: %w", key, m, id, engine.ErrNotFound)
		}
		heads, have = d.history.writtenAt(k.winner().change)
		return false, nil
	})
	return heads, have, err
}

// Values implements engine.Documents. They are shared and must not be changed.
func (s *Set) Values(ctx context.Context, id engine.DocumentID, m engine.MapName, key string) ([][]byte, error) {
	var values [][]byte
	err := s.use(ctx, id, func(d *document) (bool, error) {
		if k := d.history.cells[slot{d.history.object(m), key}]; k != nil {
			for _, i := range k.live {
				values = append(values, k.puts[i].value)
			}
		}
		return false, nil
	})
	return values, err
}

// Heads implements engine.Documents: the SHA-256 hash over the sorted hashes of the heads.
func (s *Set) Heads(ctx context.Context, id engine.DocumentID) ([32]byte, error) {
	var digest [32]byte
	err := s.use(ctx, id, func(d *document) (bool, error) {
		digest = d.history.digest()
		return false, nil
	})
	return digest, err
}

// Forget implements engine.Documents.
func (s *Set) Forget(id engine.DocumentID) {
	p := s.cache.lock(id)
	s.cache.drop(p)
	p.mu.Unlock()
}
