package storage

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// filter knows of each document, and of each name of a resource, that the database may have it. Most of what is looked up is new, and the
// database need not be asked for that: each create asks five times. It is a Bloom filter ("Space/Time Trade-offs in Hash Coding with
// Allowable Errors", 1970), which never forgets and takes one in a hundred for known that it has not been told of. Until it is complete it
// takes everything for known. It is safe for concurrent use.
type filter struct {
	seed     maphash.Seed
	complete atomic.Bool // all that the database had at first has been added

	mu     sync.RWMutex
	layers layers // guarded by mu; each has room for twice as many as the one before
}

type layers []*layer

type layer struct {
	bits []uint64
	room int // for how many more
}

const (
	firstRoom   = 4096
	bitsForEach = 10
	bitsOfEach  = 4
)

func newFilter() *filter { return &filter{seed: maphash.MakeSeed()} }

// add makes keys known.
func (f *filter) add(keys ...string) {
	for _, key := range keys {
		hash := maphash.String(f.seed, key)
		f.mu.Lock()
		if f.layers.told(hash) {
			f.mu.Unlock()
			continue
		}
		n := len(f.layers)
		if n == 0 || f.layers[n-1].room == 0 {
			room := firstRoom << n
			f.layers = append(f.layers, &layer{bits: make([]uint64, room*bitsForEach/64), room: room})
			n++
		}
		last := f.layers[n-1]
		last.room--
		for i := range bitsOfEach {
			at := last.bit(hash, i)
			last.bits[at/64] |= 1 << (at % 64)
		}
		f.mu.Unlock()
	}
}

// has reports whether a key may have been made known.
func (f *filter) has(key string) bool {
	if !f.complete.Load() {
		return true
	}
	hash := maphash.String(f.seed, key)
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.layers.told(hash)
}

// told reports whether a key with a hash may have been added.
func (all layers) told(hash uint64) bool {
	for _, l := range all {
		set := true
		for i := range bitsOfEach {
			at := l.bit(hash, i)
			set = set && l.bits[at/64]&(1<<(at%64)) != 0
		}
		if set {
			return true
		}
	}
	return false
}

// bit is where the i-th bit of a key with a hash is.
func (l *layer) bit(hash uint64, i int) uint64 {
	return (hash&(1<<32-1) + uint64(i)*(hash>>32|1)) % uint64(64*len(l.bits))
}

// load makes known what the database has. Where that cannot be read the filter stays as it is, and the database is asked for everything.
func (f *filter) load(ctx context.Context, r *reads) {
	err := r.each(ctx, func(row scanner) (bool, error) {
		var document []byte
		var id, local string
		err := row.Scan(&document, &id, &local)
		f.add(string(document), id, local)
		return true, err
	}, `SELECT document, coalesce(id, ''), coalesce(local, '') FROM resources`)
	if err == nil {
		f.complete.Store(true)
	}
}
