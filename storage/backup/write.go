package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/skerry/skerry/storage"
)

// The members of a backup beside the database and bodies, which are called as in the data directory.
const (
	format       = 1
	filesDir     = "files"
	manifestName = "manifest.json"
	sumName      = "manifest.hmac"
	mostManifest = 64 << 20
	mostFile     = 16 << 20 // of a file that is none of the database or the bodies
)

// About says what a backup is of.
type About struct {
	Format int       `json:"format"`
	Site   string    `json:"site"`
	At     time.Time `json:"at"`      // of the database's snapshot
	By     string    `json:"version"` // of the program that has made it
	// Key says that the vault's key is in it.
	Key bool `json:"key"`
}

// Manifest is a backup's table of contents: the SHA-256 of each member, by name.
type Manifest struct {
	About
	Members map[string]string `json:"members"`
}

// Source is a data directory that is to be copied.
type Source struct {
	Dir string
	// Key is the file of the vault's key; empty: in Dir.
	Key string
	// Alone leaves the key out though it lies in Dir.
	Alone bool
	About About // Format, At and Key are filled in
	// Now is the clock.
	Now func() time.Time
	// snapped is called once the snapshot is taken, for tests.
	snapped func()
}

// Write writes a backup to w; scratch is a directory with room for a copy of the database.
func (s Source) Write(ctx context.Context, w io.Writer, scratch string) (About, error) {
	vault, err := storage.ReadVault(s.Dir, s.Key)
	if err != nil {
		return About{}, err
	}
	seals, err := newSeals(vault)
	if err != nil {
		return About{}, err
	}
	// Of a directory that no agent has open nothing is to start while it is read.
	if lock, err := storage.Lock(s.Dir); err == nil {
		defer lock.Close()
	} else if !errors.Is(err, storage.ErrInUse) {
		return About{}, err
	}
	held := bodies{}
	defer held.close()
	if err := held.open(s.Dir); err != nil {
		return About{}, err
	}
	copied := filepath.Join(scratch, storage.Layout.Database)
	defer os.Remove(copied)
	at, err := s.database(ctx, copied, held)
	if err != nil {
		return About{}, fmt.Errorf("copy the database: %w", err)
	}
	about := s.About
	about.Format, about.At = format, at
	a := &archive{tar: tar.NewWriter(w), sums: map[string]string{}, at: at}
	if _, err := os.Stat(filepath.Join(s.Dir, storage.Layout.Key)); err == nil && !s.Alone && s.Key == "" {
		about.Key = true
		if err := a.file(storage.Layout.Key, filepath.Join(s.Dir, storage.Layout.Key)); err != nil {
			return About{}, err
		}
	}
	if err := a.others(s.Dir, seals); err != nil {
		return About{}, err
	}
	if err := a.file(storage.Layout.Database, copied); err != nil {
		return About{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(held)) {
		if err := a.stream(name, held[name]); err != nil {
			return About{}, err
		}
	}
	return about, a.end(about, seals)
}

// bodies are open files, by their names in a backup.
type bodies map[string]*os.File

// open opens all that are whole and not open yet.
func (b bodies) open(dir string) error {
	for _, folder := range storage.Layout.Bodies {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			if b[name] != nil || !e.Type().IsRegular() || strings.HasPrefix(e.Name(), storage.Layout.Unfinished) ||
				strings.HasSuffix(e.Name(), storage.Layout.Part) || strings.HasSuffix(e.Name(), ".new") {
				continue
			}
			f, err := os.Open(filepath.Join(dir, folder, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue // nobody needs it any more
			}
			if err != nil {
				return fmt.Errorf("hold the bodies of requests, %d so far: %w", len(b), err)
			}
			b[name] = f
		}
	}
	return nil
}

func (b bodies) close() {
	for _, f := range b {
		f.Close()
	}
}

// database copies the database as it is at one moment, when it opens the bodies again that are there, and checks the copy.
func (s Source) database(ctx context.Context, to string, held bodies) (at time.Time, err error) {
	path, err := filepath.Abs(filepath.Join(s.Dir, storage.Layout.Database))
	if err != nil {
		return at, err
	}
	from, err := connect(ctx, path, "rw") // a log that a crash has left is read, too
	if err != nil {
		return at, err
	}
	defer from.close()
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return at, err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // SQLite would let others read it
	if err != nil {
		return at, err
	}
	if err := f.Close(); err != nil {
		return at, err
	}
	into, err := connect(ctx, to, "rwc")
	if err != nil {
		return at, err
	}
	defer into.close()
	var tables int
	tx, err := from.conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return at, err
	}
	defer tx.Rollback()
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil { // a snapshot begins with what is read first
		return at, err
	}
	at = s.Now().UTC()
	if s.snapped != nil {
		s.snapped()
	}
	if err := held.open(s.Dir); err != nil {
		return at, err
	}
	err = from.raw(func(source *sqlite3.SQLiteConn) error {
		return into.raw(func(target *sqlite3.SQLiteConn) error {
			b, err := target.Backup("main", source, "main")
			if err != nil {
				return err
			}
			_, err = b.Step(-1)
			return errors.Join(err, b.Finish())
		})
	})
	if err != nil {
		return at, err
	}
	// It is one file by itself: no log belongs to it.
	var found string
	if err := into.conn.QueryRowContext(ctx, `PRAGMA journal_mode = DELETE`).Scan(&found); err != nil {
		return at, err
	}
	if err := into.conn.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&found); err != nil {
		return at, err
	}
	if found != "ok" {
		return at, fmt.Errorf("it is damaged: %s", found)
	}
	return at, nil
}

