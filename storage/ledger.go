package storage

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/skerry/skerry/engine"
)

// Document returns the registration of a document.
func (s *Store) Document(ctx context.Context, id engine.DocumentID) (engine.DocumentRow, error) {
	r, err := s.scanDocument(s.reads.QueryRowContext(ctx, selectDocument+`id = ?`, string(id)))
	return r, found(err, "document", id)
}

// MeshDocument returns the registration of the one document that is marked Mesh, or ErrNotFound.
func (s *Store) MeshDocument(ctx context.Context) (engine.DocumentRow, error) {
	r, err := s.scanDocument(s.reads.QueryRowContext(ctx, selectDocument+`mesh = 1 ORDER BY id LIMIT 1`))
	return r, found(err, "document of", "the mesh")
}

const selectDocument = `SELECT id, about, mesh, sites, leaving, former, heads, epoch, checkpoint FROM documents WHERE `

func (s *Store) scanDocument(row scanner) (engine.DocumentRow, error) {
	var r engine.DocumentRow
	var sites, leaving, former, heads []byte
	if err := row.Scan(&r.ID, &r.About, &r.Mesh, &sites, &leaving, &former, &heads, &r.Epoch, &r.Checkpoint); err != nil {
		return engine.DocumentRow{}, err
	}
	if err := s.vault.open(&r.Checkpoint, "documents.checkpoint", string(r.ID)); err != nil {
		return engine.DocumentRow{}, err
	}
	copy(r.Heads[:], heads)
	var digests map[engine.SiteID]string
	if err := errors.Join(json.Unmarshal(sites, &r.Sites), json.Unmarshal(leaving, &r.Leaving), json.Unmarshal(former, &digests)); err != nil {
		return engine.DocumentRow{}, fmt.Errorf("sites of document %s: %w", r.ID, err)
	}
	for site, text := range digests {
		digest, err := hex.DecodeString(text)
		if err != nil || len(digest) != len(r.Heads) {
			return engine.DocumentRow{}, fmt.Errorf("what document %s shows former site %s: %q is no digest", r.ID, site, text)
		}
		if r.Former == nil {
			r.Former = map[engine.SiteID][32]byte{}
		}
		r.Former[site] = [32]byte(digest)
	}
	return r, nil
}

// Snapshot returns what SaveSnapshot kept last for the document, or ErrNotFound. The bytes are the caller's.
func (s *Store) Snapshot(ctx context.Context, id engine.DocumentID) ([]byte, error) {
	var b []byte
	err := s.reads.QueryRowContext(ctx, `SELECT bytes FROM snapshots WHERE document = ?`, string(id)).Scan(&b)
	if err == nil {
		err = s.vault.open(&b, "snapshots.bytes", string(id))
	}
	return b, found(err, "snapshot of document", id)
}

// SaveSnapshot replaces the snapshot of the document. It waits in the same queue as Commit; b is not kept.
func (s *Store) SaveSnapshot(ctx context.Context, id engine.DocumentID, b []byte) error {
	what := "snapshot of document " + string(id)
	w := write{statement: putSnapshot, what: what, args: []any{string(id), s.vault.seal(blob(b), "snapshots.bytes", string(id))}}
	if err := s.submit(ctx, &submission{writes: []write{w}}); err != nil {
		return fmt.Errorf("save %s: %w", what, err)
	}
	return nil
}

// summaries asks for what is shown to a site and for the mesh document; UNION names a document once that is both.
const summaries = `SELECT d.id, coalesce(s.heads, d.heads) FROM document_sites s CROSS JOIN documents d ON d.id = s.document
	WHERE s.site = ? AND s.document >= ? AND s.document < ?
	UNION SELECT id, heads FROM documents WHERE mesh = 1 AND id >= ? AND id < ? ORDER BY 1`

// Summaries lists the documents that are shown to a site, and the mesh document, by rising id, from ≤ id < to (an empty
// to is no bound).
func (s *Store) Summaries(ctx context.Context, with engine.SiteID, from, to engine.DocumentID) ([]engine.Summary, error) {
	// Any byte sequence is below a blob: SQLite orders all text before all blobs.
	var end any = string(to)
	if to == "" {
		end = []byte{}
	}
	all, err := collect(ctx, s.reads, func(row scanner) (engine.Summary, error) {
		var r engine.Summary
		var heads []byte
		err := row.Scan(&r.Document, &heads)
		copy(r.Heads[:], heads)
		return r, err
	}, summaries, string(with), string(from), end, string(from), end)
	if err != nil {
		return nil, fmt.Errorf("list documents shared with %s: %w", with, err)
	}
	return all, nil
}

