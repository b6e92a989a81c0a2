package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

const (
	resourceColumns = `r.n, r.document, r.id, coalesce(k.service, ''), coalesce(k.kind, ''), r.collaboration, r.label, coalesce(r.local, r.id),
	r.state, r.reason, r.created_at, r.updated_at, r.pending, coalesce(at.sites, ''), r.sites, r.relations`
	// named tells the names of what a row has numbers for.
	named = ` LEFT JOIN kinds k ON k.n = r.kind LEFT JOIN placements at ON at.n = r.placement`
)

// A natural key has several incarnations, each its own document: the living one with an object here counts, else the earliest
// living one, else the newest that is past. There are few living ones, and there may be many past.
const (
	selectResource = `SELECT ` + resourceColumns + ` FROM resources r` + named + ` WHERE `
	theKind        = `(SELECT n FROM kinds WHERE service = ?2 AND kind = ?3)`
	resourceByID   = selectResource + `r.n = coalesce(
		(SELECT n FROM resources WHERE id = ?1 AND kind = ` + theKind + ` AND past = '' AND hollow = 0
			ORDER BY coalesce(local, id) = '', created_at, n LIMIT 1),
		(SELECT n FROM resources WHERE id = ?1 AND kind = ` + theKind + ` AND past <> '' AND hollow = 0
			ORDER BY created_at DESC, n DESC LIMIT 1))`
	// Where an identifier is the same here and elsewhere, it is found by that.
	resourceByLocal = selectResource + `r.n = (SELECT n FROM (
		SELECT n, past, created_at FROM resources WHERE local = ?1 AND local <> '' AND kind = ` + theKind + ` AND hollow = 0
		UNION ALL
		SELECT n, past, created_at FROM resources WHERE past = '' AND id = ?1 AND local IS NULL AND kind = ` + theKind + ` AND hollow = 0
		UNION ALL
		SELECT n, past, created_at FROM resources WHERE past <> '' AND id = ?1 AND local IS NULL AND kind = ` + theKind + ` AND hollow = 0)
		ORDER BY past <> '', iif(past = '', created_at, -created_at), iif(past = '', n, -n) LIMIT 1)`
	resourceByDocument = selectResource + `r.document = ? AND r.hollow = 0`
)

// scanResource reads resourceColumns, and more columns after them.
func scanResource(row scanner, more ...any) (l listed[engine.ResourceRow], err error) {
	r := &l.row
	var updated int64
	var document, sites []byte
	var placement, relations string
	if err := row.Scan(append([]any{&l.at.n, &document, (*string)(&r.ID), (*string)(&r.Service), (*string)(&r.Kind),
		(*string)(&r.Collaboration), &r.Label, (*string)(&r.Local), (*string)(&r.State), &r.Reason, &l.at.at, &updated,
		&r.Pending, &placement, &sites, &relations}, more...)...); err != nil {
		return l, err
	}
	r.Document, r.CreatedAt, r.UpdatedAt = documentOf(document), instant(l.at.at), instant(updated)
	if r.Sites, err = decodeBySite(parseLines[engine.SiteID](placement), sites, (*parser).replica); err != nil {
		return l, fmt.Errorf("sites of resource %s: %w", r.ID, err)
	}
	if r.Relations, err = parseJSON[engine.Relation](relations); err != nil {
		return l, fmt.Errorf("relations of resource %s: %w", r.ID, err)
	}
	return l, nil
}

// ResourceByID implements engine.Store.
func (s *Store) ResourceByID(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) (engine.ResourceRow, error) {
	s.ahead.wait(called(service, kind, string(id)))
	if !s.filter.has(string(id)) {
		return engine.ResourceRow{}, found(noRow, "resource", id)
	}
	row, err := s.lookups.get(calling{service, kind, string(id), false}, func() (engine.ResourceRow, error) {
		l, err := scanResource(s.reads.one(ctx, resourceByID, string(id), string(service), string(kind)))
		return l.row, err
	})
	return row, found(err, "resource", id)
}

// ResourceByLocal implements engine.Store.
func (s *Store) ResourceByLocal(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.LocalID) (engine.ResourceRow, error) {
	s.ahead.wait(called(service, kind, string(id)))
	if !s.filter.has(string(id)) {
		return engine.ResourceRow{}, found(noRow, "resource with local identifier", id)
	}
	row, err := s.lookups.get(calling{service, kind, string(id), true}, func() (engine.ResourceRow, error) {
		l, err := scanResource(s.reads.one(ctx, resourceByLocal, string(id), string(service), string(kind)))
		return l.row, err
	})
	return row, found(err, "resource with local identifier", id)
}

