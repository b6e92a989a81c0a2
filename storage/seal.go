package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/skerry/skerry/engine"
)

// What of a row is the application's content lies in the database encrypted, whether it is known to be secret or not: bodies, what they set,
// answers, changes of documents and what is made from them. Identifiers, names, times, states and reasons stay as they are, because lists
// go by them. Each value is bound to the row and column that it stands in, so that none can be put in another's place.

// at names the place of a value: its table and column, and what tells its row.
func at(column string, row ...string) engine.OperationID {
	return engine.OperationID(column + "\x00" + strings.Join(row, "\x00"))
}

// seal encrypts a value; nil, which is no value, stays nil.
func (v *Vault) seal(b []byte, column string, row ...string) []byte {
	if b == nil {
		return nil
	}
	return v.Seal(at(column, row...), b)
}

// open puts what seal was given in the place of what it has returned.
func (v *Vault) open(b *[]byte, column string, row ...string) error {
	if *b == nil {
		return nil
	}
	opened, err := v.Unseal(at(column, row...), *b)
	if err != nil {
		return fmt.Errorf("%s: %w: %v", column, engine.ErrStorage, err) // to callers it is not the refusal of a key
	}
	*b = opened
	return nil
}

// sealed lists the columns that are encrypted, and what tells their rows: schema.go says what they hold. All of them that hold something
// have a table with a rowid, or one column as its key.
var sealed = []struct {
	table, column string
	row           []string
}{
	{"documents", "checkpoint", []string{"id"}},
	{"changes", "bytes", []string{"document", "actor", "seq"}},
	{"snapshots", "bytes", []string{"document"}},
	{"operations", "change", []string{"id"}},
	{"operations", "body", []string{"id"}},
	{"answers", "answer", []string{"hex(key)"}},
	{"conflicts", "data", []string{"id"}},
	{"events", "data", []string{"type", "subject", "time"}},
}

// unlock opens the vault that the database is encrypted under. A database of an earlier version is encrypted at once: that takes as long as
// to copy it, and as much room.
func (s *Store) unlock(ctx context.Context, dir, path string) error {
	var check []byte
	var clean bool
	err := s.conn.QueryRowContext(ctx, `SELECT sealed, clean FROM vault`).Scan(&check, &clean)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return mapped(err)
	}
	fresh := err != nil
	if s.vault, err = openVault(dir, path, fresh); err != nil {
		return err
	}
	if fresh {
		clean, err = s.encrypt(ctx)
	} else {
		err = s.vault.open(&check, "vault.sealed")
	}
	if err != nil || clean {
		return err
	}
	// What was there before is still in pages that are not used any more.
	for _, q := range []string{`VACUUM`, `PRAGMA wal_checkpoint(TRUNCATE)`, `UPDATE vault SET clean = 1`} {
		if _, err := s.conn.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("clear away what was not encrypted: %w", mapped(err))
		}
	}
	return nil
}

// encrypt seals all that there is, and reports whether that was nothing.
func (s *Store) encrypt(ctx context.Context) (nothing bool, err error) {
	tx, err := s.conn.BeginTx(ctx, nil)
	if err != nil {
		return false, mapped(err)
	}
	defer func() { _ = tx.Rollback() }()
	nothing = true
	for _, c := range sealed {
		some, err := s.encryptColumn(ctx, tx, c.table, c.column, c.row)
		if err != nil {
			return false, fmt.Errorf("encrypt %s of %s: %w", c.column, c.table, mapped(err))
		}
		nothing = nothing && !some
	}
	check := s.vault.seal([]byte("the key of this database"), "vault.sealed")
	if _, err := tx.ExecContext(ctx, `INSERT INTO vault (sealed, clean) VALUES (?, ?)`, check, nothing); err != nil {
		return false, mapped(err)
	}
	return nothing, mapped(tx.Commit())
}

// encryptColumn goes through a table by its key, a page at a time.
func (s *Store) encryptColumn(ctx context.Context, tx *sql.Tx, table, column string, row []string) (some bool, err error) {
	key := "rowid"
	if table == "documents" { // it has none
		key = "id"
	}
	update, err := tx.PrepareContext(ctx, `UPDATE `+table+` SET `+column+` = ? WHERE `+key+` = ?`)
	if err != nil {
		return false, err
	}
	defer update.Close()
	type value struct {
		key   any
		bytes []byte
		row   []string
	}
	const page = 256
	names := make([]string, len(row))
	for i, expression := range row {
		names[i] = `CAST(` + expression + ` AS TEXT)`
	}
	query := `SELECT ` + key + `, ` + column + `, ` + strings.Join(names, `, `) + ` FROM ` + table + ` WHERE ` + column + ` IS NOT NULL AND ` + key + ` > ? ORDER BY ` + key + ` LIMIT ?`
	for last := any(nil); ; {
		if last == nil {
			if last = any(int64(-1 << 63)); table == "documents" {
				last = ""
			}
		}
		var values []value
		rows, err := tx.QueryContext(ctx, query, last, page)
		if err != nil {
			return some, err
		}
		for rows.Next() {
			v := value{row: make([]string, len(row))}
			to := []any{&v.key, &v.bytes}
			for i := range v.row {
				to = append(to, &v.row[i])
			}
			if err := rows.Scan(to...); err != nil {
				return some, errors.Join(err, rows.Close())
			}
			values = append(values, v)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return some, err
		}
		for _, v := range values {
			if _, err := update.ExecContext(ctx, s.vault.seal(blob(v.bytes), table+"."+column, v.row...), v.key); err != nil {
				return some, err
			}
			last, some = v.key, true
		}
		if len(values) < page {
			return some, nil
		}
	}
}
