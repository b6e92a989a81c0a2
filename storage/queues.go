package storage

import (
	"context"
	"fmt"
	"strconv"

	"github.com/skerry/skerry/engine"
)

// Intents lists the open intents, oldest first.
func (s *Store) Intents(ctx context.Context) ([]engine.Intent, error) {
	all, err := collect(ctx, s.reads, func(row scanner) (engine.Intent, error) {
		var r engine.Intent
		var opened int64
		err := row.Scan(&r.Operation, &r.Document, &r.Data, &opened, &r.Blob)
		r.OpenedAt = instant(opened)
		return r, err
	}, `SELECT operation, document, data, opened_at, blob FROM intents ORDER BY opened_at, operation`)
	if err != nil {
		return nil, fmt.Errorf("list intents: %w", err)
	}
	return all, nil
}

// NeedsBlob implements engine.Store.
func (s *Store) NeedsBlob(ctx context.Context, h engine.BlobHash) (needed bool, err error) {
	err = s.reads.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM operations WHERE blob = ?1 AND blob <> '' AND blob_needed = 1)
		OR EXISTS (SELECT 1 FROM intents WHERE blob = ?1 AND blob <> '')`, string(h)).Scan(&needed)
	if err != nil {
		return false, fmt.Errorf("look who needs blob %s: %w", h, mapped(err))
	}
	return needed, nil
}

// NeededBlobs implements engine.Store.
func (s *Store) NeededBlobs(ctx context.Context) ([]engine.BlobHash, error) {
	all, err := collect(ctx, s.reads, func(row scanner) (h engine.BlobHash, err error) {
		err = row.Scan(&h)
		return h, err
	}, `SELECT blob FROM operations WHERE blob <> '' AND blob_needed = 1 UNION SELECT blob FROM intents WHERE blob <> ''`)
	if err != nil {
		return nil, fmt.Errorf("list the blobs that something needs: %w", err)
	}
	return all, nil
}

// Outbox lists the kept requests, oldest first.
func (s *Store) Outbox(ctx context.Context) ([]engine.Kept, error) {
	all, err := collect(ctx, s.reads, func(row scanner) (engine.Kept, error) {
		var r engine.Kept
		var kept int64
		err := row.Scan(&r.Operation, &r.Data, &kept)
		r.KeptAt = instant(kept)
		return r, err
	}, `SELECT operation, data, kept_at FROM outbox ORDER BY kept_at, operation`)
	if err != nil {
		return nil, fmt.Errorf("list kept requests: %w", err)
	}
	return all, nil
}

// Kept returns one kept request.
func (s *Store) Kept(ctx context.Context, id engine.OperationID) (engine.Kept, error) {
	r := engine.Kept{Operation: id}
	var kept int64
	if err := s.reads.QueryRowContext(ctx, `SELECT data, kept_at FROM outbox WHERE operation = ?`, string(id)).Scan(&r.Data, &kept); err != nil {
		return engine.Kept{}, found(err, "kept request", string(id))
	}
	r.KeptAt = instant(kept)
	return r, nil
}

// Answer returns the first answer under a key, unless it is older than 24 hours.
func (s *Store) Answer(ctx context.Context, key [32]byte) (engine.KeyedAnswer, error) {
	r := engine.KeyedAnswer{Key: key}
	var hash []byte
	var at int64
	err := s.reads.QueryRowContext(ctx, `SELECT body_hash, answer, at FROM answers WHERE key = ? AND at >= ?`, key[:],
		nanos(s.now().Add(-keepAnswers))).Scan(&hash, &r.Answer, &at)
	if err != nil {
		return engine.KeyedAnswer{}, found(err, "answer under key", fmt.Sprintf("%x", key[:4]))
	}
	if err := s.vault.open(&r.Answer, "answers.answer", fmt.Sprintf("%X", key[:])); err != nil {
		return engine.KeyedAnswer{}, err
	}
	copy(r.BodyHash[:], hash)
	r.At = instant(at)
	return r, nil
}

// Events returns up to limit events (0: 100; at most 1000) with a Seq over after, oldest first. Only the newest
// 10,000 are certain to be there.
func (s *Store) Events(ctx context.Context, after uint64, limit int) ([]engine.Event, error) {
	all, err := collect(ctx, s.reads, func(row scanner) (engine.Event, error) {
		var r engine.Event
		var at int64
		var data []byte
		err := row.Scan(&r.Seq, &r.Type, &r.Subject, &at, &data)
		if err == nil {
			err = s.vault.open(&data, "events.data", r.Type, r.Subject, strconv.FormatInt(at, 10))
		}
		r.Time, r.Data = instant(at), data
		return r, err
	}, `SELECT seq, type, subject, time, data FROM events WHERE seq > ? ORDER BY seq LIMIT ?`,
		int64(min(after, 1<<62)), pageSize(limit))
	if err != nil {
		return nil, fmt.Errorf("list events after %d: %w", after, err)
	}
	return all, nil
}
