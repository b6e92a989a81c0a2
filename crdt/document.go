package crdt

import (
	"context"
	"errors"
	"fmt"

	"github.com/automerge/automerge-go"
	"github.com/skerry/skerry/engine"
)

// loadPage is about how many bytes of stored changes are read at once.
const loadPage = 4 << 20

// document is one open document. Its slot in the cache holds the lock that guards it.
type document struct {
	id    engine.DocumentID
	about engine.About
	// core is freed by its finalizer. It sleeps, and is nil, until a change comes or a snapshot is due: reading needs it
	// not, and making it is the greater part of opening a document.
	core *automerge.Doc
	// asleep is what the core is to be made of when it wakes: what it saved once, and chunks.
	asleep  []byte
	history *history
	// kept is how many changes the snapshot covers that was made last, or that would have been.
	kept int
	// last is the last change that came since the document was opened, which may not be stored yet.
	last engine.ChangeRow
	// fresh says that it was made here and that the store has not been asked for it since.
	fresh bool
	// created says that it was not stored when it was opened.
	created bool
}

// newDocument makes the document that begins with about.
func newDocument(about engine.About, b []byte) *document {
	first := firstChange(about.Schema, b)
	chunk, h := first.encode()
	return &document{id: documentID(h), about: about, asleep: chunk, history: newHistory(about.Schema, first, h)}
}

// openDocument makes the document of a row: from its snapshot and what was stored after, or else from all that is
// stored. Whatever may be wrong with a snapshot costs only the time that it would have saved. The core sleeps.
func openDocument(ctx context.Context, loader Loader, row engine.DocumentRow) (*document, error) {
	about, err := decodeAbout(row.About)
	if err != nil {
		return nil, fmt.Errorf("open document %s: %w", row.ID, err)
	}
	d := newDocument(about, row.About)
	if d.id != row.ID {
		return nil, fmt.Errorf("open document %s: its first change makes document %s", row.ID, d.id)
	}
	if b, err := loader.Snapshot(ctx, row.ID); err == nil {
		if d.resume(ctx, loader, b) == nil {
			return d, nil
		}
		d = newDocument(about, row.About)
	}
	if err := d.catchUp(ctx, loader); err != nil {
		return nil, fmt.Errorf("open document %s: %w", row.ID, err)
	}
	return d, nil
}

// resume makes of a new document what the snapshot b and the changes stored since say.
func (d *document) resume(ctx context.Context, loader Loader, b []byte) error {
	if err := d.restore(b); err != nil {
		return err
	}
	stored, err := loader.Version(ctx, d.id)
	if err != nil {
		return err
	}
	// With a change that is not stored, this site would show what it could not pass on, and give its number again.
	for a, seq := range d.history.version() {
		if stored[a] < seq {
			return errors.New("it is newer than what is stored")
		}
	}
	return d.catchUp(ctx, loader)
}

// catchUp replays the stored changes that the document does not have. They passed the gate before they were stored; they
// pass it again but for the signature, so that nothing broken on disk reaches the core.
func (d *document) catchUp(ctx context.Context, loader Loader) error {
	have := d.history.version()
	for more := true; more; {
		rows, m, err := loader.Changes(ctx, d.id, have, loadPage)
		if err != nil {
			return err
		}
		if err := d.replay(rows, have); err != nil {
			return err
		}
		more = m && len(rows) > 0
	}
	return nil
}

// replay applies stored changes all at once and notes them in have.
func (d *document) replay(rows []engine.ChangeRow, have engine.Version) error {
	var chunks []byte
	for _, row := range rows {
		h, err := hashOf(row.Bytes)
		if err != nil || h != row.Hash {
			return fmt.Errorf("stored change %x is damaged: %w", row.Hash[:4], err)
		}
		c, err := decodeChange(row.Bytes)
		if err == nil {
			err = d.history.check(c, row.Author)
		}
		if err != nil {
			return fmt.Errorf("stored change %x: %w", row.Hash[:4], err)
		}
		d.history.add(c, h)
		chunks = append(chunks, row.Bytes...)
		have[row.Actor] = row.Seq
	}
	if len(rows) == 0 {
		return nil
	}
	return d.feed(chunks)
}

// row returns c as it is stored.
func (d *document) row(c *change, s engine.SignedChange, h hash) engine.ChangeRow {
	return engine.ChangeRow{SignedChange: s, Document: d.id, Hash: h, Actor: c.actor.String(), Seq: c.seq}
}

// apply takes in a change that passed the gate. After an error the document is not to be used any more.
func (d *document) apply(c *change, row engine.ChangeRow) error {
	d.history.add(c, row.Hash)
	d.last = row
	return d.feed(row.Bytes)
}

// wake makes the core of what it is to be made of. It may be tried again after an error, with no other result.
func (d *document) wake() error {
	if d.core != nil {
		return nil
	}
	d.core = automerge.New()
	if err := d.feed(d.asleep); err != nil {
		d.core = nil
		return err
	}
	d.asleep = nil
	return nil
}

// feed gives chunks to the core and checks that it arrives at the history's heads: it reports no error for bytes
// that it could not make sense of. A core that sleeps gets them when it wakes.
func (d *document) feed(chunks []byte) error {
	if d.core == nil {
		// Where asleep is part of a snapshot, it is clipped, and this copies it.
		d.asleep = append(d.asleep, chunks...)
		return nil
	}
	if err := d.core.LoadIncremental(chunks); err != nil {
		return fmt.Errorf("document %s: automerge: %w", d.id, err)
	}
	heads := d.core.Heads()
	same := len(heads) == len(d.history.heads)
	for _, h := range heads {
		_, ok := d.history.heads[hash(h)]
		same = same && ok
	}
	if !same {
		return fmt.Errorf("document %s: automerge arrives at other heads than its changes leave", d.id)
	}
	return nil
}
