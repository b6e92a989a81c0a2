package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/skerry/skerry/engine"
)

// Store keeps records. What a method has written is durable when it returns.
type Store interface {
	PutRecord(ctx context.Context, shelf, key string, value []byte) error
	DropRecords(ctx context.Context, shelf, from, before string) error
	// Records tells of the keys from one up to, and without, another, in order or the last first.
	Records(ctx context.Context, shelf, from, before string, limit int, lastFirst bool, take func(key string, value []byte) error) error
}

const (
	shelf = "audit"
	end   = "~" // after every key, which are numbers
	// Keep is how many records are kept; older ones are trimmed once there are trimEvery more.
	Keep      = 50_000
	trimEvery = 1_000
)

// Log is the audit trail of a site. It is safe for concurrent use.
type Log struct {
	store           Store
	keep, trimEvery uint64

	mu   sync.Mutex
	read bool   // whether last is what the store has; guarded by mu
	last Record // guarded by mu; N is 0 when there is none
}

// New returns the trail that is in store.
func New(store Store) *Log { return &Log{store: store, keep: Keep, trimEvery: trimEvery} }

func key(n uint64) string { return fmt.Sprintf("%020d", n) }

// Append adds r to the chain, under the next number. What it returns is durable.
func (l *Log) Append(ctx context.Context, r Record) (Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		newest, err := l.records(ctx, "", end, 1, true, asError)
		if err != nil {
			return Record{}, err
		}
		if len(newest) > 0 {
			l.last = newest[0]
		}
		l.read = true
	}
	r.N, r.Previous = l.last.N+1, l.last.Hash
	r.tame()
	if err := r.seal(); err != nil {
		return Record{}, fmt.Errorf("record %d of the audit trail: %w", r.N, err)
	}
	b, err := json.Marshal(r)
	if err == nil {
		err = l.store.PutRecord(ctx, shelf, key(r.N), b)
	}
	if err != nil {
		l.read = false // it may be there or not: look next time
		return Record{}, fmt.Errorf("record %d of the audit trail: %w", r.N, err)
	}
	l.last = r
	if r.N > l.keep && r.N%l.trimEvery == 0 {
		if err := l.store.DropRecords(ctx, shelf, "", key(r.N-l.keep+1)); err != nil {
			return r, fmt.Errorf("trim the audit trail: %w", err)
		}
	}
	return r, nil
}

// List returns records, the newest first, those before a number when that is not 0. What cannot be read is left out: Verify tells.
func (l *Log) List(ctx context.Context, before uint64, limit int) ([]Record, error) {
	to := end
	if before > 0 {
		to = key(before)
	}
	return l.records(ctx, "", to, limit, true, func(*broken) error { return nil })
}

// records reads a part of the trail and hands on what is not as Append wrote it.
func (l *Log) records(ctx context.Context, from, before string, limit int, lastFirst bool, wrong func(*broken) error) ([]Record, error) {
	list := []Record{}
	err := l.store.Records(ctx, shelf, from, before, limit, lastFirst, func(at string, value []byte) error {
		var r Record
		if err := json.Unmarshal(value, &r); err != nil {
			return wrong(&broken{at, "it cannot be read: " + err.Error()})
		}
		if key(r.N) != at {
			return wrong(&broken{at, "it says that it is number " + strconv.FormatUint(r.N, 10)})
		}
		list = append(list, r)
		return nil
	})
	if err != nil {
		return list, fmt.Errorf("read the audit trail: %w", err)
	}
	return list, nil
}

// broken says that a record is not what Append wrote.
type broken struct{ at, why string }

func (b *broken) Error() string { return "record " + b.at + ": " + b.why }

func asError(b *broken) error { return b }

// Finding is what Verify has found. First and Last are 0 when there is no record.
type Finding struct {
	Intact  bool   `json:"intact"`
	Records int    `json:"records"`
	First   uint64 `json:"first"`
	Last    uint64 `json:"last"`
	Head    string `json:"head"`   // hash of the last one
	Reason  string `json:"reason"` // why it is not intact
}

// Verify walks the whole chain. With known, which somebody has noted, that record has to be in it with that hash; n is 0 for
// none. Errors are the store's.
func (l *Log) Verify(ctx context.Context, n uint64, hash string) (Finding, error) {
	f := Finding{Intact: true}
	wrong := func(format string, args ...any) (Finding, error) {
		f.Intact, f.Reason = false, fmt.Sprintf(format, args...)
		return f, nil
	}
	seen := false
	for {
		page, err := l.records(ctx, key(f.Last+1), end, 1000, false, asError)
		var b *broken
		if errors.As(err, &b) {
			return wrong("%v", b)
		} else if err != nil {
			return f, err
		}
		for _, r := range page {
			sum, err := r.sum()
			switch {
			case err != nil:
				return f, err
			case f.Last > 0 && r.N != f.Last+1:
				return wrong("after record %d comes %d: what was between is gone", f.Last, r.N)
			case sum != r.Hash:
				return wrong("record %d has been changed: its hash is another", r.N)
			case f.Last > 0 && r.Previous != f.Head:
				return wrong("record %d does not follow record %d: one of them has been changed", r.N, f.Last)
			}
			if f.First == 0 {
				f.First = r.N
			}
			if r.N == n {
				if seen = true; r.Hash != hash {
					return wrong("record %d has another hash than the one that was noted", n)
				}
			}
			f.Records, f.Last, f.Head = f.Records+1, r.N, r.Hash
		}
		if len(page) == 0 {
			break
		}
	}
	switch {
	case n == 0 || seen:
	case n < f.First:
		return f, &engine.Refusal{Status: 404, Type: "not-found", Detail: fmt.Sprintf("record %d has been trimmed: the trail begins with %d", n, f.First)}
	default:
		return wrong("record %d is gone: the trail ends with %d", n, f.Last)
	}
	return f, nil
}
