package waiting

import (
	"slices"
	"sync"
)

// Lines are rows of those who wait for each other, first come first. They are safe for concurrent use.
type Lines[K, W comparable] struct {
	mu    sync.Mutex
	lines map[K][]W // none is empty
}

// NewLines returns lines in which nobody waits.
func NewLines[K, W comparable]() *Lines[K, W] { return &Lines[K, W]{lines: map[K][]W{}} }

// Join puts w at the end of a line, unless it is in it. It reports whether nobody is before it.
func (l *Lines[K, W]) Join(key K, w W) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.lines[key], w) {
		l.lines[key] = append(l.lines[key], w)
	}
	return l.lines[key][0] == w
}

// Leave takes w out of a line, and returns who is first then; false: nobody is.
func (l *Lines[K, W]) Leave(key K, w W) (first W, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := slices.DeleteFunc(l.lines[key], func(v W) bool { return v == w })
	if len(rest) == 0 {
		delete(l.lines, key)
		return first, false
	}
	l.lines[key] = rest
	return rest[0], true
}

// Empty reports whether nobody waits in any line.
func (l *Lines[K, W]) Empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines) == 0
}

// Before lists who is before w in a line; all who are in it where w is not.
func (l *Lines[K, W]) Before(key K, w W) []W {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[key]
	if i := slices.Index(line, w); i >= 0 {
		line = line[:i]
	}
	return slices.Clone(line)
}
