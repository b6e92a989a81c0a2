package storage

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// children are what the test binary does instead of testing when a test starts it again as a child.
var children = map[string]func(dir string) error{
	"hold":   holdStore,
	"commit": commitForever,
}

func TestMain(m *testing.M) {
	if child, ok := children[os.Getenv("STORAGE_CHILD")]; ok {
		if err := child(os.Getenv("STORAGE_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startChild starts the test binary again and returns its output line by line. kill ends it with SIGKILL, like a
// power switch as far as a process can tell, and waits.
func startChild(t *testing.T, name, dir string) (lines *bufio.Scanner, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORAGE_CHILD="+name, "STORAGE_DIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	t.Cleanup(kill)
	return bufio.NewScanner(out), kill
}

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustCommit(t testing.TB, s *Store, b *engine.Batch) {
	t.Helper()
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// sample is what one step of the engine typically writes: document, change, resource, operation, intent, event.
// Steps of different n have nothing in common.
func sample(n int) *engine.Batch {
	doc := engine.DocumentID(fmt.Sprintf("%064x", n))
	id := engine.ResourceID(fmt.Sprintf("0190a000-0000-7000-8000-%012d", n))
	at := time.Unix(1_790_000_000, int64(n)).UTC()
	op := engine.OperationID(fmt.Sprintf("0190b000-0000-7000-8000-%012d", n))
	row := engine.ChangeRow{Document: doc, Actor: "aa", Seq: 1,
		SignedChange: engine.SignedChange{Author: "paris", Signature: make([]byte, 64), Bytes: make([]byte, 300)}}
	copy(row.Hash[:], fmt.Sprint(n))
	return &engine.Batch{
		Documents: []engine.DocumentRow{{ID: doc, About: []byte("about"), Sites: []engine.SiteID{"paris", "nantes"}, Heads: row.Hash}},
		Changes:   []engine.ChangeRow{row},
		Resources: []engine.ResourceRow{{Document: doc, ID: id, Service: "images", Kind: "image", Label: "debian", Collaboration: "replication",
			Local: engine.LocalID(fmt.Sprintf("local-%d", n)), State: engine.StateConverging, CreatedAt: at, UpdatedAt: at, Pending: true,
			Sites: map[engine.SiteID]engine.ReplicaStatus{"paris": {State: engine.StateConverged, Applied: 1}, "nantes": {State: engine.StateConverging, Pending: 1}}}},
		Operations: []engine.OperationRow{{ID: op, Document: doc, Resource: id, Type: engine.TypeCreate, Service: "images", Kind: "image",
			Method: "POST", Path: "/images", Scope: "{images: paris & nantes}", Origin: "paris", IssuedAt: at, State: engine.StatePending,
			Sites: map[engine.SiteID]engine.OperationStatus{"paris": {State: engine.StateApplied, Status: 201, At: at}, "nantes": {State: engine.StatePending}},
			Body:  []byte(`{"name":"debian"}`)}},
		Intents: []engine.Intent{{Operation: op, Document: doc, Data: []byte("intent"), OpenedAt: at}},
		Events:  []engine.Event{{Type: "operation.accepted", Subject: string(op), Time: at, Data: []byte(`{}`)}},
	}
}

// has reports whether all of sample(n) is there (1), nothing of it (0), or a part (an error).
func has(s *Store, n int) (bool, error) {
	ctx := context.Background()
	b := sample(n)
	doc := b.Documents[0].ID
	_, err1 := s.Document(ctx, doc)
	_, err2 := s.ResourceByDocument(ctx, doc)
	_, err3 := s.Operation(ctx, b.Operations[0].ID)
	changes, _, err4 := s.Changes(ctx, doc, nil, 0)
	if err4 == nil && len(changes) == 0 {
		err4 = engine.ErrNotFound
	}
	all, none := true, true
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return false, err
		}
		all, none = all && err == nil, none && err != nil
	}
	if !all && !none {
		return false, fmt.Errorf("batch %d is there in part: %v, %v, %v, %v", n, err1, err2, err3, err4)
	}
	return all, nil
}

func TestOpenCreatesAPrivateDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a site", "50% paris?#&")
	s := open(t, dir)
	mustCommit(t, s, sample(1))
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, databaseFile): 0o600,
		filepath.Join(dir, databaseFile+"-wal"): 0o600} {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if err := s.Commit(t.Context(), sample(2)); !errors.Is(err, ErrClosed) {
		t.Errorf("Commit after Close: %v, want ErrClosed", err)
	}
	if ok, err := has(open(t, dir), 1); !ok || err != nil {
		t.Errorf("batch 1 after reopening: %v, %v", ok, err)
	}
}

func TestDurabilitySettings(t *testing.T) {
	s := open(t, t.TempDir())
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "user_version": fmt.Sprint(len(migrations))} {
		var got string
		if err := s.conn.QueryRowContext(t.Context(), `PRAGMA `+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, want %q (%v)", pragma, got, want, err)
		}
	}
	if _, err := s.reads.Exec(`DELETE FROM events`); err == nil {
		t.Error("the readers' pool can write")
	}
}

func TestOneAgentPerDirectory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrInUse) {
		t.Fatalf("second Open in this process: %v, want ErrInUse", err)
	}
	s.Close()

	lines, kill := startChild(t, "hold", dir)
	if !lines.Scan() {
		t.Fatal("the child did not open the store")
	}
	_, err := Open(dir, Options{})
	if !errors.Is(err, ErrInUse) {
		t.Fatalf("Open beside another process: %v, want ErrInUse", err)
	}
	if !strings.Contains(err.Error(), lines.Text()) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%q names neither the process %s nor the directory", err, lines.Text())
	}
	kill()
	open(t, dir)
}

func holdStore(dir string) error {
	if _, err := Open(dir, Options{}); err != nil {
		return err
	}
	fmt.Println(os.Getpid())
	select {}
}

func TestOpenRefusesWhatIsNotOurs(t *testing.T) {
	prepare := func(t *testing.T, q string) string {
		dir := t.TempDir()
		db, err := sql.Open("sqlite3", filepath.Join(dir, databaseFile))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, tt := range []struct{ name, sql, want string }{
		{"a newer release's", fmt.Sprintf(`PRAGMA user_version = 99; PRAGMA application_id = %d`, applicationID), "made by a newer release"},
		{"another program's", `PRAGMA user_version = 1; CREATE TABLE x (y)`, "another program's"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := prepare(t, tt.sql)
			for range 2 { // the first must have let go of the lock
				if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Open: %v, want %q in it", err, tt.want)
				}
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

func TestMigrationIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	mustCommit(t, s, sample(1))
	ctx := t.Context()
	bad := append(migrations[:len(migrations):len(migrations)], `ALTER TABLE resources ADD COLUMN zone TEXT; CREATE TABLE resources (x)`)
	if err := migrate(ctx, s.conn, bad); err == nil {
		t.Fatal("a migration that cannot work did")
	}
	good := append(migrations[:len(migrations):len(migrations)], `ALTER TABLE resources ADD COLUMN zone TEXT NOT NULL DEFAULT 'west'`)
	if err := migrate(ctx, s.conn, good); err != nil {
		t.Fatalf("after the bad one: %v", err)
	}
	var zone string
	if err := s.conn.QueryRowContext(ctx, `SELECT zone FROM resources`).Scan(&zone); err != nil || zone != "west" {
		t.Errorf("the resource's new column is %q, %v", zone, err)
	}
	s.Close()
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "newer release") {
		t.Errorf("the older release opens it: %v", err)
	}
}
