package storage

import (
	"context"
	"database/sql/driver"
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

	"github.com/mattn/go-sqlite3"

	"github.com/skerry/skerry/engine"
)

var (
	// ErrInUse: another agent has the data directory open.
	ErrInUse = errors.New("in use by another agent")
	// ErrClosed: the store was closed. Nothing of the batch has happened.
	ErrClosed = errors.New("store is closed")
)

// The files of a data directory that belong to this package, beside those of blobs and spools.
const (
	databaseFile = "skerry.db"
	lockFile     = "lock"
	restoring    = "restoring" // is there while a backup is put back
)

// Layout is where in a data directory a backup finds things.
var Layout = struct {
	Database, Key    string
	Lock             string   // whose locks say that the directory is in use
	Bodies           []string // directories of files that are written once
	Passing          []string // what is of no use elsewhere
	Restoring        string   // is there while a backup is put back: until it is gone, Open refuses the directory
	Unfinished, Part string   // how names of bodies begin, or end, that are not whole
}{databaseFile, vaultFile, lockFile, []string{blobDir, spoolDir}, []string{reserveFile, databaseFile + "-wal", databaseFile + "-shm", databaseFile + "-journal"},
	restoring, newPrefix, partSuffix}

// ErrUnfinished: a backup was being put back, and that was broken off.
var ErrUnfinished = errors.New("a backup was being put back here, and that was not finished: run \"skerry restore\" again")

// Lock takes the data directory as Open does, for somebody who puts other files there. It returns ErrInUse while a Store has it open.
func Lock(dir string) (io.Closer, error) { return lockDir(dir) }

// Options are what a Store needs from outside. The zero value will do.
type Options struct {
	// Now is the clock by which answers grow old and operations settle. Nil: time.Now.
	Now func() time.Time
	// Key is the file of the key that content is encrypted under. Empty: vault.key, in the data directory.
	Key string
	// Lock is the lock of the data directory, if somebody has it already: of Await, or of a process that this one takes over from and that
	// has closed its Store. It is the Store's from then on. Nil: Open takes it.
	Lock *os.File
}

// Store is the database of one site. It implements engine.Store, and is safe for concurrent use. It has no goroutine of its
// own but the one that fills the filter at its start: who calls Commit also does the group's work when it is their turn.
type Store struct {
	now       func() time.Time
	lock      *os.File
	vault     *Vault
	queue     *queue
	reads     *reads
	ahead     ahead
	filter    *filter
	lookups   *lookups
	causes    causes
	closeOnce sync.Once

	loading     sync.WaitGroup // the filter
	stopLoading context.CancelFunc
}

var _ engine.Store = (*Store)(nil)

// Open opens the store in dir, which it creates with mode 0700, and brings an older database up to date, but for those of
// releases that kept them in another form: ErrEarlier. It returns ErrInUse while another Store, of any process, has dir open.
// Close it.
func Open(dir string, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	lock, err := opts.Lock, error(nil)
	if lock == nil {
		lock, err = lockDir(dir)
	} else {
		err = sign(lock)
	}
	if err != nil {
		return nil, err
	}
	s := &Store{now: opts.Now, lock: lock, lookups: newLookups()}
	if _, err := os.Stat(filepath.Join(dir, restoring)); err == nil {
		_ = s.release()
		return nil, fmt.Errorf("open data directory %s: %w", dir, ErrUnfinished)
	}
	if err := s.open(dir, opts.Key); err != nil {
		_ = s.release()
		return nil, fmt.Errorf("open database %s: %w", filepath.Join(dir, databaseFile), err)
	}
	if err := errors.Join(syncDir(dir), syncDir(filepath.Dir(filepath.Clean(dir)))); err != nil {
		_ = s.release()
		return nil, fmt.Errorf("sync data directory: %w", err)
	}
	return s, nil
}

// Vault encrypts under the key of the data directory.
func (s *Store) Vault() *Vault { return s.vault }

// Shelves are where other parts of the agent keep small things of their own.
func (s *Store) Shelves() *Shelves { return &Shelves{s} }

// Lock is the lock of the data directory, which another process can inherit. It belongs to the Store.
func (s *Store) Lock() *os.File { return s.lock }

// waiting is how often Await looks whether a directory is free.
const waiting = 100 * time.Millisecond

// Await waits until no Store has dir open, and keeps any other from opening it. It is for Options.
func Await(ctx context.Context, dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	for {
		lock, err := lockDir(dir)
		if !errors.Is(err, ErrInUse) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(waiting):
		}
	}
}

