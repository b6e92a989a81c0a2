package demo

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/skerry/skerry/testnet/cluster"
)

//go:embed walkthrough-kubernetes.txt
var walkKubernetes string

var appOfKubernetes = &application{
	name:     appKubernetes,
	catalog:  cluster.Catalog,
	services: []string{cluster.Service},
	beside:   []string{"etcd", "etcd's peers"},
	furnish: func(_ context.Context, _ string, members []*member) error {
		programs, err := findPrograms()
		if err != nil {
			return err
		}
		for _, m := range members {
			m.programs = programs
			if err := m.furnishCluster(); err != nil {
				return fmt.Errorf("make the cluster of %s: %w", m.config.Name, err)
			}
		}
		return nil
	},
	command: func(m *member) []string { return m.cluster().Command() },
	ready: func(ctx context.Context, m *member) error {
		return m.cluster().Ready(ctx, http.DefaultTransport.(*http.Transport), m.app.Ended)
	},
	alongside: func(ctx context.Context, m *member) error {
		return (&cluster.Nodes{Cluster: m.cluster(), Base: http.DefaultTransport.(*http.Transport), Log: slog.New(slog.DiscardHandler)}).Run(ctx)
	},
	starting:    5 * time.Minute, // on a machine that is busy with other things
	walkthrough: walkKubernetes,
	alone: step{"Ask for the namespaces: without a scope a request goes to the cluster as it is.",
		"KUBECONFIG={{kubeconfig .A}} {{programs}}/kubectl get namespaces"},
}

// findPrograms returns the folder of Kubernetes' programs: the one of this program, or one of the path.
func findPrograms() (string, error) {
	for _, name := range []string{"etcd", "setpriv"} {
		if _, err := exec.LookPath(name); err != nil {
			return "", fmt.Errorf("%s is missing: install the Debian packages etcd-server and util-linux", name)
		}
	}
	var folders []string
	if self, err := os.Executable(); err == nil {
		folders = append(folders, filepath.Dir(self))
	}
	for _, folder := range append(folders, filepath.SplitList(os.Getenv("PATH"))...) {
		missing := false
		for _, name := range cluster.Programs {
			info, err := os.Stat(filepath.Join(folder, name))
			missing = missing || err != nil || info.IsDir()
		}
		if !missing {
			return filepath.Abs(folder)
		}
	}
	return "", fmt.Errorf("no folder of the path has all of %v: make demo ARGS=\"--app kubernetes\" builds them", cluster.Programs)
}

// cluster is the site's own.
func (m *member) cluster() *cluster.Cluster {
	return &cluster.Cluster{Dir: filepath.Join(m.config.Dir, "cluster"), Programs: m.programs, API: m.ports[0], Etcd: m.ports[1], Peer: m.ports[2],
		Controllers: true}
}

// kubeconfig is the file with which kubectl asks the site's cluster through the agent.
func (m *member) kubeconfig() string { return filepath.Join(m.config.Dir, "kubeconfig") }

// furnishCluster writes what the cluster, its agent and its user need.
func (m *member) furnishCluster() error {
	c, s := m.cluster(), &m.config.Services[0]
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	if err := c.Furnish(); err != nil {
		return err
	}
	s.Upstream, s.UpstreamCA, s.Token, s.TLS = c.URL(), c.CA(), c.AgentToken(), [2]string{c.CA(), c.Key()}
	b, err := c.Through(s.Listen)
	if err != nil {
		return err
	}
	return os.WriteFile(m.kubeconfig(), b, 0o600)
}
