package chronicle

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/skerry/skerry/engine"
)

// Store is the part of the agent's database that a chronicle lies in. See storage.Shelves for what each method promises.
type Store interface {
	PutRecord(ctx context.Context, shelf, key string, value []byte) error
	DropRecords(ctx context.Context, shelf, from, before string) error
	Record(ctx context.Context, shelf, key string) ([]byte, error)
	Records(ctx context.Context, shelf, from, before string, limit int, lastFirst bool, take func(key string, value []byte) error) error
}

// Site is what is looked at.
type Site interface {
	// Follow hands on what the event log gets after an entry, and nothing whenever it was quiet for that long, until ctx ends.
	Follow(ctx context.Context, after uint64, quiet time.Duration, take func([]engine.Event) error) error
	// Newest is the number of the log's last entry.
	Newest(ctx context.Context) (uint64, error)
	// Look tells how many resources are in which state, and what each site has left to apply.
	Look(ctx context.Context) (resources map[engine.State]int, backlog map[engine.SiteID]int, err error)
	// Ways is what is known of the way to each other member.
	Ways() map[engine.SiteID]engine.SiteStatus
}

// What is kept. The counters of a day by the minute are about 300 bytes each, those of a month by the hour as much.
const (
	keepMinutes = 25 * time.Hour // an hour more than is shown
	keepHours   = 31 * 24 * time.Hour
	keepCuts    = 365 * 24 * time.Hour
	mostCuts    = 1000
)

// beat is how often it is looked whether a minute is over, or a site is out of reach, when nothing happens.
const beat = 2 * time.Second

const (
	minutes = "counters of minutes"
	hours   = "counters of hours"
	cuts    = "cuts"
)

// Config is what a Chronicle is made from.
type Config struct {
	Store Store
	Now   func() time.Time
	Log   *slog.Logger
}

// Chronicle is one site's. It is safe for concurrent use.
type Chronicle struct {
	Config
	// Of the goroutine of Run: the minute that is being counted.
	minute Span

	mu   sync.Mutex // held while cuts are changed
	open []*Cut     // those that go on

	dayMu sync.Mutex
	day   []Span // the minutes as they were read last, which all who look at a page share; nil: they are to be read
}

// New returns what is remembered in c.Store; Run goes on with it.
func New(c Config) *Chronicle { return &Chronicle{Config: c} }

// Run counts, and notices cuts, until ctx ends. What cannot be written is told in the log, and tried with the next minute.
func (c *Chronicle) Run(ctx context.Context, s Site) error {
	after, err := c.resume(ctx, s)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("go on with what is remembered: %w", err)
	}
	return s.Follow(ctx, after, beat, func(events []engine.Event) error {
		ways := len(events) == 0 // else once what has happened to a site is told
		for _, e := range events {
			c.count(ctx, s, e)
			ways = ways || strings.HasPrefix(e.Type, "site.")
		}
		now := c.Now()
		if ways {
			c.note(ctx, "remember a cut", c.look(ctx, s.Ways(), now))
		}
		if begin := now.Truncate(time.Minute); begin.After(c.minute.Begin) {
			c.turn(ctx, s, begin)
		}
		return nil
	})
}

func (c *Chronicle) note(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		c.Log.Warn(what, "err", err)
	}
}

func living(resources map[engine.State]int) map[engine.State]int {
	kept := map[engine.State]int{}
	for state, n := range resources {
		if n > 0 && !state.Past() {
			kept[state] = n
		}
	}
	return kept
}

// resume finds out where an earlier run has stopped, and after which event this one begins.
func (c *Chronicle) resume(ctx context.Context, s Site) (after uint64, err error) {
	if err := c.resumeCuts(ctx); err != nil {
		return 0, err
	}
	newest, err := s.Newest(ctx)
	if err != nil {
		return 0, err
	}
	after = newest // without anything remembered, what came before is not counted
	if err := c.each(ctx, minutes, time.Time{}, 1, true, func(m Span) {
		if m.Seq <= newest { // else it was another log
			after = m.Seq
		}
	}); err != nil {
		return 0, err
	}
	c.minute = Span{Begin: c.Now().Truncate(time.Minute), Seq: after, Took: Spread{}}
	return after, c.foldHours(ctx, c.minute.Begin)
}

// count takes an event into the minute in which it happened. One of an earlier minute happened while this agent was stopping.
func (c *Chronicle) count(ctx context.Context, s Site, e engine.Event) {
	if begin := e.Time.Truncate(time.Minute); begin.After(c.minute.Begin) {
		c.turn(ctx, s, begin)
	}
	c.minute.Seq = e.Seq
	switch e.Type {
	case "operation.accepted":
		c.minute.Operations++
	case "operation.converged":
		if asked, ok := issued(e.Subject); ok {
			c.minute.Took.Add(e.Time.Sub(asked))
		}
	}
}

