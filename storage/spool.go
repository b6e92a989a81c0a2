package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/skerry/skerry/engine"
)

const (
	spoolDir = "kept"
	// pieceSize is how many bytes of a spooled body are encrypted at once, sealedSize what becomes of them.
	pieceSize  = 64 << 10
	sealedSize = pieceSize + sealOverhead
)

// Spools keeps bodies of requests that may have to wait, encrypted: their callers meant them for other sites. It implements
// engine.Spools.
type Spools struct {
	dir   string
	vault *Vault
}

var _ engine.Spools = (*Spools)(nil)

// OpenSpools opens the kept bodies of the data directory dir, which the caller has locked by an open Store.
func OpenSpools(dir string, vault *Vault) (*Spools, error) {
	s := &Spools{filepath.Join(dir, spoolDir), vault}
	if err := makeDir(dir, s.dir); err != nil {
		return nil, fmt.Errorf("open kept bodies: %w", err)
	}
	return s, nil
}

// Spool implements engine.Spools.
func (s *Spools) Spool(r io.ReadCloser, size int64) (engine.Spool, error) {
	f, err := os.CreateTemp(s.dir, "*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("spool a body: %w: %w", engine.ErrStorage, err)
	}
	p := &spool{spools: s, file: f, name: filepath.Base(f.Name()), source: r}
	p.size.Store(size)
	return p, nil
}

// Open implements engine.Spools.
func (s *Spools) Open(name string, size int64) engine.Body { return &keptBody{s, name, size} }

// Remove implements engine.Spools.
func (s *Spools) Remove(name string) error {
	if err := os.Remove(filepath.Join(s.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove kept body %s: %w", name, err)
	}
	return nil
}

// Sweep implements engine.Spools.
func (s *Spools) Sweep(needed map[string]bool) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("sweep kept bodies: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !needed[e.Name()] {
			errs = append(errs, s.Remove(e.Name()))
		}
	}
	return errors.Join(errs...)
}

// pieceOf is what piece i of a body is bound to, so that none can stand in the place of another.
func pieceOf(name string, i int64) []byte { return strconv.AppendInt([]byte("body "+name+" "), i, 10) }

// spool takes a body in as far as it is read: each piece goes to the file before it is given out, so that it can be read from
// the beginning again.
type spool struct {
	spools *Spools
	file   *os.File
	name   string
	reader atomic.Int64 // the number of the one that may read
	failed atomic.Pointer[error]
	size   atomic.Int64 // -1: not known yet

	mu     sync.Mutex // guards the rest, and is held while the source is waited for
	source io.ReadCloser
	pieces int64 // in the file
	length int64 // of what they hold
	ended  bool
	kept   bool
}

// Size implements engine.Body.
func (s *spool) Size() int64 { return s.size.Load() }

// Open implements engine.Body. Only the newest reader goes on.
func (s *spool) Open() (io.ReadCloser, error) {
	return &spoolReader{spool: s, number: s.reader.Add(1)}, nil
}

// Failed implements engine.Spool.
func (s *spool) Failed() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// pull takes the next piece in and returns it. The caller holds mu.
func (s *spool) pull() ([]byte, error) {
	if err := s.Failed(); err != nil {
		return nil, err
	}
	piece := make([]byte, pieceSize)
	n, err := fill(s.source, piece)
	switch {
	case err == io.EOF && s.size.Load() >= 0 && s.length+int64(n) != s.size.Load():
		err = io.ErrUnexpectedEOF
	case err == io.EOF:
		err, s.ended = nil, true
		s.size.Store(s.length + int64(n))
	}
	if err == nil && n > 0 {
		err = writeChunk(s.file, s.spools.vault.sealIn(make([]byte, 0, sealedSize), pieceOf(s.name, s.pieces), piece[:n]))
	}
	if err != nil {
		err = fmt.Errorf("spool a body: %w", err)
		s.failed.Store(&err)
		return nil, err
	}
	if n > 0 {
		s.pieces, s.length = s.pieces+1, s.length+int64(n)
	}
	return piece[:n], nil
}

// Keep implements engine.Spool.
func (s *spool) Keep() (name string, size int64, err error) {
	s.reader.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.ended {
		if _, err := s.pull(); err != nil {
			return "", 0, err
		}
	}
	if err := errors.Join(s.file.Sync(), syncDir(s.spools.dir)); err != nil {
		return "", 0, fmt.Errorf("keep a body: %w: %w", engine.ErrStorage, err)
	}
	s.kept = true
	return s.name, s.length, nil
}

// Close implements engine.Spool.
func (s *spool) Close() error {
	s.reader.Add(1) // without mu: nobody waits for the source any more
	err := errors.Join(s.source.Close(), s.file.Close())
	if !s.kept {
		err = errors.Join(err, s.spools.Remove(s.name))
	}
	return err
}

// spoolReader reads a spool from its beginning.
type spoolReader struct {
	spool  *spool
	number int64
	next   int64
	rest   []byte
}

func (r *spoolReader) Read(p []byte) (int, error) {
	s := r.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.number != s.reader.Load() {
		return 0, fs.ErrClosed
	}
	for len(r.rest) == 0 {
		var err error
		switch {
		case r.next < s.pieces:
			r.rest, err = s.spools.piece(s.file, s.name, r.next, s.length)
		case s.ended:
			return 0, io.EOF
		default:
			r.rest, err = s.pull()
		}
		if err != nil {
			return 0, err
		}
		if len(r.rest) > 0 {
			r.next++
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *spoolReader) Close() error { return nil }

// piece reads piece i of a file with length bytes of body.
func (s *Spools) piece(f *os.File, name string, i, length int64) ([]byte, error) {
	sealed := make([]byte, min(pieceSize, length-i*pieceSize)+sealOverhead)
	if _, err := f.ReadAt(sealed, i*sealedSize); err != nil {
		return nil, fmt.Errorf("read kept body %s: %w: %w", name, engine.ErrStorage, err)
	}
	b, err := s.vault.unsealIn(inPlace(sealed), pieceOf(name, i), sealed)
	if err != nil {
		return nil, fmt.Errorf("read kept body %s: %w", name, err)
	}
	return b, nil
}

// keptBody is a spool that was kept.
type keptBody struct {
	spools *Spools
	name   string
	size   int64
}

// Size implements engine.Body.
func (b *keptBody) Size() int64 { return b.size }

// Open implements engine.Body.
func (b *keptBody) Open() (io.ReadCloser, error) {
	f, err := os.Open(filepath.Join(b.spools.dir, b.name))
	if err != nil {
		return nil, fmt.Errorf("read kept body %s: %w: %w", b.name, engine.ErrStorage, err)
	}
	return &keptReader{body: b, file: f}, nil
}

type keptReader struct {
	body *keptBody
	file *os.File
	next int64
	rest []byte
}

func (r *keptReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.next*pieceSize >= r.body.size {
			return 0, io.EOF
		}
		var err error
		if r.rest, err = r.body.spools.piece(r.file, r.body.name, r.next, r.body.size); err != nil {
			return 0, err
		}
		r.next++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *keptReader) Close() error { return r.file.Close() }
