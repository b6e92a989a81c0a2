package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/skerry/skerry/engine"
)

const resourceColumns = `r.document, r.id, r.service, r.kind, r.collaboration, r.label, r.local, r.state, r.reason, r.created_at,
	r.updated_at, r.pending, r.sites, r.relations, r.n`

// A natural key has several incarnations, each its own document; rank tells which counts.
const (
	resourceByID = `SELECT ` + resourceColumns + ` FROM resources r WHERE id = ? AND service = ? AND kind = ?
		ORDER BY rank DESC, n DESC LIMIT 1`
	resourceByLocal = `SELECT ` + resourceColumns + ` FROM resources r WHERE local <> '' AND local = ? AND service = ?
		AND kind = ? ORDER BY rank DESC, n DESC LIMIT 1`
	resourceByDocument = `SELECT ` + resourceColumns + ` FROM resources r WHERE document = ?`
)

// scanner is a row of a result.
type scanner interface{ Scan(dest ...any) error }

func scanResource(row scanner) (listed[engine.ResourceRow], error) {
	var l listed[engine.ResourceRow]
	r := &l.row
	var updated int64
	var sites, relations []byte
	err := row.Scan(&r.Document, &r.ID, &r.Service, &r.Kind, &r.Collaboration, &r.Label, &r.Local, &r.State, &r.Reason, &l.at.at,
		&updated, &r.Pending, &sites, &relations, &l.at.n)
	if err != nil {
		return l, err
	}
	r.CreatedAt, r.UpdatedAt = instant(l.at.at), instant(updated)
	if err := json.Unmarshal(sites, &r.Sites); err != nil {
		return l, fmt.Errorf("sites of resource %s: %w", r.ID, err)
	}
	if string(relations) != "[]" {
		if err := json.Unmarshal(relations, &r.Relations); err != nil {
			return l, fmt.Errorf("relations of resource %s: %w", r.ID, err)
		}
	}
	return l, nil
}

// found turns the result of a look-up into what callers get.
func found(err error, what string, id any) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%s %v: %w", what, id, engine.ErrNotFound)
	}
	return fmt.Errorf("read %s %v: %w", what, id, mapped(err))
}

// ResourceByID returns the resource with this meta-identifier, the one that counts if there are several.
func (s *Store) ResourceByID(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) (engine.ResourceRow, error) {
	l, err := scanResource(s.byID.QueryRowContext(ctx, string(id), string(service), string(kind)))
	return l.row, found(err, "resource", id)
}

// ResourceByLocal returns the resource that this site's application calls id, the one that counts if there are several.
func (s *Store) ResourceByLocal(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.LocalID) (engine.ResourceRow, error) {
	l, err := scanResource(s.byLocal.QueryRowContext(ctx, string(id), string(service), string(kind)))
	return l.row, found(err, "resource with local identifier", id)
}

// ResourceByDocument returns the resource of a document.
func (s *Store) ResourceByDocument(ctx context.Context, id engine.DocumentID) (engine.ResourceRow, error) {
	l, err := scanResource(s.byDocument.QueryRowContext(ctx, string(id)))
	return l.row, found(err, "resource of document", id)
}

// Resources lists by creation, newest first. State is the resource's own, also together with Site. Query ignores case.
func (s *Store) Resources(ctx context.Context, f engine.ResourceFilter) ([]engine.ResourceRow, string, error) {
	q, args, err := resourceQuery(f)
	if err != nil {
		return nil, "", fmt.Errorf("list resources: %w", err)
	}
	rows, err := collect(ctx, s.reads, scanResource, q, args...)
	if err != nil {
		return nil, "", fmt.Errorf("list resources: %w", err)
	}
	list, next := page(resourceCursor, rows, f.Limit)
	return list, next, nil
}