// lockDir takes the lock that the kernel releases when the process ends, in whatever way.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		pid, _ := io.ReadAll(io.LimitReader(f, 32)) // for the message only
		_ = f.Close()
		return nil, fmt.Errorf("data directory %s: %w (process %s)", dir, ErrInUse, strings.TrimSpace(string(pid)))
	}
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, errors.Join(err, f.Close()))
	}
	return f, sign(f)
}

// sign writes into the lock who has it; after an error it is closed.
func sign(lock *os.File) error {
	err := lock.Truncate(0)
	if err == nil {
		_, err = lock.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	}
	if err != nil {
		return fmt.Errorf("sign the lock %s: %w", lock.Name(), errors.Join(err, lock.Close()))
	}
	return nil
}

// settings are what the writer's connection is told; durable are those that are read back.
var (
	settings = []string{
		// On macOS fsync alone leaves the data in the drive's cache. Elsewhere fullfsync changes nothing.
		`PRAGMA fullfsync = 1`, `PRAGMA checkpoint_fullfsync = 1`,
		`PRAGMA cache_size = -4096`, // KiB
	}
	durable = map[string]string{"journal_mode": "wal", "synchronous": "2"}
)

// logPages is how many pages the log grows to before they are written to the database: many, since pages that change often are
// then written there once, but no large part of the disk.
func logPages(dir string) uint64 {
	const page, least, most = 4096, 200, 4000
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return least
	}
	return min(max(disk.Blocks*uint64(disk.Bsize)/page/64, least), most)
}

// open opens the writer and the readers. It leaves closing what it opened to release.
func (s *Store) open(dir, key string) error {
	path := filepath.Join(dir, databaseFile)
	uri := "file:" + (&url.URL{Path: path}).EscapedPath()
	if err := checkVersion(context.Background(), path, uri); err != nil {
		return err
	}
	// SQLite gives the files beside the database its mode.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	w, err := openWriter(uri, s.now)
	if err != nil {
		return err
	}
	s.queue = newQueue(w, reserve{path: filepath.Join(dir, reserveFile)})
	for _, q := range append(settings, fmt.Sprintf(`PRAGMA wal_autocheckpoint = %d`, logPages(dir))) {
		if _, err := w.conn.Exec(q, nil); err != nil {
			return mapped(err)
		}
	}
	for name, want := range durable {
		got, err := pragma(w.conn, name)
		if err != nil {
			return err
		}
		if fmt.Sprint(got) != want {
			return fmt.Errorf("%s is %v, need %s for durable commits: does the file system support shared memory and locks?", name, got, want)
		}
	}
	if err := migrate(w.conn, migrations); err != nil {
		return err
	}
	if err := w.prepare(); err != nil {
		return err
	}
	if w.vault, err = w.unlock(dir, key); err != nil {
		return err
	}
	s.vault = w.vault
	if err := w.events.open(w); err != nil {
		return err
	}
	if s.reads, err = openReads(uri); err != nil {
		return err
	}
	s.filter = newFilter()
	w.filter = s.filter
	ctx, stop := context.WithCancel(context.Background())
	s.stopLoading = stop
	s.loading.Go(func() { s.filter.load(ctx, s.reads) })
	return nil
}

// pragma reads a setting.
func pragma(conn *sqlite3.SQLiteConn, name string) (driver.Value, error) {
	rows, err := conn.Query(`PRAGMA `+name, nil)
	if err != nil {
		return nil, mapped(err)
	}
	var row [1]driver.Value
	err = rows.Next(row[:])
	return row[0], mapped(errors.Join(err, rows.Close()))
}

// Close waits for the commits that were accepted, then closes the database and gives the directory free. Later calls of
// Commit return ErrClosed. It may be called again and does nothing then.
func (s *Store) Close() (err error) {
	s.closeOnce.Do(func() {
		s.queue.close()
		err = s.release()
	})
	return err
}

// release closes what is open. The writer goes last: it then writes what is in the log to the database.
func (s *Store) release() error {
	var errs []error
	if s.stopLoading != nil {
		s.stopLoading()
		s.loading.Wait()
	}
	if s.reads != nil {
		errs = append(errs, s.reads.Close())
	}
	if s.queue != nil {
		errs = append(errs, s.queue.writer.Close())
	}
	return errors.Join(append(errs, s.lock.Close())...)
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
	if !errors.As(err, &e) || errors.Is(err, engine.ErrStorage) {
		return err
	}
	switch e.Code {
	case sqlite3.ErrConstraint, sqlite3.ErrTooBig, sqlite3.ErrMismatch, sqlite3.ErrRange, sqlite3.ErrError:
		return err
	}
	return fmt.Errorf("%w: %w", engine.ErrStorage, err)
}
