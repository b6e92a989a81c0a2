package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

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

// causes remembers what CountConflicts has counted, until conflicts are written: every view of the dashboard shows how many wait. It is safe
// for concurrent use.
type causes struct {
	mu      sync.Mutex
	counted map[engine.Cause]engine.CauseTally // nil: they are to be counted
	writes  int                                // of conflicts so far: what was counted before one of them is not remembered after it
}

// forget is called once a batch can be read.
func (c *causes) forget(b *engine.Batch) {
	if len(b.Conflicts)+len(b.Resolved) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counted, c.writes = nil, c.writes+1
}

// CountConflicts counts those that wait for a person, by cause. The map is shared: nobody changes it.
func (s *Store) CountConflicts(ctx context.Context) (map[engine.Cause]engine.CauseTally, error) {
	s.ahead.wait(anything)
	s.causes.mu.Lock()
	counted, writes := s.causes.counted, s.causes.writes
	s.causes.mu.Unlock()
	if counted != nil {
		return counted, nil
	}
	counted, err := s.countConflicts(ctx)
	if err != nil {
		return nil, fmt.Errorf("count conflicts: %w", err)
	}
	s.causes.mu.Lock()
	defer s.causes.mu.Unlock()
	if s.causes.writes == writes {
		s.causes.counted = counted
	}
	return counted, nil
}

// countConflicts reads the kind of what they are about in the rows of resources; of the few that belong to none it stands in what they say
// themselves.
func (s *Store) countConflicts(ctx context.Context) (map[engine.Cause]engine.CauseTally, error) {
	const of = ` FROM conflicts c LEFT JOIN resources r ON r.document = c.document LEFT JOIN kinds k ON k.n = r.kind WHERE c.open = 1`
	counts, newest, others := map[engine.Cause]engine.CauseTally{}, map[engine.Cause]int64{}, false
	add := func(c engine.Cause, number int, id engine.ConflictID, since int64) {
		t := engine.CauseTally{Number: counts[c].Number + number, Newest: counts[c].Newest}
		if t.Newest == "" || since > newest[c] {
			t.Newest, newest[c] = id, since
		}
		counts[c] = t
	}
	// Of the columns that are not grouped SQLite gives those of the row that has the maximum: https://www.sqlite.org/lang_select.html#bareagg
	err := s.reads.list(ctx, func(row scanner) (bool, error) {
		var c engine.Cause
		var kind *engine.KindName
		var number int
		var id engine.ConflictID
		var since int64
		err := row.Scan(&c.About, &c.Site, &c.Service, &kind, &number, &id, &since)
		if kind == nil {
			others = true
			return true, err
		}
		c.Kind = *kind
		add(c, number, id, since)
		return true, err
	}, `SELECT c.kind, c.site, c.service, k.kind, count(*), c.id, max(c.since)`+of+` GROUP BY 1, 2, 3, 4`)
	if err != nil || !others {
		return counts, err
	}
	err = s.reads.list(ctx, func(row scanner) (bool, error) {
		l, err := s.scanConflict(row)
		add(l.row.Cause(), 1, l.row.ID, l.at.at)
		return true, err
	}, `SELECT c.id, c.data, c.since, c.n`+of+` AND k.n IS NULL`)
	return counts, err
}
