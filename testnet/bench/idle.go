package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/skerry/skerry/testnet/env"
)

// five are the sites of which one is watched while nobody asks for anything.
var five = ten[:5]

// watched is for how long.
const watched = time.Minute

// idle measures what an agent costs among five that share many resources and have nothing to do: processor time and memory.
func idle(ctx context.Context, b *bench) error {
	return b.sites(ctx, func(e *env.Env) error {
		paris := e.Site(five[0])
		l := creates(paris, "idle", "Scope: {images: *}", 32)
		l.Requests = b.Idle
		if _, err := l.run(ctx); err != nil {
			return err
		}
		_, err := until(ctx, time.Now(), time.Second, 30*time.Minute, func() (bool, error) { return allConverged(ctx, e.Sites()...) })
		if err != nil {
			return err
		}
		before, err := processor(paris.Agent().PID())
		if err != nil {
			return err
		}
		select {
		case <-time.After(watched):
		case <-ctx.Done():
			return ctx.Err()
		}
		after, err := processor(paris.Agent().PID())
		if err != nil {
			return err
		}
		held, err := resident(paris)
		if err != nil {
			return err
		}
		b.report.table(fmt.Sprintf("An agent among %d that share %d resources and have nothing to do", len(five), b.Idle), "of a core", "memory")
		b.report.row(fmt.Sprintf("%.2f %%", 100*(after-before).Seconds()/watched.Seconds()), mib(held))
		return nil
	}, five...)
}

// allConverged reports whether each site says that all it has is converged.
func allConverged(ctx context.Context, sites ...*env.Site) (bool, error) {
	for _, s := range sites {
		var v struct{ Converged bool }
		if err := s.Client().Call(ctx, http.MethodGet, "/api/v1/summary", nil, &v); err != nil || !v.Converged {
			return false, err
		}
	}
	return true, nil
}

// processor returns the processor time that a process has used.
func processor(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	const user, system = 11, 12 // after the name, which may have spaces (proc_pid_stat(5)); in ticks of 10 ms
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	ticks := int64(0)
	for _, i := range []int{user, system} {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
