package main

import (
	"context"
	"io"
	"log/slog"
	"runtime/debug"

	siteagent "github.com/skerry/skerry/cmd/agent"
)

type agentCommand struct {
	Config string `required:"" placeholder:"FILE" help:"The site's configuration."`
}

func (agentCommand) Help() string {
	return `Runs until SIGTERM or SIGINT comes, lets requests under way finish, and exits with 0.
The log goes to standard error.

Examples:

    skerry agent --config paris.yaml`
}

func (c agentCommand) Run(ctx context.Context, p *program) error {
	cfg, err := siteagent.Load(c.Config)
	if err != nil {
		return listProblems(err)
	}
	return listProblems(siteagent.Run(ctx, cfg, ownVersion(), newLog(p.errs, cfg.Log)))
}

func newLog(w io.Writer, l siteagent.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: l.Level}
	if l.JSON {
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
