package storage

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"

	"github.com/skerry/skerry/engine"
)

const rangeBits = 5 // of a document's identifier, for each level

// bounds returns the identifiers between which those of a range are: from the first, and before the second.
func bounds(r engine.Range) (from, before []byte, err error) {
	if r.Depth > 2 || int(r.First) >= 1<<(rangeBits*r.Depth) {
		return nil, nil, fmt.Errorf("%w: there is no range %d of depth %d", engine.ErrRefused, r.First, r.Depth)
	}
	shift := 16 - rangeBits*r.Depth
	from = binary.BigEndian.AppendUint16(nil, uint16(uint32(r.First)<<shift))
	if end := (uint32(r.First) + 1) << shift; end < 1<<16 {
		return from, binary.BigEndian.AppendUint16(nil, uint16(end)), nil
	}
	return from, bytes.Repeat([]byte{0xff}, len(documentKey{})+1), nil // after all of them
}

// digestsWith reads the digests of a range, of documents that are shared with a site, and of those that are another one for
// some site.
const digestsWith = `SELECT document, digest, apart, peers IN (SELECT placement FROM placement_sites
	WHERE site = (SELECT n FROM sites WHERE id = ?3)) AS shared FROM resources
	WHERE document >= ?1 AND document < ?2 AND (shared OR apart IS NOT NULL) ORDER BY document`

// Digests implements engine.Store. ErrRefused: there is no such range.
func (s *Store) Digests(ctx context.Context, with engine.SiteID, r engine.Range) ([]engine.Digest, error) {
	from, before, err := bounds(r)
	if err != nil {
		return nil, fmt.Errorf("list digests: %w", err)
	}
	var all []engine.Digest
	err = s.reads.each(ctx, func(row scanner) (bool, error) {
		var document, digest, apart sql.RawBytes
		var shared bool
		if err := row.Scan(&document, &digest, &apart, &shared); err != nil {
			return false, err
		}
		d := engine.Digest{Document: documentOf(document), Digest: decodeDigest(digest)}
		others, err := decodeApart(apart)
		if err != nil {
			return false, fmt.Errorf("document %s: %w", d.Document, err)
		}
		if other, ok := others[with]; ok {
			d.Digest, shared = other, true
		}
		if shared {
			all = append(all, d)
		}
		return true, nil
	}, digestsWith, from, before, string(with))
	if err != nil {
		return nil, fmt.Errorf("list digests of documents shared with %s: %w", with, err)
	}
	return all, nil
}

const (
	allPlacements = `SELECT n, sites FROM placements`
	allDigests    = `SELECT document, digest, apart, peers FROM resources WHERE peers <> 0 OR apart IS NOT NULL`
)

// AllDigests implements engine.Store. Calls share lists of sites, which are sorted and nobody changes.
func (s *Store) AllDigests(ctx context.Context, each func(engine.Digest, []engine.SiteID, map[engine.SiteID]engine.Fingerprint)) error {
	placements := map[int64][]engine.SiteID{}
	place := func(row scanner) (bool, error) {
		var n int64
		var sites string
		err := row.Scan(&n, &sites)
		placements[n] = parseLines[engine.SiteID](sites)
		return true, err
	}
	tell := func(row scanner) (bool, error) {
		var document, digest, apart sql.RawBytes
		var peers int64
		if err := row.Scan(&document, &digest, &apart, &peers); err != nil {
			return false, err
		}
		d := engine.Digest{Document: documentOf(document), Digest: decodeDigest(digest)}
		others, err := decodeApart(apart)
		if err != nil {
			return false, fmt.Errorf("document %s: %w", d.Document, err)
		}
		each(d, placements[peers], others)
		return true, nil
	}
	// Both are read as they are at one time.
	tx, err := s.reads.db.BeginTx(ctx, nil)
	if err == nil {
		defer tx.Rollback() // it has written nothing
		rows, queryErr := tx.QueryContext(ctx, allPlacements)
		err = eachOf(rows, queryErr, place)
	}
	if err == nil {
		rows, queryErr := tx.QueryContext(ctx, allDigests)
		err = eachOf(rows, queryErr, tell)
	}
	if err != nil {
		return fmt.Errorf("list all digests: %w", mapped(err))
	}
	return nil
}
