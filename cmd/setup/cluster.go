package setup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/kubernetes"
	"github.com/skerry/skerry/web/shape"
)

const clusterCatalog = `# A cluster of Kubernetes, which tells its kinds itself. The same file at every site.
application: kubernetes
services:
  cluster:
    glue: kubernetes
`

// accountCommands make an account in a cluster, and a token of it, for an agent.
const accountCommands = `make an account for the agent, and give init its token (docs/kubernetes.md says what it has to be allowed):
    kubectl create serviceaccount skerry -n kube-system
    kubectl create token skerry -n kube-system --duration 8760h > agent-token
    skerry init … --agent-token agent-token`

// FromKubeconfig has the cluster of a context (empty: the current one). The agent's account there is the one of o.Token: that of a person
// is not lent to other sites.
func FromKubeconfig(path, at string, o Options) (Front, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Front{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return Front{}, err
	}
	config, err := kubernetes.ParseKubeconfig(b, folder)
	if err != nil {
		return Front{}, fmt.Errorf("%s: %w", path, err)
	}
	c, err := config.Cluster(at)
	if err != nil {
		return Front{}, fmt.Errorf("%s: %w", path, err)
	}
	if o.Token == "" {
		return Front{}, errors.New("the agent needs an account of its own in the cluster, whose rights are what other sites may do here: " + accountCommands)
	}
	f := Front{Catalog: []byte(clusterCatalog), Files: map[string][]byte{}, Told: []string{fmt.Sprintf("the cluster of %s in %s", c.Context, path)}}
	s := Service{Name: "cluster", Upstream: c.Server, CA: orElse(o.CA, c.CAFile), Token: o.Token, TLS: true}
	if s.CA == "" && len(c.CA) > 0 {
		s.CA = "cluster-ca.pem"
		f.Files[s.CA] = c.CA
	}
	f.Services = []Service{s}
	f.Next = []string{"clients trust the agent's listener by listener.pem: skerry kubeconfig --listener-ca listener.pem > through-skerry"}
	return f, nil
}

// With has the cluster be the one service of a catalog that is there already, the one of the other sites.
func (f Front) With(path string, text []byte) (Front, error) {
	c, err := glue.ParseCatalog(path, text)
	if err != nil {
		return Front{}, err
	}
	for name, s := range c.Services {
		if len(c.Services) > 1 || s.Glue != glue.GlueKubernetes {
			return Front{}, fmt.Errorf("the catalog %s is not that of a cluster alone: give --upstream for each service of it, and no --kubeconfig", path)
		}
		f.Services[0].Name = name
	}
	f.Catalog, f.Given = text, true
	return f, nil
}

// askCluster wants a cluster to tell its kinds to the agent's account.
func (f *Front) askCluster(ctx context.Context, s Service, u *url.URL, t *http.Transport) (told string, err error) {
	kinds, err := kubernetes.Discover(ctx, kubernetes.Source{Service: s.Name, URL: u, Transport: t,
		Credentials: func() (http.Header, error) { return f.credentials(s) }})
	if err != nil {
		return "", fmt.Errorf("it does not tell its kinds; see whether it runs and the token is good, or add --offline: %w", err)
	}
	return " with " + shape.Count(len(kinds), "kind", "kinds"), nil
}
