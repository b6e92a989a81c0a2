package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/site"
)

// callers is how many clients of a site write at once where the engine is measured by itself.
const callers = 16

// curves measures how the cost of the engine grows: with the sites of a placement, with resources, and with placements. All sites are in
// this process, so that what is measured is the engine and its database, and neither HTTP nor libp2p.
func curves(ctx context.Context, b *bench) error {
	for _, m := range []func(context.Context, *bench) error{bySites, byResources, byPlacements, healing} {
		if err := m(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// atParty opens a party, runs measure with it and closes it.
func atParty(ctx context.Context, n int, measure func(p *party) error) error {
	dir, err := os.MkdirTemp("", "skerry-bench-")
	if err != nil {
		return err
	}
	p, err := newParty(ctx, dir, n, site.Limits{})
	if err == nil {
		err = measure(p)
	}
	return errors.Join(err, p.close(), os.RemoveAll(dir))
}

// bySites measures creates that go to all sites.
func bySites(ctx context.Context, b *bench) error {
	b.report.table(fmt.Sprintf("The engine alone: creates at one site that go to all, %d callers", callers),
		"sites", "creates", "acknowledged", "everywhere", "processor time per create and site", "commits per create and site", "rows written")
	for _, sites := range []int{3, 10, 30} {
		n := 3000 / sites
		err := atParty(ctx, sites, func(p *party) error {
			ids := p.ids()
			s, err := p.creates(ctx, n, func(int) []engine.SiteID { return ids })
			if err != nil {
				return err
			}
			each := n * sites
			b.report.row(fmt.Sprint(sites), fmt.Sprint(n), perSecond(float64(n)/s.acknowledged.Seconds()), perSecond(float64(n)/s.everywhere.Seconds()),
				ms(s.processor/time.Duration(each)), fmt.Sprintf("%.2f", float64(s.commits)/float64(each)),
				fmt.Sprintf("%.1f", float64(s.rows)/float64(each)))
			return nil
		})
		if err != nil {
			return fmt.Errorf("%d sites: %w", sites, err)
		}
	}
	return nil
}

// byResources measures what resources that are there already cost: the heap that they take, and the time until two sites agree again of
// which one was cut off while a few of them changed.
func byResources(ctx context.Context, b *bench) error {
	b.report.table("The engine alone: three sites with resources at all of them",
		"resources", "creates", "heap of a site", fmt.Sprintf("until all agree after a cut in which %d changed", differing))
	for _, n := range []int{1000, 10_000} {
		err := atParty(ctx, 3, func(p *party) error {
			empty, ids := heap(), p.ids()
			s, err := p.creates(ctx, n, func(int) []engine.SiteID { return ids })
			if err != nil {
				return err
			}
			full := heap()
			away := p.guests[2]
			p.cut(ctx, true, away)
			for i := range differing {
				if err := p.guests[0].put(ctx, nameOf(i), thingBody(i, "blue"), nil); err != nil {
					return err
				}
			}
			took, err := p.heal(ctx, away, n)
			if err != nil {
				return err
			}
			b.report.row(fmt.Sprint(n), perSecond(float64(n)/s.everywhere.Seconds()), mib((full-empty)/3), ms(took))
			return nil
		})
		if err != nil {
			return fmt.Errorf("%d resources: %w", n, err)
		}
	}
	return nil
}

// byPlacements measures creates that go to three sites each, as the number of different placements grows.
func byPlacements(ctx context.Context, b *bench) error {
	const n, sites = 1000, 30
	b.report.table(fmt.Sprintf("The engine alone: %d creates that go to three of %d sites each", n, sites),
		"placements", "acknowledged", "everywhere", "processor time per create and site of its placement")
	for _, placements := range []int{1, 100, 1000} {
		err := atParty(ctx, sites, func(p *party) error {
			s, err := p.creates(ctx, n, func(i int) []engine.SiteID { return triple(p.ids(), i%placements) })
			if err != nil {
				return err
			}
			b.report.row(fmt.Sprint(placements), perSecond(n/s.acknowledged.Seconds()), perSecond(n/s.everywhere.Seconds()), ms(s.processor/n/3))
			return nil
		})
		if err != nil {
			return fmt.Errorf("%d placements: %w", placements, err)
		}
	}
	return nil
}

// triple is the i-th set of three of some sites, another one for each i.
func triple(ids []engine.SiteID, i int) []engine.SiteID {
	for a := range ids {
		for b := a + 1; b < len(ids); b++ {
			if rest := len(ids) - b - 1; i >= rest {
				i -= rest
				continue
			}
			return []engine.SiteID{ids[a], ids[b], ids[b+1+i]}
		}
	}
	return nil
}

// healing measures how long sites take to agree after a cut with many creates on each side.
func healing(ctx context.Context, b *bench) error {
	b.report.table("The engine alone: one site is cut off", "sites", "creates on each side", "until all agree after the cut")
	for _, sites := range []int{3, 10, 30} {
		each := 3000 / sites
		err := atParty(ctx, sites, func(p *party) error {
			away, ids := p.guests[sites-1], p.ids()
			p.cut(ctx, true, away)
			for side, g := range []*guest{p.guests[0], away} {
				if err := parallel(each, func(i int) error { return g.put(ctx, nameOf(2*i+side), thingBody(2*i+side, "red"), ids) }); err != nil {
					return err
				}
			}
			if err := p.everywhere(ctx, func(g *guest) (bool, error) { return g.shelf.count() == each, nil }); err != nil {
				return err
			}
			took, err := p.heal(ctx, away, 2*each)
			if err != nil {
				return err
			}
			b.report.row(fmt.Sprint(sites), fmt.Sprint(each), ms(took))
			return nil
		})
		if err != nil {
			return fmt.Errorf("%d sites: %w", sites, err)
		}
	}
	return nil
}

// spent is what creates have cost.
type spent struct {
	acknowledged, everywhere, processor time.Duration
	commits, rows                       int64
}

// creates makes so many things, each at the first site of its placement, and waits until all of it has converged everywhere.
func (p *party) creates(ctx context.Context, n int, at func(i int) []engine.SiteID) (s spent, err error) {
	holds := map[engine.SiteID]int{}
	for i := range n {
		for _, id := range at(i) {
			holds[id]++
		}
	}
	commits, rows := p.written()
	begin, before := time.Now(), processorTime()
	if err := parallel(n, func(i int) error {
		to := at(i)
		return p.by[to[0]].put(ctx, nameOf(i), thingBody(i, "red"), to)
	}); err != nil {
		return s, err
	}
	s.acknowledged = time.Since(begin)
	err = p.everywhere(ctx, func(g *guest) (bool, error) { return g.converged(ctx, holds[g.self]) })
	s.everywhere, s.processor = time.Since(begin), processorTime()-before
	s.commits, s.rows = p.written()
	s.commits, s.rows = s.commits-commits, s.rows-rows
	return s, err
}

// parallel does something for each number below n, callers of them at a time.
func parallel(n int, do func(i int) error) error {
	var clients errgroup.Group
	clients.SetLimit(callers)
	for i := range n {
		clients.Go(func() error { return do(i) })
	}
	return clients.Wait()
}

// heal ends a cut and returns how long it takes until so many resources have converged at all sites.
func (p *party) heal(ctx context.Context, away *guest, n int) (time.Duration, error) {
	begin := time.Now()
	p.cut(ctx, false, away)
	return until(ctx, begin, 20*time.Millisecond, 5*time.Minute, func() (bool, error) {
		var pairs errgroup.Group
		for _, g := range p.guests {
			if g != away {
				pairs.Go(func() error { return compare(ctx, away, g) })
			}
		}
		if err := pairs.Wait(); err != nil {
			return false, err
		}
		for _, g := range p.guests {
			if ok, err := g.converged(ctx, n); !ok || err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// converged reports whether so many resources have converged at the site, and it knows of no others.
func (g *guest) converged(ctx context.Context, n int) (bool, error) {
	if g.shelf.count() != n {
		return false, nil
	}
	states, err := g.store.CountResources(ctx)
	return len(states) <= 1 && states[engine.StateConverged] == n, err
}

// everywhere waits until something is so at all sites.
func (p *party) everywhere(ctx context.Context, ok func(*guest) (bool, error)) error {
	for i, g := range p.guests {
		if _, err := until(ctx, time.Now(), 5*time.Millisecond, 5*time.Minute, func() (bool, error) { return ok(g) }); err != nil {
			return fmt.Errorf("site %d: %w", i+1, err)
		}
	}
	return nil
}

func (p *party) written() (commits, rows int64) {
	for _, g := range p.guests {
		commits, rows = commits+g.store.commits.Load(), rows+g.store.rows.Load()
	}
	return commits, rows
}

func nameOf(i int) string { return fmt.Sprintf("thing-%d", i) }

func thingBody(i int, colour string) string {
	return fmt.Sprintf(`{"id":%q,"colour":%q}`, nameOf(i), colour)
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // there is no other process to ask for by mistake
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heap is how many bytes of this process's heap are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
