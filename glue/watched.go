package glue

import (
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookAgain is how long what was read from files counts before it is looked whether they have changed.
const lookAgain = time.Second

// Files is what was read from some files. It is read again, at its next use, when one of them has changed. It is safe for concurrent use.
type Files[T any] struct {
	paths []string
	read  func() (T, error)
	log   *slog.Logger

	mu     sync.Mutex
	value  T             // guarded by mu
	seen   []os.FileInfo // guarded by mu
	looked time.Time     // guarded by mu
}

// Watched reads files with read and returns what keeps that up to date. Empty paths stand for no file. As long as what is in them cannot be
// read, because they are being replaced or are wrong, what was read last counts.
func Watched[T any](paths []string, read func() (T, error), log *slog.Logger) (*Files[T], error) {
	f := &Files[T]{paths: paths, read: read, log: log, looked: time.Now()}
	f.seen = f.look()
	var err error
	f.value, err = read()
	return f, err
}

// Get returns what is in the files.
func (f *Files[T]) Get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) < lookAgain {
		return f.value
	}
	f.looked = time.Now()
	now := f.look()
	if same(f.seen, now) {
		return f.value
	}
	value, err := f.read()
	if err != nil {
		f.log.Warn("files have changed and cannot be used: what was in them before counts", "files", f.paths, "err", err)
		return f.value
	}
	f.value, f.seen = value, now
	f.log.Info("files were read again", "files", f.paths)
	return f.value
}

// look tells of each file what changes with its content; nil where it is not there.
func (f *Files[T]) look() []os.FileInfo {
	all := make([]os.FileInfo, len(f.paths))
	for i, p := range f.paths {
		if p != "" {
			all[i], _ = os.Stat(p)
		}
	}
	return all
}

func same(a, b []os.FileInfo) bool {
	for i := range a {
		if (a[i] == nil) != (b[i] == nil) || a[i] != nil && (!os.SameFile(a[i], b[i]) || !a[i].ModTime().Equal(b[i].ModTime()) || a[i].Size() != b[i].Size()) {
			return false
		}
	}
	return true
}
