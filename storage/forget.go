package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/skerry/skerry/engine"
)

// forgetAtOnce is how many rows of operations go in one transaction, so that no caller waits long for it.
const forgetAtOnce = 256

// The record that says until when operations are forgotten, in nanoseconds since 1970.
const (
	ownShelf     = "storage"
	forgottenKey = "forgotten-until"
)

// settledOperations lists what may be forgotten, the oldest first. Who has to decide about a refused operation finds it, and what
// is still to be handed to another site is known to have come back in its document.
const settledOperations = `SELECT n, settled_at FROM operations o WHERE settled_at > 0 AND settled_at < ? AND (o.state <> 'rejected'
	OR NOT EXISTS (SELECT 1 FROM conflicts c WHERE c.document = o.document AND c.document <> ''))
	AND NOT EXISTS (SELECT 1 FROM outbox k WHERE k.operation = o.id) ORDER BY settled_at LIMIT ?`

// ForgetOperations implements engine.Store. What is deleted and until when it reaches become durable together.
func (s *Store) ForgetOperations(ctx context.Context, before time.Time, most int) (int, error) {
	bound := nanos(before)
	var crowded int64 // when the newest was settled of those that are too many
	switch err := s.reads.QueryRowContext(ctx, `SELECT settled_at FROM operations WHERE settled_at > 0 ORDER BY settled_at DESC LIMIT 1 OFFSET ?`,
		most).Scan(&crowded); {
	case err == nil:
		bound = max(bound, crowded+1)
	case !errors.Is(err, sql.ErrNoRows):
		return 0, fmt.Errorf("count old operations: %w", mapped(err))
	}
	type old struct{ n, settled int64 }
	all, err := collect(ctx, s.reads, func(row scanner) (o old, err error) {
		err = row.Scan(&o.n, &o.settled)
		return o, err
	}, settledOperations, bound, forgetAtOnce)
	if err != nil {
		return 0, fmt.Errorf("list old operations: %w", err)
	}
	if len(all) == 0 {
		return 0, nil
	}
	until, err := s.ForgottenUntil(ctx)
	if err != nil {
		return 0, err
	}
	rows, newest := make([]int64, len(all)), nanos(until)
	for i, o := range all {
		rows[i], newest = o.n, max(newest, o.settled)
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return 0, fmt.Errorf("forget old operations: %w", err)
	}
	const what = "forget old operations"
	writes := []write{
		{statement: forgetOperations, what: what, args: []any{string(list)}},
		{statement: putRecord, what: what, args: []any{ownShelf, forgottenKey, []byte(strconv.FormatInt(newest, 10))}},
	}
	if err := s.submit(ctx, &submission{writes: writes}); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return len(all), nil
}

// ForgottenUntil implements engine.Store.
func (s *Store) ForgottenUntil(ctx context.Context) (time.Time, error) {
	value, err := s.Record(ctx, ownShelf, forgottenKey)
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
