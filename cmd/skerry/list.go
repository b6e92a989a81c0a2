package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/skerry/skerry/web/client"
)

// paging are the flags of every list.
type paging struct {
	Limit int  `default:"100" placeholder:"N" help:"Show at most N (default ${default})."`
	All   bool `help:"Show all, however many."`
	Watch bool `short:"w" help:"Go on: print again what changes, until interrupted."`
}

// listing is how one kind of thing is listed.
type listing[T any] struct {
	paging
	path  string
	query url.Values
	// cursor is the name of the parameter that takes a page's next.
	cursor  string
	columns []column
	row     func(T) []string
	// key tells items apart; stable is what of an item, as JSON, counts as a change when it is watched: nil: all of it.
	key    func(T) string
	stable func(T) T
	// at is where the API gives one item alone; nil when it does not.
	at func(T) string
}

// fetch returns the items as the agent wrote them, and next when there are more than were asked for.
func (l *listing[T]) fetch(ctx context.Context, api *client.Client) (items []json.RawMessage, next string, err error) {
	limit := l.Limit
	if l.All {
		limit = 0
	}
	return api.Fetch(ctx, client.List{Path: l.path, Query: l.query, Cursor: l.cursor, Limit: limit})
}

// run prints the list, and follows it when asked to.
func (l *listing[T]) run(ctx context.Context, p *program) error {
	if l.Limit < 1 {
		return usagef("--limit is %d: give a number from 1, or --all", l.Limit)
	}
	if l.Watch {
		return l.watch(ctx, p)
	}
	items, next, err := l.fetch(ctx, p.api)
	if err != nil {
		return err
	}
	if p.json {
		if items == nil {
			items = []json.RawMessage{}
		}
		if l.cursor == "" {
			return p.printJSON(items)
		}
		return p.printJSON(map[string]any{"items": items, "next": next})
	}
	rows, err := l.rows(items)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		fmt.Fprintln(p.out, "none")
		return nil
	}
	t := table{out: p.out, width: p.width, columns: l.columns}
	t.print(rows)
	if next != "" {
		fmt.Fprintln(p.out, "There are more: --limit N or --all shows them.")
	}
	return nil
}

func (l *listing[T]) rows(items []json.RawMessage) ([][]string, error) {
	rows := make([][]string, 0, len(items))
	for _, b := range items {
		v, err := client.Decode[T](b)
		if err != nil {
			return nil, err
		}
		rows = append(rows, l.row(v))
	}
	return rows, nil
}

// settleTime is waited after an event before the list is read, so that a burst of events is one look.
const settleTime = 100 * time.Millisecond

// glance is what watch knows of an item that it printed.
type glance struct{ mark, at string }

// watch prints the list, and then what is new or different in it whenever the agent tells an event.
func (l *listing[T]) watch(ctx context.Context, p *program) error {
	t := table{out: p.out, width: p.width, columns: l.columns}
	shown := map[string]glance{}
	look := make(chan struct{}, 1) // a second event while one waits adds nothing
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	followed := make(chan error, 1)
	wake := func() error {
		select {
		case look <- struct{}{}:
		default:
		}
		return nil
	}
	go func() {
		followed <- p.follow(ctx, "", wake, func(string, json.RawMessage) error { return wake() })
	}()
	for first := true; ; first = false {
		select {
		case err := <-followed:
			return err
		case <-look:
		}
		if !first {
			select {
			case err := <-followed:
				return err
			case <-time.After(settleTime):
			}
		}
		err := l.printChanges(ctx, p, &t, shown)
		// While the agent is gone follow says so, and when it is back there is another look.
		if gone := (*client.Unreachable)(nil); err == nil || errors.As(err, &gone) && !first {
			continue
		}
		cancel()
		<-followed
		if errors.Is(err, context.Canceled) { // by the user
			return nil
		}
		return err
	}
}

func (l *listing[T]) printChanges(ctx context.Context, p *program, t *table, shown map[string]glance) error {
	items, _, err := l.fetch(ctx, p.api)
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	var changed []json.RawMessage
	consider := func(b json.RawMessage) error {
		v, err := client.Decode[T](b)
		if err != nil {
			return err
		}
		counts := v
		if l.stable != nil {
			counts = l.stable(v)
		}
		mark, err := json.Marshal(counts)
		if err != nil {
			return err
		}
		key := l.key(v)
		listed[key] = true
		if shown[key].mark != string(mark) {
			g := glance{mark: string(mark)}
			if l.at != nil {
				g.at = l.at(v)
			}
			shown[key] = g
			changed = append(changed, b)
		}
		return nil
	}
	for _, b := range items {
		if err := consider(b); err != nil {
			return err
		}
	}
	for key, g := range shown { // what left the list did so for a reason, which it tells itself
		if listed[key] {
			continue
		}
		if g.at != "" {
			b, err := p.api.Get(ctx, g.at, nil)
			if err == nil {
				err = consider(b)
			}
			if refusal := (*client.Problem)(nil); err != nil && !errors.As(err, &refusal) { // refused: it is gone altogether
				return err
			}
		}
		delete(shown, key)
	}
	if p.json {
		for _, b := range changed {
			if err := p.printLine(b); err != nil {
				return err
			}
		}
		return nil
	}
	rows, err := l.rows(changed)
	if len(rows) > 0 {
		t.print(rows)
	}
	return err
}

// printJSON prints v, indented.
func (p *program) printJSON(v any) error {
	e := json.NewEncoder(p.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // an & of a scope stays one
	return e.Encode(v)
}

// printLine prints v in one line.
func (p *program) printLine(v json.RawMessage) error {
	var out bytes.Buffer
	if err := json.Compact(&out, v); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err := p.out.Write(out.Bytes())
	return err
}
