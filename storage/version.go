package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/mattn/go-sqlite3"
)

// ErrEarlier: the data are of an earlier release, which kept them in another form. They were not touched.
var ErrEarlier = errors.New("the data are of an earlier release, which kept them in another form, and were not touched: " +
	"go on with that release, or begin anew as the CHANGELOG says")

// Versions are the oldest and the newest version of a database that this release opens. It brings an older one to the newest.
func Versions() (oldest, newest int) { return firstVersion, firstVersion + len(migrations) - 1 }

// checkVersion refuses a database that this release has no way to read, and changes nothing: it only reads. One case has more:
// a power failure in a database's very first transaction, before it has a write-ahead log, leaves a journal to be rolled back.
func checkVersion(ctx context.Context, path, uri string) error {
	if stat, err := os.Stat(path); err != nil || stat.Size() == 0 {
		return nil // it is to be made, or its first transaction never ended
	}
	version, id, tables, err := readVersion(ctx, uri+"?mode=ro&_query_only=1")
	var e sqlite3.Error
	if errors.As(err, &e) && e.Code == sqlite3.ErrReadonly {
		version, id, tables, err = readVersion(ctx, uri+"?mode=rw&_query_only=1")
	}
	if err != nil {
		return fmt.Errorf("read its version: %w", mapped(err))
	}
	oldest, newest := Versions()
	switch {
	case version == 0 && id == 0 && tables == 0:
		return nil
	case id != applicationID:
		return fmt.Errorf("it is another program's database (application id %#x)", id)
	case version < oldest:
		return fmt.Errorf("it has version %d: %w", version, ErrEarlier)
	case version > newest:
		return fmt.Errorf("it has version %d, made by a newer release; this one knows versions up to %d", version, newest)
	}
	return nil
}

// readVersion reads what a database says of itself.
func readVersion(ctx context.Context, uri string) (version, id, tables int, err error) {
	db, err := sql.Open("sqlite3", uri)
	if err != nil {
		return 0, 0, 0, err
	}
	err = db.QueryRowContext(ctx, `SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version, pragma_application_id`).Scan(&version, &id, &tables)
	return version, id, tables, errors.Join(err, db.Close())
}

// migrate brings a database that checkVersion lets pass to the newest version that steps know, each step in a transaction of
// its own.
func migrate(conn *sqlite3.SQLiteConn, steps []string) error {
	version, err := pragma(conn, "user_version")
	if err != nil {
		return fmt.Errorf("read its version: %w", err)
	}
	done := 0
	if v, ok := version.(int64); ok && v > 0 {
		done = int(v) - firstVersion + 1
	}
	for ; done < len(steps); done++ {
		// Pragmas take no parameters.
		text := fmt.Sprintf(`BEGIN IMMEDIATE; %s PRAGMA user_version = %d; PRAGMA application_id = %d; COMMIT`, steps[done],
			firstVersion+done, applicationID)
		if _, err := conn.Exec(text, nil); err != nil {
			_, _ = conn.Exec(`ROLLBACK`, nil) // there may be nothing to roll back
			return fmt.Errorf("bring it to version %d: %w", firstVersion+done, mapped(err))
		}
	}
	return nil
}
