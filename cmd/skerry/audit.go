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

// auditRecord is what the API tells of one call.
type auditRecord struct {
	N         uint64    `json:"n"`
	At        time.Time `json:"at"`
	Account   string    `json:"account"`
	By        string    `json:"by"`
	Token     string    `json:"token"`
	Address   string    `json:"address"`
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	Status    int       `json:"status"`
	Problem   string    `json:"problem"`
	Operation string    `json:"operation"`
	More      uint64    `json:"more"`
}

type auditCommand struct {
	List   auditList   `cmd:"" default:"withargs" help:"List the calls (the default)."`
	Verify auditVerify `cmd:"" help:"Tell whether the list is as it was written."`
}

func (auditCommand) Help() string { return auditList{}.Help() }

type auditList struct{ paging }

func (auditList) Help() string {
	return `Each call of the API or the dashboard that changes something, or is refused to, leaves a record before it happens and one with
what came of it, and so does what other sites cause. Each is sealed together with the one before. It takes the role admin.

Examples:

    skerry audit --limit 20
    skerry audit verify
    skerry audit --all -o json > trail.json`
}

func (c *auditList) Run(ctx context.Context, p *program) error {
	l := listing[auditRecord]{
		paging: c.paging, path: "/audit", cursor: "before",
		columns: []column{{"N", 0, 0}, {"AGE", 0, 0}, {"WHO", 0, 0}, {"FROM", 0, 2}, {"CALL", 20, 0}, {"RESULT", 0, 0}, {"OPERATION", 0, 1}},
		row: func(r auditRecord) []string {
			who := cmp.Or(r.Account, r.By)
			if r.By == "token" {
				who += " (token " + r.Token + ")"
			}
			return []string{strconv.FormatUint(r.N, 10), ago(p.now(), r.At), who, r.Address, r.Method + " " + r.Path,
				result(r), r.Operation}
		},
		key: func(r auditRecord) string { return strconv.FormatUint(r.N, 10) },
	}
	return l.run(ctx, p)
}

// result is what came of a call.
func result(r auditRecord) string {
	text := "begun" // and nothing more is known
	if r.Status != 0 {
		text = strings.TrimSpace(strconv.Itoa(r.Status) + " " + r.Problem)
	}
	if r.More > 0 {
		text += fmt.Sprintf(" (and %d more before)", r.More)
	}
	return text
}

type auditVerify struct {
	Head string `placeholder:"N:HASH" help:"A record that was noted: it has to be there, with that hash."`
}

func (auditVerify) Help() string {
	return `Checks that each record follows from the one before, and prints the head: note it elsewhere, and give it with --head later.
Exit status 1 when something was changed or is gone.

Examples:

    skerry audit verify
    skerry audit verify --head 1204:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`
}

func (c *auditVerify) Run(ctx context.Context, p *program) error {
	query := url.Values{}
	if c.Head != "" {
		n, hash, ok := strings.Cut(c.Head, ":")
		if _, err := strconv.ParseUint(n, 10, 63); err != nil || !ok || len(hash) != 64 {
			return usagef("--head is %q: give a number, a colon and a hash, as skerry audit verify prints them", c.Head)
		}
		query = url.Values{"n": {n}, "hash": {hash}}
	}
	b, err := p.api.Get(ctx, "/audit/verify", query)
	if err != nil {
		return err
	}
	f, err := client.Decode[struct {
		Intact  bool   `json:"intact"`
		Records int    `json:"records"`
		First   uint64 `json:"first"`
		Last    uint64 `json:"last"`
		Head    string `json:"head"`
		Reason  string `json:"reason"`
	}](b)
	if err != nil {
		return err
	}
	if p.json {
		if err := p.printJSON(b); err != nil {
			return err
		}
	}
	switch {
	case !f.Intact:
		return fmt.Errorf("the audit trail is not as it was written: %s", f.Reason)
	case p.json:
	case f.Records == 0:
		fmt.Fprintln(p.out, "no records yet")
	default:
		fields(p.out, "intact", fmt.Sprintf("records %d to %d", f.First, f.Last), "head", fmt.Sprintf("%d:%s", f.Last, f.Head))
	}
	return nil
}
