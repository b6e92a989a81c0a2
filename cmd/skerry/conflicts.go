package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/skerry/skerry/web/client"
)

type conflictsCommand struct {
	List    conflictsList    `cmd:"" default:"withargs" help:"List what waits for a person, newest first (the default)."`
	Show    conflictsShow    `cmd:"" help:"Show one conflict, with what its site's application shows and what is wanted."`
	Compare conflictsCompare `cmd:"" help:"Compare what the applications of a conflict's sites show."`
	Resolve conflictsResolve `cmd:"" help:"Decide about a conflict."`
}

func (conflictsCommand) Help() string { return conflictsList{}.Help() }

type conflictsList struct {
	paging
	Resource string `placeholder:"ID" help:"Only those of this resource."`
	Service  string `placeholder:"NAME" help:"Only those of this service; of a resource, which service's is meant."`
	Kind     string `placeholder:"NAME" help:"The resource's kind, where its identifier alone means several."`
	Site     string `placeholder:"NAME" help:"Only those at this site."`
	About    string `placeholder:"KIND" help:"Only those that are exists, name, rival, unseen, not-accepted, refused, denied, contested, uncertain, undeclared, drift, contention, name-taken, rejoined, aside, forked or order."`
	Accepted bool   `help:"Those about which somebody has decided that the site may differ, instead of those that wait."`
}

func (conflictsList) Help() string {
	return `A conflict is something at one site that the rules could not settle:

    exists        a create met an object there that no replicated resource owns
    name          two resources were given one name, and another one has the object
    rival         a create met the object of another one of its name, which stays until a person decides about that
    unseen        a deletion would take along what lies inside and its deleter had not seen
    not-accepted  the site's rules do not let the one that issued it do this there
    refused       the site's application refused what another site's took
    denied        the site's application does not let the agent do it (403), and it is tried again slowly
    contested     twice, the request did not fit what is there (409, 412)
    uncertain     it is not known whether the application has done it
    undeclared    the object is gone, and the catalog does not say how to make it anew
    drift         the site's application shows something else than the others, and no operation did that
    contention    it was repaired a few times, and that did not last
    name-taken    two parts of a container have given one name inside it, on two sides of a cut
    rejoined      the site's disk was set back, and what its lost run had done to the object cannot be known
    aside         a defect of the agent has struck the resource, which is set aside there
    order         two orders of a list were wanted that cannot both be; the later one counts at all sites

Examples:

    skerry conflicts
    skerry conflicts --site nantes --about exists
    skerry conflicts --resource debian
    skerry conflicts show 5f1d0c93a2b4e876
    skerry conflicts resolve 5f1d0c93a2b4e876 adopt`
}

func (c *conflictsList) Run(ctx context.Context, p *program) error {
	accepted := ""
	if c.Accepted {
		accepted = "true"
	}
	l := listing[client.Conflict]{
		paging: c.paging, path: "/conflicts", cursor: "cursor",
		query:   url.Values{"service": {c.Service}, "site": {c.Site}, "about": {c.About}, "accepted": {accepted}, "resource": {c.Resource}, "kind": {c.Kind}},
		columns: []column{{"CONFLICT", 0, 0}, {"ABOUT", 0, 0}, {"SITE", 0, 0}, {"RESOURCE", 12, 0}, {"AGE", 0, 2}, {"ACTIONS", 0, 1}, {"REASON", 20, 3}},
		row: func(v client.Conflict) []string {
			return []string{v.ID, v.About, v.Site, cmp.Or(v.Label, v.Resource), ago(p.now(), v.Since), strings.Join(v.Actions, " "), v.Reason}
		},
		key: func(v client.Conflict) string { return v.ID },
		at:  func(v client.Conflict) string { return "/conflicts/" + url.PathEscape(v.ID) },
	}
	return l.run(ctx, p)
}

type conflictsShow struct {
	ID      string `arg:"" help:"Identifier of the conflict."`
	LocalID string `placeholder:"ID" help:"The object to compare with, as its site calls it: what adopting it would change."`
}

func (conflictsShow) Help() string {
	return `BASE is what whoever issued the operation saw, HERE what the site's application shows, WANTED what all known
operations amount to.

Examples:

    skerry conflicts show 5f1d0c93a2b4e876
    skerry conflicts show 5f1d0c93a2b4e876 --local-id 42
    skerry conflicts show 5f1d0c93a2b4e876 -o json | jq .actions`
}

