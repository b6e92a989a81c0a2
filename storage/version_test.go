package storage

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// databaseWith makes a database file of some statements.
func databaseWith(t *testing.T, q string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	db, err := sql.Open("sqlite3", filepath.Join(dir, databaseFile)+"?_journal_mode=WAL")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(q); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOpenRefusesWhatIsNotOurs(t *testing.T) {
	for _, tt := range []struct{ name, sql, want string }{
		{"a newer release's", fmt.Sprintf(`PRAGMA user_version = 99; PRAGMA application_id = %d; CREATE TABLE x (y)`, applicationID), "made by a newer release"},
		{"another program's", `PRAGMA user_version = 3; CREATE TABLE x (y)`, "another program's"},
		{"another program's without a version", `CREATE TABLE x (y)`, "another program's"},
		{"another program's by its mark", `PRAGMA application_id = 7; CREATE TABLE x (y)`, "another program's"},
		{"an earlier release's", fmt.Sprintf(`PRAGMA user_version = 2; PRAGMA application_id = %d; CREATE TABLE documents (id TEXT)`, applicationID), "CHANGELOG"},
		{"one that signed changes without their documents", fmt.Sprintf(`PRAGMA user_version = 5; PRAGMA application_id = %d; CREATE TABLE forks (line TEXT)`, applicationID), "CHANGELOG"},
		{"the first release's", fmt.Sprintf(`PRAGMA user_version = 1; PRAGMA application_id = %d; CREATE TABLE documents (id TEXT)`, applicationID), "CHANGELOG"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := databaseWith(t, tt.sql)
			before, err := os.ReadFile(filepath.Join(dir, databaseFile))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the first must have let go of the lock
				_, err := Open(dir, Options{})
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Open: %v, want %q in it", err, tt.want)
				}
				if strings.Contains(tt.want, "CHANGELOG") != errors.Is(err, ErrEarlier) {
					t.Errorf("Open: %v, is it ErrEarlier?", err)
				}
			}
			after, err := os.ReadFile(filepath.Join(dir, databaseFile))
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed, %v", err)
			}
			if _, err := os.Stat(filepath.Join(dir, vaultFile)); !os.IsNotExist(err) {
				t.Errorf("a key was made: %v", err)
			}
		})
	}
	t.Run("garbage", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, databaseFile), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, Options{}); !errors.Is(err, engine.ErrStorage) {
			t.Errorf("Open: %v, want ErrStorage", err)
		}
	})
	t.Run("a file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, Options{}); err == nil {
			t.Error("opened a file as a directory")
		}
	})
}

// TestAnEarlierDatabaseStaysAsItIs: also one whose agent was killed, so that all of it is in its log.
func TestAnEarlierDatabaseStaysAsItIs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, databaseFile)
	db, err := sql.Open("sqlite3", path+"?_journal_mode=WAL")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = 2; CREATE TABLE documents (id TEXT)`, applicationID)); err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	files := map[string][]byte{}
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		files[databaseFile+suffix] = b
		if err := os.WriteFile(filepath.Join(copied, databaseFile+suffix), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(copied, Options{}); !errors.Is(err, ErrEarlier) {
		t.Errorf("Open: %v, want ErrEarlier", err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(copied, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s was changed, %v", name, err)
		}
	}
}

func TestMigrationIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	mustCommit(t, s, sample(1))
	conn := s.queue.writer.conn
	bad := append(migrations[:len(migrations):len(migrations)], `ALTER TABLE resources ADD COLUMN zone TEXT; CREATE TABLE resources (x);`)
	if err := migrate(conn, bad); err == nil {
		t.Fatal("a migration that cannot work did")
	}
	good := append(migrations[:len(migrations):len(migrations)], `ALTER TABLE resources ADD COLUMN zone TEXT NOT NULL DEFAULT 'west';`)
	if err := migrate(conn, good); err != nil {
		t.Fatalf("after the bad one: %v", err)
	}
	if zone := ask(t, s, `SELECT zone FROM resources`); zone != "west" {
		t.Errorf("the resource's new column is %q", zone)
	}
	s.Close()
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "newer release") {
		t.Errorf("the older release opens it: %v", err)
	}
}

// TestOpenAfterAPowerFailureInTheFirstTransaction: before the write-ahead log there is a journal, which has to be rolled back.
func TestOpenAfterAPowerFailureInTheFirstTransaction(t *testing.T) {
	made, dir := t.TempDir(), t.TempDir()
	path := filepath.Join(made, databaseFile)
	db, err := sql.Open("sqlite3", path+"?_journal_mode=DELETE")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	// A transaction over what is already there, so large that a part of it comes to the disk before its end.
	for _, q := range []string{
		`PRAGMA cache_size = 1`, `BEGIN`, `CREATE TABLE x (y)`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO x SELECT zeroblob(4096) FROM n`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{databaseFile, databaseFile + "-journal"} {
		b, err := os.ReadFile(filepath.Join(made, name))
		if err != nil || len(b) == 0 {
			t.Fatalf("%s has %d bytes, %v", name, len(b), err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
