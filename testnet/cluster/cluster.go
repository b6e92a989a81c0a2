package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/skerry/skerry/glue/kubernetes"
)

// Catalog is all that there is to say of the application.
//
//go:embed catalog.yaml
var Catalog []byte

// Service is what the catalog calls it.
const Service = "cluster"

// UserToken is that of a user, who may do everything.
const UserToken = "token-of-a-user"

// Dora is a user, one of the Tenants, who may do what roles in the cluster say; DoraToken is her token.
const (
	Dora      = "dora"
	Tenants   = "tenants"
	DoraToken = "token-of-dora"
)

// Tokens of the agent, the controllers and the nodes, who may do the same.
const (
	agentToken       = "token-of-the-agent"
	controllersToken = "token-of-the-controllers"
	nodesToken       = "token-of-the-nodes"
)

//go:embed start.sh
var start string

// Cluster is one cluster, which listens on loopback.
type Cluster struct {
	// Dir holds all that it writes.
	Dir string
	// Programs is the folder of kube-apiserver and the others.
	Programs string
	// API, Etcd and Peer are the ports of the API server, of etcd for it, and of etcd for itself.
	API, Etcd, Peer int
	// Controllers has kube-controller-manager run, which makes the pods of a deployment, and pods get accounts as in any cluster.
	// Without it objects stay as they are made.
	Controllers bool
}

// Ports are those of a cluster that is alone on its host.
func Ports(dir, programs string) *Cluster {
	return &Cluster{Dir: dir, Programs: programs, API: 6443, Etcd: 9801, Peer: 9802}
}

// URL is where its API is served.
func (c *Cluster) URL() string { return fmt.Sprintf("https://127.0.0.1:%d", c.API) }

// CA is the file with the certificate of its API server, which is its own authority; Key that with its key. An agent in front of it
// listens with the same.
func (c *Cluster) CA() string { return filepath.Join(c.Dir, "server.pem") }

// Key is described at CA.
func (c *Cluster) Key() string { return filepath.Join(c.Dir, "server.key") }

// AgentToken is the file with the agent's token.
func (c *Cluster) AgentToken() string { return filepath.Join(c.Dir, "agent.token") }

// Kubeconfig is that of the user, past every agent.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.Dir, "direct.yaml") }

// ClientCA is the file with the authority of clients that show a certificate, Front those of the certificate and the key by which the API
// server believes an agent who asks.
func (c *Cluster) ClientCA() string { return c.file("clients.pem") }

// Front is described at ClientCA.
func (c *Cluster) Front() [2]string { return [2]string{c.file("front.pem"), c.file("front.key")} }

// Certified is the kubeconfig of a user who shows a certificate, past every agent: Anna, who is one of the developers and may do what
// they may; and Carol, who may find out what there is.
func (c *Cluster) Certified(user string) string { return c.file(user + ".yaml") }

// Developers are the group of Anna. Who shows a token of the agent's that reads, may read.
const (
	Anna       = "anna"
	Carol      = "carol"
	Developers = "developers"
)