// knownLocally looks for many at once where resourceByLocal looks for one.
const knownLocally = `SELECT j.value FROM json_each(?1) j WHERE
	EXISTS (SELECT 1 FROM resources WHERE local = j.value AND local <> '' AND kind = ` + theKind + ` AND hollow = 0) OR
	EXISTS (SELECT 1 FROM resources WHERE past = '' AND id = j.value AND local IS NULL AND kind = ` + theKind + ` AND hollow = 0) OR
	EXISTS (SELECT 1 FROM resources WHERE past <> '' AND id = j.value AND local IS NULL AND kind = ` + theKind + ` AND hollow = 0)`

// KnownLocally implements engine.Store.
func (s *Store) KnownLocally(ctx context.Context, service engine.ServiceName, kind engine.KindName, ids []engine.LocalID) (map[engine.LocalID]bool, error) {
	s.ahead.wait(anything)
	var some []engine.LocalID
	for _, id := range ids {
		if s.filter.has(string(id)) {
			some = append(some, id)
		}
	}
	known := map[engine.LocalID]bool{}
	if len(some) == 0 {
		return known, nil
	}
	list, err := json.Marshal(some)
	if err != nil {
		return nil, fmt.Errorf("look up %d local identifiers: %w", len(some), err)
	}
	err = s.reads.each(ctx, func(row scanner) (bool, error) {
		var id engine.LocalID
		err := row.Scan((*string)(&id))
		known[id] = true
		return true, err
	}, knownLocally, string(list), string(service), string(kind))
	if err != nil {
		return nil, fmt.Errorf("look up %d local identifiers: %w", len(some), err)
	}
	return known, nil
}

// ResourceByDocument implements engine.Store. What is hollow is not to be found.
func (s *Store) ResourceByDocument(ctx context.Context, id engine.DocumentID) (engine.ResourceRow, error) {
	key, err := keyOf(id)
	if err != nil {
		return engine.ResourceRow{}, found(noRow, "resource of document", id)
	}
	s.ahead.wait(func(b *engine.Batch) bool {
		return slices.ContainsFunc(b.Records, func(r engine.Record) bool { return r.Row.Document == id })
	})
	l, err := scanResource(s.reads.one(ctx, resourceByDocument, key[:]))
	return l.row, found(err, "resource of document", id)
}

// names looks in both indexes by identifier: past a name is only when nobody has a part in it any more.
const names = `SELECT document FROM resources WHERE past = '' AND id = ?1 AND kind = ` + theKind + ` AND collaboration = 'exactly-one'
	UNION ALL SELECT document FROM resources WHERE past <> '' AND id = ?1 AND kind = ` + theKind + ` AND collaboration = 'exactly-one'
	ORDER BY document`

// Names implements engine.Store.
func (s *Store) Names(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) ([]engine.DocumentID, error) {
	s.ahead.wait(called(service, kind, string(id)))
	if !s.filter.has(string(id)) {
		return nil, nil
	}
	all, err := collect(ctx, s.reads, scanDocument, names, string(id), string(service), string(kind))
	if err != nil {
		return nil, fmt.Errorf("list who holds %s: %w", id, err)
	}
	return all, nil
}

// sameName looks in the index of what is not past.
const sameName = `SELECT document FROM resources WHERE past = '' AND id = ?1 AND kind = ` + theKind + ` AND collaboration <> 'exactly-one'
	ORDER BY document`

// SameName implements engine.Store.
func (s *Store) SameName(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) ([]engine.DocumentID, error) {
	if !s.filter.has(string(id)) {
		return nil, nil
	}
	all, err := collect(ctx, s.reads, scanDocument, sameName, string(id), string(service), string(kind))
	if err != nil {
		return nil, fmt.Errorf("list what is called %s: %w", id, err)
	}
	return all, nil
}

// pending looks for them in the index of what is open.
const pending = `SELECT document FROM resources WHERE open = 1 AND pending = 1 ORDER BY created_at, n`

// Pending implements engine.Store: the oldest resource first.
func (s *Store) Pending(ctx context.Context) ([]engine.DocumentID, error) {
	all, err := collect(ctx, s.reads, scanDocument, pending)
	if err != nil {
		return nil, fmt.Errorf("list pending documents: %w", err)
	}
	return all, nil
}

func scanDocument(row scanner) (engine.DocumentID, error) {
	var key []byte
	err := row.Scan(&key)
	return documentOf(key), err
}

