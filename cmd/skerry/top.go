package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/skerry/skerry/web/client"
)

type topCommand struct {
	Every time.Duration `default:"2s" help:"How often the agent is asked."`
	Once  bool          `help:"Print it once and end."`
}

func (topCommand) Help() string {
	return `The whole mesh on one screen, as it goes on: how the sites are, what needs a look, and the latest operations, as many as there is
room for, the worst first. Ctrl-C ends it. Where the output is no terminal, or a plain one (TERM=dumb), one screen follows the other;
with -o json each is one line.

Examples:

    skerry top
    skerry top --every 10s
    skerry top --once -o json`
}

func (c *topCommand) Run(ctx context.Context, p *program) error {
	if c.Every < 100*time.Millisecond {
		return usagef("--every is %s: give 100ms or more", c.Every)
	}
	replaces := p.terminal && !c.Once && !p.json
	if replaces { // the screen of an editor, without its cursor; what was there comes back
		fmt.Fprint(p.out, "\x1b[?1049h\x1b[?25l")
		defer fmt.Fprint(p.out, "\x1b[?25h\x1b[?1049l")
	}
	for first := true; ; first = false {
		screen, err := c.screen(ctx, p)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (first || c.Once):
			return err
		case err != nil:
			screen = []byte(fmt.Sprintf("%s  %s\n", p.now().Format("15:04:05"), clean(err.Error())))
		}
		if replaces { // over what is there, so that nothing flickers
			screen = bytes.ReplaceAll(append([]byte("\x1b[H"), screen...), []byte("\n"), []byte("\x1b[K\r\n"))
			screen = append(bytes.TrimSuffix(screen, []byte("\r\n")), "\x1b[J"...)
		} else if !first && !p.json {
			screen = append([]byte("\n"), screen...)
		}
		if _, err := p.out.Write(screen); err != nil || c.Once {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(c.Every):
		}
	}
}

// screen asks the agent, and returns what is shown of its answers.
func (c *topCommand) screen(ctx context.Context, p *program) ([]byte, error) {
	var parts [3]json.RawMessage
	for i, path := range []string{"/summary", "/sites", "/operations"} {
		query := url.Values{}
		if i == 2 {
			query.Set("limit", "50")
		}
		var err error
		if parts[i], err = p.api.Get(ctx, path, query); err != nil {
			return nil, err
		}
	}
	s, err := client.Decode[summary](parts[0])
	if err != nil {
		return nil, err
	}
	sites, err := client.Decode[[]site](parts[1])
	if err != nil {
		return nil, err
	}
	operations, err := client.Decode[struct {
		Items []operation `json:"items"`
	}](parts[2])
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if p.json {
		list, err := client.Decode[struct {
			Items json.RawMessage `json:"items"`
		}](parts[2])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, `{"summary":%s,"sites":%s,"operations":%s}`+"\n", onOneLine(parts[0]), onOneLine(parts[1]), onOneLine(list.Items))
		return b.Bytes(), nil
	}
	var w io.Writer = &b
	if _, colours := p.out.(painted); colours {
		w = painted{&b}
	}
	printTop(p, w, s, sites, operations.Items)
	if lines := bytes.SplitAfter(b.Bytes(), []byte("\n")); p.height > 0 && len(lines) > p.height {
		return bytes.Join(lines[:p.height], nil), nil
	}
	return b.Bytes(), nil
}

// onOneLine is JSON on one line.
func onOneLine(v json.RawMessage) []byte {
	var b bytes.Buffer
	_ = json.Compact(&b, v) // it has been decoded
	return b.Bytes()
}

// room is how many lines each part of the screen gets.
type room struct{ sites, worries, operations int }

// share divides the lines of a screen, the head apart: the sites get up to a half, the worries what there are of them, up to a quarter. Each
// part that is there has a line before it and a head.
func share(height, head, sites, worries int) room {
	if height == 0 {
		return room{sites, min(worries, worriesShown), 10}
	}
	left := height - head - 2
	r := room{sites: max(1, min(sites, left/2))}
	left -= r.sites
	if worries > 0 {
		r.worries = max(1, min(worries, left/2-2))
		left -= r.worries + 2
		if r.worries < worries { // a line says so
			left--
		}
	}
	r.operations = max(0, left-2)
	return r
}