// issued is when an operation was given its identifier, which is a UUID of version 7.
func issued(id string) (time.Time, bool) {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return time.Time{}, false
	}
	var ms int64
	for _, b := range u[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms), true
}

// turn writes the minute that is over, and begins another one.
func (c *Chronicle) turn(ctx context.Context, s Site, begin time.Time) {
	now := c.Now()
	if now.Sub(c.minute.Begin) < 3*time.Minute { // else it is long over, and how things were at its end is not known
		resources, backlog, err := s.Look(ctx)
		c.note(ctx, "count resources", err)
		c.minute.Resources, c.minute.Backlog = living(resources), backlog
	}
	c.note(ctx, "forget what is old", c.trim(ctx, now))
	if c.minute.Resources != nil || c.minute.Operations > 0 || len(c.minute.Took) > 0 {
		c.note(ctx, "remember the last minute", c.put(ctx, minutes, c.minute))
	}
	if begin.Truncate(time.Hour).After(c.minute.Begin) {
		c.note(ctx, "remember the last hour", c.foldHours(ctx, begin))
	}
	c.minute = Span{Begin: begin, Seq: c.minute.Seq, Took: Spread{}}
}

// foldHours makes hours of the minutes of those that are over and were not made yet.
func (c *Chronicle) foldHours(ctx context.Context, now time.Time) error {
	var from time.Time
	if err := c.each(ctx, hours, time.Time{}, 1, true, func(h Span) { from = h.Begin.Add(time.Hour) }); err != nil {
		return err
	}
	of := map[time.Time][]Span{}
	if err := c.each(ctx, minutes, from, 2*60*24, false, func(m Span) {
		if hour := m.Begin.Truncate(time.Hour); hour.Before(now.Truncate(time.Hour)) {
			of[hour] = append(of[hour], m)
		}
	}); err != nil {
		return err
	}
	for hour, parts := range of {
		if err := c.put(ctx, hours, fold(hour, parts)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Chronicle) trim(ctx context.Context, now time.Time) error {
	for shelf, keep := range map[string]time.Duration{minutes: keepMinutes, hours: keepHours, cuts: keepCuts} {
		if err := c.Store.DropRecords(ctx, shelf, "", keyOf(now.Add(-keep))); err != nil {
			return err
		}
	}
	return nil
}

// keyOf orders by time.
func keyOf(t time.Time) string { return fmt.Sprintf("%015d", max(t.UnixMilli(), 0)) }

func (c *Chronicle) put(ctx context.Context, shelf string, s Span) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	err = c.Store.PutRecord(ctx, shelf, keyOf(s.Begin), b)
	c.dayMu.Lock()
	defer c.dayMu.Unlock()
	c.day = nil
	return err
}

// each reads spans from a time on, in order or the last first.
func (c *Chronicle) each(ctx context.Context, shelf string, from time.Time, limit int, lastFirst bool, take func(Span)) error {
	return c.Store.Records(ctx, shelf, keyOf(from), "a", limit, lastFirst, func(key string, value []byte) error {
		ms, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			return fmt.Errorf("key of %s: %w", shelf, err)
		}
		s := Span{Begin: time.UnixMilli(ms)}
		if err := json.Unmarshal(value, &s); err != nil {
			return fmt.Errorf("%s at %s: %w", shelf, key, err)
		}
		take(s)
		return nil
	})
}

// Day returns the minutes of the last day, oldest first; those in which the agent did not run are missing.
// Nobody changes what they share.
func (c *Chronicle) Day(ctx context.Context) ([]Span, error) {
	c.dayMu.Lock()
	defer c.dayMu.Unlock()
	from := c.Now().Add(-24 * time.Hour)
	if c.day == nil {
		list := []Span{}
		if err := c.each(ctx, minutes, from, 2*60*24, false, func(s Span) { list = append(list, s) }); err != nil {
			return nil, err
		}
		c.day = list
	}
	first := 0
	for first < len(c.day) && c.day[first].Begin.Before(from) {
		first++
	}
	return c.day[first:], nil
}

// Month returns likewise the hours of the last thirty days, and as much as there is of the one that goes on.
func (c *Chronicle) Month(ctx context.Context) (list []Span, err error) {
	now := c.Now()
	if err := c.each(ctx, hours, now.Add(-30*24*time.Hour), 31*24, false, func(s Span) { list = append(list, s) }); err != nil {
		return nil, err
	}
	var rest []Span
	err = c.each(ctx, minutes, now.Truncate(time.Hour), 60, false, func(s Span) { rest = append(rest, s) })
	if len(rest) > 0 {
		list = append(list, fold(now.Truncate(time.Hour), rest))
	}
	return list, err
}
