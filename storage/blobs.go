package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/skerry/skerry/engine"
)

// The directory of blobs. A blob is a file named by its hash with the digests of its chunks beside it; what has been fetched of
// one that is not here whole has a name of its own, and so has what is being taken in.
const (
	blobDir       = "blobs"
	digestsSuffix = ".digests"
	partSuffix    = ".part"
	newPrefix     = "new-"
)

// Blobs keeps the bodies of operations that are too large for a document. It implements engine.Blobs. Each body that is read
// or written at a moment takes one chunk of memory.
type Blobs struct {
	dir   string
	vault *Vault

	mu   sync.Mutex // guards held, and that whole blobs come and go one at a time
	held map[engine.BlobHash]int
}

var _ engine.Blobs = (*Blobs)(nil)

// OpenBlobs opens the blobs of the data directory dir, which the caller has locked by an open Store.
func OpenBlobs(dir string, vault *Vault) (*Blobs, error) {
	b := &Blobs{dir: filepath.Join(dir, blobDir), vault: vault, held: map[engine.BlobHash]int{}}
	if err := makeDir(dir, b.dir); err != nil {
		return nil, fmt.Errorf("open blobs: %w", err)
	}
	return b, nil
}

// makeDir makes a directory in parent, durable, unless it is there.
func makeDir(parent, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// sealedChunk is how many bytes a whole chunk has in a file, where each is encrypted by itself. It is bound to its number;
// its digest tells whose it is.
const sealedChunk = engine.ChunkSize + sealOverhead

func chunkNamed(i int64) []byte { return strconv.AppendInt([]byte("chunk "), i, 10) }

// fileSize is how many bytes the first n chunks of a blob have in a file.
func fileSize(ref engine.BlobRef, n int64) int64 {
	return min(n*engine.ChunkSize, ref.Size) + n*sealOverhead
}

// unsealed reads a chunk from a file, in room for one that is sealed. It is nil where the file has something else there.
func (b *Blobs) unsealed(f io.Reader, ref engine.BlobRef, i int64, room []byte) ([]byte, error) {
	sealed := room[:ref.ChunkLen(i)+sealOverhead]
	n, err := fill(f, sealed)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if n < len(sealed) {
		return nil, nil
	}
	chunk, err := b.vault.unsealIn(inPlace(sealed), chunkNamed(i), sealed)
	if err != nil {
		return nil, nil // it is not what was written there
	}
	return chunk, nil
}

func (b *Blobs) path(h engine.BlobHash, suffix string) string {
	return filepath.Join(b.dir, string(h)+suffix)
}

// Take implements engine.Blobs. It leaves some room on the disk to the database.
func (b *Blobs) Take(ctx context.Context, r io.Reader) (ref engine.BlobRef, release func(), err error) {
	f, err := os.CreateTemp(b.dir, newPrefix+"*") // mode 0600
	if err != nil {
		return ref, nil, fmt.Errorf("take in a blob: %w: %w", engine.ErrStorage, err)
	}
	defer os.Remove(f.Name()) // gone already when it is in its place
	defer f.Close()
	hasher := engine.NewBlobHasher()
	i, room := int64(0), make([]byte, 0, sealedChunk)
	err = eachChunk(ctx, r, func(chunk []byte) error {
		hasher.Write(chunk)
		i++
		return writeChunk(f, b.vault.sealIn(room, chunkNamed(i-1), chunk))
	})
	if err != nil {
		return ref, nil, fmt.Errorf("take in a blob: %w", err)
	}
	ref, digests := hasher.Sum()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.place(f, ref, digests); err != nil {
		return ref, nil, fmt.Errorf("take in a blob: %w: %w", engine.ErrStorage, err)
	}
	b.held[ref.Hash]++
	return ref, sync.OnceFunc(func() { b.release(ref.Hash) }), nil
}

func (b *Blobs) release(h engine.BlobHash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[h]--; b.held[h] == 0 {
		delete(b.held, h)
	}
}

// place makes a whole file durable under the name of its blob, unless that is here already. The caller holds b.mu.
func (b *Blobs) place(f *os.File, ref engine.BlobRef, digests engine.Digests) error {
	if b.has(ref) {
		return os.Remove(f.Name())
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := b.writeDigests(ref, digests); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), b.path(ref.Hash, "")); err != nil {
		return err
	}
	return syncDir(b.dir)
}

func (b *Blobs) writeDigests(ref engine.BlobRef, digests engine.Digests) error {
	path := b.path(ref.Hash, digestsSuffix)
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(digests)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path+".new"))
	}
	return os.Rename(path+".new", path)
}

