package history

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	seed     = flag.Uint64("history.seed", 0, "play the history of this seed only, and tell all of it")
	skip     = flag.String("history.skip", "", "with -history.seed: the steps to leave out, as 3,7-9")
	first    = flag.Uint64("history.first", 0, "the first seed; 0: 1, and by the clock with -history.for")
	lasts    = flag.Duration("history.for", 0, "play histories for this long")
	smaller  = flag.Bool("history.shrink", true, "make a history that fails smaller before it is told")
	backups  = flag.Int("history.backups", 0, "in one of so many histories sites are set back to backups, in half of these with their applications; 0: in none")
	divides  = flag.Bool("history.divides", false, "divide resources as they go on, and make them replicated ones again")
	restores = flag.Int("history.restores", 0, "set sites back at most so often in one history; 0: any number of times")
	most     = flag.Int("history.failures", 5, "stop after so many histories that fail")
	enough   = flag.Int("history.operations", enoughOperations, "without -history.for: play histories until they have had so many operations")
)

// TestHistories plays a fixed share of histories, or as many as fit into -history.for.
func TestHistories(t *testing.T) {
	if *seed != 0 {
		o := options(*seed)
		o.Skip, o.Log = parseSteps(t, *skip), slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))
		r := Play(o)
		for _, p := range r.Problems {
			t.Error(p)
		}
		t.Logf("%+v", r)
		return
	}
	next := uint64(1)
	switch {
	case *first != 0:
		next = *first
	case *lasts > 0:
		next = uint64(time.Now().Unix()) * 10_000_000
	}
	var sum Report
	histories, failed, start := 0, 0, time.Now()
	for ; *lasts == 0 && sum.Operations < *enough || time.Since(start) < *lasts; histories++ {
		r := Play(options(next))
		if len(r.Problems) > 0 {
			failed++
			report(t, next, r)
			if failed == *most {
				break
			}
		}
		sum.add(r)
		next++
	}
	t.Logf("%d histories in %v: %d failed; %d operations of %d requests (%d acknowledged, %d superseded somewhere), %d deaths, %d sites set back (%d acknowledged operations lost so), %d decisions, %d names contended, %d questions after restores, %.1f virtual hours",
		histories, time.Since(start).Round(time.Second), failed, sum.Operations, sum.Requests, sum.Acknowledged, sum.Superseded, sum.Deaths, sum.Restored, sum.Lost, sum.Decisions,
		sum.Contended, sum.Asked, sum.Virtual.Hours())
}

// TestHistoriesWithRestores plays a fixed share of histories in which sites are set back, any number of times.
func TestHistoriesWithRestores(t *testing.T) {
	var sum Report
	histories := uint64(0)
	for sum.Operations < enoughOperations/14 {
		histories++
		r := Play(Options{Seed: histories, Backups: 1})
		if len(r.Problems) > 0 {
			t.Errorf("history %d, play it again with: go test ./testnet/history -run TestHistories -history.backups 1 -history.seed %d\n  %s",
				histories, histories, strings.Join(r.Problems, "\n  "))
		}
		sum.add(r)
	}
	t.Logf("%d histories, %d operations, %d sites set back, %d questions after restores", histories, sum.Operations, sum.Restored, sum.Asked)
}

// TestHistoriesThatDivide plays a fixed share of histories in which resources are divided, and made replicated ones again.
func TestHistoriesThatDivide(t *testing.T) {
	operations := 0
	for seed := uint64(1); operations < enoughOperations/14; seed++ {
		r := Play(Options{Seed: seed, Divides: true})
		if len(r.Problems) > 0 {
			t.Errorf("history %d, play it again with: go test ./testnet/history -run TestHistories -history.divides -history.seed %d\n  %s", seed, seed, strings.Join(r.Problems, "\n  "))
		}
		operations += r.Operations
	}
}

// options are those of the flags, for one history.
func options(seed uint64) Options {
	return Options{Seed: seed, Backups: *backups, Restores: *restores, Divides: *divides}
}

func (r *Report) add(o Report) {
	r.Operations, r.Requests, r.Acknowledged = r.Operations+o.Operations, r.Requests+o.Requests, r.Acknowledged+o.Acknowledged
	r.Superseded, r.Decisions, r.Deaths = r.Superseded+o.Superseded, r.Decisions+o.Decisions, r.Deaths+o.Deaths
	r.Restored, r.Lost, r.Asked = r.Restored+o.Restored, r.Lost+o.Lost, r.Asked+o.Asked
	r.Contended, r.Virtual = r.Contended+o.Contended, r.Virtual+o.Virtual
}

// report makes a history that fails smaller and tells how to play it again.
func report(t *testing.T, seed uint64, r Report) {
	t.Helper()
	o, small := options(seed), r
	if *smaller {
		o, small = shrink(o, r)
	}
	var text strings.Builder
	for _, p := range small.Problems[:min(len(small.Problems), 6)] {
		fmt.Fprintf(&text, "\n  %s", p)
	}
	t.Errorf("history %d, %d steps left of %d:%s\nplay it again with: go test ./testnet/history -run TestHistories -history.backups %d -history.restores %d -history.divides=%t -history.seed %d -history.skip %s",
		seed, len(small.played), r.Steps, text.String(), *backups, *restores, *divides, seed, printSteps(o.Skip))
}

// TestReplay sees to it that a seed gives the same history again, word for word.
func TestReplay(t *testing.T) {
	for seed := range uint64(20) {
		var told [2]strings.Builder
		for i := range told {
			Play(Options{Seed: seed, Backups: 2, Log: slog.New(slog.NewTextHandler(&told[i], &slog.HandlerOptions{Level: slog.LevelDebug,
				ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return a
				}}))})
		}
		if told[0].Len() == 0 || told[0].String() != told[1].String() {
			t.Errorf("seed %d gives two histories", seed)
		}
	}
}

func parseSteps(t *testing.T, text string) map[int]bool {
	steps := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		from, to, ok := strings.Cut(part, "-")
		if !ok {
			to = from
		}
		a, err := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil {
			t.Fatalf("-history.skip: %q is no step and no range of steps", part)
		}
		for i := a; i <= b; i++ {
			steps[i] = true
		}
	}
	return steps
}

func printSteps(steps map[int]bool) string {
	var parts []string
	var list []int
	for i := range steps {
		list = append(list, i)
	}
	slices.Sort(list)
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if part := strconv.Itoa(list[i]); i == j {
			parts = append(parts, part)
		} else {
			parts = append(parts, part+"-"+strconv.Itoa(list[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
