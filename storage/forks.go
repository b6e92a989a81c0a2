package storage

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/skerry/skerry/engine"
)

// putFork keeps a fork in the place of a later one of its line or its site, and takes the changes away that do not count any more.
func (w *writer) putFork(f *engine.ProvenFork) error {
	if max(f.Epoch, f.Number) >= math.MaxInt64 {
		return errors.New("its number is out of range")
	}
	resource, err := w.resource(f.Document)
	if err != nil {
		return err
	}
	line, err := w.line(f.Line)
	if err != nil {
		return err
	}
	if err := w.exec(dropVoid, resource, line, int64(f.Epoch), int64(f.Epoch), int64(f.Number)); err != nil {
		return err
	}
	if f.All != nil {
		site := string(f.Line.Site())
		if err := w.exec(dropAllVoid, resource, int64(*f.All), site, site+"/", site+"0"); err != nil {
			return err
		}
	}
	if f.Instead != "" {
		instead, err := w.line(f.Instead)
		if err != nil {
			return err
		}
		if err := w.exec(dropFork, resource, instead); err != nil {
			return err
		}
	}
	sealed := func(i int) []byte { return w.vault.seal(given(f.Proof[i].Bytes), forkPlace(f.Document, f.Line, i)) }
	return w.exec(putFork, resource, line, int64(f.Epoch), int64(f.Number), f.At,
		given(f.Proof[0].Signature), sealed(0), given(f.Proof[1].Signature), sealed(1))
}

const readForks = `SELECT l.name, f.epoch, f.number, f.at, f.first_signature, f.first_bytes, f.second_signature, f.second_bytes
	FROM forks f JOIN lines l ON l.n = f.line WHERE f.resource = (SELECT n FROM resources WHERE document = ?) ORDER BY l.name`

// Forks implements engine.Store.
func (s *Store) Forks(ctx context.Context, id engine.DocumentID) ([]engine.ProvenFork, error) {
	key, err := keyOf(id)
	if err != nil {
		return nil, nil // no such document has forks
	}
	list, err := collect(ctx, s.reads, func(row scanner) (engine.ProvenFork, error) {
		f := engine.ProvenFork{Document: id}
		p := &f.Proof
		err := row.Scan(&f.Line, &f.Epoch, &f.Number, &f.At, &p[0].Signature, &p[0].Bytes, &p[1].Signature, &p[1].Bytes)
		for i := range p {
			p[i].Line = f.Line
			if err == nil {
				err = s.vault.open(&p[i].Bytes, forkPlace(id, f.Line, i))
			}
		}
		return f, err
	}, readForks, key[:])
	if err != nil {
		return nil, fmt.Errorf("forks in document %s: %w", id, err)
	}
	return list, nil
}

// Forkers implements engine.Store.
func (s *Store) Forkers(ctx context.Context) (map[engine.SiteID]int, error) {
	all := map[engine.SiteID]int{}
	_, err := collect(ctx, s.reads, func(row scanner) (engine.Line, error) {
		var l engine.Line
		err := row.Scan(&l)
		all[l.Site()]++
		return l, err
	}, `SELECT l.name FROM forks f JOIN lines l ON l.n = f.line`)
	if err != nil {
		return nil, fmt.Errorf("who has forked lines: %w", err)
	}
	return all, nil
}
