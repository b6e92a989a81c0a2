package storage

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
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

// document names a document for tests.
func document(name string) engine.DocumentID {
	sum := sha256.Sum256([]byte(name))
	return engine.DocumentID(hex.EncodeToString(sum[:]))
}

// change makes one of a document.
func change(id engine.DocumentID, epoch uint64, line engine.Line, number uint64) *engine.Change {
	c := &engine.Change{Document: id, Epoch: epoch, Number: number}
	c.Line, c.Signature = line, []byte("signature")
	c.Bytes = fmt.Appendf(nil, "%s %d %s %d", id, epoch, line, number)
	return c
}

// sample is what one step of the engine typically writes: record, change, operation, errand, event. Steps of different n have
// nothing in common.
func sample(n int) *engine.Batch {
	doc := document(fmt.Sprint(n))
	id := engine.ResourceID(fmt.Sprintf("0190a000-0000-7000-8000-%012d", n))
	at := time.Unix(1_790_000_000, int64(n)).UTC()
	op := engine.OperationID(fmt.Sprintf("0190b000-0000-7000-8000-%012d", n))
	row := engine.ResourceRow{Document: doc, ID: id, Service: "images", Kind: "image", Label: "debian", Collaboration: engine.Replication,
		Local: engine.LocalID(fmt.Sprintf("local-%d", n)), State: engine.StateConverging, CreatedAt: at, UpdatedAt: at, Pending: true,
		Sites: map[engine.SiteID]engine.ReplicaStatus{"paris": {State: engine.StateConverged, Applied: 1}, "nantes": {State: engine.StateConverging, Pending: 1}}}
	return &engine.Batch{
		Records: []engine.Record{{Row: row, About: []byte("about"), Mine: []byte("mine"), Statuses: []byte("statuses"),
			Digest: engine.Fingerprint{uint64(n)}, Peers: []engine.SiteID{"nantes"}}},
		Changes: []*engine.Change{change(doc, 0, "paris", 1)},
		Operations: []engine.OperationRow{{ID: op, Document: doc, Resource: id, Type: engine.TypeCreate, Service: "images", Kind: "image",
			Method: "POST", Path: "/images", Scope: "{images: paris & nantes}", Origin: "paris", IssuedAt: at, State: engine.StatePending,
			Sites: map[engine.SiteID]engine.OperationStatus{"paris": {State: engine.StateApplied, Status: 201, At: at}, "nantes": {State: engine.StatePending}},
			Body:  []byte(`{"name":"debian"}`)}},
		Errands: []engine.Errand{{Operation: op, Data: []byte("errand"), At: at}},
		Events:  []engine.Event{{Type: "operation.accepted", Subject: string(op), Time: at, Data: []byte(`{}`)}},
	}
}

// has reports whether all of sample(n) is there, or nothing of it; a part is an error.
func has(s *Store, n int) (bool, error) {
	ctx := context.Background()
	b := sample(n)
	doc := b.Changes[0].Document
	_, err1 := s.Record(ctx, doc)
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

// ask runs a statement on the writer's connection, and returns the first value of a row, if there is one.
func ask(t testing.TB, s *Store, q string) any {
	t.Helper()
	db, err := sql.Open("sqlite3", databaseOf(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var v any
	if err := db.QueryRow(q).Scan(&v); err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatalf("%s: %v", q, err)
	}
	return v
}

func databaseOf(t testing.TB, s *Store) string {
	t.Helper()
	return filepath.Join(filepath.Dir(s.lock.Name()), databaseFile)
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
	if _, err := os.Stat(filepath.Join(dir, databaseFile+"-wal")); !os.IsNotExist(err) {
		t.Errorf("the log is left: %v", err)
	}
	if ok, err := has(open(t, dir), 1); !ok || err != nil {
		t.Errorf("batch 1 after reopening: %v, %v", ok, err)
	}
}

func TestDurabilitySettings(t *testing.T) {
	s := open(t, t.TempDir())
	for name, want := range map[string]string{"synchronous": "2", "journal_mode": "wal",
		"user_version": fmt.Sprint(firstVersion + len(migrations) - 1), "application_id": fmt.Sprint(applicationID)} {
		if got, err := pragma(s.queue.writer.conn, name); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s is %v, want %q (%v)", name, got, want, err)
		}
	}
	if _, err := s.reads.db.Exec(`DELETE FROM events`); err == nil {
		t.Error("the readers can write")
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

// valuesOf makes room for the values of a row.
func valuesOf(n int) []driver.Value { return make([]driver.Value, n) }
