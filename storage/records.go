package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/skerry/skerry/engine"
)

// Records are small things that other parts of the agent keep on shelves of their own, ordered by key (bytewise). All methods are
// safe for concurrent use; what a method has written is durable when it returns.

// PutRecord keeps a value under a key, in the place of what was there.
func (s *Store) PutRecord(ctx context.Context, shelf, key string, value []byte) error {
	return s.writeRecords(ctx, write{statement: putRecord, what: "keep record " + key, args: []any{shelf, key, blob(value)}})
}

// DropRecord takes away what is under a key, if anything.
func (s *Store) DropRecord(ctx context.Context, shelf, key string) error {
	return s.DropRecords(ctx, shelf, key, key+"\x00")
}

// DropRecords takes away what is under the keys from one up to, and without, another.
func (s *Store) DropRecords(ctx context.Context, shelf, from, before string) error {
	return s.writeRecords(ctx, write{statement: dropRecords, what: "drop records", args: []any{shelf, from, before}})
}

func (s *Store) writeRecords(ctx context.Context, w write) error {
	if err := s.submit(ctx, &submission{writes: []write{w}}); err != nil {
		return fmt.Errorf("write shelf %s: %w", w.args[0], err)
	}
	return nil
}

// Record returns what is under a key, or engine.ErrNotFound. The bytes are the caller's.
func (s *Store) Record(ctx context.Context, shelf, key string) ([]byte, error) {
	var value []byte
	err := s.reads.QueryRowContext(ctx, `SELECT value FROM records WHERE shelf = ? AND key = ?`, shelf, key).Scan(&value)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("record %s of shelf %s: %w", key, shelf, engine.ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("read record %s of shelf %s: %w", key, shelf, mapped(err))
	}
	return value, nil
}

// Records calls take for what is under the keys from one up to, and without, another, until limit are told or take fails; in
// order, or the last first. take must not write to the store.
func (s *Store) Records(ctx context.Context, shelf, from, before string, limit int, lastFirst bool, take func(key string, value []byte) error) error {
	order := `ASC`
	if lastFirst {
		order = `DESC`
	}
	rows, err := s.reads.QueryContext(ctx, `SELECT key, value FROM records WHERE shelf = ? AND key >= ? AND key < ? ORDER BY key `+order+` LIMIT ?`,
		shelf, from, before, limit)
	if err != nil {
		return fmt.Errorf("read shelf %s: %w", shelf, mapped(err))
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var value []byte
		if err := rows.Scan(&key, &value); err != nil {
			return fmt.Errorf("read shelf %s: %w", shelf, mapped(err))
		}
		if err := take(key, value); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read shelf %s: %w", shelf, mapped(err))
	}
	return nil
}
