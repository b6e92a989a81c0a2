package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/web/client"
)

// event is one entry of the event log, as it is told here.
type event struct{ client.Event }

var eventColumns = []column{{"EVENT", 0, 0}, {"TIME", 0, 0}, {"TYPE", 0, 0}, {"SUBJECT", 0, 0}, {"DATA", 12, 1}}

// row has the time as when is told it.
func (e *event) row(when string) []string {
	return []string{e.ID, when, e.Type, e.Subject, e.summary()}
}

// summary tells the data in one line, without what is empty and what the subject says already.
func (e *event) summary() string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(e.Data, &members); err != nil {
		return string(e.Data)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := string(members[name])
		var text string
		if json.Unmarshal(members[name], &text) == nil {
			value = text
		}
		if value == "" || value == "null" || value == e.Subject {
			continue
		}
		if strings.ContainsAny(value, " =") {
			value = strconv.Quote(value)
		}
		all = append(all, name+"="+value)
	}
	return strings.Join(all, " ")
}

type eventsCommand struct {
	List eventsList `cmd:"" default:"withargs" help:"List events, the newest last (the default)."`
	Show eventsShow `cmd:"" help:"Show one event."`
}

func (eventsCommand) Help() string { return eventsList{}.Help() }

type eventsList struct {
	paging
	After string `placeholder:"EVENT" help:"With --watch: begin after this event; 0 for all that the agent still has."`
}

func (eventsList) Help() string {
	return `What happened, as this site knows it: operations accepted, applied and converged, sites that come and go.
With --watch and -o json each event is one line, in the form of CloudEvents.

Examples:

    skerry events --limit 20
    skerry events --watch
    skerry events --watch --after 0 -o json | jq -r .type`
}

func (c *eventsList) Run(ctx context.Context, p *program) error {
	if c.Watch {
		return c.watch(ctx, p)
	}
	if c.After != "" {
		return usagef("--after goes with --watch (see skerry events --help)")
	}
	if c.Limit < 1 {
		return usagef("--limit is %d: give a number from 1, or --all", c.Limit)
	}
	l := listing[event]{paging: c.paging, path: "/events/log", cursor: "before"}
	items, next, err := l.fetch(ctx, p.api)
	if err != nil {
		return err
	}
	if p.json {
		if items == nil {
			items = []json.RawMessage{}
		}
		return p.printJSON(map[string]any{"items": items, "next": next})
	}
	if len(items) == 0 {
		fmt.Fprintln(p.out, "none")
		return nil
	}
	var rows [][]string
	for _, b := range slices.Backward(items) {
		e, err := client.Decode[event](b)
		if err != nil {
			return err
		}
		rows = append(rows, e.row(ago(p.now(), e.Time)))
	}
	t := table{out: p.out, width: p.width, columns: eventColumns}
	t.print(rows)
	return nil
}

func (c *eventsList) watch(ctx context.Context, p *program) error {
	if c.After != "" {
		if _, err := strconv.ParseUint(c.After, 10, 63); err != nil {
			return usagef("--after is %q: give the number of an event", c.After)
		}
	}
	// The widths are those of what is usual; data take what the terminal has left.
	t := table{out: p.out, width: p.width, columns: eventColumns, widths: []int{6, 8, 20, 36, 0}}
	if left := p.width - (6 + 8 + 20 + 36 + 4*len(gap)); left >= t.columns[4].least {
		t.widths[4] = left
	} else if p.width > 0 {
		t.widths[4] = -1
	}
	if !p.json {
		t.line(io.Discard, []string{"EVENT", "TIME", "TYPE", "SUBJECT", "DATA"})
	}
	return p.follow(ctx, c.After, func() error { return nil }, func(_ string, b json.RawMessage) error {
		if p.json {
			return p.printLine(b)
		}
		e, err := client.Decode[event](b)
		if err != nil {
			return err
		}
		t.print([][]string{e.row(e.Time.In(p.now().Location()).Format("15:04:05"))})
		return nil
	})
}

type eventsShow struct {
	ID uint64 `arg:"" help:"Number of the event."`
}

func (eventsShow) Help() string {
	return `Examples:

    skerry events show 42
    skerry events show 42 -o json | jq .data`
}

func (c *eventsShow) Run(ctx context.Context, p *program) error {
	// The list goes downwards from an event, not to be in it.
	b, err := p.api.Get(ctx, "/events/log", url.Values{"before": {strconv.FormatUint(c.ID+1, 10)}, "limit": {"1"}})
	if err != nil {
		return err
	}
	page, err := client.Decode[struct {
		Items []json.RawMessage `json:"items"`
	}](b)
	if err != nil {
		return err
	}
	var e event
	if len(page.Items) > 0 {
		if e, err = client.Decode[event](page.Items[0]); err != nil {
			return err
		}
	}
	if e.ID != strconv.FormatUint(c.ID, 10) {
		return fmt.Errorf("there is no event %d: it is not written yet, or trimmed already", c.ID)
	}
	if p.json {
		return p.printJSON(page.Items[0])
	}
	data := ""
	if len(e.Data) > 0 {
		pretty, err := json.MarshalIndent(e.Data, "", "  ")
		if err != nil {
			return err
		}
		data = string(pretty)
	}
	fields(p.out, "event", e.ID, "type", e.Type, "subject", e.Subject, "time", moment(p.now(), e.Time), "source", e.Source, "data", data)
	return nil
}
