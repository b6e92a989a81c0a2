package agent

import (
	"context"
	"log/slog"

	"github.com/skerry/skerry/engine"
)

// Between stands between the engine and its ports: it returns each port as the engine is to see it. Tests let agents die
// there.
type Between interface {
	Store(engine.Store, engine.SiteID) engine.Store
	Blobs(engine.Blobs) engine.Blobs
	Spools(engine.Spools) engine.Spools
	Application(engine.Application) engine.Application
	Network(engine.Network) engine.Network
	Forwarder(engine.Forwarder) engine.Forwarder
}

// RunBetween is Run with something between the engine and its ports.
func RunBetween(ctx context.Context, cfg Config, version string, log *slog.Logger, b Between) error {
	a, err := newAgent(ctx, cfg, version, log, b, Life{})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// nothing is between the engine and its ports.
type nothing struct{}

func (nothing) Store(s engine.Store, _ engine.SiteID) engine.Store  { return s }
func (nothing) Blobs(b engine.Blobs) engine.Blobs                   { return b }
func (nothing) Spools(s engine.Spools) engine.Spools                { return s }
func (nothing) Application(a engine.Application) engine.Application { return a }
func (nothing) Network(n engine.Network) engine.Network             { return n }
func (nothing) Forwarder(f engine.Forwarder) engine.Forwarder       { return f }