func (c *conflictsShow) Run(ctx context.Context, p *program) error {
	query := url.Values{}
	if c.LocalID != "" {
		query.Set("local_id", c.LocalID)
	}
	b, err := p.api.Get(ctx, "/conflicts/"+url.PathEscape(c.ID), query)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	v, err := client.Decode[client.Conflict](b)
	if err != nil {
		return err
	}
	status, accepted, waits := "", "", "no"
	if v.Status != 0 {
		status = strconv.Itoa(v.Status)
	}
	if v.Accepted != nil {
		accepted = fmt.Sprintf("%s at %s, %s", v.Accepted.Action, v.Accepted.By, moment(p.now(), v.Accepted.At))
	}
	if v.Blocks {
		waits = "later operations on the resource wait for it at " + v.Site
	}
	fields(p.out, "conflict", v.ID, "about", v.About, "reason", v.Reason, "rule", v.Rule, "site", v.Site, "resource", v.Resource, "name", v.Label,
		"kind", v.Service+"."+v.Kind, "operation", v.Operation, "type", v.Type, "status", status, "since", moment(p.now(), v.Since),
		"blocks", waits, "accepted", accepted, "compared", v.NotCompared, "evidence", v.Evidence)
	for i, c := range v.Choices {
		if i == 0 {
			fmt.Fprintf(p.out, "\nDecide with \"skerry conflicts resolve %s\" and one of these, the likeliest first:\n\n", clean(v.ID))
		}
		action := c.Action
		if action == "keep" {
			action += " --site SITE"
		}
		fmt.Fprintf(p.out, "  %-8s  %s\n", clean(action), clean(c.Title+". "+c.Follows))
	}
	if len(v.Differences) == 0 {
		return nil
	}
	fmt.Fprintln(p.out)
	t := table{out: p.out, width: p.width, columns: []column{{"FIELD", 0, 0}, {"BASE", 6, 1}, {"HERE", 6, 0}, {"WANTED", 6, 0}}}
	var rows [][]string
	for _, d := range v.Differences {
		rows = append(rows, []string{d.Path, string(d.Base), string(d.Here), string(d.Wanted)})
	}
	t.print(rows)
	return nil
}

type conflictsResolve struct {
	ID      string `arg:"" help:"Identifier of the conflict."`
	Action  string `arg:"" enum:"accept,retry,done,drop,adopt,keep,dismiss" help:"What is to be done: accept, retry, done, drop, adopt, keep or dismiss, as far as the conflict takes it."`
	Site    string `placeholder:"NAME" help:"The site that is kept: what it shows becomes what all show."`
	LocalID string `placeholder:"ID" help:"The object to adopt, as its site calls it, where the site assigns the identifiers."`
}

func (conflictsResolve) Help() string {
	return `It is done at the conflict's site, whichever agent is asked:

    accept   let it in though the rules of that site do not accept it; only the agent of that site takes this
    retry    send it to the application again, or what is left of it to do
    done     the application has it
    drop     give it up at that site, which differs from the others then
    keep     what the application of --site shows becomes what all sites show
    adopt    the object that is there becomes the replica, and is brought to what the other sites show
    dismiss  accept that the site differs; this needs no way to it

Examples:

    skerry conflicts resolve 5f1d0c93a2b4e876 retry
    skerry conflicts show 5f1d0c93a2b4e876 --local-id 42
    skerry conflicts resolve 5f1d0c93a2b4e876 adopt --local-id 42`
}

func (c *conflictsResolve) Run(ctx context.Context, p *program) error {
	if (c.Action == "keep") != (c.Site != "") {
		return usagef("keep goes with --site, which names the site that is kept")
	}
	body := map[string]string{"action": c.Action}
	if c.LocalID != "" {
		body["local_id"] = c.LocalID
	}
	if c.Site != "" {
		body["site"] = c.Site
	}
	b, err := p.api.Post(ctx, "/conflicts/"+url.PathEscape(c.ID)+"/resolve", body)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	v, err := client.Decode[struct {
		Operation json.RawMessage `json:"operation"`
	}](b)
	if err != nil {
		return err
	}
	if c.Action == "keep" || c.Action == "dismiss" {
		o, err := client.Decode[struct {
			ID string `json:"id"`
		}](v.Operation)
		if err != nil || o.ID == "" || c.Action == "keep" {
			fmt.Fprintln(p.out, strings.TrimSpace("decided: "+c.Action+" "+o.ID))
			return err
		}
	}
	return showOperation(p, v.Operation)
}
