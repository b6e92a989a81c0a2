package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/skerry/skerry/engine"
)

const (
	// keepEvents are kept of the event log at least; it is trimmed once trimEventsEvery more were written.
	keepEvents      = 10_000
	trimEventsEvery = 1_000
	// eventRun is how many events one row has at most.
	eventRun = 256
)

// eventLog numbers the events of a transaction and gathers them, so that they take one row.
type eventLog struct {
	last, durable uint64         // the newest number given, and the newest that is on the disk
	trimmed       uint64         // the newest number when the log was trimmed
	gathered      []engine.Event // of the transaction
	room          []byte         // for a row
	newest        newestEvents
}

// mostNewest is how many events are kept in memory, twice as many at most.
const mostNewest = 512

// newestEvents are the last events that were written: who follows the log needs no others. It is safe for concurrent use.
type newestEvents struct {
	mu   sync.Mutex
	list []engine.Event // guarded by mu; their numbers follow each other
}

// add takes note of events that are durable, the first of which has a number.
func (n *newestEvents) add(first uint64, events []engine.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, e := range events {
		e.Seq, e.Time, e.Data = first+uint64(i), instant(nanos(e.Time)), slices.Clone(e.Data)
		n.list = append(n.list, e)
	}
	if len(n.list) > 2*mostNewest {
		kept := copy(n.list, n.list[len(n.list)-mostNewest:])
		clear(n.list[kept:])
		n.list = n.list[:kept]
	}
}

// after returns up to limit events after a number; false: not all of them are here.
func (n *newestEvents) after(number uint64, limit int) ([]engine.Event, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.list) == 0 || number < n.list[0].Seq-1 {
		return nil, false
	}
	rest := n.list[min(uint64(len(n.list)), number+1-n.list[0].Seq):]
	return slices.Clone(rest[:min(limit, len(rest))]), true
}

// open finds out where the log ends. Numbers are never given twice: the newest row is never deleted.
func (l *eventLog) open(w *writer) error {
	last, err := w.number(lastEvent)
	l.last, l.durable = uint64(last), uint64(last)
	return err
}

// add gathers events and returns the number of the first.
func (l *eventLog) add(events []engine.Event) (first uint64) {
	first = l.last + 1
	l.last += uint64(len(events))
	l.gathered = append(l.gathered, events...)
	return first
}

// write writes what is gathered, and trims the log now and then.
func (l *eventLog) write(w *writer) error {
	if len(l.gathered) == 0 {
		return nil
	}
	last := l.durable
	for rest := l.gathered; len(rest) > 0; {
		run := rest[:min(eventRun, len(rest))]
		rest = rest[len(run):]
		last += uint64(len(run))
		w.room.begin()
		l.room = appendEvents(l.room[:0], run)
		if err := w.exec(addEvents, int64(last), int64(len(run)), w.room.seal(w.vault, l.room, eventsColumn, eventRow(last))); err != nil {
			return fmt.Errorf("events: %w", err)
		}
	}
	if last < l.trimmed+trimEventsEvery || last <= keepEvents {
		return nil
	}
	l.trimmed = last // should this be rolled back, the next trim comes later
	if err := w.exec(trimEvents, int64(last-keepEvents)); err != nil {
		return fmt.Errorf("trim events: %w", err)
	}
	return nil
}

func (l *eventLog) committed() {
	if len(l.gathered) > 0 {
		l.newest.add(l.durable+1, l.gathered)
	}
	l.durable = l.last
	l.empty()
}

func (l *eventLog) rolledBack() {
	l.last = l.durable
	l.empty()
}

func (l *eventLog) empty() {
	clear(l.gathered)
	l.gathered = l.gathered[:0]
}

// eventsColumn and eventRow are the place of a row of events.
const eventsColumn = "events.events"

func eventRow(last uint64) string { return strconv.FormatUint(last, 10) }

// Events implements engine.Store: up to limit events (0: 100; at most 1000). Only the newest 10,000 are certain to be there.
func (s *Store) Events(ctx context.Context, after uint64, limit int) ([]engine.Event, error) {
	limit = pageSize(limit)
	if all, here := s.queue.writer.events.newest.after(after, limit); here {
		return all, nil
	}
	all := make([]engine.Event, 0, limit)
	err := s.reads.each(ctx, func(row scanner) (bool, error) {
		var last, number uint64
		var b []byte
		if err := row.Scan(&last, &number, &b); err != nil {
			return false, err
		}
		run, err := s.openEvents(last, number, b)
		if err != nil {
			return false, fmt.Errorf("those up to %d: %w", last, err)
		}
		for _, e := range run {
			if e.Seq > after && len(all) < limit {
				all = append(all, e)
			}
		}
		return len(all) < limit, nil
	}, `SELECT last, number, events FROM events WHERE last > ? ORDER BY last`, int64(min(after, 1<<62)))
	if err != nil {
		return nil, fmt.Errorf("list events after %d: %w", after, err)
	}
	return all, nil
}

// openEvents reads a row of events.
func (s *Store) openEvents(last, number uint64, sealed []byte) ([]engine.Event, error) {
	if err := s.vault.open(&sealed, place(eventsColumn, eventRow(last))); err != nil {
		return nil, err
	}
	run, err := decodeEvents(sealed)
	if err == nil && uint64(len(run)) != number {
		err = fmt.Errorf("there are %d, not %d", len(run), number)
	}
	for i := range run {
		run[i].Seq = last - number + 1 + uint64(i)
	}
	return run, err
}

// appendEvents and decodeEvents turn events into a row's bytes and back, without their numbers.
func appendEvents(b []byte, run []engine.Event) []byte {
	for i := range run {
		e := &run[i]
		b = binary.AppendVarint(appendText(appendText(b, e.Type), e.Subject), nanos(e.Time))
		b = appendText(b, e.Data)
	}
	return b
}

func decodeEvents(b []byte) (run []engine.Event, err error) {
	p := parser{rest: b}
	for len(p.rest) > 0 {
		e := engine.Event{Type: p.text(), Subject: p.text(), Time: instant(p.int())}
		if data := p.bytes(); len(data) > 0 {
			e.Data = data
		}
		run = append(run, e)
	}
	return run, p.end()
}
