package agent

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sync/errgroup"

	"github.com/skerry/skerry/web/auth"
)

// drain is how long requests under way may take to finish when the agent stops.
const drain = 10 * time.Second

// Run serves until ctx ends, or another process has taken over. What clients are waiting for ends first, the network after it, the store last.
func (a *Agent) Run(ctx context.Context) error {
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	below, broken := errgroup.WithContext(inner)
	below.Go(func() error { return a.network.Run(inner) })
	below.Go(func() error { return a.core.Run(inner) })

	var logged sync.WaitGroup
	logging, endLog := context.WithCancel(context.WithoutCancel(ctx))
	defer endLog()
	if a.accessLog != nil {
		logged.Go(func() { a.accessLog.Run(logging) })
	}

	if a.shut == nil {
		a.openDoors(ctx)
	}
	fronts, served := errgroup.WithContext(ctx)
	fronts.Go(func() error { return a.server.Serve(served, a.api) })
	if a.probes != nil {
		fronts.Go(func() error { return a.serve(served, a.server.API().Probes(), a.probes) })
	}
	fronts.Go(func() error { return a.servePeers(served) })
	for name, e := range a.entrances {
		e.Open(a.handlers[name])
	}
	for _, r := range a.refreshers {
		fronts.Go(func() error { return r.run(served) })
	}
	herald := &herald{a.server.API(), a.core.Mesh, a.log, time.Now}
	fronts.Go(func() error { return herald.run(served) })
	fronts.Go(func() error { return a.watched(served) })
	fronts.Go(func() error {
		select {
		case <-broken.Done():
			return errors.New("the engine or the network has stopped")
		case <-served.Done():
			return nil
		}
	})
	var leaving sync.WaitGroup
	fronts.Go(func() error {
		err := a.renew(served)
		if errors.Is(err, errSucceeded) {
			leaving.Go(func() { a.leave(ctx) })
		}
		return err
	})
	fronts.Go(func() error { return a.closeDoors(served) })
	a.ready.set(nil)
	a.tellManager(daemon.SdNotifyReady)
	a.log.Info("agent is up", "api", a.cfg.API.URL(), "peer", string(a.core.Mesh.Self()), "mesh", a.core.Mesh.MeshID())
	if a.life.Opens != nil && !a.guard.NeedsLogin() {
		if secret, _, err := a.guard.Link(); err == nil {
			a.life.Opens(a.cfg.API.URL() + auth.OncePath + secret)
		}
	}
	err := fronts.Wait()
	a.ready.set(errors.New("the agent is stopping"))
	leaving.Wait()
	if a.after == nil {
		a.tellManager(daemon.SdNotifyStopping)
	} else if errors.Is(err, errSucceeded) {
		err = nil
	}
	stop()
	err = errors.Join(err, below.Wait())
	if a.after != nil {
		err = errors.Join(err, a.letGo(), a.linger(ctx))
	}
	endLog()
	logged.Wait()
	err = errors.Join(err, a.close())
	if err == nil {
		a.log.Info("agent has stopped")
	}
	return err
}

// tellManager tells what has started the agent how far it is, if that wants to know (sd_notify(3)).
func (a *Agent) tellManager(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		a.log.Warn("tell the service manager", "state", state, "err", err)
	}
}

// close ends what New has opened, in the reverse order.
func (a *Agent) close() error {
	var errs []error
	if a.shut != nil {
		a.shut()
		_ = a.letIn.Wait() // whoever waits for it has told
	}
	for _, l := range a.listeners {
		l.Close()
	}
	for _, l := range []net.Listener{a.api, a.probes} {
		if l != nil {
			l.Close()
		}
	}
	errs = append(errs, a.closeNetwork())
	if a.client != nil {
		a.client.CloseIdle()
	}
	if a.accessLog != nil {
		errs = append(errs, a.accessLog.Close())
	}
	errs = append(errs, a.closeStore(), a.closeTraces())
	for _, line := range []*control{a.inherited.before, a.after} {
		if line != nil {
			line.conn.Close()
		}
	}
	a.hearing.Wait()
	return errors.Join(errs...)
}

func (a *Agent) closeNetwork() error {
	if a.network == nil || a.let {
		return nil
	}
	return a.network.Close()
}

func (a *Agent) closeStore() error {
	if a.store == nil {
		return nil
	}
	return a.store.Close()
}