// Furnish writes what it needs, unless it is there from an earlier start.
func (c *Cluster) Furnish() error {
	if _, err := os.Stat(c.Kubeconfig()); err == nil {
		return nil
	}
	server, err := authority("edge")
	if err != nil {
		return err
	}
	cert, key := server.pem()
	if err := c.furnishClients(); err != nil {
		return err
	}
	for _, f := range []struct{ path, content string }{
		{c.CA(), cert}, {c.Key(), key}, {c.AgentToken(), agentToken + "\n"},
		{c.file("tokens.csv"), UserToken + ",user,1\n" + agentToken + ",skerry,2\n" + controllersToken + ",controllers,3\n" + nodesToken + ",nodes,4\n" + DoraToken + "," + Dora + ",5," + Tenants + "\n"},
		{c.file("policy.jsonl"), policy("user") + policy("skerry") + policy("controllers") + policy("nodes") + policy("system:apiserver") +
			policyOf(`"group":"`+Developers+`"`) + policyOf(`"group":"skerry:viewer","readonly":true`) +
			`{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"` + Carol + `","nonResourcePath":"*","readonly":true}}` + "\n"},
		{c.file("controllers.yaml"), c.kubeconfig(controllersToken)},
		{c.Kubeconfig(), c.kubeconfig(UserToken)}, // the last: what it stands for is there
	} {
		if err := os.WriteFile(f.path, []byte(f.content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) file(name string) string { return filepath.Join(c.Dir, name) }

// furnishClients writes what has to do with certificates of clients.
func (c *Cluster) furnishClients() error {
	clients, err := authority("clients")
	if err != nil {
		return err
	}
	fronts, err := authority("fronts")
	if err != nil {
		return err
	}
	front, err := fronts.client("front-proxy")
	if err != nil {
		return err
	}
	ca, _ := clients.pem()
	frontCA, _ := fronts.pem()
	cert, key := front.pem()
	files := map[string]string{c.ClientCA(): ca, c.file("fronts.pem"): frontCA, c.Front()[0]: cert, c.Front()[1]: key}
	for user, groups := range map[string][]string{Anna: {Developers}, Carol: nil} {
		pair, err := clients.client(user, groups...)
		if err != nil {
			return err
		}
		cert, key := pair.pem()
		files[c.Certified(user)] = c.kubeconfigOf(fmt.Sprintf("{client-certificate-data: %q, client-key-data: %q}",
			base64.StdEncoding.EncodeToString([]byte(cert)), base64.StdEncoding.EncodeToString([]byte(key))))
	}
	for path, content := range files {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func policy(user string) string { return policyOf(`"user":"` + user + `"`) }

func policyOf(who string) string {
	return `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{` + who +
		`,"namespace":"*","resource":"*","apiGroup":"*","nonResourcePath":"*"}}` + "\n"
}

func (c *Cluster) kubeconfig(token string) string {
	return c.kubeconfigOf(fmt.Sprintf("{token: %q}", token))
}

func (c *Cluster) kubeconfigOf(user string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}],
users: [{name: u, user: %s}],
contexts: [{name: c, context: {cluster: c, user: u}}]}
`, c.URL(), c.CA(), user)
}

// Command is what runs it until it is told to stop with SIGTERM.
func (c *Cluster) Command() []string {
	controllers := ""
	if c.Controllers {
		controllers = filepath.Join(c.Programs, "kube-controller-manager")
	}
	return []string{"sh", "-c", start, "cluster", c.Dir, filepath.Join(c.Programs, "kube-apiserver"), controllers,
		strconv.Itoa(c.API), strconv.Itoa(c.Etcd), strconv.Itoa(c.Peer)}
}

// Health is what etcd answers once it serves.
func (c *Cluster) Health() string { return fmt.Sprintf("http://127.0.0.1:%d/health", c.Etcd) }

// Through returns the kubeconfig of the user through an agent that listens there with the certificate of the cluster.
func (c *Cluster) Through(listen string) ([]byte, error) {
	direct, err := os.ReadFile(c.Kubeconfig())
	if err != nil {
		return nil, err
	}
	config, err := kubernetes.ParseKubeconfig(direct, c.Dir)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(c.CA())
	if err != nil {
		return nil, err
	}
	through, _, err := config.Through("", Service, "https://"+listen, "", ca)
	if err != nil {
		return nil, err
	}
	return through.YAML()
}

// Transport reaches the API server, and an agent that listens with its certificate, the way that base reaches its host.
func (c *Cluster) Transport(base *http.Transport) (*http.Transport, error) {
	pem, err := os.ReadFile(c.CA())
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", c.CA())
	}
	t := base.Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: roots}
	return t, nil
}

// Ready waits until the API server says that it is ready, and has made what a new cluster begins with: the namespace default, the service of its own
// API and, where controllers run, an account. It gives up when ctx ends or ended returns an error. Base reaches the host of the cluster.
func (c *Cluster) Ready(ctx context.Context, base *http.Transport, ended func() error) error {
	transport, err := c.Transport(base)
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	const namespace = "/api/v1/namespaces/default"
	needs := []string{"/readyz", namespace, namespace + "/services/kubernetes"}
	if c.Controllers {
		needs = append(needs, namespace+"/serviceaccounts/default", namespace+"/configmaps/kube-root-ca.crt")
	}
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL()+needs[0], nil)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+UserToken)
		resp, err := transport.RoundTrip(r)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				if needs = needs[1:]; len(needs) == 0 {
					return nil
				}
				continue
			}
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		if gone := ended(); gone != nil {
			return gone
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("the API server is not ready"), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
