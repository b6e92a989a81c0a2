package storage

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/skerry/skerry/engine"
)

func conflictPlace(id string) []byte { return place("conflicts.data", id) }

func (w *writer) putConflict(c *engine.Conflict) error {
	var document []byte // null without one
	if c.Document != "" {
		key, err := keyOf(c.Document)
		if err != nil {
			return err
		}
		document = key[:]
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return w.exec(putConflict, string(c.ID), document, string(c.Service), string(c.Kind), string(c.Site), nanos(c.Since), c.Open(),
		w.vault.seal(data, conflictPlace(string(c.ID))))
}

const selectConflict = `SELECT id, data, since, n FROM conflicts`

func (s *Store) scanConflict(row scanner) (l listed[engine.Conflict], err error) {
	var id string
	var data []byte
	if err := row.Scan(&id, &data, &l.at.at, &l.at.n); err != nil {
		return l, err
	}
	if err := s.vault.open(&data, conflictPlace(id)); err != nil {
		return l, fmt.Errorf("conflict %s: %w", id, err)
	}
	if err := json.Unmarshal(data, &l.row); err != nil {
		return l, fmt.Errorf("decode conflict %s: %w", id, err)
	}
	return l, nil
}

// Conflict implements engine.Store.
func (s *Store) Conflict(ctx context.Context, id engine.ConflictID) (engine.Conflict, error) {
	s.ahead.wait(anything)
	l, err := s.scanConflict(s.reads.one(ctx, selectConflict+` WHERE id = ?`, string(id)))
	return l.row, found(err, "conflict", id)
}

// ConflictsOf implements engine.Store: in the order in which they were stored first.
func (s *Store) ConflictsOf(ctx context.Context, id engine.DocumentID) ([]engine.Conflict, error) {
	key, err := keyOf(id)
	if err != nil {
		return nil, nil // no such document has conflicts
	}
	all, err := collect(ctx, s.reads, func(row scanner) (engine.Conflict, error) {
		l, err := s.scanConflict(row)
		return l.row, err
	}, selectConflict+` WHERE document = ? ORDER BY n`, key[:])
	if err != nil {
		return nil, fmt.Errorf("list the conflicts of document %s: %w", id, err)
	}
	return all, nil
}

// Conflicts implements engine.Store.
func (s *Store) Conflicts(ctx context.Context, f engine.ConflictFilter) ([]engine.Conflict, string, error) {
	s.ahead.wait(anything)
	w := where{}
	w.add(`open = ?`, !f.Accepted)
	if f.Document != "" {
		key, err := keyOf(f.Document)
		if err != nil {
			return nil, "", fmt.Errorf("list conflicts: %w: %w", engine.ErrRefused, err)
		}
		w.add(`+document = ?`, key[:])
	}
	for _, c := range []struct{ column, value string }{{"service", string(f.Service)}, {"kind", string(f.Kind)}, {"site", string(f.Site)}} {
		if c.value != "" {
			w.add(`+`+c.column+` = ?`, c.value) // there are few: the index that gives the order serves all filters
		}
	}
	if f.Cursor != "" {
		p, err := decodeCursor(conflictCursor, f.Cursor)
		if err != nil {
			return nil, "", fmt.Errorf("list conflicts: %w", err)
		}
		w.add(`(since, n) < (?, ?)`, p.at, p.n)
	}
	var rows []listed[engine.Conflict]
	if err := s.reads.list(ctx, into(&rows, s.scanConflict), selectConflict+w.String()+` ORDER BY since DESC, n DESC LIMIT ?`,
		append(w.args, pageSize(f.Limit)+1)...); err != nil {
		return nil, "", fmt.Errorf("list conflicts: %w", err)
	}
	list, next := page(conflictCursor, rows, f.Limit)
	return list, next, nil
}

// CountConflicts counts those that wait for a person, by cause. The kind of what they are about stands in the rows of resources; of the few that
// belong to none it stands in what they say themselves.
func (s *Store) CountConflicts(ctx context.Context) (map[engine.Cause]engine.CauseTally, error) {
	s.ahead.wait(anything)
	counts := map[engine.Cause]engine.CauseTally{}
	of := ` FROM conflicts c LEFT JOIN resources r ON r.document = c.document LEFT JOIN kinds k ON k.n = r.kind WHERE c.open = 1`
	// Of the columns that are not grouped SQLite gives those of the row that has the maximum: https://www.sqlite.org/lang_select.html#bareagg
	err := s.reads.list(ctx, func(row scanner) (bool, error) {
		var c engine.Cause
		var t engine.CauseTally
		var since int64
		err := row.Scan(&c.About, &c.Site, &c.Service, &c.Kind, &t.Number, &t.Newest, &since)
		counts[c] = t
		return true, err
	}, `SELECT c.kind, c.site, c.service, k.kind, count(*), c.id, max(c.since)`+of+` AND k.n IS NOT NULL GROUP BY 1, 2, 3, 4`)
	if err != nil {
		return nil, fmt.Errorf("count conflicts: %w", err)
	}
	err = s.reads.list(ctx, func(row scanner) (bool, error) {
		l, err := s.scanConflict(row)
		t := counts[l.row.Cause()]
		counts[l.row.Cause()] = engine.CauseTally{Number: t.Number + 1, Newest: cmp.Or(t.Newest, l.row.ID)}
		return true, err
	}, `SELECT c.id, c.data, c.since, c.n`+of+` AND k.n IS NULL ORDER BY c.since DESC, c.n DESC`)
	if err != nil {
		return nil, fmt.Errorf("count conflicts: %w", err)
	}
	return counts, nil
}
