package storage

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/skerry/skerry/next/engine"
)

// eachChunk hands what r yields to do, in chunks of which only the last is shorter. Chunks are of one piece of memory. An
// error of r is returned as it is.
func eachChunk(ctx context.Context, r io.Reader, do func([]byte) error) error {
	buffer := make([]byte, engine.ChunkSize)
	for {
		n, err := fill(r, buffer)
		if err != nil && err != io.EOF {
			return err
		}
		if n > 0 {
			if err := do(buffer[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// fill reads until p is full or r ends. Unlike io.ReadFull it tells the end of r, io.EOF, from an r that says that it has
// ended too early.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = r.Read(p[n:])
		n += more
	}
	if n == len(p) && err != io.EOF {
		err = nil // it comes again
	}
	return n, err
}

// mostSpared is how much of the disk is left to the database at most.
const mostSpared = 256 << 20

// writeChunk writes to a file of a body while there is room: a sixteenth of the disk, but no more than mostSpared, is left to
// the database.
func writeChunk(f *os.File, chunk []byte) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(f.Name()), &disk); err != nil {
		return fmt.Errorf("%w: %w", engine.ErrStorage, err)
	}
	unit := uint64(disk.Bsize)
	spared := min(disk.Blocks*unit/16, mostSpared)
	if free := disk.Bavail * unit; free < spared+uint64(len(chunk)) {
		return fmt.Errorf("%w: %d bytes are free on the disk, of which %d are left to the database", engine.ErrStorage, free, spared)
	}
	if _, err := f.Write(chunk); err != nil {
		return fmt.Errorf("%w: %w", engine.ErrStorage, err)
	}
	return nil
}
