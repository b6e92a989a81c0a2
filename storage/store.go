package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mattn/go-sqlite3" // registers the driver "sqlite3", and names its error codes

	"github.com/skerry/skerry/engine"
)

var (
	// ErrInUse: another agent has the data directory open.
	ErrInUse = errors.New("in use by another agent")
	// ErrClosed: the store was closed. Nothing of the batch has happened.
	ErrClosed = errors.New("store is closed")
)

// The files of a data directory that belong to this package.
const (
	databaseFile = "skerry.db"
	lockFile     = "lock"
)

// readers is how many reads run at a time; more wait for their turn.
const readers = 8

// Options are what a Store needs from outside. The zero value will do.
type Options struct {
	// Now is the clock by which answers grow old. Nil: time.Now.
	Now func() time.Time
	// Key is the file of the key that content is encrypted under. Empty: vault.key, in the data directory.
	Key string
}

// Store is the database of one site. It implements engine.Store and engine.Ledger, and is safe for concurrent use.
// It has no goroutine of its own: who calls Commit also does the group's work when it is their turn.
type Store struct {
	now    func() time.Time
	lock   *os.File
	vault  *Vault
	writes *sql.DB // its one connection is conn
	reads  *sql.DB

	// Statements for the look-ups that every request makes.
	byLocal, byID, byDocument *sql.Stmt

	room chan struct{} // holds a token for each call of submit between entry and answer
	turn chan struct{} // holds a token while one caller commits

	mu      sync.Mutex
	waiting []*submission // guarded by mu; those not taken yet, oldest first

	closeOnce sync.Once
	closing   chan struct{} // closed when Close begins

	// The rest belongs to whoever has the turn.
	conn        *sql.Conn
	statements  [statementCount]*sql.Stmt
	reserve     reserve
	sameChange  *sql.Stmt
	newEvents   int       // written since the event log was trimmed
	answersTrim time.Time // when answers were trimmed
}

var (
	_ engine.Store  = (*Store)(nil)
	_ engine.Ledger = (*Store)(nil)
)

// Open opens the store in dir, which it creates with mode 0700, and brings an older database up to date. It
// returns ErrInUse while another Store, of any process, has dir open. Close it.
func Open(dir string, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		now:       opts.Now,
		lock:      lock,
		room:      make(chan struct{}, maxWaiting),
		turn:      make(chan struct{}, 1),
		closing:   make(chan struct{}),
		newEvents: trimEventsEvery, // trim with the first ones
		reserve:   reserve{path: filepath.Join(dir, reserveFile)},
	}
	if err := s.open(dir, opts.Key); err != nil {
		s.release()
		return nil, fmt.Errorf("open database %s: %w", filepath.Join(dir, databaseFile), err)
	}
	if err := errors.Join(syncDir(dir), syncDir(filepath.Dir(filepath.Clean(dir)))); err != nil {
		s.release()
		return nil, fmt.Errorf("sync data directory: %w", err)
	}
	return s, nil
}

// Vault encrypts under the key of the data directory.
func (s *Store) Vault() *Vault { return s.vault }

// lockDir takes the lock that the kernel releases when the process ends, in whatever way.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		pid, _ := io.ReadAll(io.LimitReader(f, 32)) // for the message only
		f.Close()
		return nil, fmt.Errorf("data directory %s: %w (process %s)", dir, ErrInUse, strings.TrimSpace(string(pid)))
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	return f, nil
}

// open opens both pools. It leaves closing what it opened to release.
func (s *Store) open(dir, key string) error {
	path := filepath.Join(dir, databaseFile)
	// SQLite gives the files beside the database its mode.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	ctx := context.Background()
	uri := "file:" + (&url.URL{Path: path}).EscapedPath()
	// The driver's default in WAL mode is synchronous=NORMAL, which loses acknowledged commits with the power.
	if s.writes, err = sql.Open("sqlite3", uri+"?mode=rw&_txlock=immediate&_journal_mode=WAL&_synchronous=FULL"); err != nil {
		return err
	}
	s.writes.SetMaxOpenConns(1)
	if s.conn, err = s.writes.Conn(ctx); err != nil {
		return mapped(err)
	}
	// On macOS fsync alone leaves the data in the drive's cache. Elsewhere fullfsync changes nothing.
	for _, q := range []string{`PRAGMA fullfsync = 1`, `PRAGMA checkpoint_fullfsync = 1`, `PRAGMA cache_size = -8192`} {
		if _, err := s.conn.ExecContext(ctx, q); err != nil {
			return mapped(err)
		}
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2"} {
		var got string
		if err := s.conn.QueryRowContext(ctx, `PRAGMA `+pragma).Scan(&got); err != nil {
			return mapped(err)
		}
		if got != want {
			return fmt.Errorf("%s is %s, need %s for durable commits: does the file system support shared memory and locks?", pragma, got, want)
		}
	}
	if err := migrate(ctx, s.conn, migrations); err != nil {
		return err
	}
	if err := s.unlock(ctx, dir, key); err != nil {
		return err
	}
	for i, q := range statementText {
		if s.statements[i], err = s.conn.PrepareContext(ctx, q); err != nil {
			return fmt.Errorf("prepare %q: %w", q, mapped(err))
		}
	}
	if s.sameChange, err = s.conn.PrepareContext(ctx,
		`SELECT hash = ? FROM changes WHERE document = ? AND actor = ? AND seq = ?`); err != nil {
		return mapped(err)
	}
	if s.reads, err = sql.Open("sqlite3", uri+"?mode=ro&_query_only=1"); err != nil {
		return err
	}
	s.reads.SetMaxOpenConns(readers)
	s.reads.SetMaxIdleConns(readers)
	for q, stmt := range map[string]**sql.Stmt{
		resourceByLocal: &s.byLocal, resourceByID: &s.byID, resourceByDocument: &s.byDocument,
	} {
		if *stmt, err = s.reads.PrepareContext(ctx, q); err != nil {
			return fmt.Errorf("prepare %q: %w", q, mapped(err))
		}
	}
	return nil
}

// Close waits for the commits that were accepted, then closes the database and gives the directory free. Later
// calls of Commit return ErrClosed. It may be called again and does nothing then.
func (s *Store) Close() error {
	var err error
	s.closeOnce.Do(func() {
		close(s.closing)
		for range cap(s.room) { // when all tokens are ours, no one is inside and no one gets in
			s.room <- struct{}{}
		}
		err = s.release()
	})
	return err
}

func (s *Store) release() error {
	var errs []error
	for _, c := range []interface{ Close() error }{closer(s.reads), closer(s.conn), closer(s.writes), s.lock} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// closer keeps a nil pointer from becoming an interface that is not nil.
func closer[T any, P interface {
	*T
	Close() error
}](p P) interface{ Close() error } {
	if p == nil {
		return nil
	}
	return p
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// mapped makes what SQLite cannot do an engine.ErrStorage; what it was asked wrongly stays as it is.
func mapped(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case sqlite3.ErrConstraint, sqlite3.ErrTooBig, sqlite3.ErrMismatch, sqlite3.ErrRange, sqlite3.ErrError:
		return err
	}
	return fmt.Errorf("%w: %w", engine.ErrStorage, err)
}
