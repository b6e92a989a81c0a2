package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// turns is how many short rounds a comparison has. What else the machine does then meets all ways alike, and the medians of the rounds' ratios
// tell them apart also where it does a lot.
const turns = 15

// series is what a way has shown, turn by turn.
type series struct {
	results []result
	costs   []time.Duration // processor time of a request; none of a way without a process
}

// inTurn has callers ask over one way after the other, again and again, each over connections that stay open.
func (b *bench) inTurn(ctx context.Context, dial dialer, callers int, ways []way) ([]series, error) {
	all, lines := make([]series, len(ways)), make([]lines, len(ways))
	for i := range lines {
		defer lines[i].close()
	}
	for turn := range turns + 1 { // the first one warms up
		for i, w := range ways {
			l := load{dial: dial, lines: &lines[i], address: w.address, callers: callers, For: b.For / turns, status: 200, request: func(int) []byte { return w.request }}
			before, err := used(w.pids)
			if err != nil {
				return nil, err
			}
			r, err := l.run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			after, err := used(w.pids)
			if err != nil {
				return nil, err
			}
			if turn == 0 {
				continue
			}
			all[i].results = append(all[i].results, r)
			if len(w.pids) > 0 {
				all[i].costs = append(all[i].costs, (after-before)/time.Duration(max(r.total, 1)))
			}
		}
	}
	return all, nil
}

// of is the median of what the turns of two series have to each other.
func (s series) of(other series, value func(series, int) float64) string {
	ratios := make([]float64, len(s.results))
	for i := range ratios {
		ratios[i] = value(s, i) / value(other, i)
	}
	return fmt.Sprintf("%.2f", median(ratios))
}

func rateIn(s series, turn int) float64 { return s.results[turn].rate() }

// percentileIn is a percentile of each turn.
func percentileIn(p float64) func(series, int) float64 {
	return func(s series, turn int) float64 { return s.results[turn].percentile(p).Seconds() }
}

func costIn(s series, turn int) float64 { return s.costs[turn].Seconds() }

// cost is the median of the costs, empty where there are none.
func (s series) cost() string {
	if len(s.costs) == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f µs", float64(slices.Sorted(slices.Values(s.costs))[len(s.costs)/2].Nanoseconds())/1000)
}

// used is the processor time that processes have used, as precisely as their threads tell it.
func used(pids []int) (total time.Duration, err error) {
	for _, pid := range pids {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil || len(threads) == 0 {
			return 0, fmt.Errorf("process %d has no threads: %w", pid, err)
		}
		for _, t := range threads {
			b, err := os.ReadFile(t)
			if err != nil {
				continue // it has ended
			}
			first, _, _ := bytes.Cut(b, []byte(" "))
			n, err := strconv.ParseInt(string(first), 10, 64)
			if err != nil {
				return 0, err
			}
			total += time.Duration(n)
		}
	}
	return total, nil
}
