package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/door"
	"github.com/skerry/skerry/web/intercept"
)

// openEntrances makes what stands in for the handlers until the store is there.
func (a *Agent) openEntrances() error {
	for name := range a.listeners {
		client, err := NewClient(a.cfg, a.catalog, a.log)
		if err != nil {
			return err
		}
		a.entrances[name] = intercept.NewEntrance(intercept.Config{Service: name, Client: client, Meter: a.meter, Tracer: a.tracer, Correlations: a.correlations,
			Believes: a.believes(name), Proxies: a.cfg.Services[name].TrustedProxies, Log: a.log})
	}
	return nil
}

func (a *Agent) doorLimits() door.Limits {
	l := a.cfg.Limits
	return door.Limits{Head: int(l.Head), HeadTimeout: l.HeadTimeout, Idle: l.Idle, AnswerTimeout: l.AnswerTimeout, Drain: drain}
}

// servePeers answers other sites' agents until ctx ends.
func (a *Agent) servePeers(ctx context.Context) error {
	limits := a.doorLimits()
	limits.Head += addedHead
	d := intercept.PeersDoor(a.core.Mesh, a.handlers, a.server.Peers(), limits, a.log)
	if err := d.Serve(ctx, a.network.Listener()); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serve other sites: %w", err)
	}
	return nil
}

// addedHead is how much longer heads are than those of clients: agents add to what a client has sent.
const addedHead = 64 << 10

// openDoors lets clients in.
func (a *Agent) openDoors(ctx context.Context) {
	ctx, a.shut = context.WithCancel(ctx)
	letIn, failed := errgroup.WithContext(ctx)
	a.letIn, a.failed = letIn, failed.Done()
	limits := a.doorLimits()
	for name := range a.listeners {
		if e := a.entrances[name]; e != nil {
			a.doors[name] = e.Door(limits)
		} else {
			a.doors[name] = a.handlers[name].Door(limits)
		}
	}
	for name, listener := range a.listeners {
		d := a.doors[name]
		letIn.Go(func() error {
			if err := d.Serve(ctx, listener); err != nil {
				return fmt.Errorf("serve service %s: %w", name, err)
			}
			return nil
		})
	}
}

// giveWay has a client of a service give its connection up that keeps others waiting.
func (a *Agent) giveWay() bool { return door.GiveWay(maps.Values(a.doors)) }

// gaveWay is how many clients of the services have had to.
func (a *Agent) gaveWay() (n uint64) {
	for _, d := range a.doors {
		n += d.GaveWay()
	}
	return n
}

// closeDoors lets requests under way finish, once ctx has ended or a door has, unless another process has taken over.
func (a *Agent) closeDoors(ctx context.Context) error {
	select {
	case <-a.failed:
	case <-ctx.Done():
	}
	if errors.Is(context.Cause(ctx), errSucceeded) {
		return nil
	}
	a.shut()
	return a.letIn.Wait()
}

// serve answers other sites, or probes, on l with h until ctx ends, and lets requests under way finish.
func (a *Agent) serve(ctx context.Context, h http.Handler, l net.Listener) error {
	limits := a.cfg.Limits
	err := web.Attend(ctx, &http.Server{Handler: h, ReadHeaderTimeout: limits.HeadTimeout, IdleTimeout: limits.Idle, MaxHeaderBytes: int(limits.Head),
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)}, l)
	if err != nil {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}
