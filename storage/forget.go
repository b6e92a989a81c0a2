package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/skerry/skerry/engine"
)

// forgetAtOnce is how many rows of operations go in one transaction, so that no caller waits long for it.
const forgetAtOnce = 256

// What is on the store's own shelf: until when operations are forgotten, in nanoseconds since 1970.
const (
	ownShelf     = "storage"
	forgottenKey = "forgotten-until"
)

const (
	// crowdedSince tells when the newest was settled of those that are too many.
	crowdedSince = `SELECT settled_at FROM operations WHERE settled_at > 0 ORDER BY settled_at DESC LIMIT 1 OFFSET ?`
	// settledOperations lists what may be forgotten, the oldest first. Who has to decide about a refused operation finds it, and
	// what is still to be handed to another site is known to have come back in its document.
	settledOperations = `SELECT n, settled_at FROM operations o WHERE settled_at > 0 AND settled_at < ? AND (o.state <> 'rejected'
		OR NOT EXISTS (SELECT 1 FROM conflicts c JOIN resources r ON r.document = c.document WHERE r.n = o.subject))
		AND NOT EXISTS (SELECT 1 FROM outbox k WHERE k.operation = o.id) ORDER BY settled_at LIMIT ?`
)

// ForgetOperations implements engine.Store. What is deleted and until when it reaches become durable together.
func (s *Store) ForgetOperations(ctx context.Context, before time.Time, most int) (int, error) {
	bound := nanos(before)
	var crowded int64
	switch err := s.reads.one(ctx, crowdedSince, most).Scan(&crowded); {
	case err == nil:
		bound = max(bound, crowded+1)
	case !errors.Is(err, noRow):
		return 0, fmt.Errorf("count old operations: %w", mapped(err))
	}
	until, err := s.ForgottenUntil(ctx)
	if err != nil {
		return 0, err
	}
	rows, newest := []int64{}, nanos(until)
	if err := s.reads.each(ctx, func(row scanner) (bool, error) {
		var n, settled int64
		err := row.Scan(&n, &settled)
		rows, newest = append(rows, n), max(newest, settled)
		return true, err
	}, settledOperations, bound, forgetAtOnce); err != nil {
		return 0, fmt.Errorf("list old operations: %w", err)
	}
	if len(rows) == 0 {
		return 0, nil
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return 0, fmt.Errorf("forget old operations: %w", err)
	}
	if err := s.queue.submit(ctx, &submission{write: func(w *writer) error {
		if err := w.exec(forgetOperations, string(list)); err != nil {
			return err
		}
		return w.exec(putShelved, ownShelf, forgottenKey, strconv.AppendInt(nil, newest, 10))
	}}); err != nil {
		return 0, fmt.Errorf("forget old operations: %w", err)
	}
	return len(rows), nil
}

// ForgottenUntil implements engine.Store.
func (s *Store) ForgottenUntil(ctx context.Context) (time.Time, error) {
	value, err := s.Shelves().Record(ctx, ownShelf, forgottenKey)
	if errors.Is(err, engine.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read until when operations are forgotten: %w", err)
	}
	ns, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read until when operations are forgotten: %w", err)
	}
	return instant(ns), nil
}
