package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/client"
)

// operation is one operation, as it is told here.
type operation struct{ client.Operation }

// atSite is what is to be said of an operation at a site, empty for nothing.
func atSite(o client.Outcome) string {
	if o.State == "applied" {
		return ""
	}
	return o.State
}

type operationsCommand struct {
	List  operationsList `cmd:"" default:"withargs" help:"List operations, newest first (the default)."`
	Show  operationsShow `cmd:"" help:"Show one operation's way through the sites."`
	Wait  waitCommand    `cmd:"" help:"Wait until an operation is applied, and tell how it gets on."`
	Retry settleCommand  `cmd:"" help:"Settle a rejected or uncertain operation: send it to the application again."`
	Done  settleCommand  `cmd:"" help:"Settle an uncertain operation: it did happen in the application."`
	Drop  settleCommand  `cmd:"" help:"Settle a rejected or uncertain operation: leave it out here. Also gives up a request that is kept for sites out of reach."`
}

func (operationsCommand) Help() string { return operationsList{}.Help() }

type operationsList struct {
	paging
	Query    string `short:"q" placeholder:"TEXT" help:"Only those that show each word of TEXT: in the request, kind, scope, user or an error, in an identifier or the name of the resource, or in the name of a site."`
	Resource string `placeholder:"ID" help:"Only those on this resource."`
	Service  string `placeholder:"NAME" help:"The resource's service, where its identifier alone means several."`
	Kind     string `placeholder:"NAME" help:"The resource's kind, likewise."`
	Site     string `placeholder:"NAME" help:"Only those that concern this site."`
	State    string `placeholder:"STATE" help:"Only those pending, applied, rejected, superseded, uncertain or paused: at --site, else where they are farthest from applied."`
}

func (operationsList) Help() string {
	return `Examples:

    skerry operations
    skerry operations --site nantes --state pending
    skerry operations -q 'debian refused'
    skerry operations --resource 0190a5c2-7f31-7c55-9c1f-0d3d4f6b2a11
    skerry operations --watch -o json`
}

func (c *operationsList) Run(ctx context.Context, p *program) error {
	l := listing[operation]{
		paging: c.paging, path: "/operations", cursor: "cursor",
		query:   url.Values{"resource": {c.Resource}, "service": {c.Service}, "kind": {c.Kind}, "site": {c.Site}, "state": {c.State}, "q": {c.Query}},
		columns: []column{{"OPERATION", 0, 0}, {"NAME", 8, 0}, {"REQUEST", 12, 1}, {"STATE", 0, 0}, {"SITES", 12, 0}, {"FROM", 0, 2}, {"AGE", 0, 3}},
		row: func(o operation) []string {
			return []string{o.ID, o.Label, o.request(), o.State, bySite(o.Sites, atSite), o.Origin, ago(p.now(), o.IssuedAt)}
		},
		key: func(o operation) string { return o.ID },
		at:  func(o operation) string { return "/operations/" + url.PathEscape(o.ID) },
	}
	return l.run(ctx, p)
}

// request tells the request as clients make it, with the resource's identifier for all sites. An operation that sends none adds or
// removes sites, and is told by its type.
func (o *operation) request() string {
	if o.Method == "" {
		return o.Type + " " + o.Resource
	}
	path := o.Path
	if o.Resource != "" {
		path = strings.ReplaceAll(path, "{id}", o.Resource)
	}
	return o.Method + " " + path
}

type operationsShow struct {
	ID   string `arg:"" help:"Identifier of the operation."`
	Site string `placeholder:"NAME" help:"As this site shows it, which is asked (default: the site that is asked)."`
}

func (operationsShow) Help() string {
	return `Each site knows its own attempts to bring the operation to its application: the last ten, and when it goes on.

Examples:

    skerry operations show 0190a5c2-8a01-7d20-b1c9-1f6d1f0f2b77
    skerry operations show 0190a5c2-8a01-7d20-b1c9-1f6d1f0f2b77 --site nantes
    skerry operations show 0190a5c2-8a01-7d20-b1c9-1f6d1f0f2b77 -o json | jq .sites`
}

func (c *operationsShow) Run(ctx context.Context, p *program) error {
	b, err := getOperation(ctx, p, c.ID, c.Site)
	if err != nil {
		return err
	}
	return showOperation(p, b)
}

