package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/client"
	"github.com/skerry/skerry/web/doctor"
)

type sitesDoctor struct {
	Name string `arg:"" optional:"" help:"Only the pairs of this site."`
}

func (sitesDoctor) Help() string {
	return `Asks each site that is reached which addresses of the others it has tried, and what each has answered. Of each two sites it says how they meet or,
where they do not, why and what would help: a port that a firewall closes, a NAT without an address that is announced, an address that leads
elsewhere, an agent that was stopped. Sites that meet through a relay are told as well, with what keeps them from each other. The exit
status is 1 where two do not meet.

Examples:

    skerry sites doctor
    skerry sites doctor nantes
    skerry sites doctor -o json | jq -r '.items[] | select(.state == "apart") | .help[]'`
}

func (c *sitesDoctor) Run(ctx context.Context, p *program) error {
	var q url.Values
	if c.Name != "" {
		q = url.Values{"site": {c.Name}}
	}
	b, err := p.api.Get(ctx, "/ways", q)
	if err != nil {
		return err
	}
	w, err := client.Decode[api.Ways](b)
	if err != nil {
		return err
	}
	if p.json {
		if err := p.printJSON(b); err != nil {
			return err
		}
	} else {
		printWays(p, w, c.Name)
	}
	apart := 0
	for _, pair := range w.Items {
		if pair.State == doctor.Apart {
			apart++
		}
	}
	if apart > 0 {
		return fmt.Errorf("%d of %d pairs of sites do not meet", apart, len(w.Items))
	}
	return nil
}

// widest is how many sites the table of all pairs has at most.
const widest = 12

func printWays(p *program, w api.Ways, of string) {
	var names []string
	cells := map[[2]string]string{}
	for _, pair := range w.Items {
		for _, n := range []string{pair.A, pair.B} {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		cells[[2]string{pair.A, pair.B}], cells[[2]string{pair.B, pair.A}] = meeting(pair), meeting(pair)
	}
	slices.Sort(names)
	switch {
	case len(names) == 0:
		fmt.Fprintln(p.out, "There is no other site.")
	case of != "" || len(names) > widest:
		t := table{out: p.out, width: p.width, columns: []column{{"SITE", 0, 0}, {"AND", 0, 0}, {"MEET", 0, 0}, {"OVER", 0, 1}}}
		var rows [][]string
		for _, pair := range w.Items {
			rows = append(rows, []string{pair.A, pair.B, meeting(pair), pair.Transport})
		}
		t.print(rows)
	default:
		t := table{out: p.out, width: p.width, columns: []column{{"SITE", 0, 0}}}
		var rows [][]string
		for i, n := range names {
			t.columns = append(t.columns, column{strings.ToUpper(n), 0, i})
			row := []string{n}
			for _, other := range names {
				row = append(row, cells[[2]string{n, other}])
			}
			rows = append(rows, row)
		}
		t.print(rows)
	}
	for _, pair := range w.Items {
		if pair.State != doctor.Direct {
			printPair(p, pair)
		}
	}
	for _, a := range w.Asked {
		if a.Error != "" {
			fmt.Fprintf(p.out, "\n%s has not told what it has tried: %s\n", a.Site, clean(a.Error))
		}
	}
}

// meeting is how two sites meet, in a word or two.
func meeting(p doctor.Pair) string {
	switch {
	case p.State == doctor.Relayed:
		return "through " + p.Relay
	case p.Hole:
		return "through a hole"
	}
	return string(p.State)
}

func printPair(p *program, pair doctor.Pair) {
	how := map[doctor.State]string{doctor.Apart: "do not meet", doctor.Unknown: "may meet or not", doctor.Relayed: "meet through " + pair.Relay + ", not by themselves"}[pair.State]
	fmt.Fprintf(p.out, "\n%s and %s %s.\n", pair.A, pair.B, how)
	for _, c := range pair.Causes {
		fmt.Fprintln(p.out, "  why:  ", clean(c.Why))
	}
	for _, h := range pair.Help {
		fmt.Fprintln(p.out, "  help: ", clean(h))
	}
	for _, t := range pair.Tries {
		to := pair.B
		if t.From == pair.B {
			to = pair.A
		}
		at := t.Address
		switch {
		case t.Relay != "":
			at = "through " + t.Relay
		case at == "":
			at = t.Detail
		}
		if at != "" {
			fmt.Fprintf(p.out, "  tried: %s to %s %s: %s\n", t.From, to, clean(at), t.Result)
		}
	}
}
