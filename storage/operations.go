package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

const selectOperation = `SELECT o.n, o.id, r.document, o.resource, o.type, coalesce(k.service, ''), coalesce(k.kind, ''), o.method, o.path,
	o.scope, coalesce(s.id, ''), o.user, o.issued_at, o.parents, o.state, o.blob, o.blob_size, o.blob_needed, coalesce(p.sites, ''),
	o.sites, o.change, o.body FROM `

// besides are what tells the names of what an operation's row has numbers for.
const besides = ` LEFT JOIN resources r ON r.n = o.subject LEFT JOIN kinds k ON k.n = o.kind LEFT JOIN sites s ON s.n = o.origin
	LEFT JOIN placements p ON p.n = o.placement`

func (s *Store) scanOperation(row scanner) (l listed[engine.OperationRow], err error) {
	r := &l.row
	var document, sites, change []byte
	var parents, placement string
	var ref engine.BlobRef
	if err := row.Scan(&l.at.n, (*string)(&r.ID), &document, (*string)(&r.Resource), (*string)(&r.Type), (*string)(&r.Service), (*string)(&r.Kind),
		&r.Method, &r.Path, &r.Scope, (*string)(&r.Origin), &r.User, &l.at.at, &parents, (*string)(&r.State), (*string)(&ref.Hash), &ref.Size,
		&r.NeedsBlob, &placement, &sites, &change, &r.Body); err != nil {
		return l, err
	}
	if err := errors.Join(s.vault.open(&change, place("operations.change", string(r.ID))),
		s.vault.open(&r.Body, place("operations.body", string(r.ID)))); err != nil {
		return l, fmt.Errorf("operation %s: %w", r.ID, err)
	}
	r.Document, r.IssuedAt, r.Parents, r.Change = documentOf(document), instant(l.at.at), parseLines[engine.OperationID](parents), change
	if ref.Size > 0 {
		r.Blob = &ref
	}
	if r.Sites, err = decodeBySite(parseLines[engine.SiteID](placement), sites, (*parser).status); err != nil {
		return l, fmt.Errorf("sites of operation %s: %w", r.ID, err)
	}
	return l, nil
}

// Operation implements engine.Store.
func (s *Store) Operation(ctx context.Context, id engine.OperationID) (engine.OperationRow, error) {
	s.ahead.wait(func(b *engine.Batch) bool {
		return slices.ContainsFunc(b.Operations, func(o engine.OperationRow) bool { return o.ID == id })
	})
	l, err := s.scanOperation(s.reads.one(ctx, selectOperation+`operations o`+besides+` WHERE o.id = ?`, string(id)))
	return l.row, found(err, "operation", id)
}

// Operations implements engine.Store. Together with Site, State is the state at that site, else the operation's own.
func (s *Store) Operations(ctx context.Context, f engine.OperationFilter) ([]engine.OperationRow, string, error) {
	s.ahead.wait(anything)
	q, args, err := operationQuery(f)
	if err != nil {
		return nil, "", fmt.Errorf("list operations: %w", err)
	}
	var rows []listed[engine.OperationRow]
	if err := s.reads.list(ctx, into(&rows, s.scanOperation), q, args...); err != nil {
		return nil, "", fmt.Errorf("list operations: %w", err)
	}
	list, next := page(operationOrder(f).cursor, rows, f.Limit)
	return list, next, nil
}

func operationOrder(f engine.OperationFilter) order {
	if f.Oldest {
		return order{cursor: oldestOperationCursor, key: `o.issued_at`}
	}
	return order{operationCursor, `o.issued_at`, true}
}

// operationQuery makes the list's query as resourceQuery does.
func operationQuery(f engine.OperationFilter) (string, []any, error) {
	from, w, err := operationsThat(f)
	if err != nil {
		return "", nil, err
	}
	order := operationOrder(f)
	by, after := order.words(order.key, `o.n`)
	if f.Cursor != "" {
		p, err := decodeCursor(order.cursor, f.Cursor)
		if err != nil {
			return "", nil, err
		}
		w.add(after, p.at, p.n)
	}
	q := selectOperation + from + besides + w.String() + ` ORDER BY ` + by + ` LIMIT ?`
	return q, append(w.args, pageSize(f.Limit)+1), nil
}

