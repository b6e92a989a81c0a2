package storage

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/skerry/skerry/engine"
)

func (s *Store) scanConflict(row scanner) (listed[engine.Conflict], error) {
	var l listed[engine.Conflict]
	var id string
	var data []byte
	if err := row.Scan(&id, &data, &l.at.at, &l.at.n); err != nil {
		return l, err
	}
	if err := s.vault.open(&data, "conflicts.data", id); err != nil {
		return l, fmt.Errorf("conflict %s: %w", id, err)
	}
	if err := json.Unmarshal(data, &l.row); err != nil {
		return l, fmt.Errorf("decode a conflict: %w", err)
	}
	return l, nil
}

// Conflict returns one conflict.
func (s *Store) Conflict(ctx context.Context, id engine.ConflictID) (engine.Conflict, error) {
	l, err := s.scanConflict(s.reads.QueryRowContext(ctx, `SELECT id, data, since, n FROM conflicts WHERE id = ?`, string(id)))
	return l.row, found(err, "conflict", id)
}

// ConflictsOf returns the conflicts of a document, accepted ones included, in the order in which they were stored first.
func (s *Store) ConflictsOf(ctx context.Context, id engine.DocumentID) ([]engine.Conflict, error) {
	rows, err := collect(ctx, s.reads, s.scanConflict, `SELECT id, data, since, n FROM conflicts WHERE document = ? AND document <> '' ORDER BY n`, string(id))
	if err != nil {
		return nil, fmt.Errorf("list the conflicts of document %s: %w", id, err)
	}
	all := make([]engine.Conflict, len(rows))
	for i, r := range rows {
		all[i] = r.row
	}
	return all, nil
}

// Conflicts lists by Since, newest first.
func (s *Store) Conflicts(ctx context.Context, f engine.ConflictFilter) ([]engine.Conflict, string, error) {
	w := where{}
	w.add(`open = ?`, !f.Accepted)
	for _, c := range []struct{ column, value string }{
		{"document", string(f.Document)}, {"service", string(f.Service)}, {"kind", string(f.Kind)}, {"site", string(f.Site)},
	} {
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
	rows, err := collect(ctx, s.reads, s.scanConflict,
		`SELECT id, data, since, n FROM conflicts`+w.String()+` ORDER BY since DESC, n DESC LIMIT ?`, append(w.args, pageSize(f.Limit)+1)...)
	if err != nil {
		return nil, "", fmt.Errorf("list conflicts: %w", err)
	}
	list, next := page(conflictCursor, rows, f.Limit)
	return list, next, nil
}

// CountConflicts counts those that wait for a person, by kind.
func (s *Store) CountConflicts(ctx context.Context) (map[engine.ConflictKind]int, error) {
	type line struct {
		kind engine.ConflictKind
		n    int
	}
	lines, err := collect(ctx, s.reads, func(row scanner) (l line, err error) {
		err = row.Scan(&l.kind, &l.n)
		return l, err
	}, `SELECT kind, count(*) FROM conflicts WHERE open = 1 GROUP BY kind`)
	if err != nil {
		return nil, fmt.Errorf("count conflicts: %w", err)
	}
	counts := make(map[engine.ConflictKind]int, len(lines))
	for _, l := range lines {
		counts[l.kind] = l.n
	}
	return counts, nil
}
