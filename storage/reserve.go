package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/skerry/skerry/engine"
)

// The reserve is a file that nobody reads. It holds room on the disk for what has begun: a request crosses to the application
// only after its intent is stored, and the outcome must find room, or the application has done something that this site
// cannot record. When the disk is full the reserve gives way to outcomes; until it is back, nothing new is stored.
const (
	reserveFile = "reserve"
	// The reserve takes a quarter of the free disk, between these bounds. The lower one is room for an outcome of the largest
	// request, the upper one for many at a time.
	leastReserve = 400 << 10
	mostReserve  = 16 << 20
)

type reserve struct {
	path string
	held bool
}

// take makes the file, unless it is there. ErrStorage: there is no room.
func (r *reserve) take() error {
	if r.held {
		return nil
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(r.path), &disk); err != nil {
		return fmt.Errorf("keep a reserve: %w: %w", engine.ErrStorage, err)
	}
	free := disk.Bavail * uint64(disk.Bsize)
	if stat, err := os.Stat(r.path); err == nil { // an earlier process made it
		r.held = stat.Size() > 0
		if r.held {
			return nil
		}
	}
	// Random bytes: a file system that compresses or leaves holes would keep no room for zeros.
	if free/4 < leastReserve {
		return fmt.Errorf("keep a reserve: %w: %d bytes are free on the disk", engine.ErrStorage, free)
	}
	room := min(mostReserve, free/4)
	if err := fillFile(r.path, int64(room)); err != nil {
		os.Remove(r.path)
		return fmt.Errorf("keep a reserve of %d bytes: %w: %w", room, engine.ErrStorage, err)
	}
	r.held = true
	return nil
}

// fillFile writes a file of so many random bytes, a few at a time: all of them at once would be the most memory that an idle agent takes.
func fillFile(path string, n int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, rand.Reader, n)
	return errors.Join(err, f.Close())
}

// give frees the room.
func (r *reserve) give() error {
	if err := os.Remove(r.path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("use the reserve: %w", err)
	}
	r.held = false
	return nil
}
