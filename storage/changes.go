package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/skerry/skerry/engine"
)

// putChange adds a change. One that is there already is left as it is.
func (w *writer) putChange(c *engine.Change) error {
	if max(c.Number, c.Epoch) > math.MaxInt64 {
		return errors.New("its number is out of range")
	}
	resource, err := w.resource(c.Document)
	if err != nil {
		return err
	}
	line, err := w.line(c.Line)
	if err != nil {
		return err
	}
	at := changePlace(c.Document, c.Epoch, c.Line, c.Number)
	added, _, err := w.run(addChange, resource, int64(c.Epoch), line, int64(c.Number), given(c.Signature), w.vault.seal(given(c.Bytes), at))
	if err != nil || added > 0 {
		return err
	}
	there, err := w.bytes(readChange, resource, int64(c.Epoch), line, int64(c.Number))
	if err != nil {
		return err
	}
	if err := w.vault.open(&there, at); err != nil {
		return err
	}
	if !bytes.Equal(there, c.Bytes) {
		return errors.New("another change has its number")
	}
	return nil
}

// dropEpoch deletes the changes of an epoch.
func (w *writer) dropEpoch(e engine.EpochOf) error {
	resource, err := w.findResource(e.Document)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.exec(dropEpoch, resource, int64(e.Epoch))
}

const (
	fromChanges = ` FROM changes c JOIN lines l ON l.n = c.line WHERE c.resource = (SELECT n FROM resources WHERE document = ?)`
	// lineEnds asks for the ends of all lines, and reads no change.
	lineEnds = `SELECT c.epoch, l.name, max(c.number)` + fromChanges + ` GROUP BY c.epoch, c.line ORDER BY c.epoch, c.line`
	// readAll and readLine read changes, those of one line in their order.
	readAll  = `SELECT c.epoch, l.name, c.number, c.signature, c.bytes` + fromChanges + ` ORDER BY c.epoch, c.line, c.number`
	readLine = `SELECT c.epoch, l.name, c.number, c.signature, c.bytes` + fromChanges + `
		AND c.epoch = ? AND c.line = (SELECT n FROM lines WHERE name = ?) AND c.number > ? ORDER BY c.number`
)

// Changes implements engine.Store: by epoch, and within one by line.
func (s *Store) Changes(ctx context.Context, id engine.DocumentID, have map[uint64]map[engine.Line]uint64, limit int) ([]engine.StoredChange, bool, error) {
	key, err := keyOf(id)
	if err != nil {
		return nil, false, nil // no such document has changes
	}
	r := changeReader{store: s, document: id, limit: limit}
	if len(have) == 0 {
		err = r.read(ctx, readAll, key[:])
	} else {
		err = r.readBeyond(ctx, key, have)
	}
	if err != nil {
		return nil, false, fmt.Errorf("changes of document %s: %w", id, err)
	}
	return r.all, r.more, nil
}

// changeReader collects changes up to a limit.
type changeReader struct {
	store    *Store
	document engine.DocumentID
	limit    int
	size     int
	all      []engine.StoredChange
	more     bool
}

// readBeyond reads what have does not show of each line.
func (r *changeReader) readBeyond(ctx context.Context, key documentKey, have map[uint64]map[engine.Line]uint64) error {
	type line struct {
		epoch uint64
		name  engine.Line
		last  uint64
	}
	ends, err := collect(ctx, r.store.reads, func(row scanner) (l line, err error) {
		err = row.Scan(&l.epoch, &l.name, &l.last)
		return l, err
	}, lineEnds, key[:])
	if err != nil {
		return err
	}
	for _, l := range ends {
		from := have[l.epoch][l.name]
		if from >= l.last {
			continue
		}
		if err := r.read(ctx, readLine, key[:], int64(l.epoch), string(l.name), int64(from)); err != nil || r.more {
			return err
		}
	}
	return nil
}

// read takes rows until the limit is reached.
func (r *changeReader) read(ctx context.Context, q string, args ...any) error {
	return r.store.reads.each(ctx, func(row scanner) (bool, error) {
		if r.limit > 0 && r.size >= r.limit {
			r.more = true
			return false, nil
		}
		var c engine.StoredChange
		if err := row.Scan(&c.Epoch, &c.Line, &c.Number, &c.Signature, &c.Bytes); err != nil {
			return false, err
		}
		if err := r.store.vault.open(&c.Bytes, changePlace(r.document, c.Epoch, c.Line, c.Number)); err != nil {
			return false, err
		}
		r.size += len(c.Bytes) + len(c.Signature)
		r.all = append(r.all, c)
		return true, nil
	}, q, args...)
}
