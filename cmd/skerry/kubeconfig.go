package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/kubernetes"
	"github.com/skerry/skerry/web/client"
)

type kubeconfigCommand struct {
	From    string `type:"existingfile" placeholder:"FILE" help:"Whose user it has (default: KUBECONFIG, else ~/.kube/config)."`
	Context string `placeholder:"NAME" help:"The context there (default: the current one)."`
	Service string `placeholder:"NAME" help:"The service, where the application has several clusters."`
	Scope   string `placeholder:"SCOPE" help:"A scope that every request is to have."`
	CA      string `name:"listener-ca" type:"existingfile" placeholder:"FILE" help:"The authority, in PEM, that has signed the certificate of the service's listener (default: the system's)."`
}

func (kubeconfigCommand) Help() string {
	return `Prints a kubeconfig with which kubectl and other clients reach this site's cluster through its agent. The user, and the
namespace, are those of a kubeconfig that reaches the cluster itself; the cluster goes on checking who asks. It has to be a user
with a token, unless the service has a front_proxy: TLS ends at the agent, which tells the cluster then whose certificate it was.

Examples:

    skerry kubeconfig --listener-ca agent-ca.pem > through-skerry
    KUBECONFIG=through-skerry kubectl get pods
    skerry kubeconfig --listener-ca agent-ca.pem --scope 'paris & nantes' > both`
}

func (c *kubeconfigCommand) Run(ctx context.Context, p *program) error {
	s, err := c.cluster(ctx, p)
	if err != nil {
		return err
	}
	server := s.URL
	if c.Scope != "" {
		text, err := (&execCommand{Scope: c.Scope, Service: s.Name}).checked(ctx, p)
		if err != nil {
			return err
		}
		server += scopePrefix(text)
	}
	from := c.From
	if from == "" {
		from = kubeconfigs(p.environ())[0]
	}
	config, err := readKubeconfig(from)
	if err != nil {
		return err
	}
	var ca []byte
	if c.CA != "" {
		if ca, err = os.ReadFile(c.CA); err != nil {
			return err
		}
	}
	through, token, err := config.Through(c.Context, s.Name, server, s.certified(), ca)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if !token && !s.Certificates {
		return fmt.Errorf("%s: the user has a certificate and no token; a certificate does not come to the cluster through this agent: "+
			"use a user with a token (kubectl create token), or give the service a front_proxy (docs/kubernetes.md)", from)
	}
	b, err := through.YAML()
	if err != nil {
		return err
	}
	_, err = p.out.Write(b)
	return err
}

// cluster finds the service that is a cluster.
func (c *kubeconfigCommand) cluster(ctx context.Context, p *program) (service, error) {
	services, err := servicesHere(ctx, p)
	if err != nil {
		return service{}, err
	}
	var clusters []service
	for _, s := range services {
		if s.Glue == glue.GlueKubernetes && (c.Service == "" || c.Service == s.Name) {
			clusters = append(clusters, s)
		}
	}
	switch {
	case len(clusters) == 1:
		return clusters[0], nil
	case len(clusters) > 1:
		return service{}, usagef("this site has several clusters; name one with --service")
	case c.Service != "":
		return service{}, usagef("there is no service %q at this site that is a cluster", c.Service)
	}
	return service{}, usagef("no service of this site is a cluster (glue: kubernetes in the catalog)")
}

// certified is whom the certificate of the service's listener is for, empty where that is its address.
func (s *service) certified() string {
	if u, err := url.Parse(s.URL); err == nil && strings.EqualFold(u.Hostname(), s.ServerName) {
		return ""
	}
	return s.ServerName
}

// servicesHere lists this site's services, at addresses that this program can reach.
func servicesHere(ctx context.Context, p *program) ([]service, error) {
	b, err := p.api.Get(ctx, "/services", nil)
	if err != nil {
		return nil, err
	}
	services, err := client.Decode[[]service](b)
	if err != nil {
		return nil, err
	}
	for i := range services {
		if services[i].URL, services[i].everywhere, err = reachedAt(services[i].URL, p.api.Base()); err != nil {
			return nil, err
		}
	}
	return services, nil
}

// scopePrefix is the beginning of a path that carries a scope.
func scopePrefix(text string) string { return "/~scope/" + url.PathEscape(text) }

// kubeconfigs lists the files that kubectl would read.
func kubeconfigs(env []string) []string {
	home := ""
	for _, e := range env {
		if files, ok := strings.CutPrefix(e, "KUBECONFIG="); ok && files != "" {
			return filepath.SplitList(files)
		}
		if h, ok := strings.CutPrefix(e, "HOME="); ok {
			home = h
		}
	}
	return []string{filepath.Join(home, ".kube", "config")}
}

func readKubeconfig(path string) (*kubernetes.Kubeconfig, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	c, err := kubernetes.ParseKubeconfig(b, folder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// scopedKubeconfigs writes copies of the configurations that kubectl would read, in which the addresses of these clusters carry a scope, and
// returns what KUBECONFIG is to be, empty where no configuration names one. Remove ends the copies.
func scopedKubeconfigs(env []string, services []service, text string, x *scopeProxy) (list string, remove func(), err error) {
	remove = func() {}
	services = slices.DeleteFunc(slices.Clone(services), func(s service) bool { return s.Glue != glue.GlueKubernetes })
	if len(services) == 0 {
		return "", remove, nil
	}
	clusters, err := newListeners(x.running, services)
	if err != nil {
		return "", remove, err
	}
	var files []string
	var changed []*kubernetes.Kubeconfig
	found := false
	for _, file := range kubeconfigs(env) {
		c, err := readKubeconfig(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return "", remove, err
		}
		// The proxy of the environment would show a certificate that these clients, which know their clusters' authorities, do not trust: they
		// are told of it where their users have tokens. What shows certificates passes as it is.
		meant := func(server string) bool {
			u, err := url.Parse(server)
			return err == nil && u.Scheme == "https" && clusters.has(x.running, hostPort(u))
		}
		if x.stand != nil {
			if err := c.Stand(x.scoped, x.stand.authority, meant, x.trusts); err != nil {
				return "", remove, fmt.Errorf("%s: %w", file, err)
			}
		}
		proxied := c.Proxy(x.tunnels, meant)
		moved := c.Servers(func(server string) string {
			u, err := url.Parse(server)
			if err != nil || !clusters.has(x.running, hostPort(u)) || strings.Contains(server, "/~scope/") {
				return server
			}
			return strings.TrimSuffix(server, "/") + scopePrefix(text)
		})
		found = found || moved || proxied || x.reaches != nil
		changed = append(changed, c)
	}
	if !found {
		return "", remove, nil
	}
	dir, err := os.MkdirTemp("", "skerry-exec-")
	if err != nil {
		return "", remove, err
	}
	remove = func() { os.RemoveAll(dir) }
	for i, c := range changed {
		b, err := c.YAML()
		if err != nil {
			continue // an empty one says nothing
		}
		file := filepath.Join(dir, fmt.Sprintf("config-%d", i))
		if err := os.WriteFile(file, b, 0o600); err != nil {
			remove()
			return "", func() {}, err
		}
		files = append(files, file)
	}
	return strings.Join(files, string(filepath.ListSeparator)), remove, nil
}