// Resources implements engine.Store. State is the resource's own, also together with Site. Query ignores case.
func (s *Store) Resources(ctx context.Context, f engine.ResourceFilter) ([]engine.ResourceRow, string, error) {
	if f.State == engine.StateUnknown && len(f.Silent) == 0 {
		return nil, "", nil
	}
	s.ahead.wait(anything)
	q, args, err := resourceQuery(f)
	if err != nil {
		return nil, "", fmt.Errorf("list resources: %w", err)
	}
	order := orderOf(f.Order)
	var rows []listed[engine.ResourceRow]
	scan := func(row scanner) (l listed[engine.ResourceRow], err error) {
		var p position
		l, err = scanResource(row, order.place(&p))
		l.at = position{p.at, l.at.n, p.name}
		return l, err
	}
	if err := s.reads.list(ctx, into(&rows, scan), q, args...); err != nil {
		return nil, "", fmt.Errorf("list resources: %w", err)
	}
	list, next := page(order.cursor, rows, f.Limit)
	return list, next, nil
}

// order is how a list of resources is ordered: by a key, and by number where keys are equal. There is an index by time of creation
// alone. What is ordered in another way is read whole, and a page of it is sorted.
type order struct {
	cursor  byte
	key     string // of a row
	falling bool
}

func orderOf(o engine.ResourceOrder) order {
	switch o {
	case engine.OrderOldest:
		return order{cursor: oldestCursor, key: `r.created_at`}
	case engine.OrderName:
		return order{cursor: nameCursor, key: `lower(iif(r.label = '', r.id, r.label))`}
	case engine.OrderChanged:
		return order{changeCursor, `r.updated_at`, true}
	}
	return order{resourceCursor, `r.created_at`, true}
}

// place has a position's key as its order has it.
func (o order) place(p *position) any {
	if o.cursor == nameCursor {
		return &p.name
	}
	return &p.at
}

// words are the order by a key and a number, and what says that a row comes after a position.
func (o order) words(key, n string) (by, after string) {
	if o.falling {
		return key + ` DESC, ` + n + ` DESC`, `(` + key + `, ` + n + `) < (?, ?)`
	}
	return key + `, ` + n, `(` + key + `, ` + n + `) > (?, ?)`
}

// atSite says that a row's placement has a site.
const atSite = `.placement IN (SELECT placement FROM placement_sites WHERE site = (SELECT n FROM sites WHERE id = ?))`

// atOneOf says that a row's placement has one of n sites.
func atOneOf(n int) string {
	return `.placement IN (SELECT placement FROM placement_sites WHERE site IN (SELECT n FROM sites WHERE id IN (?` + strings.Repeat(`, ?`, n-1) + `)))`
}

func siteArgs(sites []engine.SiteID) (args []any) {
	for _, id := range sites {
		args = append(args, string(id))
	}
	return args
}