// getOperation reads an operation as a site shows it, the one that is asked when site is empty.
func getOperation(ctx context.Context, p *program, id, site string) (json.RawMessage, error) {
	query := url.Values{}
	if site != "" {
		query.Set("site", site)
	}
	return p.api.Get(ctx, "/operations/"+url.PathEscape(id), query)
}

func showOperation(p *program, b json.RawMessage) error {
	if p.json {
		return p.printJSON(b)
	}
	o, err := client.Decode[operation](b)
	if err != nil {
		return err
	}
	body := ""
	if len(o.Body) > 0 && string(o.Body) != "null" {
		body = string(o.Body)
		if p.width > 0 {
			body = shorten(body, max(20, p.width-14))
		}
	}
	if o.Blob != nil {
		body = engine.Bytes(o.Blob.Size)
	}
	fields(p.out, "operation", o.ID, "type", o.Type, "request", o.request(), "body", body, "scope", o.Scope, "resource", o.Resource, "name", o.Label,
		"kind", o.Service+"."+o.Kind, "from", o.Origin, "user", o.User, "issued", moment(p.now(), o.IssuedAt), "state", o.State,
		"follows", strings.Join(o.Parents, "\n"), "actions", strings.Join(o.Actions, ", "), "waits at", strings.Join(o.WaitsAt, ", "))
	fmt.Fprintln(p.out)
	t := table{out: p.out, width: p.width,
		columns: []column{{"SITE", 0, 0}, {"STATE", 0, 0}, {"STATUS", 0, 0}, {"SINCE", 0, 0}, {"ATTEMPTS", 0, 0}, {"ERROR", 6, 0}}}
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	var rows, tries [][]string
	for _, name := range slices.Sorted(maps.Keys(o.Sites)) {
		s := o.Sites[name]
		rows = append(rows, []string{name, s.State, number(s.Status), ago(p.now(), s.At), number(s.Attempts), s.Error})
		for i, t := range s.Tries {
			tries = append(tries, []string{name, strconv.Itoa(s.Attempts - len(s.Tries) + 1 + i), ago(p.now(), t.At), number(t.Status), t.Error})
		}
	}
	t.print(rows)
	for _, name := range slices.Sorted(maps.Keys(o.Sites)) {
		switch o.Sites[name].As {
		case "agent":
			fmt.Fprintf(p.out, "\n%s asks its application for it with its agent's account\n", name)
		case "user":
			fmt.Fprintf(p.out, "\n%s asks its application for it with the rights of %s there\n", name, cmp.Or(o.User, "who asked"))
		}
	}
	if len(tries) > 0 {
		fmt.Fprintln(p.out)
		each := table{out: p.out, width: p.width, columns: []column{{"SITE", 0, 0}, {"ATTEMPT", 0, 0}, {"AGE", 0, 0}, {"STATUS", 0, 0}, {"ERROR", 6, 0}}}
		each.print(tries)
	}
	if o.NextTry != nil {
		fmt.Fprintf(p.out, "\nnext try %s\n", ago(p.now(), *o.NextTry))
	}
	return nil
}

// settleCommand is one of the verbs; which, its name tells.
type settleCommand struct {
	ID   string `arg:"" help:"Identifier of the operation."`
	Site string `placeholder:"NAME" help:"The site where it is settled, by its agent (default: the site that is asked)."`
}

func (settleCommand) Help() string {
	return `An operation is uncertain when the agent or the application failed at a moment that leaves open whether
it happened: what is left to do for its resource here waits until a person says what is to be. A client's request that is
pending because the application stumbles over it each time may be settled as well, and need not be waited for. It is rejected when this
site's application refused what another site's had accepted: later operations go on, and the resource is degraded.

Examples:

    skerry operations --state uncertain
    skerry operations retry 0190a5c2-8a01-7d20-b1c9-1f6d1f0f2b77
    skerry operations done 0190a5c2-8a01-7d20-b1c9-1f6d1f0f2b77
    skerry operations drop 0190a5c2-8a01-7d20-b1c9-1f6d1f0f2b77 --site nantes`
}

func (c *settleCommand) Run(ctx context.Context, p *program, verb verb) error {
	at := "/operations/" + url.PathEscape(c.ID) + "/" + string(verb)
	if c.Site != "" {
		at += "?" + url.Values{"site": {c.Site}}.Encode()
	}
	b, err := p.api.Post(ctx, at, nil)
	if err != nil {
		return err
	}
	return showOperation(p, b)
}

// verb is the last word of the command that is run.
type verb string
