package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/kubernetes"
)

// discovering bounds how long a cluster may take to tell its kinds.
const discovering = 20 * time.Second

// discover asks the services whose catalog lists no kinds for them. What they told last is kept, for starts at which they do not
// answer: a site whose cluster is down takes part in the mesh all the same.
func (a *Agent) discover(ctx context.Context) error {
	for name, s := range a.catalog.Services {
		if s.Glue != glue.GlueKubernetes {
			continue
		}
		kept := filepath.Join(a.cfg.DataDir, "kinds-"+string(name)+".json")
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

func (a *Agent) askKinds(ctx context.Context, name engine.ServiceName) ([]*engine.Kind, error) {
	ctx, cancel := context.WithTimeout(ctx, discovering)
	defer cancel()
	u, err := upstream(name, a.cfg.Services[name])
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: u.TLS}
	defer transport.CloseIdleConnections()
	return kubernetes.Discover(ctx, kubernetes.Source{Service: name, URL: u.URL, Transport: transport, Credentials: u.Credentials})
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
