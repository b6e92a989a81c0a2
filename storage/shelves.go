package storage

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// Shelves are where other parts of the agent keep small things of their own, ordered by key (bytewise). They are safe for
// concurrent use; what a method has written is durable when it returns.
type Shelves struct{ store *Store }

// PutRecord keeps a value under a key, in the place of what was there.
func (s *Shelves) PutRecord(ctx context.Context, shelf, key string, value []byte) error {
	return s.write(ctx, shelf, putShelved, shelf, key, given(value))
}

// DropRecord takes away what is under a key, if anything.
func (s *Shelves) DropRecord(ctx context.Context, shelf, key string) error {
	return s.DropRecords(ctx, shelf, key, key+"\x00")
}

// DropRecords takes away what is under the keys from one up to, and without, another.
func (s *Shelves) DropRecords(ctx context.Context, shelf, from, before string) error {
	return s.write(ctx, shelf, dropShelved, shelf, from, before)
}

func (s *Shelves) write(ctx context.Context, shelf string, q statement, args ...driver.Value) error {
	if err := s.store.queue.submit(ctx, &submission{write: func(w *writer) error { return w.exec(q, args...) }}); err != nil {
		return fmt.Errorf("write shelf %s: %w", shelf, err)
	}
	return nil
}

// Record returns what is under a key, or engine.ErrNotFound. The bytes are the caller's.
func (s *Shelves) Record(ctx context.Context, shelf, key string) ([]byte, error) {
	var value []byte
	err := s.store.reads.one(ctx, `SELECT value FROM records WHERE shelf = ? AND key = ?`, shelf, key).Scan(&value)
	return value, found(err, "record of shelf "+shelf, key)
}

// Records calls take for what is under the keys from one up to, and without, another, until limit are told or take fails; in
// order, or the last first. take must not write to the store.
func (s *Shelves) Records(ctx context.Context, shelf, from, before string, limit int, lastFirst bool, take func(key string, value []byte) error) error {
	q := `SELECT key, value FROM records WHERE shelf = ? AND key >= ? AND key < ? ORDER BY key ASC LIMIT ?`
	if lastFirst {
		q = `SELECT key, value FROM records WHERE shelf = ? AND key >= ? AND key < ? ORDER BY key DESC LIMIT ?`
	}
	var taken error
	err := s.store.reads.each(ctx, func(row scanner) (bool, error) {
		var key string
		var value []byte
		if err := row.Scan(&key, &value); err != nil {
			return false, err
		}
		taken = take(key, value)
		return taken == nil, nil
	}, q, shelf, from, before, limit)
	if taken != nil {
		return taken
	}
	if err != nil {
		return fmt.Errorf("read shelf %s: %w", shelf, err)
	}
	return nil
}
