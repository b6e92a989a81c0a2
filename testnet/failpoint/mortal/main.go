// Mortal is an agent that kills itself at a failpoint (testnet/failpoint), and an application for it.
//
//	mortal agent --config FILE         runs the agent; it dies at the point that the file FILE.point names
//	mortal application --listen ADDR   runs the application (see application.go)
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/skerry/skerry/cmd/agent"
	"github.com/skerry/skerry/testnet/failpoint"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if len(os.Args) < 2 {
		return fmt.Errorf("usage: %s agent|application", filepath.Base(os.Args[0]))
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	config := flags.String("config", "", "the site's configuration")
	listen := flags.String("listen", "", "where the application listens")
	if err := flags.Parse(os.Args[2:]); err != nil {
		return err
	}
	if os.Args[1] == "application" {
		return serve(ctx, *listen)
	}
	cfg, err := agent.Load(*config)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: cfg.Log.Level}))
	d := &doom{file: *config + ".point"}
	return agent.RunBetween(ctx, cfg, "mortal", log, failpoint.Hit(d.hit))
}

// doom is where and when the agent dies: its file says "POINT N", for the Nth time that the point is reached since the file
// is there. The file goes when the agent does.
type doom struct {
	file string
	mu   sync.Mutex // guards reached
	// reached counts for the text that the file had.
	text    string
	reached int
}

func (d *doom) hit(p failpoint.Point) error {
	b, err := os.ReadFile(d.file)
	if err != nil {
		return nil // none is set
	}
	name, count, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	if name != string(p) {
		return nil
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return nil // it is being written
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text != string(b) {
		d.text, d.reached = string(b), 0
	}
	if d.reached++; d.reached < n {
		return nil
	}
	if err := os.Remove(d.file); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "dies at", p)
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return err
	}
	select {} // until the signal is there
}