// operationsThat are those that a filter leaves. Those of a resource are looked up by its documents, and those that have none yet among
// all of these.
func operationsThat(f engine.OperationFilter) (from string, w where, err error) {
	from = `operations o INDEXED BY operations_list`
	switch {
	case f.Document != "":
		from = `operations o INDEXED BY operations_subject`
		key, err := keyOf(f.Document)
		if err != nil {
			return "", w, fmt.Errorf("%w: %w", engine.ErrRefused, err)
		}
		w.add(`o.subject = (SELECT n FROM resources WHERE document = ?)`, key[:])
	case f.Resource != "":
		from = `operations o INDEXED BY operations_subject`
		w.add(`o.subject IN (SELECT n FROM resources WHERE past = '' AND id = ? UNION ALL SELECT n FROM resources WHERE past <> '' AND id = ?
			UNION ALL SELECT 0)`, string(f.Resource), string(f.Resource))
	case f.Begins != "":
		from = `operations o INDEXED BY sqlite_autoindex_operations_1`
	case f.State != "" && f.State != engine.StateApplied:
		from = `operations o INDEXED BY operations_open`
		w.add(`o.open = 1`)
	}
	if f.Resource != "" {
		w.add(`o.resource = ?`, string(f.Resource))
	}
	if f.Begins != "" {
		w.add(`o.id >= ? AND o.id < ?`, f.Begins, f.Begins+"\U0010ffff")
	}
	if f.Site != "" {
		w.add(`o`+atSite, string(f.Site))
	}
	switch {
	case f.State != "" && f.Site != "":
		w.add(`EXISTS (SELECT 1 FROM placement_sites a WHERE a.site = (SELECT n FROM sites WHERE id = ?) AND a.placement = o.placement
			AND substr(o.states, a.place, 1) = ?)`, string(f.Site), letterOf(f.State))
	case f.State != "":
		w.add(`o.state = ?`, string(f.State))
	}
	if !f.From.IsZero() {
		w.add(`o.issued_at >= ?`, f.From.UnixNano())
	}
	if !f.Before.IsZero() {
		w.add(`o.issued_at < ?`, f.Before.UnixNano())
	}
	for _, word := range f.Words {
		w.mention(word)
	}
	return from, w, nil
}

// operationText is what people see of an operation in a list.
const operationText = `lower(o.id || ' ' || o.type || ' ' || o.method || ' ' || replace(o.path, '{id}', o.resource) || ' ' ||
	coalesce(k.service, '') || '.' || coalesce(k.kind, '') || ' ' || o.resource || ' ' || o.scope || ' ' || o.user)`

// mention adds that operations are to show a word. There is no index for that: pages are read off the list in its order, and
// the cheap tests come first.
func (w *where) mention(word engine.SearchWord) {
	text := strings.ToLower(word.Text)
	condition := `(instr(` + operationText + `, ?) > 0 OR instr(o.errors, ?) > 0 OR instr(coalesce(r.search, ''), ?) > 0`
	args := []any{text, text, text}
	for _, site := range word.Sites {
		condition += ` OR s.id = ? OR o` + atSite
		args = append(args, string(site), string(site))
	}
	w.add(condition+`)`, args...)
}

// CountOperations counts the operations by the state of their rows.
func (s *Store) CountOperations(ctx context.Context) (map[engine.State]int, error) {
	counts, err := s.count(ctx, `SELECT '', count(*) FROM operations`)
	if err != nil {
		return nil, fmt.Errorf("count operations: %w", err)
	}
	open, err := s.count(ctx, `SELECT state, count(*) FROM operations WHERE open = 1 GROUP BY state`)
	if err != nil {
		return nil, fmt.Errorf("count operations: %w", err)
	}
	return withRest(counts, "", open, engine.StateApplied), nil
}
