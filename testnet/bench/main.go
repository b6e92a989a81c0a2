package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/skerry/skerry/testnet/env"
)

// options are the command line.
type options struct {
	Program   string        `help:"The program to measure. Default: built from this tree." placeholder:"FILE" type:"existingfile"`
	Only      []string      `help:"Measure only these: pass, create, converge, apart, idle, page, catchup, forward, race, aggregate, explain, body, fold, curves, history, size, kubernetes." placeholder:"NAME"`
	Part      []string      `help:"Of pass, measure only these parts: plain, elsewhere, bulk, connections, reads, healing." placeholder:"NAME"`
	For       time.Duration `help:"How long each load runs." default:"5s"`
	Cut       int           `help:"Operations on each side of the cut." default:"1000"`
	Body      int64         `help:"How many MiB the large body has that is replicated; what is forwarded has half of that." default:"2048"`
	Changes   int           `help:"How often the resource with the long history is changed." default:"2000"`
	Resources int           `help:"How many resources the measurement of sizes makes." default:"100000"`
	Idle      int           `help:"How many resources the idle agents have, and the one whose page is looked at." default:"10000"`
	Objects   int           `help:"How many config maps are made in Kubernetes." default:"10000"`
}

// measurement is one part of the table.
type measurement struct {
	name string
	run  func(ctx context.Context, b *bench) error
}

var measurements = []measurement{
	{"pass", passThrough},
	{"create", createRates},
	{"converge", convergence},
	{"apart", farApart},
	{"idle", idle},
	{"page", dashboard},
	{"catchup", catchUp},
	{"forward", forwarding},
	{"race", racing},
	{"aggregate", aggregation},
	{"explain", explaining},
	{"body", largeBody},
	{"fold", folding},
	{"curves", curves},
	{"history", longHistory},
	{"size", size},
	{"kubernetes", kubernetes},
}

// bench is what the measurements share.
type bench struct {
	options
	report *report
}

func main() {
	var o options
	kong.Parse(&o, kong.Name("bench"), kong.Description("Measure Skerry with real processes. Run as root."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.Program == "" {
		dir, err := os.MkdirTemp("", "skerry-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if o.Program, err = env.Build(ctx, dir); err != nil {
			return err
		}
	}
	for _, name := range o.Only {
		if !slices.ContainsFunc(measurements, func(m measurement) bool { return m.name == name }) {
			return fmt.Errorf("there is no measurement %q", name)
		}
	}
	b := &bench{options: o, report: &report{out: os.Stdout}}
	b.report.machine()
	var errs []error
	for _, m := range measurements {
		if len(o.Only) > 0 && !slices.Contains(o.Only, m.name) {
			continue
		}
		if err := m.run(ctx, b); err != nil {
			errs = append(errs, fmt.Errorf("measure %s: %w", m.name, err))
		}
	}
	return errors.Join(errs...)
}

// sites opens an environment with lab, runs measure in it and closes it.
func (b *bench) sites(ctx context.Context, measure func(e *env.Env) error, names ...string) error {
	return b.environment(ctx, env.Setup{Program: b.Program, Sites: names, Application: env.Lab(b.Program)}, measure)
}

func (b *bench) environment(ctx context.Context, s env.Setup, measure func(e *env.Env) error) (err error) {
	dir, err := os.MkdirTemp("", "skerry-bench-")
	if err != nil {
		return err
	}
	e, err := env.Open(ctx, dir, s)
	defer func() {
		if err != nil {
			var text strings.Builder
			e.Describe(&text)
			err = fmt.Errorf("%w\n%s", err, text.String())
		}
		err = errors.Join(err, e.Close(), os.RemoveAll(dir))
	}()
	if err != nil {
		return err
	}
	return measure(e)
}

// until polls ok every so often and returns how long it took to become true.
func until(ctx context.Context, begin time.Time, every, limit time.Duration, ok func() (bool, error)) (time.Duration, error) {
	for {
		done, err := ok()
		if err != nil || done {
			return time.Since(begin), err
		}
		if time.Since(begin) > limit {
			return 0, fmt.Errorf("not within %s", limit)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(every):
		}
	}
}
