package storage

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/skerry/skerry/engine"
)

const operationColumns = `o.id, o.document, o.resource, o.type, o.service, o.kind, o.method, o.path, o.scope, o.origin,
	o.user, o.issued_at, o.parents, o.state, o.sites, o.change, o.body`

func scanOperation(row scanner) (engine.OperationRow, error) {
	var r engine.OperationRow
	var issued int64
	var parents, sites, change []byte
	err := row.Scan(&r.ID, &r.Document, &r.Resource, &r.Type, &r.Service, &r.Kind, &r.Method, &r.Path, &r.Scope,
		&r.Origin, &r.User, &issued, &parents, &r.State, &sites, &change, &r.Body)
	if err != nil {
		return engine.OperationRow{}, err
	}
	r.IssuedAt, r.Change = instant(issued), change
	if err := json.Unmarshal(parents, &r.Parents); err != nil {
		return engine.OperationRow{}, fmt.Errorf("parents of operation %s: %w", r.ID, err)
	}
	if err := json.Unmarshal(sites, &r.Sites); err != nil {
		return engine.OperationRow{}, fmt.Errorf("sites of operation %s: %w", r.ID, err)
	}
	return r, nil
}

// Operation returns one operation.
func (s *Store) Operation(ctx context.Context, id engine.OperationID) (engine.OperationRow, error) {
	r, err := scanOperation(s.reads.QueryRowContext(ctx, `SELECT `+operationColumns+` FROM operations o WHERE id = ?`, string(id)))
	return r, found(err, "operation", id)
}

// Operations lists by issue, newest first. Together with Site, State is the state at that site, else the operation's own.
func (s *Store) Operations(ctx context.Context, f engine.OperationFilter) ([]engine.OperationRow, string, error) {
	q, args, err := operationQuery(f)
	if err != nil {
		return nil, "", fmt.Errorf("list operations: %w", err)
	}
	rows, err := collect(ctx, s.reads, scanOperation, q, args...)
	if err != nil {
		return nil, "", fmt.Errorf("list operations: %w", err)
	}
	next := ""
	if limit := pageSize(f.Limit); len(rows) > limit {
		rows = rows[:limit]
		last := rows[limit-1]
		next = encodeCursor(operationCursor, position{nanos(last.IssuedAt), string(last.ID)})
	}
	return rows, next, nil
}

// operationQuery makes the list's query as resourceQuery does. A resource and a document have few operations, so
// they are looked up first.
func operationQuery(f engine.OperationFilter) (string, []any, error) {
	w := where{}
	from, order, page := `operations o`, `o.issued_at DESC, o.id DESC`, `(o.issued_at, o.id) < (?, ?)`
	narrow := f.Document != "" || f.Resource != ""
	switch {
	case narrow:
		if f.Document != "" {
			w.add(`o.document = ?`, string(f.Document))
		}
		if f.Resource != "" && f.Document != "" {
			w.add(`+o.resource = ?`, string(f.Resource))
		} else if f.Resource != "" {
			w.add(`o.resource = ?`, string(f.Resource))
		}
		if f.Site != "" && f.State != "" {
			w.add(`EXISTS (SELECT 1 FROM operation_sites s WHERE s.operation = o.id AND s.site = ? AND s.state = ?)`,
				string(f.Site), string(f.State))
		} else if f.Site != "" {
			w.add(`EXISTS (SELECT 1 FROM operation_sites s WHERE s.operation = o.id AND s.site = ?)`, string(f.Site))
		} else if f.State != "" {
			w.add(`+o.state = ?`, string(f.State))
		}
	case f.Site != "":
		from = `operation_sites s CROSS JOIN operations o ON o.id = s.operation`
		order, page = `s.issued_at DESC, s.operation DESC`, `(s.issued_at, s.operation) < (?, ?)`
		w.add(`s.site = ?`, string(f.Site))
		if f.State != "" {
			w.add(`s.state = ?`, string(f.State))
		}
	case f.State != "":
		w.add(`o.state = ?`, string(f.State))
	}
	if f.Cursor != "" {
		p, err := decodeCursor(operationCursor, f.Cursor)
		if err != nil {
			return "", nil, err
		}
		w.add(page, p.at, p.id)
	}
	q := `SELECT ` + operationColumns + ` FROM ` + from + w.String() + ` ORDER BY ` + order + ` LIMIT ?`
	return q, append(w.args, pageSize(f.Limit)+1), nil
}