// Version returns which changes of the document are stored; it is empty, not nil, when none is.
func (s *Store) Version(ctx context.Context, id engine.DocumentID) (engine.Version, error) {
	type last struct {
		actor string
		seq   uint64
	}
	all, err := collect(ctx, s.reads, func(row scanner) (l last, err error) {
		err = row.Scan(&l.actor, &l.seq)
		return l, err
	}, `SELECT actor, max(seq) FROM changes WHERE document = ? GROUP BY actor`, string(id))
	if err != nil {
		return nil, fmt.Errorf("version of document %s: %w", id, err)
	}
	v := make(engine.Version, len(all))
	for _, l := range all {
		v[l.actor] = l.seq
	}
	return v, nil
}

// authors asks the index for the last change of each actor, whose numbers have no gaps, and reads no other.
const authors = `SELECT c.author, c.seq FROM (SELECT actor, max(seq) AS seq FROM changes WHERE document = ? GROUP BY actor) last
	JOIN changes c ON c.document = ? AND c.actor = last.actor AND c.seq = last.seq`

// Authors counts the changes of the document that are stored, by author.
func (s *Store) Authors(ctx context.Context, id engine.DocumentID) (map[engine.SiteID]uint64, error) {
	type count struct {
		author engine.SiteID
		n      uint64
	}
	all, err := collect(ctx, s.reads, func(row scanner) (c count, err error) {
		err = row.Scan(&c.author, &c.n)
		return c, err
	}, authors, string(id), string(id))
	if err != nil {
		return nil, fmt.Errorf("authors of document %s: %w", id, err)
	}
	counts := make(map[engine.SiteID]uint64, len(all))
	for _, c := range all {
		counts[c.author] += c.n
	}
	return counts, nil
}

// Changes returns stored changes of the document that have does not show, in the order in which they were stored,
// at most about limit bytes of them (0: no bound, at least one otherwise), and whether there are more.
func (s *Store) Changes(ctx context.Context, id engine.DocumentID, have engine.Version, limit int) ([]engine.ChangeRow, bool, error) {
	// The index alone tells which are wanted, so that the bytes of the others are never read.
	type place struct {
		n     int64
		actor string
		seq   uint64
	}
	places, err := collect(ctx, s.reads, func(row scanner) (p place, err error) {
		err = row.Scan(&p.n, &p.actor, &p.seq)
		return p, err
	}, `SELECT n, actor, seq FROM changes WHERE document = ?`, string(id))
	if err != nil {
		return nil, false, fmt.Errorf("changes of document %s: %w", id, err)
	}
	places = slices.DeleteFunc(places, func(p place) bool { return p.seq <= have[p.actor] })
	slices.SortFunc(places, func(a, b place) int { return int(a.n - b.n) })
	if len(places) == 0 {
		return nil, false, nil
	}
	read, err := s.reads.PrepareContext(ctx, `SELECT hash, author, signature, bytes FROM changes WHERE n = ? AND document = ?`)
	if err != nil {
		return nil, false, fmt.Errorf("changes of document %s: %w", id, mapped(err))
	}
	defer read.Close()
	rows := make([]engine.ChangeRow, 0, len(places))
	size := 0
	for _, p := range places {
		if limit > 0 && size >= limit {
			return rows, true, nil
		}
		r := engine.ChangeRow{Document: id, Actor: p.actor, Seq: p.seq}
		var hash []byte
		if err := read.QueryRowContext(ctx, p.n, string(id)).Scan(&hash, &r.Author, &r.Signature, &r.Bytes); err != nil {
			return nil, false, found(err, "changes of document", id) // it may have been dropped meanwhile
		}
		if err := s.vault.open(&r.Bytes, "changes.bytes", string(id), r.Actor, strconv.FormatUint(r.Seq, 10)); err != nil {
			return nil, false, fmt.Errorf("changes of document %s: %w", id, err)
		}
		copy(r.Hash[:], hash)
		size += len(r.Bytes) + len(r.Signature)
		rows = append(rows, r)
	}
	return rows, false, nil
}
