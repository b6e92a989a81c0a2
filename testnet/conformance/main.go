// The program conformance has applications that it knows how to start tried by the conformance run (package conform), two instances of each,
// and writes what comes of it into a folder, a page for each.
//
//	conformance --program bin/skerry --pages docs/conformance [--kinds SERVICE/KIND,...] [APPLICATION...]
//
// With kinds named, these alone are tried, and what comes of them is written to standard output.
//
// The exit status is 1 where two applications differ, or something is lost or left behind.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/skerry/skerry/testnet/conform"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	program := flag.String("program", "bin/skerry", "the program whose agents are started")
	pages := flag.String("pages", "docs/conformance", "the folder of the pages")
	kinds := flag.String("kinds", "", "the kinds to try, with commas between them, and those that they lie in; all without it")
	flag.Parse()
	var names, unequal []string
	for _, a := range conform.Applications {
		names = append(names, a.Name)
	}
	for _, name := range flag.Args() {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no application %s; there are %s", name, strings.Join(names, ", "))
		}
	}
	for _, a := range conform.Applications {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), a.Name) {
			continue
		}
		report, err := try(ctx, a, *program, *kinds)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		if !report.Conforms() {
			unequal = append(unequal, a.Name)
		}
		if *kinds != "" {
			fmt.Printf("%s\n%s", report.Summary(), report.Markdown(2))
			continue
		}
		if err := os.WriteFile(filepath.Join(*pages, a.Name+".md"), page(a, &report), 0o644); err != nil {
			return err
		}
	}
	if len(unequal) > 0 {
		return fmt.Errorf("not all is the same, or something was lost or left behind, of: %s; the pages tell", strings.Join(unequal, ", "))
	}
	return nil
}

func try(ctx context.Context, a *conform.Application, program, kinds string) (conform.Report, error) {
	dir, err := os.MkdirTemp("", "skerry-conformance-")
	if err != nil {
		return conform.Report{}, err
	}
	begun := time.Now()
	tell := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%s %4.0fs: %s\n", a.Name, time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
	}
	report, err := a.Conformance(ctx, program, dir, func(c *conform.Conformance) {
		c.Tell = tell
		if kinds != "" {
			c.Only(strings.Split(kinds, ","))
		}
	})
	if err != nil {
		return report, fmt.Errorf("%w; the logs are in %s", err, dir)
	}
	tell("done")
	return report, os.RemoveAll(dir)
}

// page is what came of an application, as a file.
func page(a *conform.Application, report *conform.Report) []byte {
	return fmt.Appendf(nil, `# %s

<!-- Written by "make conformance"; %s says what the tables tell. -->

%s

%s
%s`, a.Title, "docs/conformance.md", a.About, report.Summary(), strings.TrimRight(report.Markdown(2), "\n")+"\n")
}
