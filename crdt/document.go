package crdt

import (
	"context"
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
	// core is freed by its finalizer.
	core    *automerge.Doc
	history *history
	// last is the last change that came since the document was opened, which may not be stored yet.
	last engine.ChangeRow
	// fresh says that it was made here and that the store has not been asked for it since.
	fresh bool
	// created says that it was not stored when it was opened.
	created bool
}

// newDocument makes the document that begins with about.
func newDocument(about engine.About, b []byte) (*document, error) {
	first := firstChange(about.Schema, b)
	chunk, h := first.encode()
	d := &document{id: documentID(h), about: about, core: automerge.New(), history: newHistory(about.Schema, first, h)}
	if err := d.feed(chunk); err != nil {
		return nil, err
	}
	return d, nil
}

// openDocument makes the document of a row and replays its stored changes. These passed the gate before they were
// stored; they pass it again but for the signature, so that nothing broken on disk reaches the core.
//
// There is no snapshot: of 1,000 changes replaying takes 24 ms, of which the core's compact form would save 10, of
// 100 changes it would save a fifth of 2 ms (BenchmarkLoad, BenchmarkLoadCore), and the history would have to be
// kept beside it.
func openDocument(ctx context.Context, loader Loader, row engine.DocumentRow) (*document, error) {
	about, err := decodeAbout(row.About)
	if err != nil {
		return nil, fmt.Errorf("open document %s: %w", row.ID, err)
	}
	d, err := newDocument(about, row.About)
	if err != nil {
		return nil, fmt.Errorf("open document %s: %w", row.ID, err)
	}
	if d.id != row.ID {
		return nil, fmt.Errorf("open document %s: its first change makes document %s", row.ID, d.id)
	}
	have := engine.Version{}
	for more := true; more; {
		var rows []engine.ChangeRow
		if rows, more, err = loader.Changes(ctx, row.ID, have, loadPage); err != nil {
			return nil, fmt.Errorf("open document %s: %w", row.ID, err)
		}
		if err := d.replay(rows, have); err != nil {
			return nil, fmt.Errorf("open document %s: %w", row.ID, err)
		}
		more = more && len(rows) > 0
	}
	return d, nil
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

// feed gives chunks to the core and checks that it arrives at the history's heads: it reports no error for bytes
// that it could not make sense of.
func (d *document) feed(chunks []byte) error {
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
