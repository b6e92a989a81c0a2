package storage

import (
	"context"
	"fmt"

	"github.com/skerry/skerry/engine"
)

// CountResources counts the resources by state, deleted ones included.
func (s *Store) CountResources(ctx context.Context) (map[engine.State]int, error) {
	return s.count(ctx, "resources")
}

// CountOperations counts the operations by the state of their rows.
func (s *Store) CountOperations(ctx context.Context) (map[engine.State]int, error) {
	return s.count(ctx, "operations")
}

// count reads the index by state of a table, which is all of it: a few milliseconds for 100,000 rows.
func (s *Store) count(ctx context.Context, table string) (map[engine.State]int, error) {
	type line struct {
		state engine.State
		n     int
	}
	lines, err := collect(ctx, s.reads, func(row scanner) (l line, err error) {
		err = row.Scan(&l.state, &l.n)
		return l, err
	}, `SELECT state, count(*) FROM `+table+` GROUP BY state`)
	if err != nil {
		return nil, fmt.Errorf("count %s: %w", table, err)
	}
	counts := make(map[engine.State]int, len(lines))
	for _, l := range lines {
		counts[l.state] = l.n
	}
	return counts, nil
}
