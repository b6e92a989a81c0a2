package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/skerry/skerry/web/client"
)

// explanation is what the API tells of a scope.
type explanation struct {
	Canonical string `json:"canonical"`
	Tree      []struct {
		Service  string `json:"service"`
		Location node   `json:"location"`
	} `json:"tree"`
	Alternatives []alternative `json:"alternatives"`
	Plan         *struct {
		Summary string `json:"summary"`
		Steps   []struct {
			Site      string   `json:"site"`
			Does      string   `json:"does"`
			Reachable bool     `json:"reachable"`
			RTT       *float64 `json:"rtt_ms"`
			WaitsFor  []string `json:"waits_for"`
			Accepts   string   `json:"accepts"`
			As        string   `json:"as"`
		} `json:"steps"`
	} `json:"plan"`
	Errors []struct {
		Type     string `json:"type"`
		Detail   string `json:"detail"`
		Position int    `json:"position"`
	} `json:"errors"`
	Warnings []string `json:"warnings"`
}

// alternative is a set of sites that a scope may stand for.
type alternative struct {
	Mode      string     `json:"mode"`
	Sites     []string   `json:"sites"`
	Parts     [][]string `json:"parts"`
	Wait      string     `json:"wait"`
	Either    bool       `json:"either"`
	Reachable bool       `json:"reachable"`
	RTT       *float64   `json:"rtt_ms"`
}

// String tells it in a line: how, where, and how far that is.
func (a alternative) String() string {
	mode := modes[a.Mode]
	if mode == "" {
		mode = a.Mode
	}
	sites := strings.Join(a.Sites, ", ")
	if len(a.Parts) > 0 {
		parts := make([]string, len(a.Parts))
		for i, part := range a.Parts {
			parts[i] = strings.Join(part, " & ")
		}
		sites = strings.Join(parts, " % ")
	}
	line := mode + " " + sites
	if a.Wait != "" {
		line += ", " + waits[a.Wait]
	}
	switch {
	case !a.Reachable:
		line += " (unreachable)"
	case a.RTT != nil:
		line += " (" + milliseconds(*a.RTT) + ")"
	}
	return line
}

// node is a part of a location: a site, or an operator over parts.
type node struct {
	Op     string `json:"op"`
	Site   string `json:"site"`
	Within string `json:"within"`
	Args   []node `json:"args"`
}

func (n node) print(b *strings.Builder, depth int) {
	label := n.Op
	switch {
	case n.Site != "" && n.Op == "":
		label = n.Site
	case n.Within != "":
		label += " within " + n.Within
	}
	fmt.Fprintf(b, "%s%s\n", strings.Repeat("  ", depth), label)
	for _, arg := range n.Args {
		arg.print(b, depth+1)
	}
}

type explainCommand struct {
	Scope   string `required:"" placeholder:"SCOPE" help:"The scope, such as '{images: paris & nantes}'."`
	Request string `placeholder:"'METHOD PATH'" help:"The request that it would travel with, such as 'POST /images'."`
	Service string `placeholder:"NAME" help:"The service that the request addresses."`
	Body    string `placeholder:"JSON" help:"The body of the request; what it refers to is looked up."`
}

func (explainCommand) Help() string {
	return `Reads, resolves and checks a scope and tells what would happen; nothing happens. The exit status is 1 for a
scope that does not parse or makes no sense here.

Examples:

    skerry explain --scope '{images: paris & nantes}'
    skerry explain --scope '{images: paris & nantes}' --service images --request 'POST /images'
    skerry explain --scope '{images: paris & lyno}' -o json | jq .errors`
}

func (c *explainCommand) Run(ctx context.Context, p *program) error {
	ask := map[string]any{"scope": c.Scope}
	if c.Service != "" {
		ask["service"] = c.Service
	}
	if c.Request != "" {
		method, path, ok := strings.Cut(strings.TrimSpace(c.Request), " ")
		path = strings.TrimSpace(path)
		if !ok || !strings.HasPrefix(path, "/") {
			return usagef("--request is %q: give method and path, such as 'POST /images'", c.Request)
		}
		ask["method"], ask["path"] = strings.ToUpper(method), path
	}
	if c.Body != "" {
		if !json.Valid([]byte(c.Body)) {
			return usagef("--body is no JSON")
		}
		ask["body"] = json.RawMessage(c.Body)
	}
	b, err := p.api.Post(ctx, "/scope/explain", ask)
	if err != nil {
		return err
	}
	e, err := client.Decode[explanation](b)
	if err != nil {
		return err
	}
	if p.json {
		if err := p.printJSON(b); err != nil {
			return err
		}
	} else {
		e.print(p)
	}
	if len(e.Errors) > 0 {
		return errors.New("the scope cannot be used: mend it as shown")
	}
	return nil
}

var (
	modes = map[string]string{"one": "at", "replicate": "a replica at each of", "cross": "spread over", "exactly-one": "at exactly one of"}
	waits = map[string]string{"quorum": "answered when a majority has it", "sync": "answered when all have it"}
)

func (e *explanation) print(p *program) {
	var tree strings.Builder
	for _, t := range e.Tree {
		depth := 0
		if t.Service != "" {
			fmt.Fprintln(&tree, t.Service)
			depth = 1
		}
		t.Location.print(&tree, depth)
	}
	var means strings.Builder
	for i, a := range e.Alternatives {
		switch {
		case a.Either:
			means.WriteString("\nor ")
		case i > 0:
			means.WriteString("\nelse ")
		}
		means.WriteString(a.String())
	}
	plan := ""
	if e.Plan != nil {
		plan = e.Plan.Summary
	}
	fields(p.out, "scope", e.Canonical, "tree", tree.String(), "means", means.String(), "plan", plan)
	if e.Plan != nil && len(e.Plan.Steps) > 0 {
		fmt.Fprintln(p.out)
		t := table{out: p.out, width: p.width,
			columns: []column{{"SITE", 0, 0}, {"DOES", 16, 0}, {"STATE", 0, 0}, {"ROUND TRIP", 0, 0}, {"AFTER", 5, 0}, {"ACCEPTS", 0, 0}, {"AS", 0, 0}}}
		var rows [][]string
		for _, s := range e.Plan.Steps {
			way, rtt := "unreachable", ""
			if s.Reachable {
				way = "reachable"
				if s.RTT != nil {
					rtt = milliseconds(*s.RTT)
				}
			}
			rows = append(rows, []string{s.Site, s.Does, way, rtt, strings.Join(s.WaitsFor, " "), s.Accepts, s.As})
		}
		t.print(rows)
	}
	if len(e.Warnings) > 0 {
		fmt.Fprintln(p.out)
	}
	for _, w := range e.Warnings {
		block(p.out, "warning: ", w)
	}
	for _, w := range e.Errors {
		block(p.out, w.Type+":\n", w.Detail)
	}
}

// block prints text of several lines, such as a picture with a caret, as it is.
func block(w io.Writer, title, text string) {
	fmt.Fprint(w, title)
	for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintln(w, clean(l))
	}
}
