package storage

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
)

const (
	// keepAnswers is how long an Idempotency-Key counts; older ones are deleted every trimAnswersEvery.
	keepAnswers      = 24 * time.Hour
	trimAnswersEvery = 10 * time.Minute
)

// answerLog says when answers are trimmed.
type answerLog struct{ trimmed time.Time }

func errandPlace(id engine.OperationID) []byte { return place("errands.data", string(id)) }
func keptPlace(id engine.OperationID) []byte   { return place("outbox.data", string(id)) }
func answerPlace(key [32]byte) []byte          { return place("answers.answer", hex.EncodeToString(key[:])) }

func (w *writer) putErrand(r *engine.Errand) error {
	return w.exec(putErrand, string(r.Operation), w.vault.seal(r.Data, errandPlace(r.Operation)), nanos(r.At), string(r.Blob))
}

func (w *writer) putKept(r *engine.Kept) error {
	return w.exec(putKept, string(r.Operation), w.vault.seal(r.Data, keptPlace(r.Operation)), nanos(r.KeptAt))
}

// putAnswer keeps an answer, and now and then deletes those that are too old.
func (w *writer) putAnswer(r *engine.KeyedAnswer) error {
	if r.Answer == nil {
		return w.exec(dropAnswer, r.Key[:])
	}
	if err := w.exec(putAnswer, r.Key[:], r.BodyHash[:], w.vault.seal(r.Answer, answerPlace(r.Key)), nanos(r.At)); err != nil {
		return err
	}
	now := w.now()
	if now.Sub(w.answers.trimmed) < trimAnswersEvery {
		return nil
	}
	w.answers.trimmed = now // should this be rolled back, the next trim comes later
	return w.exec(trimAnswers, nanos(now.Add(-keepAnswers)))
}

// Errands implements engine.Store: the oldest first.
func (s *Store) Errands(ctx context.Context) ([]engine.Errand, error) {
	all, err := collect(ctx, s.reads, func(row scanner) (r engine.Errand, err error) {
		var at int64
		if err := row.Scan(&r.Operation, &r.Data, &at, &r.Blob); err != nil {
			return r, err
		}
		r.At = instant(at)
		return r, s.vault.open(&r.Data, errandPlace(r.Operation))
	}, `SELECT operation, data, at, blob FROM errands ORDER BY at, operation`)
	if err != nil {
		return nil, fmt.Errorf("list errands: %w", err)
	}
	return all, nil
}

func (s *Store) scanKept(row scanner) (r engine.Kept, err error) {
	var at int64
	if err := row.Scan(&r.Operation, &r.Data, &at); err != nil {
		return r, err
	}
	r.KeptAt = instant(at)
	return r, s.vault.open(&r.Data, keptPlace(r.Operation))
}

// Outbox implements engine.Store: the oldest first.
func (s *Store) Outbox(ctx context.Context) ([]engine.Kept, error) {
	all, err := collect(ctx, s.reads, s.scanKept, `SELECT operation, data, kept_at FROM outbox ORDER BY kept_at, operation`)
	if err != nil {
		return nil, fmt.Errorf("list kept requests: %w", err)
	}
	return all, nil
}

// Kept implements engine.Store.
func (s *Store) Kept(ctx context.Context, id engine.OperationID) (engine.Kept, error) {
	r, err := s.scanKept(s.reads.one(ctx, `SELECT operation, data, kept_at FROM outbox WHERE operation = ?`, string(id)))
	return r, found(err, "kept request", id)
}

// Answer implements engine.Store. What is older than 24 hours is no more.
func (s *Store) Answer(ctx context.Context, key [32]byte) (engine.KeyedAnswer, error) {
	s.ahead.wait(func(b *engine.Batch) bool {
		return slices.ContainsFunc(b.Answers, func(a engine.KeyedAnswer) bool { return a.Key == key })
	})
	r := engine.KeyedAnswer{Key: key}
	var hash []byte
	var at int64
	err := s.reads.one(ctx, `SELECT body_hash, answer, at FROM answers WHERE key = ? AND at >= ?`, key[:],
		nanos(s.now().Add(-keepAnswers))).Scan(&hash, &r.Answer, &at)
	if err == nil {
		err = s.vault.open(&r.Answer, answerPlace(key))
	}
	if err != nil {
		return engine.KeyedAnswer{}, found(err, "answer under key", fmt.Sprintf("%x", key[:4]))
	}
	copy(r.BodyHash[:], hash)
	r.At = instant(at)
	return r, nil
}

// NeedsBlob implements engine.Store.
func (s *Store) NeedsBlob(ctx context.Context, h engine.BlobHash) (needed bool, err error) {
	err = s.reads.one(ctx, `SELECT ?1 <> '' AND (EXISTS (SELECT 1 FROM operations WHERE blob = ?1 AND blob <> '' AND blob_needed = 1)
		OR EXISTS (SELECT 1 FROM errands WHERE blob = ?1)
		OR EXISTS (SELECT 1 FROM resources WHERE blobs <> '' AND instr(blobs, ?1) > 0))`, string(h)).Scan(&needed)
	if err != nil {
		return false, fmt.Errorf("look who needs blob %s: %w", h, mapped(err))
	}
	return needed, nil
}

// NeededBlobs implements engine.Store.
func (s *Store) NeededBlobs(ctx context.Context) ([]engine.NeededBlob, error) {
	seen := map[engine.BlobHash]bool{"": true}
	var all []engine.NeededBlob
	err := s.reads.each(ctx, func(row scanner) (bool, error) {
		var text, origin string
		var size int64
		err := row.Scan(&text, &size, &origin)
		for _, h := range parseLines[engine.BlobHash](text) {
			if !seen[h] {
				seen[h] = true
				all = append(all, engine.NeededBlob{BlobRef: engine.BlobRef{Hash: h, Size: size}, Origin: engine.SiteID(origin)})
			}
		}
		return true, err
	}, `SELECT blob, blob_size, (SELECT id FROM sites WHERE n = origin) FROM operations WHERE blob <> '' AND blob_needed = 1
		UNION ALL SELECT blob, 0, '' FROM errands WHERE blob <> '' UNION ALL SELECT blobs, 0, '' FROM resources WHERE blobs <> ''`)
	if err != nil {
		return nil, fmt.Errorf("list the blobs that something needs: %w", err)
	}
	return all, nil
}
