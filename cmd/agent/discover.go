package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/kubernetes"
)

// discovering bounds how long a cluster may take to tell its kinds.
const discovering = time.Minute

// discover asks the services whose catalog lists no kinds for them. What they told last is kept, for starts at which they do not
// answer: a site whose cluster is down takes part in the mesh all the same.
func (a *Agent) discover(ctx context.Context) error {
	for name, s := range a.catalog.Services {
		if s.Glue != glue.GlueKubernetes {
			continue
		}
		kept := a.keptKinds(name)
		a.refreshers[name] = &refresher{agent: a, name: name, poked: make(chan struct{}, 1)}
		kinds, err := a.askKinds(ctx, name)
		if err == nil {
			err = keepKinds(kept, kinds)
			if err != nil {
				return fmt.Errorf("keep the kinds of service %s: %w", name, err)
			}
		} else {
			known, lost := keptKinds(kept)
			if lost != nil {
				return fmt.Errorf("find out the kinds of service %s: %w", name, err)
			}
			a.log.Warn("a service does not tell its kinds: those count that it had when the agent last started", "service", string(name), "err", err)
			kinds = known
		}
		s.Kinds, s.Rules = kinds, kubernetes.Rules(kinds)
		a.log.Info("kinds are known", "service", string(name), "kinds", len(kinds))
	}
	return nil
}

func (a *Agent) askKinds(ctx context.Context, name engine.ServiceName) (kinds []*engine.Kind, err error) {
	err = a.withSource(ctx, name, func(ctx context.Context, s kubernetes.Source) error {
		kinds, err = kubernetes.Discover(ctx, s)
		return err
	})
	return kinds, err
}

func (a *Agent) withSource(ctx context.Context, name engine.ServiceName, do func(context.Context, kubernetes.Source) error) error {
	ctx, cancel := context.WithTimeout(ctx, discovering)
	defer cancel()
	u, err := upstream(name, a.cfg.Services[name], a.log)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: u.TLS}
	defer transport.CloseIdleConnections()
	return do(ctx, kubernetes.Source{Service: name, URL: u.URL, Transport: transport, Credentials: u.Credentials})
}

const (
	// discoverEvery is how often a cluster is asked whether it has got kinds, discoverAgain how often at most because of requests.
	discoverEvery = 30 * time.Second
	discoverAgain = time.Second
	// discoverWait is how long a request waits for a kind that is being defined.
	discoverWait = 10 * time.Second
)

// refresher finds out which kinds a cluster has got since the agent was started, as custom resources are defined.
type refresher struct {
	agent *Agent
	name  engine.ServiceName
	// poked has it look soon; it holds one such wish.
	poked chan struct{}
	mu    sync.Mutex // held while it looks
	// Last is when it has looked, untold whether there was a kind then that the cluster did not tell all of. They are owned by who holds mu.
	last   time.Time
	untold bool
}

// poke has it look soon: there may be something to find.
func (r *refresher) poke() {
	select {
	case r.poked <- struct{}{}:
	default: // it is going to
	}
}

// seek is for a request that names a kind which nobody knows. One that was defined a moment ago is waited for, as long as the cluster serves it
// and does not tell yet what it looks like: a client that is past the agent can use it by then. It reports whether there is a new kind.
func (r *refresher) seek(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, discoverWait)
	defer cancel()
	for {
		news, untold := r.look(ctx)
		if news || !untold {
			return news
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(discoverAgain / 4):
		}
	}
}

// look asks the cluster, and reports whether there is a new kind. Untold says that there may be one all the same: the cluster does not tell all of it
// yet, or was asked a moment ago and is left alone.
func (r *refresher) look(ctx context.Context) (found, untold bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.untold && time.Since(r.last) < discoverAgain {
		return false, true
	}
	found = r.ask(ctx)
	r.last = time.Now()
	return found, r.untold
}

// ask asks the cluster. It is called with mu held.
func (r *refresher) ask(ctx context.Context) bool {
	a := r.agent
	var news []*engine.Kind
	err := a.withSource(ctx, r.name, func(ctx context.Context, s kubernetes.Source) (err error) {
		news, r.untold, err = kubernetes.DiscoverMore(ctx, s, func(k engine.KindName) bool { return a.client.Kind(r.name, k) != nil })
		return err
	})
	if err != nil {
		a.log.Debug("a service does not tell its kinds", "service", string(r.name), "err", err)
	}
	if err != nil || len(news) == 0 {
		return false
	}
	ctx = context.WithoutCancel(ctx) // from here on it is done as a whole
	a.catalog.Learn(r.name, kubernetes.Rules(news))
	if err := a.core.Learn(ctx, news); err != nil {
		a.log.Error("new kinds were not taken in", "service", string(r.name), "err", err)
		return false
	}
	a.client.Learn(r.name, news)
	if err := keepKinds(a.keptKinds(r.name), a.client.Kinds(r.name)); err != nil {
		a.log.Error("keep the kinds", "service", string(r.name), "err", err)
	}
	for _, k := range news {
		a.log.Info("a kind is known from now on", "service", string(r.name), "kind", string(k.Name))
	}
	return true
}

// run looks from time to time, and when it is poked, until ctx ends.
func (r *refresher) run(ctx context.Context) error {
	every := time.NewTicker(discoverEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		case <-r.poked:
			r.mu.Lock()
			wait := time.Until(r.last.Add(discoverAgain))
			r.mu.Unlock()
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
			}
		}
		r.look(ctx)
	}
}

// keptKinds is the file in which the kinds of a service are kept.
func (a *Agent) keptKinds(name engine.ServiceName) string {
	return filepath.Join(a.cfg.DataDir, "kinds-"+string(name)+".json")
}

// keepKinds writes them whole or not at all.
func keepKinds(path string, kinds []*engine.Kind) error {
	b, err := json.Marshal(kinds)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func keptKinds(path string) ([]*engine.Kind, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var kinds []*engine.Kind
	if err := json.Unmarshal(b, &kinds); err != nil {
		return nil, err
	}
	if len(kinds) == 0 {
		return nil, errors.New("no kinds")
	}
	for _, k := range kinds { // it is no rule, so that it is not written
		k.Label = kubernetes.Label
	}
	return kinds, nil
}
