package storage

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/skerry/skerry/engine"
)

// writer is the one connection that writes, with what it remembers of what it has written. It belongs to whoever has the turn
// (commit.go). It uses the driver without database/sql, whose locks and checks cost as much as a small statement.
type writer struct {
	conn       *sqlite3.SQLiteConn
	statements [statementCount]*sqlite3.SQLiteStmt
	values     []driver.NamedValue // of the statement that runs
	room       rowRoom             // of the row that is written
	ran        int                 // how many statements have run

	vault  *Vault
	filter *filter // knows of what is written before that can be read
	now    func() time.Time

	kinds      dictionary[kindName]
	sites      dictionary[engine.SiteID]
	lines      dictionary[engine.Line]
	placements dictionary[string]
	// What the rows hold that were written lately, as far as it decides which statement is the one.
	resources  recent[documentKey, resourceMemory]
	operations recent[engine.OperationID, uint64]
	seed       maphash.Seed

	events  eventLog
	answers answerLog
}

// openWriter opens the connection. It makes the database.
func openWriter(uri string, now func() time.Time) (*writer, error) {
	// The driver's default in WAL mode is synchronous=NORMAL, which loses acknowledged commits with the power.
	conn, err := (&sqlite3.SQLiteDriver{}).Open(uri + "?mode=rw&_mutex=no&_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		return nil, mapped(err)
	}
	w := &writer{conn: conn.(*sqlite3.SQLiteConn), now: now, seed: maphash.MakeSeed()}
	w.kinds = newDictionary(findKind, addKind, func(k kindName) []driver.Value { return []driver.Value{string(k.service), string(k.kind)} })
	w.lines = newDictionary(findLine, addLine, func(l engine.Line) []driver.Value { return []driver.Value{string(l)} })
	w.sites = newDictionary(findSite, addSite, func(s engine.SiteID) []driver.Value { return []driver.Value{string(s)} })
	w.placements = newDictionary(findPlacement, addPlacement, func(s string) []driver.Value { return []driver.Value{s} })
	w.resources.most, w.operations.most = 4096, 4096
	return w, nil
}

// prepare prepares all statements, once the schema is there.
func (w *writer) prepare() error {
	for i, q := range statementText {
		stmt, err := w.conn.Prepare(q)
		if err != nil {
			return fmt.Errorf("prepare %q: %w", q, mapped(err))
		}
		w.statements[i] = stmt.(*sqlite3.SQLiteStmt)
	}
	return nil
}

func (w *writer) Close() error {
	var errs []error
	for _, s := range w.statements {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(append(errs, w.conn.Close())...)
}

// bind makes the arguments of a statement. They are valid until the next call.
func (w *writer) bind(args []driver.Value) []driver.NamedValue {
	w.values = w.values[:0]
	for i, v := range args {
		w.values = append(w.values, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return w.values
}

// run runs a statement and returns how many rows it has changed and the number of the row that it has added, if any.
func (w *writer) run(s statement, args ...driver.Value) (changed, n int64, err error) {
	w.ran++
	res, err := w.statements[s].ExecContext(context.Background(), w.bind(args))
	if err != nil {
		return 0, 0, mapped(err)
	}
	changed, _ = res.RowsAffected() // the driver's never fail
	n, _ = res.LastInsertId()
	return changed, n, nil
}

// exec is run for those who need no result.
func (w *writer) exec(s statement, args ...driver.Value) error {
	_, _, err := w.run(s, args...)
	return err
}

// read returns the one value of a query. ErrNotFound: there is no row.
func (w *writer) read(s statement, args ...driver.Value) (driver.Value, error) {
	w.ran++
	rows, err := w.statements[s].QueryContext(context.Background(), w.bind(args))
	if err != nil {
		return nil, mapped(err)
	}
	var row [1]driver.Value
	err = rows.Next(row[:])
	if err = errors.Join(err, rows.Close()); errors.Is(err, io.EOF) {
		return nil, engine.ErrNotFound
	}
	return row[0], mapped(err)
}

// number and bytes are read for a query of numbers, and of blobs.
func (w *writer) number(s statement, args ...driver.Value) (int64, error) {
	v, err := w.read(s, args...)
	n, _ := v.(int64)
	return n, err
}

func (w *writer) bytes(s statement, args ...driver.Value) ([]byte, error) {
	v, err := w.read(s, args...)
	b, _ := v.([]byte)
	return b, err
}

// transact runs do in one transaction: all of it is durable, or nothing has happened.
func (w *writer) transact(do func() error) error {
	if err := w.exec(begin); err != nil {
		return fmt.Errorf("begin: %w: %w", engine.ErrStorage, err)
	}
	err := do()
	if err == nil {
		if err = w.exec(commit); err == nil {
			w.events.committed()
			return nil
		}
		err = fmt.Errorf("sync: %w", err)
	}
	// After some errors SQLite has rolled back by itself; then there is no transaction, and this says so.
	_ = w.exec(rollback)
	w.forget()
	return err
}

// forget makes the writer look again at what is there, after what it has written was rolled back.
func (w *writer) forget() {
	w.kinds.numbers.clear()
	w.sites.numbers.clear()
	w.lines.numbers.clear()
	w.placements.numbers.clear()
	w.resources.clear()
	w.operations.clear()
	w.events.rolledBack()
}
