package storage

import (
	"context"
	"fmt"
	"strings"

	"github.com/skerry/skerry/engine"
)

// TallyResources counts resources by what lists are filtered by, those alone whose identifiers or names have a text. Without one an index
// has it all, but for the state of what is open.
func (s *Store) TallyResources(ctx context.Context, text string) ([]engine.ResourceTally, error) {
	type group struct {
		state           engine.State
		kind, placement int64
	}
	counts := map[group]int{}
	count := func(times int, q string, args ...any) error {
		return s.reads.list(ctx, func(row scanner) (bool, error) {
			var g group
			var n int
			err := row.Scan(&g.state, &g.kind, &g.placement, &n)
			counts[g] += times * n
			return true, err
		}, q, args...)
	}
	s.ahead.wait(anything)
	var err error
	if text != "" {
		err = count(1, `SELECT iif(past = '', state, past) AS as_it_is, kind, placement, count(*) FROM resources INDEXED BY resources_list WHERE hollow = 0
			AND instr(search, ?) > 0 GROUP BY as_it_is, kind, placement`, strings.ToLower(text))
	} else if err = count(1, `SELECT iif(past = '', 'converged', past) AS as_it_is, kind, placement, count(*) FROM resources INDEXED BY resources_list
		WHERE hollow = 0 GROUP BY as_it_is, kind, placement`); err == nil {
		const open = ` kind, placement, count(*) FROM resources INDEXED BY resources_open WHERE open = 1 AND hollow = 0 AND past = '' AND state <> 'converged' `
		if err = count(-1, `SELECT 'converged',`+open+`GROUP BY kind, placement`); err == nil {
			err = count(1, `SELECT state,`+open+`GROUP BY state, kind, placement`)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("count resources: %w", err)
	}
	kinds, sites := map[int64]engine.ResourceTally{}, map[int64][]engine.SiteID{}
	err = s.reads.each(ctx, func(row scanner) (bool, error) {
		var n int64
		var t engine.ResourceTally
		err := row.Scan(&n, (*string)(&t.Service), (*string)(&t.Kind))
		kinds[n] = t
		return true, err
	}, `SELECT n, service, kind FROM kinds`)
	if err == nil {
		err = s.reads.each(ctx, func(row scanner) (bool, error) {
			var n int64
			var text string
			err := row.Scan(&n, &text)
			sites[n] = parseLines[engine.SiteID](text)
			return true, err
		}, `SELECT n, sites FROM placements`)
	}
	if err != nil {
		return nil, fmt.Errorf("read what resources are counted by: %w", err)
	}
	var all []engine.ResourceTally
	for g, n := range counts {
		if n > 0 {
			t := kinds[g.kind]
			t.State, t.Sites, t.Number = g.state, sites[g.placement], n
			all = append(all, t)
		}
	}
	return all, nil
}

// TallyOperations counts the operations that a filter leaves by their state, at its site where it has one. Its own state, order and page do
// not count.
func (s *Store) TallyOperations(ctx context.Context, f engine.OperationFilter) (map[engine.State]int, error) {
	f.State = ""
	if f.Resource == "" && f.Document == "" && f.Site == "" && len(f.Words) == 0 && f.From.IsZero() && f.Before.IsZero() {
		return s.CountOperations(ctx)
	}
	s.ahead.wait(anything)
	from, w, err := operationsThat(f)
	if err != nil {
		return nil, fmt.Errorf("count operations: %w", err)
	}
	state, args := `o.state`, w.args
	if f.Site != "" {
		state = `(SELECT substr(o.states, a.place, 1) FROM placement_sites a WHERE a.site = (SELECT n FROM sites WHERE id = ?) AND a.placement = o.placement)`
		args = append([]any{string(f.Site)}, args...)
	}
	if len(f.Words) > 0 {
		from += besides
	}
	counts := map[engine.State]int{}
	err = s.reads.list(ctx, func(row scanner) (bool, error) {
		var is engine.State
		var n int
		err := row.Scan(&is, &n)
		if f.Site != "" {
			is = letterStates[string(is)]
		}
		counts[is] += n
		return true, err
	}, `SELECT `+state+` AS as_it_is, count(*) FROM `+from+w.String()+` GROUP BY as_it_is`, args...)
	if err != nil {
		return nil, fmt.Errorf("count operations: %w", err)
	}
	return counts, nil
}

// CountHeld counts the deletions that are held, by the site that holds them and the one that has issued them.
func (s *Store) CountHeld(ctx context.Context) (map[[2]engine.SiteID]int, error) {
	s.ahead.wait(anything)
	counts := map[[2]engine.SiteID]int{}
	err := s.reads.each(ctx, func(row scanner) (bool, error) {
		var at [2]engine.SiteID
		var n int
		err := row.Scan(&at[0], &at[1], &n)
		counts[at] = n
		return true, err
	}, `SELECT s.id, origin.id, count(*) FROM operations o INDEXED BY operations_open
		JOIN placement_sites a ON a.placement = o.placement AND substr(o.states, a.place, 1) = ?
		JOIN sites s ON s.n = a.site JOIN sites origin ON origin.n = o.origin
		WHERE o.open = 1 AND o.state = 'held' GROUP BY 1, 2`, letterOf(engine.StateHeld))
	if err != nil {
		return nil, fmt.Errorf("count held operations: %w", err)
	}
	return counts, nil
}