// Has implements engine.Blobs.
func (b *Blobs) Has(ref engine.BlobRef) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.has(ref)
}

func (b *Blobs) has(ref engine.BlobRef) bool {
	return sizeOf(b.path(ref.Hash, "")) == fileSize(ref, ref.Chunks()) && sizeOf(b.path(ref.Hash, digestsSuffix)) == ref.Chunks()*sha256.Size
}

// sizeOf is the size of a file, -1 when there is none.
func sizeOf(path string) int64 {
	stat, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return stat.Size()
}

// Digests implements engine.Blobs.
func (b *Blobs) Digests(ref engine.BlobRef) (engine.Digests, error) {
	d, err := os.ReadFile(b.path(ref.Hash, digestsSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("digests of blob %s: %w", ref.Hash, engine.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("digests of blob %s: %w: %w", ref.Hash, engine.ErrStorage, err)
	}
	if digests := engine.Digests(d); digests.Are(ref) {
		return digests, nil
	}
	return nil, fmt.Errorf("digests of blob %s: %w: they are others", ref.Hash, engine.ErrNotFound)
}

// Open implements engine.Blobs. A blob that turns out to be damaged is removed, so that it is fetched anew.
func (b *Blobs) Open(ref engine.BlobRef, first int64) (io.ReadCloser, error) {
	if !b.Has(ref) {
		return nil, fmt.Errorf("open blob %s: %w", ref.Hash, engine.ErrNotFound)
	}
	digests, err := b.Digests(ref)
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	f, err := os.Open(b.path(ref.Hash, ""))
	if err != nil {
		return nil, fmt.Errorf("open blob %s: %w: %w", ref.Hash, engine.ErrStorage, err)
	}
	if _, err := f.Seek(first*sealedChunk, io.SeekStart); err != nil {
		return nil, errors.Join(fmt.Errorf("open blob %s: %w: %w", ref.Hash, engine.ErrStorage, err), f.Close())
	}
	return &blobReader{blobs: b, file: f, ref: ref, digests: digests, next: first}, nil
}

// Drop implements engine.Blobs.
func (b *Blobs) Drop(h engine.BlobHash, needed func() (bool, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[h] > 0 {
		return nil // whoever holds it asks again
	}
	if yes, err := needed(); yes || err != nil {
		return err
	}
	return b.remove(h)
}

func (b *Blobs) remove(h engine.BlobHash) error {
	var errs []error
	for _, suffix := range []string{"", partSuffix, digestsSuffix} { // the digests last: without the others they are nothing
		if err := os.Remove(b.path(h, suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove blob %s: %w", h, err)
	}
	return nil
}

// Sweep implements engine.Blobs.
func (b *Blobs) Sweep(needed map[engine.BlobHash]bool) error {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return fmt.Errorf("sweep blobs: %w", err)
	}
	var errs []error
	for _, e := range entries {
		name, suffix, _ := strings.Cut(e.Name(), ".")
		if e.IsDir() || needed[engine.BlobHash(name)] && !strings.HasSuffix(suffix, ".new") {
			continue
		}
		errs = append(errs, os.Remove(filepath.Join(b.dir, e.Name())))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sweep blobs: %w", err)
	}
	return nil
}

// blobReader reads a whole blob, chunk by chunk, and gives out only what it has checked.
type blobReader struct {
	blobs   *Blobs
	file    *os.File
	ref     engine.BlobRef
	digests engine.Digests
	next    int64
	room    []byte // for one chunk as it lies in the file
	rest    []byte // of the chunk, not given out yet
}

func (r *blobReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.next == r.ref.Chunks() {
			return 0, io.EOF
		}
		if r.room == nil {
			r.room = make([]byte, r.ref.ChunkLen(0)+sealOverhead)
		}
		chunk, err := r.blobs.unsealed(r.file, r.ref, r.next, r.room)
		if err != nil {
			return 0, fmt.Errorf("read blob %s: %w: %w", r.ref.Hash, engine.ErrStorage, err)
		}
		if chunk == nil || !r.digests.Fits(r.next, chunk) {
			err := os.Remove(r.blobs.path(r.ref.Hash, ""))
			return 0, errors.Join(fmt.Errorf("read blob %s: %w: chunk %d is damaged on the disk", r.ref.Hash, engine.ErrStorage, r.next), err)
		}
		r.next, r.rest = r.next+1, chunk
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *blobReader) Close() error { return r.file.Close() }
