package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

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
	key             []byte
	keep, trimEvery uint64

	mu    sync.Mutex
	read  bool              // whether last is what the store has; guarded by mu
	last  Record            // guarded by mu; N is 0 when there is none
	paces map[string]*paced // guarded by mu
}

// New returns the trail that is in store. Whoever does not have key cannot write records that Verify takes for those of the agent.
func New(store Store, key []byte) *Log {
	return &Log{store: store, key: key, keep: Keep, trimEvery: trimEvery, paces: map[string]*paced{}}
}

// paced is how many records somebody has made in an hour of those that must not push others out of the trail.
type paced struct {
	begun time.Time
	made  int
	left  uint64 // were not recorded since the last that was
}

// Hourly is how many of the records of one source that Paced writes in an hour.
const Hourly = 60

// Paced is Append for what anybody can have recorded at will, such as attempts to log in: of what one source does only so many a record
// are written in an hour. Of the rest the next one tells how many there were; their number is 0.
func (l *Log) Paced(ctx context.Context, source string, r Record) (number uint64, err error) {
	l.mu.Lock()
	p := l.paces[source]
	if p == nil {
		if len(l.paces) >= maxSources {
			for name, q := range l.paces { // those that have nothing left to tell
				if r.At.Sub(q.begun) > time.Hour && q.left == 0 {
					delete(l.paces, name)
				}
			}
		}
		p = &paced{begun: r.At}
		l.paces[source] = p
	}
	if r.At.Sub(p.begun) > time.Hour {
		p.begun, p.made = r.At, 0
	}
	if p.made >= Hourly {
		p.left++
		l.mu.Unlock()
		return 0, nil
	}
	p.made++
	r.More, p.left = p.left, 0
	l.mu.Unlock()
	r, err = l.Append(ctx, r)
	return r.N, err
}

// heardShelf holds the number of the last event that is in the trail.
const heardShelf = "audit-heard"

// Heard returns the number of the last event that Hear has recorded, 0 before the first.
func (l *Log) Heard(ctx context.Context) (n uint64, err error) {
	err = l.store.Records(ctx, heardShelf, "", end, 1, false, func(_ string, value []byte) error {
		n, err = strconv.ParseUint(string(value), 10, 64)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read up to where events are in the audit trail: %w", err)
	}
	return n, nil
}

// Hear is Append for an event of the site's log. One that is told again after a crash may be recorded twice.
func (l *Log) Hear(ctx context.Context, event uint64, r Record) error {
	if _, err := l.Append(ctx, r); err != nil {
		return err
	}
	return l.store.PutRecord(ctx, heardShelf, "last", []byte(strconv.FormatUint(event, 10)))
}

// maxSources is how many sources are remembered before those are forgotten that have been quiet; there are no more than accounts, tokens
// and members.
const maxSources = 1000

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
	if err := r.seal(l.key); err != nil {
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

// List returns records, the newest first, those before a number when that is not 0; and the number before which there may be more, 0
// when there are none. One that tells the end of an act stands for the one that was written before it. What cannot be read is left out:
// Verify tells.
func (l *Log) List(ctx context.Context, before uint64, limit int) (list []Record, next uint64, err error) {
	to, ended := end, map[uint64]bool{}
	skip := func(*broken) error { return nil }
	if before > 0 {
		to = key(before)
		later, err := l.records(ctx, to, end, longestAct, false, skip) // what was begun on this page may have ended on the one before
		if err != nil {
			return nil, 0, err
		}
		for _, r := range later {
			ended[r.Of] = true
		}
	}
	list = []Record{}
	for {
		page, err := l.records(ctx, "", to, limit+1, true, skip)
		if err != nil {
			return nil, 0, err
		}
		for _, r := range page {
			switch {
			case len(list) == limit:
				return list, list[limit-1].N, nil
			case r.Status == 0 && ended[r.N]:
			default:
				ended[r.Of] = true
				list = append(list, r)
			}
		}
		if len(page) <= limit {
			return list, 0, nil
		}
		to = key(page[limit].N)
	}
}

// longestAct is how many records may have been written between the beginning of an act and its end, for a list to show them as one.
const longestAct = 1000

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
			sum, err := r.sum(l.key)
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
	case f.First > 1 && uint64(f.Records) < l.keep:
		return wrong("the trail begins with %d: what was before is gone, and was not trimmed, which leaves %d", f.First, l.keep)
	case n == 0 || seen:
	case n < f.First:
		return f, &engine.Refusal{Status: 404, Type: "not-found", Detail: fmt.Sprintf("record %d has been trimmed: the trail begins with %d", n, f.First)}
	default:
		return wrong("record %d is gone: the trail ends with %d", n, f.Last)
	}
	return f, nil
}