// resourceQuery makes the list's query, which asks for one row more than the page has. It says which index gives the order:
// SQLite keeps no statistics here. Other conditions are looked at in the index as far as it has them.
func resourceQuery(f engine.ResourceFilter) (string, []any, error) {
	w, state := where{}, f.State
	if state == engine.StateUnknown {
		state = engine.StateConverged
	}
	order := orderOf(f.Order)
	from := `resources r INDEXED BY resources_list`
	by, after := order.words(order.key, `r.n`)
	open := state != "" && state != engine.StateConverged && !state.Past()
	switch {
	case f.ID != "":
		from = `resources r INDEXED BY resources_id`
		if f.State.Past() {
			from = `resources r INDEXED BY resources_past`
			w.add(`r.past <> ''`)
		}
		w.add(`r.id = ?`, string(f.ID))
	case f.RefersTo != engine.Target{}:
		from = `resource_relations t CROSS JOIN resources r ON r.n = t.resource`
		order = orderOf("") // there is no other index
		by, after = order.words(`t.created_at`, `t.resource`)
		w.add(`t.service = ? AND t.kind = ? AND t.id = ?`, string(f.RefersTo.Service), string(f.RefersTo.Kind), string(f.RefersTo.ID))
		if f.Relying {
			w.add(`t.relies = 1`)
		}
	case f.Names: // there are few, and no index
		from = `resources r NOT INDEXED`
	case f.Related:
		from = `resources r INDEXED BY resources_related`
		w.add(`r.relations <> ''`)
	case open:
		from = `resources r INDEXED BY resources_open`
		w.add(`r.open = 1`)
	}
	if f.Names {
		w.add(`r.hollow = 1 AND r.collaboration = 'exactly-one'`)
	} else {
		w.add(`r.hollow = 0`)
	}
	if f.State.Past() {
		w.add(`r.past = ?`, string(f.State))
	} else {
		w.add(`r.past = ''`)
	}
	if state != "" && !state.Past() {
		w.add(`r.state = ?`, string(state))
	}
	switch {
	case len(f.Silent) > 0 && f.State == engine.StateUnknown:
		w.add(`r`+atOneOf(len(f.Silent)), siteArgs(f.Silent)...)
	case len(f.Silent) > 0 && f.State == engine.StateConverged:
		w.add(`NOT r`+atOneOf(len(f.Silent)), siteArgs(f.Silent)...)
	}
	if f.Site != "" {
		w.add(`r`+atSite, string(f.Site))
	}
	if f.Service != "" && f.Kind != "" {
		w.add(`r.kind = (SELECT n FROM kinds WHERE service = ? AND kind = ?)`, string(f.Service), string(f.Kind))
	} else if f.Service != "" {
		w.add(`r.kind IN (SELECT n FROM kinds WHERE service = ?)`, string(f.Service))
	} else if f.Kind != "" {
		w.add(`r.kind IN (SELECT n FROM kinds WHERE kind = ?)`, string(f.Kind))
	}
	if f.Query != "" {
		w.add(`instr(r.search, ?) > 0`, strings.ToLower(f.Query))
	}
	if f.Cursor != "" {
		p, err := decodeCursor(order.cursor, f.Cursor)
		if err != nil {
			return "", nil, err
		}
		w.add(after, order.place(&p), p.n)
	}
	columns := `SELECT ` + resourceColumns + `, ` + order.key + ` FROM `
	if f.Order == engine.OrderName || f.Order == engine.OrderChanged { // what is sorted is keys and numbers, not whole rows
		from += w.String() + ` ORDER BY ` + by + ` LIMIT ?`
		by, _ = order.words(order.key, `r.n`)
		return columns + `(SELECT r.n AS n FROM ` + from + `) p CROSS JOIN resources r ON r.n = p.n` + named + ` ORDER BY ` + by, append(w.args, pageSize(f.Limit)+1), nil
	}
	return columns + from + named + w.String() + ` ORDER BY ` + by + ` LIMIT ?`, append(w.args, pageSize(f.Limit)+1), nil
}

// CountResources implements engine.Store. Of those that are there it counts all, and what is open by state: the rest has
// converged.
func (s *Store) CountResources(ctx context.Context) (map[engine.State]int, error) {
	counts, err := s.count(ctx, `SELECT past, count(*) FROM resources INDEXED BY resources_list WHERE hollow = 0 GROUP BY past`)
	if err != nil {
		return nil, fmt.Errorf("count resources: %w", err)
	}
	open, err := s.count(ctx, `SELECT state, count(*) FROM resources INDEXED BY resources_open WHERE open = 1 AND hollow = 0 AND past = '' GROUP BY state`)
	if err != nil {
		return nil, fmt.Errorf("count resources: %w", err)
	}
	return withRest(counts, "", open, engine.StateConverged), nil
}

// CountConverged implements engine.Store.
func (s *Store) CountConverged(ctx context.Context, at []engine.SiteID) (n int, err error) {
	if len(at) == 0 {
		return 0, nil
	}
	q := `SELECT count(*) FROM resources r INDEXED BY resources_list WHERE past = '' AND hollow = 0 AND r` + atOneOf(len(at)) +
		` AND r.n NOT IN (SELECT n FROM resources INDEXED BY resources_open WHERE open = 1 AND state <> ?)`
	err = s.reads.each(ctx, func(row scanner) (bool, error) { return true, row.Scan(&n) }, q, append(siteArgs(at), string(engine.StateConverged))...)
	if err != nil {
		return 0, fmt.Errorf("count what is converged: %w", err)
	}
	return n, nil
}

// count reads a query of states and numbers.
func (s *Store) count(ctx context.Context, q string) (map[engine.State]int, error) {
	counts := map[engine.State]int{}
	err := s.reads.each(ctx, func(row scanner) (bool, error) {
		var state engine.State
		var n int
		err := row.Scan(&state, &n)
		counts[state] = n
		return true, err
	}, q)
	return counts, err
}

// withRest adds parts of what counts has under all, and the rest of it under a state of its own.
func withRest(counts map[engine.State]int, all engine.State, parts map[engine.State]int, rest engine.State) map[engine.State]int {
	left := counts[all]
	delete(counts, all)
	for state, n := range parts {
		counts[state] += n
		left -= n
	}
	if left > 0 {
		counts[rest] += left
	}
	return counts
}
