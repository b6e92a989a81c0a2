package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/skerry/skerry/engine"
)

const operationColumns = `o.id, o.document, o.resource, o.type, o.service, o.kind, o.method, o.path, o.scope, o.origin,
	o.user, o.issued_at, o.parents, o.state, o.sites, o.change, o.body, o.blob, o.blob_size, o.blob_needed, o.n`

func (s *Store) scanOperation(row scanner) (listed[engine.OperationRow], error) {
	var l listed[engine.OperationRow]
	r := &l.row
	var parents, sites, change []byte
	var ref engine.BlobRef
	err := row.Scan(&r.ID, &r.Document, &r.Resource, &r.Type, &r.Service, &r.Kind, &r.Method, &r.Path, &r.Scope,
		&r.Origin, &r.User, &l.at.at, &parents, &r.State, &sites, &change, &r.Body, &ref.Hash, &ref.Size,
		&r.NeedsBlob, &l.at.n)
	if err != nil {
		return l, err
	}
	if err := errors.Join(s.vault.open(&change, "operations.change", string(r.ID)), s.vault.open(&r.Body, "operations.body", string(r.ID))); err != nil {
		return l, fmt.Errorf("operation %s: %w", r.ID, err)
	}
	r.IssuedAt, r.Change = instant(l.at.at), change
	if ref.Size > 0 {
		r.Blob = &ref
	}
	if err := json.Unmarshal(parents, &r.Parents); err != nil {
		return l, fmt.Errorf("parents of operation %s: %w", r.ID, err)
	}
	if err := json.Unmarshal(sites, &r.Sites); err != nil {
		return l, fmt.Errorf("sites of operation %s: %w", r.ID, err)
	}
	return l, nil
}

// Operation returns one operation.
func (s *Store) Operation(ctx context.Context, id engine.OperationID) (engine.OperationRow, error) {
	l, err := s.scanOperation(s.reads.QueryRowContext(ctx, `SELECT `+operationColumns+` FROM operations o WHERE id = ?`, string(id)))
	return l.row, found(err, "operation", id)
}

// Operations lists by issue, newest first. Together with Site, State is the state at that site, else the operation's own.
func (s *Store) Operations(ctx context.Context, f engine.OperationFilter) ([]engine.OperationRow, string, error) {
	q, args, err := operationQuery(f)
	if err != nil {
		return nil, "", fmt.Errorf("list operations: %w", err)
	}
	rows, err := collect(ctx, s.reads, s.scanOperation, q, args...)
	if err != nil {
		return nil, "", fmt.Errorf("list operations: %w", err)
	}
	list, next := page(operationCursor, rows, f.Limit)
	return list, next, nil
}

// operationQuery makes the list's query as resourceQuery does. A resource and a document have few operations, so
// they are looked up first.
func operationQuery(f engine.OperationFilter) (string, []any, error) {
	w := where{}
	from, order, after := `operations o`, `o.issued_at DESC, o.n DESC`, `(o.issued_at, o.n) < (?, ?)`
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
			w.add(`EXISTS (SELECT 1 FROM operation_sites s WHERE s.operation = o.n AND s.site = ? AND s.state = ?)`,
				string(f.Site), string(f.State))
		} else if f.Site != "" {
			w.add(`EXISTS (SELECT 1 FROM operation_sites s WHERE s.operation = o.n AND s.site = ?)`, string(f.Site))
		} else if f.State != "" {
			w.add(`+o.state = ?`, string(f.State))
		}
	case f.Site != "":
		from = `operation_sites s CROSS JOIN operations o ON o.n = s.operation`
		order, after = `s.issued_at DESC, s.operation DESC`, `(s.issued_at, s.operation) < (?, ?)`
		w.add(`s.site = ?`, string(f.Site))
		if f.State != "" {
			w.add(`s.state = ?`, string(f.State))
		}
	case f.State != "":
		w.add(`o.state = ?`, string(f.State))
	}
	for _, word := range f.Words {
		if err := w.mention(word); err != nil {
			return "", nil, err
		}
	}
	if f.Oldest {
		order = strings.ReplaceAll(order, " DESC", "")
	} else if f.Cursor != "" {
		p, err := decodeCursor(operationCursor, f.Cursor)
		if err != nil {
			return "", nil, err
		}
		w.add(after, p.at, p.n)
	}
	q := `SELECT ` + operationColumns + ` FROM ` + from + w.String() + ` ORDER BY ` + order + ` LIMIT ?`
	return q, append(w.args, pageSize(f.Limit)+1), nil
}