func printTop(p *program, w io.Writer, s summary, sites []site, operations []operation) {
	line := func(text string) {
		if p.width > 0 {
			text = shorten(text, p.width)
		}
		fmt.Fprintln(w, clean(text))
	}
	line(fmt.Sprintf("%s  %s  %d of %d sites can be reached  decisions: %d here, %d elsewhere", s.Site, p.now().Format("15:04:05"), s.Reachable, s.Sites, s.Decisions, s.Elsewhere))
	line(s.Sentence)
	fmt.Fprintln(w, strings.TrimSuffix("resources  "+counted(w, s.Resources), "  "))
	r := share(p.height, 3, len(sites), s.worries())
	t := table{out: w, width: p.width, columns: []column{{"SITE", 0, 0}, {"STATE", 0, 0}, {"RESOURCES", 16, 3}, {"BACKLOG", 0, 0}, {"OLDEST", 0, 1}, {"DECISIONS", 0, 0},
		{"ROUND TRIP", 0, 2}, {"SEEN", 0, 1}}}
	slices.SortStableFunc(sites, func(a, b site) int { return cmp.Compare(b.concern(), a.concern()) })
	var rows [][]string
	for _, x := range sites[:r.sites] {
		row := statusRow(p, x)
		rows = append(rows, append([]string{x.Name, x.standing(p), resourcesAt(x), row[2], row[3], row[4]}, row[6:8]...))
	}
	fmt.Fprintln(w)
	t.print(rows)
	if s.worries() > 0 {
		fmt.Fprintln(w)
		printWorries(p, w, s, r.worries)
	}
	if r.operations > 0 && len(operations) > 0 {
		fmt.Fprintln(w)
		o := table{out: w, width: p.width, columns: []column{{"AGE", 0, 0}, {"REQUEST", 20, 0}, {"ON", 10, 0}, {"STATE", 0, 0}, {"FROM", 0, 1}, {"WAITS AT", 10, 2}}}
		rows = nil
		for _, x := range operations[:min(len(operations), r.operations)] {
			rows = append(rows, []string{ago(p.now(), x.IssuedAt), x.request(), strings.TrimSpace(x.Kind + " " + cmp.Or(x.Label, x.Resource)), x.State, x.Origin, x.waits()})
		}
		o.print(rows)
	}
}

// counted tells how much is in which state, the worst first.
func counted(w io.Writer, n map[string]int) string {
	var parts []string
	for _, state := range []string{"conflict", "degraded", "unknown", "converging", "deleting", "converged"} {
		if n[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[state], paint(w, "STATE", state)))
		}
	}
	return strings.Join(parts, ", ")
}

// resourcesAt is how much of its resources a site has in which state, as it has told, what is converged last.
func resourcesAt(x site) string {
	if x.State == nil {
		return ""
	}
	return counted(nil, x.State.Resources)
}

// concern is how much a site is to be looked at.
func (s *site) concern() int {
	n := 0
	if st := s.State; st != nil {
		n += min(st.Backlog, 1) + 4*min(st.Decisions, 1) + 4*min(len(st.Failing), 1)
	}
	if s.Cloned || s.Revoked {
		n += 8
	}
	if !s.Reachable && !s.Self {
		n += 2
	}
	return n
}

// waits lists the sites where an operation is not done.
func (o *operation) waits() string {
	var names []string
	for name, at := range o.Sites {
		if at.State != "applied" && at.State != "superseded" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// terminalHeight is LINES, or the height of the terminal that w is, or 0.
func terminalHeight(w io.Writer, getenv func(string) string) int {
	if n, err := strconv.Atoi(getenv("LINES")); err == nil && n > 0 {
		return n
	}
	if f, ok := w.(*os.File); ok {
		if _, n, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}
