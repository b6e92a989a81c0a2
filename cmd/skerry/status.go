package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/web/client"
	"github.com/skerry/skerry/web/shape"
)

// Exit statuses of skerry status.
const (
	exitDecide  = 1 // something waits for a person
	exitUnknown = 2 // nobody can know, or it is under way, or the agent cannot be asked
)

// summary is how all is, as the agent that is asked knows it.
type summary struct {
	Site      string         `json:"site"`
	Converged bool           `json:"converged"`
	Sentence  string         `json:"sentence"`
	Isolated  bool           `json:"isolated"`
	Sites     int            `json:"sites"`
	Reachable int            `json:"reachable"`
	Resources map[string]int `json:"resources"`
	Decisions int            `json:"decisions"`
	Elsewhere int            `json:"elsewhere"`
	Causes    []struct {
		About     string    `json:"about"`
		Decisions int       `json:"decisions"`
		Headline  string    `json:"headline"`
		Since     time.Time `json:"since"`
	} `json:"causes"`
	Held []struct {
		Deletions int    `json:"deletions"`
		Headline  string `json:"headline"`
	} `json:"held"`
	Worries []struct {
		About  string     `json:"about"`
		ID     string     `json:"id"`
		Label  string     `json:"label"`
		State  string     `json:"state"`
		Reason string     `json:"reason"`
		Since  *time.Time `json:"since"`
	} `json:"worries"`
}

type statusCommand struct{}

func (statusCommand) Help() string {
	return `The whole mesh on one screen, as this site knows it and as the others have told: what waits for a person, and how each site is.

The exit status is 0 when all is converged, 1 when something waits for a person anywhere, and 2 when that is not known: a
site cannot be reached, changes are under way, or the agent does not answer.

Examples:

    skerry status
    skerry status && echo all sites show the same
    skerry status -o json | jq .summary.causes`
}

func (statusCommand) Run(ctx context.Context, p *program) error {
	about, err := p.api.Get(ctx, "/summary", nil)
	var list []byte
	if err == nil {
		list, err = p.api.Get(ctx, "/sites", nil)
	}
	var s summary
	var sites []site
	if err == nil {
		s, err = client.Decode[summary](about)
	}
	if err == nil {
		sites, err = client.Decode[[]site](list)
	}
	if err != nil {
		complain(p.errs, err)
		return ended{exitUnknown}
	}
	if p.json {
		if err := p.printJSON(json.RawMessage(`{"summary":` + string(about) + `,"sites":` + string(list) + `}`)); err != nil {
			return err
		}
	} else {
		printStatus(p, s, sites)
	}
	switch {
	case s.Decisions+s.Elsewhere > 0:
		return ended{exitDecide}
	case !s.Converged || s.Reachable < s.Sites:
		return ended{exitUnknown}
	}
	return nil
}

// worriesShown is how many there is room for on one screen.
const worriesShown = 10

func printStatus(p *program, s summary, sites []site) {
	decisions := ""
	if s.Decisions+s.Elsewhere > 0 {
		decisions = fmt.Sprintf("%d that concern this site, %d at others (skerry conflicts)", s.Decisions, s.Elsewhere)
	}
	isolated := ""
	if s.Isolated {
		isolated = "a cut is being rehearsed here"
	}
	fields(p.out, "site", s.Site, "state", s.Sentence, "sites", fmt.Sprintf("%d of %d can be reached", s.Reachable, s.Sites), "decisions", decisions, "isolated", isolated)
	fmt.Fprintln(p.out)
	t := table{out: p.out, width: p.width, columns: []column{{"SITE", 0, 0}, {"STATE", 0, 0}, {"BACKLOG", 0, 0}, {"OLDEST", 0, 1}, {"DECISIONS", 0, 0},
		{"FAILING", 8, 1}, {"ROUND TRIP", 0, 2}, {"SEEN", 0, 1}, {"VERSION", 0, 3}}}
	var rows [][]string
	for _, x := range sites {
		rows = append(rows, statusRow(p, x))
	}
	t.print(rows)
	if s.worries() == 0 {
		return
	}
	fmt.Fprintln(p.out)
	printWorries(p, p.out, s, worriesShown)
}

// worries is how many rows there are of what needs a look.
func (s summary) worries() int { return len(s.Causes) + len(s.Held) + len(s.Worries) }

// printWorries prints so many of what needs a look, the worst first.
func printWorries(p *program, out io.Writer, s summary, most int) {
	w := table{out: out, width: p.width, columns: []column{{"WORRY", 0, 0}, {"ABOUT", 12, 0}, {"AGE", 0, 1}, {"REASON", 20, 0}}}
	var rows [][]string
	for _, c := range s.Causes {
		rows = append(rows, []string{c.About, shape.Count(c.Decisions, "decision", "decisions"), ago(p.now(), c.Since), c.Headline})
	}
	for _, h := range s.Held {
		rows = append(rows, []string{"held", shape.Count(h.Deletions, "deletion", "deletions"), "", h.Headline})
	}
	for _, worry := range s.Worries {
		name, age := worry.Label, ""
		if name == "" {
			name = worry.ID
		}
		if worry.Since != nil {
			age = ago(p.now(), *worry.Since)
		}
		rows = append(rows, []string{worry.State, worry.About + " " + name, age, worry.Reason})
	}
	w.print(rows[:min(len(rows), most)])
	if more := len(rows) - most; more > 0 {
		fmt.Fprintf(out, "and %d more: skerry status -o json\n", more)
	}
}

// statusRow is how one site is: what it has told, and whether it can be reached.
func statusRow(p *program, x site) []string {
	if x.State == nil {
		return []string{x.Name, x.way(), "", "", "", "", x.rtt(), ago(p.now(), x.seen()), x.AgentVersion}
	}
	oldest, failing := "", []string{}
	if x.State.Oldest != nil {
		oldest = ago(p.now(), *x.State.Oldest)
	}
	for service, state := range x.State.Failing {
		failing = append(failing, service+" "+state)
	}
	slices.Sort(failing)
	return []string{x.Name, x.way(), fmt.Sprint(x.State.Backlog), oldest, fmt.Sprint(x.State.Decisions), strings.Join(failing, ", "), x.rtt(),
		ago(p.now(), x.seen()), x.State.Version}
}
