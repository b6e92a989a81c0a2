package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/skerry/skerry/engine"
)

const (
	// readers is how many reads run at a time; more wait for their turn.
	readers = 8
	// readerCache is how many KiB of pages each of them keeps.
	readerCache = 512
	// readerStatements is how many statements each keeps prepared of those that are made for a filter: making one takes longer than most lists.
	readerStatements = 16
)

// reads are the connections that only read. It is safe for concurrent use.
type reads struct {
	db *sql.DB

	mu       sync.Mutex
	prepared map[string]*sql.Stmt // guarded by mu; by their text
}

func openReads(uri string) (*reads, error) {
	db, err := sql.Open("sqlite3", fmt.Sprintf("%s?mode=ro&_mutex=no&_query_only=1&_cache_size=-%d&_stmt_cache_size=%d", uri, readerCache, readerStatements))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	return &reads{db: db, prepared: map[string]*sql.Stmt{}}, nil
}

func (r *reads) Close() error { return r.db.Close() }

// statement prepares a query once. It is for the constant ones: there is no bound.
func (r *reads) statement(ctx context.Context, q string) (*sql.Stmt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if stmt, ok := r.prepared[q]; ok {
		return stmt, nil
	}
	stmt, err := r.db.PrepareContext(ctx, q)
	if err != nil {
		return nil, err
	}
	r.prepared[q] = stmt
	return stmt, nil
}

// scanner is a row of a result.
type scanner interface{ Scan(dest ...any) error }

// failed is a row that there is not.
type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

// one runs a constant query that finds at most one row.
func (r *reads) one(ctx context.Context, q string, args ...any) scanner {
	stmt, err := r.statement(ctx, q)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(context.WithoutCancel(ctx), args...)
}

// each hands the rows of a constant query to take until it says that it has enough.
func (r *reads) each(ctx context.Context, take func(scanner) (bool, error), q string, args ...any) error {
	stmt, err := r.statement(ctx, q)
	if err != nil {
		return mapped(err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	return eachOf(rows, err, take)
}

// list is each for a query that is made for its filter.
func (r *reads) list(ctx context.Context, take func(scanner) (bool, error), q string, args ...any) error {
	rows, err := r.db.QueryContext(ctx, q, args...)
	return eachOf(rows, err, take)
}

func eachOf(rows *sql.Rows, err error, take func(scanner) (bool, error)) error {
	if err != nil {
		return mapped(err)
	}
	defer rows.Close()
	for rows.Next() {
		if more, err := take(rows); err != nil || !more {
			return mapped(err)
		}
	}
	return mapped(rows.Err())
}

// collect scans all rows of a constant query.
func collect[T any](ctx context.Context, r *reads, scan func(scanner) (T, error), q string, args ...any) (all []T, err error) {
	err = r.each(ctx, into(&all, scan), q, args...)
	return all, err
}

// into collects what it is handed.
func into[T any](all *[]T, scan func(scanner) (T, error)) func(scanner) (bool, error) {
	return func(row scanner) (bool, error) {
		v, err := scan(row)
		if err == nil {
			*all = append(*all, v)
		}
		return true, err
	}
}

// noRow is what a look-up ends with that finds nothing.
var noRow = sql.ErrNoRows

// found turns the result of a look-up into what callers get.
func found(err error, what string, id any) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, noRow):
		return fmt.Errorf("%s %v: %w", what, id, engine.ErrNotFound)
	}
	return fmt.Errorf("read %s %v: %w", what, id, mapped(err))
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