// connection is one connection of a pool of its own.
type connection struct {
	db   *sql.DB
	conn *sql.Conn
}

func connect(ctx context.Context, path, mode string) (*connection, error) {
	db, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_busy_timeout=10000&mode="+mode)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &connection{db, conn}, nil
}

func (c *connection) close() {
	c.conn.Close()
	c.db.Close()
}

// raw hands SQLite's own connection over.
func (c *connection) raw(do func(*sqlite3.SQLiteConn) error) error {
	return c.conn.Raw(func(d any) error {
		conn, ok := d.(*sqlite3.SQLiteConn)
		if !ok {
			return driver.ErrBadConn
		}
		return do(conn)
	})
}

// archive writes members and remembers their sums.
type archive struct {
	tar  *tar.Writer
	sums map[string]string
	at   time.Time
}

func (a *archive) file(name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return a.stream(name, f)
}

// stream adds what a file has now; what is added to it meanwhile is left out.
func (a *archive) stream(name string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return a.add(name, info.Size(), f)
}

func (a *archive) add(name string, size int64, r io.Reader) error {
	if err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: a.at.Truncate(time.Second), Typeflag: tar.TypeReg}); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(a.tar, sum), r, size); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	a.sums[name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// others adds the other files of the data directory, sealed.
func (a *archive) others(dir string, seals *seals) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || e.Name() == storage.Layout.Key || e.Name() == storage.Layout.Database || e.Name() == storage.Layout.Lock || slices.Contains(storage.Layout.Passing, e.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was another's first version
		}
		if err != nil {
			return err
		}
		if len(b) > mostFile {
			return fmt.Errorf("%s is no file of an agent: it has %d bytes", filepath.Join(dir, e.Name()), len(b))
		}
		sealed := seals.seal(e.Name(), b)
		if err := a.add(path.Join(filesDir, e.Name()), int64(len(sealed)), bytes.NewReader(sealed)); err != nil {
			return err
		}
	}
	return nil
}

// end writes the manifest.
func (a *archive) end(about About, seals *seals) error {
	b, err := json.MarshalIndent(Manifest{about, a.sums}, "", "  ")
	if err != nil {
		return err
	}
	if len(b) > mostManifest {
		return fmt.Errorf("a backup with %d members would not be read", len(a.sums))
	}
	if err := a.add(manifestName, int64(len(b)), bytes.NewReader(b)); err != nil {
		return err
	}
	sum := seals.sum(b)
	if err := a.add(sumName, int64(len(sum)), bytes.NewReader(sum)); err != nil {
		return err
	}
	return a.tar.Close()
}

// seals encrypt the small files of a backup and vouch for its manifest.
type seals struct {
	aead cipher.AEAD
	key  []byte
}

func newSeals(v *storage.Vault) (*seals, error) {
	aead, err := chacha20poly1305.NewX(v.Derive("files of a backup"))
	if err != nil {
		return nil, err
	}
	return &seals{aead, v.Derive("manifest of a backup")}, nil
}

func (s *seals) seal(name string, b []byte) []byte {
	nonce := make([]byte, chacha20poly1305.NonceSizeX)
	rand.Read(nonce) // never fails (crypto/rand)
	return s.aead.Seal(nonce, nonce, b, []byte(name))
}

func (s *seals) unseal(name string, b []byte) ([]byte, error) {
	if len(b) < chacha20poly1305.NonceSizeX {
		return nil, errors.New("too short")
	}
	return s.aead.Open(nil, b[:chacha20poly1305.NonceSizeX], b[chacha20poly1305.NonceSizeX:], []byte(name))
}

func (s *seals) sum(manifest []byte) []byte {
	m := hmac.New(sha256.New, s.key)
	m.Write(manifest)
	return m.Sum(nil)
}
