package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// markdown is a page with all commands: what --help says of each.
func markdown(model *kong.Application) string {
	var b strings.Builder
	b.WriteString("# Every command\n\nMade from what `skerry --help` says by `make generate`. Exit status: 0 done, 1 the agent or the application refused, 2 wrong usage. " +
		"Every command takes the flags of the first section.\n\n")
	writeCommand(&b, model.Node)
	var walk func(n *kong.Node)
	walk = func(n *kong.Node) {
		for _, c := range shownCommands(n) {
			writeCommand(&b, c)
			walk(c)
		}
	}
	walk(model.Node)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func writeCommand(b *strings.Builder, n *kong.Node) {
	fmt.Fprintf(b, "## %s\n\n%s.\n\n", strings.Join(commandPath(n), " "), short(n))
	fmt.Fprintf(b, "    %s\n\n", synopsis(n))
	for _, p := range strings.Split(strings.TrimSpace(long(n)), "\n\n") {
		if p = strings.Trim(p, "\n"); p != "" {
			fmt.Fprintf(b, "%s\n\n", p)
		}
	}
	for _, v := range n.Positional {
		fmt.Fprintf(b, "- `%s` %s\n", v.Summary(), v.Help)
	}
	for _, f := range shownFlags(n) {
		fmt.Fprintf(b, "- `%s` %s\n", f.String(), f.Help)
	}
	if len(n.Positional)+len(shownFlags(n)) > 0 {
		b.WriteString("\n")
	}
}
