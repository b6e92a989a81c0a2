package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// report prints the table as it grows, in Markdown.
type report struct {
	out io.Writer
}

func (r *report) machine() {
	cpu := "unknown processor"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	fmt.Fprintf(r.out, "%s, %d cores for everything, %s, %s\n", cpu, runtime.NumCPU(), runtime.Version(), time.Now().UTC().Format(time.DateOnly))
	var load float64
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(b), &load) // without it there is nothing to warn of
	}
	if load > float64(runtime.NumCPU())/2 {
		fmt.Fprintf(r.out, "warning: the load average is %.1f before anything is measured; somebody else uses this machine\n", load)
	}
}

// table begins a table.
func (r *report) table(title string, columns ...string) {
	fmt.Fprintf(r.out, "\n%s\n\n", title)
	r.row(columns...)
	r.row(strings.Split(strings.Repeat("---,", len(columns)-1)+"---", ",")...)
}

func (r *report) row(cells ...string) { fmt.Fprintln(r.out, "| "+strings.Join(cells, " | ")+" |") }

// ms, us and perSecond show what they are named after.
func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
func us(d time.Duration) string { return fmt.Sprintf("%.0f µs", float64(d.Nanoseconds())/1000) }
func perSecond(f float64) string {
	return fmt.Sprintf("%.0f/s", f)
}

// mib shows a size in bytes.
func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
