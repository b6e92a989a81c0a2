package storage

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/skerry/skerry/engine"
)

// incoming is a blob that is being fetched. Its chunks come in order, so that the length of the file says what is here.
type incoming struct {
	blobs   *Blobs
	ref     engine.BlobRef
	file    *os.File
	digests engine.Digests // nil: not here yet
	next    int64
	room    []byte // for one chunk that is encrypted
}

// Begin implements engine.Blobs. What an earlier process has fetched is checked again: a power cut may have left anything
// there.
func (b *Blobs) Begin(ref engine.BlobRef) (engine.Incoming, error) {
	f, err := os.OpenFile(b.path(ref.Hash, partSuffix), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin blob %s: %w: %w", ref.Hash, engine.ErrStorage, err)
	}
	in := &incoming{blobs: b, ref: ref, file: f, room: make([]byte, ref.ChunkLen(0)+sealOverhead)}
	if in.digests, err = b.Digests(ref); err != nil && !errors.Is(err, engine.ErrNotFound) {
		return nil, errors.Join(fmt.Errorf("begin blob: %w", err), f.Close())
	}
	if err := in.resume(); err != nil {
		return nil, errors.Join(fmt.Errorf("begin blob %s: %w: %w", ref.Hash, engine.ErrStorage, err), f.Close())
	}
	return in, nil
}

// resume counts the chunks at the beginning of the file that are right, and cuts off the rest.
func (in *incoming) resume() error {
	for in.digests != nil && in.next < in.ref.Chunks() {
		chunk, err := in.blobs.unsealed(in.file, in.ref, in.next, in.room)
		if err != nil {
			return err
		}
		if chunk == nil || !in.digests.Fits(in.next, chunk) {
			break
		}
		in.next++
	}
	at := fileSize(in.ref, in.next)
	if err := in.file.Truncate(at); err != nil {
		return err
	}
	_, err := in.file.Seek(at, io.SeekStart)
	return err
}

// Digests implements engine.Incoming.
func (in *incoming) Digests() engine.Digests { return in.digests }

// SetDigests implements engine.Incoming.
func (in *incoming) SetDigests(d engine.Digests) error {
	if !d.Are(in.ref) {
		return fmt.Errorf("digests of blob %s: %w", in.ref.Hash, engine.ErrRefused)
	}
	in.blobs.mu.Lock() // the same blob may be taken in from a client meanwhile
	err := in.blobs.writeDigests(in.ref, d)
	in.blobs.mu.Unlock()
	if err != nil {
		return fmt.Errorf("digests of blob %s: %w: %w", in.ref.Hash, engine.ErrStorage, err)
	}
	in.digests = d
	return nil
}

// Next implements engine.Incoming.
func (in *incoming) Next() int64 { return in.next }

// Add implements engine.Incoming.
func (in *incoming) Add(chunk []byte) error {
	if in.next == in.ref.Chunks() || in.digests == nil || !in.digests.Fits(in.next, chunk) {
		return fmt.Errorf("chunk %d of blob %s: %w", in.next, in.ref.Hash, engine.ErrRefused)
	}
	if err := writeChunk(in.file, in.blobs.vault.sealIn(in.room, chunkNamed(in.next), chunk)); err != nil {
		return fmt.Errorf("chunk %d of blob %s: %w", in.next, in.ref.Hash, err)
	}
	in.next++
	return nil
}

// Done implements engine.Incoming.
func (in *incoming) Done() error {
	in.blobs.mu.Lock()
	defer in.blobs.mu.Unlock()
	err := in.blobs.place(in.file, in.ref, in.digests)
	if err = errors.Join(err, in.file.Close()); err != nil {
		return fmt.Errorf("complete blob %s: %w: %w", in.ref.Hash, engine.ErrStorage, err)
	}
	return nil
}

// Close implements engine.Incoming.
func (in *incoming) Close() error { return in.file.Close() }
