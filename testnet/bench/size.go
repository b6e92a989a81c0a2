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
		l := creates(paris, "size", twoSites, 32)
		l.Requests = b.Resources
		r, err := l.run(ctx)
		if err != nil {
			return err
		}
		b.report.row("creating them with 32 callers", fmt.Sprintf("%s, %s", r.wall.Round(time.Second), perSecond(r.rate())))
		lag, err := until(ctx, time.Now(), 100*time.Millisecond, 30*time.Minute, func() (bool, error) {
			return madeAt(ctx, b.Resources, nantes)
		})
		if err != nil {
			return err
		}
		b.report.row("until the other site has them too", lag.Round(time.Millisecond).String())
		if err := repair(ctx, b, paris, nantes); err != nil {
			return err
		}
		full, err := resident(paris)
		if err != nil {
			return err
		}
		b.report.row("memory of the agent then", mib(full))
		if err := paris.Agent().Stop(time.Minute); err != nil {
			return err
		}
		begin := time.Now()
		if err := paris.Up(ctx); err != nil {
			return err
		}
		b.report.row("starting it again until it is ready", ms(time.Since(begin)))
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
