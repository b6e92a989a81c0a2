package main

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/skerry/skerry/testnet/env"
)

// size measures what many resources cost: the agent's memory, its disk, and how long it takes to start again.
func size(ctx context.Context, b *bench) error {
	return b.sites(ctx, func(e *env.Env) error {
		paris, nantes := e.Site("paris"), e.Site("nantes")
		b.report.table(fmt.Sprintf("%d replicated resources", b.Resources), "what", "measured")
		empty, err := resident(paris)
		if err != nil {
			return err
		}
		b.report.row("memory of an agent without any", mib(empty))
		for _, part := range []struct {
			name     string
			requests int
		}{{"the first of them", b.Resources / 10}, {"the rest of them", b.Resources - b.Resources/10}} {
			if err := filled(ctx, b, part.name, part.requests, paris, nantes); err != nil {
				return err
			}
		}
		if err := repair(ctx, b, paris, nantes); err != nil {
			return err
		}
		full, err := resident(paris)
		if err != nil {
			return err
		}
		b.report.row("memory of the agent after that", mib(full))
		for _, end := range []struct {
			name string
			do   func() error
		}{{"after it was stopped", func() error { return paris.Agent().Stop(time.Minute) }}, {"after it was killed", func() error { return paris.Agent().Kill() }}} {
			if err := end.do(); err != nil {
				return err
			}
			begin := time.Now()
			if err := paris.Up(ctx); err != nil {
				return err
			}
			took := time.Since(begin)
			work, err := used([]int{paris.Agent().PID()})
			if err != nil {
				return err
			}
			b.report.row("starting it again "+end.name+", until it is ready", fmt.Sprintf("%s, of them %s of a processor", ms(took), ms(work)))
		}
		started, err := resident(paris)
		if err != nil {
			return err
		}
		b.report.row("memory after the start", mib(started))
		disk, err := diskUsed(paris.Config().Data())
		if err != nil {
			return err
		}
		b.report.row("disk", mib(disk))
		return nil
	}, "paris", "nantes")
}

// filled makes resources at paris that nantes has too, and reports how long that takes and what memory the agent has then.
func filled(ctx context.Context, b *bench, name string, n int, paris, nantes *env.Site) error {
	l := creates(paris, name, twoSites, 32)
	l.Requests = n
	before, err := counts(ctx, nantes)
	if err != nil {
		return err
	}
	r, err := l.run(ctx)
	if err != nil {
		return err
	}
	b.report.row(fmt.Sprintf("creating %s, %d, with 32 callers", name, n), fmt.Sprintf("%s, %s", r.wall.Round(time.Second), perSecond(r.rate())))
	lag, err := until(ctx, time.Now(), 100*time.Millisecond, 30*time.Minute, func() (bool, error) {
		return madeAt(ctx, before.Done["POST /images"]+n, nantes)
	})
	if err != nil {
		return err
	}
	b.report.row("until the other site has them too", lag.Round(time.Millisecond).String())
	held, err := resident(paris)
	if err == nil {
		b.report.row("memory of the agent then", mib(held))
	}
	return err
}

// resident returns the resident memory of a site's agent in bytes.
func resident(s *env.Site) (int64, error) { return memory(s, "VmRSS:") }

// diskUsed returns the size of all files below a directory in bytes.
func diskUsed(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