// resourceQuery makes the list's query, which asks for one row more than the page has. SQLite keeps no statistics
// here, so the query says which condition the index is to serve: a unary plus keeps a condition from being one.
func resourceQuery(f engine.ResourceFilter) (string, []any, error) {
	w := where{}
	from, order, after := `resources r`, `r.created_at DESC, r.n DESC`, `(r.created_at, r.n) < (?, ?)`
	// Most resources are converged: for that state the other conditions are the ones to go by.
	rare := f.State != "" && f.State != engine.StateConverged && f.State != engine.StateDeleted
	byTarget := f.RefersTo != engine.Target{}
	bySite := f.Site != "" && f.ID == "" && !rare && !byTarget
	live := `r.live`
	if byTarget {
		from = `resource_relations t CROSS JOIN resources r ON r.n = t.resource`
		order, after = `t.created_at DESC, t.resource DESC`, `(t.created_at, t.resource) < (?, ?)`
		live = `+r.live`
		w.add(`t.service = ? AND t.kind = ? AND t.id = ?`, string(f.RefersTo.Service), string(f.RefersTo.Kind), string(f.RefersTo.ID))
		if f.Relying {
			w.add(`t.relies = 1`)
		}
	}
	if f.Related {
		live = `+r.live`
		w.add(`r.relations <> '[]'`)
	}
	if bySite {
		from, live = `resource_sites s CROSS JOIN resources r ON r.n = s.resource`, `s.live`
		order, after = `s.created_at DESC, s.resource DESC`, `(s.created_at, s.resource) < (?, ?)`
		w.add(`s.site = ?`, string(f.Site))
	} else if f.Site != "" {
		w.add(`EXISTS (SELECT 1 FROM resource_sites s WHERE s.resource = r.n AND s.site = ?)`, string(f.Site))
	}
	byState := false
	switch {
	case f.State == "" && f.ID != "":
		w.add(`r.rank > 0`)
	case f.State == "":
		w.add(live + ` = 1`)
	case f.State == engine.StateConverged:
		w.add(live + ` = 1 AND +r.state = 'converged'`)
	case bySite:
		w.add(`s.live = 0 AND +r.state = 'deleted'`)
	case f.ID != "":
		w.add(`+r.state = ?`, string(f.State))
	case byTarget, f.Related:
		w.add(`+r.state = ?`, string(f.State))
	default:
		byState = true
		w.add(`r.state = ?`, string(f.State))
	}
	plus := ``
	if byState || bySite || byTarget || f.Related {
		plus = `+`
	}
	if f.ID != "" {
		w.add(`r.id = ?`, string(f.ID))
	}
	if f.Service != "" {
		w.add(plus+`r.service = ?`, string(f.Service))
	}
	if f.Kind != "" {
		w.add(plus+`r.kind = ?`, string(f.Kind))
	}
	if f.Query != "" {
		w.add(`instr(r.search, ?) > 0`, strings.ToLower(f.Query))
	}
	if f.Cursor != "" {
		p, err := decodeCursor(resourceCursor, f.Cursor)
		if err != nil {
			return "", nil, err
		}
		w.add(after, p.at, p.n)
	}
	q := `SELECT ` + resourceColumns + ` FROM ` + from + w.String() + ` ORDER BY ` + order + ` LIMIT ?`
	return q, append(w.args, pageSize(f.Limit)+1), nil
}

// Pending lists the documents with something left to do here, the oldest resource first.
func (s *Store) Pending(ctx context.Context) ([]engine.DocumentID, error) {
	ids, err := collect(ctx, s.reads, func(row scanner) (id engine.DocumentID, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT document FROM resources WHERE pending = 1 ORDER BY created_at, document`)
	if err != nil {
		return nil, fmt.Errorf("list pending documents: %w", err)
	}
	return ids, nil
}

// where collects conditions that must all hold.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(condition string, args ...any) {
	w.conditions = append(w.conditions, condition)
	w.args = append(w.args, args...)
}

func (w *where) String() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(w.conditions, ` AND `)
}

// collect runs a query and scans all its rows.
func collect[T any](ctx context.Context, db *sql.DB, scan func(scanner) (T, error), q string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, mapped(err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, mapped(err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		return nil, mapped(err)
	}
	return all, nil
}
