package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/web/client"
)

// hook is what the API tells of an address that events are pushed to.
type hook struct {
	ID        string     `json:"id"`
	URL       string     `json:"url"`
	Events    []string   `json:"events"`
	Secret    string     `json:"secret"`
	State     string     `json:"state"`
	Delivered uint64     `json:"delivered"`
	GivenUp   uint64     `json:"given_up"`
	NextTry   *time.Time `json:"next_try"`
}

type hooksCommand struct {
	List       hooksList       `cmd:"" default:"withargs" help:"List the hooks (the default)."`
	Add        hooksAdd        `cmd:"" help:"Push events to an address from now on."`
	Remove     hooksRemove     `cmd:"" help:"Push no more to an address."`
	Deliveries hooksDeliveries `cmd:"" help:"List the attempts to deliver to one."`
}

func (hooksCommand) Help() string { return hooksList{}.Help() }

type hooksList struct{ paging }

func (hooksList) Help() string {
	return `A hook is an address that the events of this site are pushed to, signed as Standard Webhooks has it. What is not taken is
tried again for a day.

Examples:

    skerry hooks
    skerry hooks add https://receiver.example/skerry --event 'operation.*' --event site.down
    skerry hooks deliveries 5d0c1f9e22a4b871`
}

func (c *hooksList) Run(ctx context.Context, p *program) error {
	l := listing[hook]{
		paging: c.paging, path: "/hooks",
		columns: []column{{"ID", 0, 0}, {"STATE", 0, 0}, {"URL", 20, 0}, {"EVENTS", 12, 1}, {"DELIVERED", 0, 2}, {"GIVEN UP", 0, 2}, {"NEXT TRY", 0, 1}},
		row: func(h hook) []string {
			next := ""
			if h.NextTry != nil {
				next = ago(p.now(), *h.NextTry)
			}
			return []string{h.ID, h.State, h.URL, cmp.Or(strings.Join(h.Events, " "), "all"), strconv.FormatUint(h.Delivered, 10), strconv.FormatUint(h.GivenUp, 10), next}
		},
		key: func(h hook) string { return h.ID },
	}
	return l.run(ctx, p)
}

type hooksAdd struct {
	URL   string   `arg:"" name:"url" help:"Where to post them."`
	Event []string `placeholder:"TYPE" sep:"none" help:"Push events of this type, or of this family with a star; may be given several times (default all)."`
	Quiet bool     `short:"q" help:"Print the secret alone, for a file."`
}

func (hooksAdd) Help() string {
	return `Prints the secret that deliveries are signed with, which is told only now.

Examples:

    skerry hooks add https://receiver.example/skerry
    skerry hooks add https://receiver.example/skerry --event 'operation.*' --event 'conflict.*' -q > secret`
}

func (c *hooksAdd) Run(ctx context.Context, p *program) error {
	events := c.Event
	if events == nil {
		events = []string{}
	}
	b, err := p.api.Post(ctx, "/hooks", map[string]any{"url": c.URL, "events": events})
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	h, err := client.Decode[hook](b)
	if err != nil {
		return err
	}
	if c.Quiet {
		fmt.Fprintln(p.out, clean(h.Secret))
		return nil
	}
	fields(p.out, "hook", h.ID, "url", h.URL, "events", cmp.Or(strings.Join(h.Events, " "), "all"), "secret", h.Secret)
	return nil
}

type hooksRemove struct {
	ID string `arg:"" help:"Id of the hook, as the list has it."`
}

func (hooksRemove) Help() string {
	return `Its delivery log goes with it.

Examples:

    skerry hooks remove 5d0c1f9e22a4b871`
}

func (c *hooksRemove) Run(ctx context.Context, p *program) error {
	return p.api.Delete(ctx, "/hooks/"+url.PathEscape(c.ID))
}

// delivery is one attempt to deliver an event.
type delivery struct {
	N       uint64    `json:"n"`
	At      time.Time `json:"at"`
	Event   string    `json:"event"`
	Type    string    `json:"type"`
	Attempt int       `json:"attempt"`
	Status  int       `json:"status"`
	Took    int64     `json:"took_ms"`
	Error   string    `json:"error"`
	Result  string    `json:"result"`
}

type hooksDeliveries struct {
	paging
	ID string `arg:"" help:"Id of the hook, as the list has it."`
}

func (hooksDeliveries) Help() string {
	return `The last 500 attempts are kept.

Examples:

    skerry hooks deliveries 5d0c1f9e22a4b871 --limit 20`
}

func (c *hooksDeliveries) Run(ctx context.Context, p *program) error {
	l := listing[delivery]{
		paging: c.paging, path: "/hooks/" + url.PathEscape(c.ID) + "/deliveries", cursor: "before",
		columns: []column{{"N", 0, 0}, {"AGE", 0, 0}, {"EVENT", 0, 0}, {"TYPE", 0, 1}, {"ATTEMPT", 0, 0}, {"RESULT", 0, 0}, {"STATUS", 0, 0}, {"TOOK", 0, 2}, {"ERROR", 16, 1}},
		row: func(d delivery) []string {
			status := ""
			if d.Status != 0 {
				status = strconv.Itoa(d.Status)
			}
			return []string{strconv.FormatUint(d.N, 10), ago(p.now(), d.At), d.Event, d.Type, strconv.Itoa(d.Attempt), d.Result, status,
				strconv.FormatInt(d.Took, 10) + " ms", d.Error}
		},
		key: func(d delivery) string { return strconv.FormatUint(d.N, 10) },
	}
	return l.run(ctx, p)
}
