package storage

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/skerry/skerry/engine"
)

// putMesh puts a record of the mesh in the place of the one with its author and key, unless that is a newer one.
func (w *writer) putMesh(r *engine.SignedRecord) error {
	var record engine.MeshRecord
	if err := engine.Decode(r.Record, &record); err != nil {
		return err
	}
	if record.Number > math.MaxInt64 {
		return errors.New("its number is out of range")
	}
	return w.exec(putMesh, string(r.Author), string(record.Key.Kind), record.Key.About, int64(record.Number), given(r.Record), given(r.Signature))
}

// dropMesh takes a record of the mesh away, unless a newer one is in its place.
func (w *writer) dropMesh(r *engine.SignedRecord) error {
	var record engine.MeshRecord
	if err := engine.Decode(r.Record, &record); err != nil {
		return err
	}
	return w.exec(dropMesh, string(r.Author), string(record.Key.Kind), record.Key.About, int64(record.Number))
}

// Mesh implements engine.Store: by author and key.
func (s *Store) Mesh(ctx context.Context) ([]engine.SignedRecord, error) {
	all, err := collect(ctx, s.reads, func(row scanner) (r engine.SignedRecord, err error) {
		err = row.Scan(&r.Author, &r.Record, &r.Signature)
		return r, err
	}, `SELECT author, record, signature FROM mesh ORDER BY author, kind, about`)
	if err != nil {
		return nil, fmt.Errorf("list records of the mesh: %w", err)
	}
	return all, nil
}
