package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"syscall"

	siteagent "github.com/skerry/skerry/cmd/agent"
)

type agentCommand struct {
	Config  string `required:"" placeholder:"FILE" help:"The site's configuration."`
	StandBy bool   `name:"standby" help:"Wait until no other agent uses the data directory, then serve."`
}

func (agentCommand) Help() string {
	return `Runs until SIGTERM or SIGINT comes, lets requests under way finish, and exits with 0.
The log goes to standard error. On a terminal, and where nobody has an account, it prints a link that opens the page.

On SIGHUP it starts itself anew, with the program and the configuration as they are now. The new process takes over the listeners and the
clients, and this one ends when what it has under way has. Where the new one does not come up, the log says why and this one goes on.

Examples:

    skerry agent --config paris.yaml
    skerry agent --config paris.yaml --standby`
}

func (c agentCommand) Run(ctx context.Context, p *program) error {
	renew := make(chan os.Signal, 1)
	signal.Notify(renew, syscall.SIGHUP)
	defer signal.Stop(renew)
	inherited, err := siteagent.Inherit()
	if err != nil {
		return err
	}
	cfg, err := siteagent.Load(c.Config)
	if err != nil {
		return listProblems(err)
	}
	level := &slog.LevelVar{}
	level.Set(cfg.Log.Level)
	life := siteagent.Life{Inherited: inherited, Renew: renew, Successor: again, StandBy: c.StandBy, LogLevel: level}
	if _, terminal := screenOf(p.out, os.Getenv); terminal { // and in no log, which others may read
		life.Opens = func(link string) { fmt.Fprintln(p.out, opens(link)) }
	}
	return listProblems(siteagent.Run(ctx, cfg, ownVersion(), newLog(p.errs, level, cfg.Log.JSON), life))
}

// opens says what a link is for.
func opens(link string) string {
	return "This link opens the page in any browser on this machine, once, within ten minutes: " + link
}

// again runs the same command with the program that is in this one's place now.
func again() *exec.Cmd {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	return exec.Command(program, os.Args[1:]...)
}

func newLog(w io.Writer, level slog.Leveler, json bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if json {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func ownVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionOf(info).Version
}
