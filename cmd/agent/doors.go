package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"

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
		a.entrances[name] = intercept.NewEntrance(intercept.Config{Service: name, Client: client, Meter: a.meter, Correlations: a.correlations,
			Believes: a.believes(name), Proxies: a.cfg.Services[name].TrustedProxies, Log: a.log})
	}
	return nil
}

// openDoors lets clients in.
func (a *Agent) openDoors(ctx context.Context) {
	ctx, a.shut = context.WithCancel(ctx)
	letIn, failed := errgroup.WithContext(ctx)
	a.letIn, a.failed = letIn, failed.Done()
	l := a.cfg.Limits
	limits := door.Limits{Head: int(l.Head), HeadTimeout: l.HeadTimeout, Idle: l.Idle, AnswerTimeout: l.AnswerTimeout, Drain: drain}
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
	head := limits.Head + 64<<10 // agents add to what a client has sent
	server := &http.Server{Handler: h, ReadHeaderTimeout: limits.HeadTimeout, IdleTimeout: limits.Idle, MaxHeaderBytes: int(head),
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(late); err != nil {
		server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}
