//go:build kubernetes

package kubernetes

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/cluster"
	"github.com/skerry/skerry/testnet/env"
)

// etcdPort is where etcd listens at each host.
const etcdPort = 9801

// clusters is an application of one Kubernetes cluster a site.
func clusters(controllers bool) env.Application {
	return env.Application{
		Catalog:  cluster.Catalog,
		Services: map[string]int{cluster.Service: etcdPort}, // its health is asked for first
		Health:   "/health",
		Command:  func(dir string) []string { return clusterIn(dir, controllers).Command() },
		Ready: func(ctx context.Context, s *env.Site) error {
			return clusterIn(s.Config().Dir, controllers).Ready(ctx, s.HTTP().Transport.(*http.Transport), s.ApplicationEnded)
		},
	}
}

// clusterIn is the cluster of a site, which is a host of its own.
func clusterIn(dir string, controllers bool) *cluster.Cluster {
	c := cluster.Ports(dir, programs)
	c.Controllers = controllers
	return c
}

// site is a site as its user sees it.
type site struct {
	*testing.T
	*env.Site
	kubectl string
	// past reaches the site's own cluster, and resources are what that has told to serve.
	past      *http.Transport
	resources []resource
}

// sites makes an environment of one cluster a site.
func sites(t *testing.T, names ...string) (*env.Env, []*site) {
	t.Helper()
	return openWith(t, false, func(*env.Site) {}, names...)
}

// working makes one in which controllers make pods of deployments, and pods run.
func working(t *testing.T, names ...string) (*env.Env, []*site) {
	t.Helper()
	return workingWith(t, func(*env.Site) {}, names...)
}

func workingWith(t *testing.T, configure func(*env.Site), names ...string) (*env.Env, []*site) {
	t.Helper()
	e, all := openWith(t, true, configure, names...)
	for _, s := range all {
		nodes := &cluster.Nodes{Cluster: clusterIn(s.Config().Dir, true), Base: s.HTTP().Transport.(*http.Transport), Log: slog.New(slog.DiscardHandler)}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- nodes.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	return e, all
}

// certified makes one whose agents tell their clusters whose certificate a client has shown; site2 also takes site1's word for it.
func certified(t *testing.T) (*env.Env, []*site) {
	t.Helper()
	return openWith(t, false, func(s *env.Site) {
		c, at := clusterIn(s.Config().Dir, false), &s.Config().Services[0]
		at.ClientCA, at.Front = c.ClientCA(), c.Front()
		if s.Name() == "site2" {
			at.FrontSites = []string{"site1"}
		}
	}, "site1", "site2")
}

// looking has agents look more often: an object that is not found for 240 times that long, a minute at most, is gone.
func looking(s *env.Site) { s.Config().Extra += "looks: {after: 50ms}\n" }

func openWith(t *testing.T, controllers bool, configure func(*env.Site), names ...string) (*env.Env, []*site) {
	t.Helper()
	furnish := func(dir string) error { return clusterIn(dir, controllers).Furnish() }
	e := opened(t, controllers, env.Setup{Program: program, Sites: names, Application: clusters(controllers), Before: furnish, Prepare: func(s *env.Site) error {
		c, at := clusterIn(s.Config().Dir, controllers), &s.Config().Services[0]
		at.Upstream, at.UpstreamCA, at.Token, at.TLS = c.URL(), c.CA(), c.AgentToken(), [2]string{c.CA(), c.Key()}
		configure(s)
		return nil
	}})
	var all []*site
	for _, name := range names {
		s := &site{T: t, Site: e.Site(name), kubectl: filepath.Join(programs, "kubectl")}
		var err error
		if s.past, err = clusterIn(s.Config().Dir, controllers).Transport(s.HTTP().Transport.(*http.Transport)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.past.CloseIdleConnections)
		all = append(all, s)
		s.write("agent.yaml.kube", s.skerry("kubeconfig", "--from", s.file("direct.yaml"), "--listener-ca", s.file("server.pem")))
	}
	return e, all
}

func (s *site) file(name string) string { return filepath.Join(s.Config().Dir, name) }

func (s *site) write(name, content string) {
	s.Helper()
	if err := os.WriteFile(s.file(name), []byte(content), 0o600); err != nil {
		s.Fatal(err)
	}
}

// run runs a command at the site; what it says on standard error is part of the error.
func (s *site) run(config, input string, argv ...string) (string, error) {
	s.Helper()
	argv = s.Host().Command(argv...)
	cmd := exec.CommandContext(s.Context(), argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.file(config), "HOME="+s.Config().Dir)
	cmd.Stdin = strings.NewReader(input)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s%s", strings.Join(argv, " "), err, out, errs.String())
	}
	return string(out), nil
}

func (s *site) skerry(args ...string) string {
	s.Helper()
	out, err := s.run("direct.yaml", "", append([]string{program, "--api", "http://" + s.Config().API}, args...)...)
	if err != nil {
		s.Fatal(err)
	}
	return out
}

// kube runs kubectl through the agent with a scope, empty for none, as skerry exec does it.
func (s *site) try(scope, input string, args ...string) (string, error) {
	s.Helper()
	argv := append([]string{s.kubectl}, args...)
	if scope != "" {
		argv = append([]string{program, "--api", "http://" + s.Config().API, "exec", "--scope", scope, "--service", "cluster", "--"}, argv...)
	}
	return s.run("agent.yaml.kube", input, argv...)
}

func (s *site) kube(scope string, args ...string) string {
	s.Helper()
	out, err := s.try(scope, "", args...)
	if err != nil {
		s.Fatal(err)
	}
	return out
}

// warned is what kubectl says beside its output.
func (s *site) warned(args ...string) string {
	s.Helper()
	out, err := s.run("agent.yaml.kube", "", append([]string{"sh", "-c", `"$@" 2>&1 >/dev/null`, "sh", s.kubectl}, args...)...)
	if err != nil {
		s.Fatal(err)
	}
	return out
}

// direct asks the site's own cluster, past the agent.
func (s *site) direct(args ...string) (string, error) {
	s.Helper()
	return s.run("direct.yaml", "", append([]string{s.kubectl}, args...)...)
}
