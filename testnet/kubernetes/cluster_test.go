//go:build kubernetes

package kubernetes

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
)

// Where things listen at every site, each of which is a host of its own.
const (
	etcdPort = 9801
	apiPort  = 6443
)

// catalog is all that there is to say of the application.
const catalog = `application: edge
services:
  cluster:
    glue: kubernetes
`

// Tokens of a user and of the agent. Both may do everything.
const userToken, agentToken = "token-of-a-user", "token-of-the-agent"

// start runs etcd and kube-apiserver until it is told to stop.
const start = `set -eu
cd "$1"
setpriv --pdeathsig KILL etcd --data-dir etcd --listen-client-urls http://127.0.0.1:%[1]d --advertise-client-urls http://127.0.0.1:%[1]d \
	--listen-peer-urls http://127.0.0.1:9802 --initial-advertise-peer-urls http://127.0.0.1:9802 --initial-cluster default=http://127.0.0.1:9802 \
	--unsafe-no-fsync --log-level error &
etcd=$!
setpriv --pdeathsig KILL "$2" --etcd-servers=http://127.0.0.1:%[1]d --bind-address=127.0.0.1 --advertise-address=127.0.0.1 --secure-port=%[2]d \
	--tls-cert-file=server.pem --tls-private-key-file=server.key --cert-dir=certs \
	--service-account-issuer=https://kubernetes.default.svc --service-account-key-file=server.pem --service-account-signing-key-file=server.key \
	--service-cluster-ip-range=10.96.0.0/16 --token-auth-file=tokens.csv --disable-admission-plugins=ServiceAccount \
	--endpoint-reconciler-type=none --authorization-mode=ABAC --authorization-policy-file=policy.jsonl &
api=$!
trap 'kill $api; wait $api || true; kill $etcd; wait $etcd || true; exit 0' TERM
wait $api
kill $etcd
exit 1
`

// clusters is an application of one Kubernetes cluster a site, made of the programs in a folder.
func clusters(programs string) env.Application {
	return env.Application{
		Catalog:  []byte(catalog),
		Services: map[string]int{"cluster": etcdPort}, // whose health is asked for first
		Health:   "/health",
		Command: func(dir string) []string {
			return []string{"sh", "-c", fmt.Sprintf(start, etcdPort, apiPort), "cluster", dir, filepath.Join(programs, "kube-apiserver")}
		},
		Ready: ready,
	}
}

// furnish writes what a cluster and its agent's listener need.
func furnish(dir string) error {
	cert, key, err := certificate()
	if err != nil {
		return err
	}
	for name, content := range map[string]string{
		"server.pem": cert, "server.key": key, "agent.token": agentToken + "\n",
		"tokens.csv":   userToken + ",user,1\n" + agentToken + ",skerry,2\n",
		"policy.jsonl": policy("user") + policy("skerry") + policy("system:apiserver"),
		"direct.yaml":  kubeconfig(fmt.Sprintf("https://127.0.0.1:%d", apiPort), filepath.Join(dir, "server.pem")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func policy(user string) string {
	return `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"` + user +
		`","namespace":"*","resource":"*","apiGroup":"*","nonResourcePath":"*"}}` + "\n"
}

// kubeconfig is that of the user.
func kubeconfig(server, ca string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}],
users: [{name: u, user: {token: %q}}],
contexts: [{name: c, context: {cluster: c, user: u}}]}
`, server, ca, userToken)
}

// certificate makes one for loopback that is its own authority.
func certificate() (cert, key string, err error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "edge"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, k.Public(), k)
	if err != nil {
		return "", "", err
	}
	b, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return "", "", err
	}
	encode := func(what string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: what, Bytes: b}))
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", b), nil
}

// ready waits until the API server serves, with the namespace default in it.
func ready(ctx context.Context, s *env.Site) error {
	transport := s.HTTP().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // it is asked whether it is there
	defer transport.CloseIdleConnections()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/api/v1/namespaces/default", apiPort), nil)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+userToken)
		resp, err := transport.RoundTrip(r)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server is not ready: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// site is a site as its user sees it.
type site struct {
	*testing.T
	*env.Site
	kubectl string
}

// sites makes an environment of one cluster a site.
func sites(t *testing.T, names ...string) (*env.Env, []*site) {
	t.Helper()
	e := env.New(t, env.Setup{Program: program, Sites: names, Application: clusters(programs), Before: furnish, Prepare: func(s *env.Site) error {
		c, dir := &s.Config().Services[0], s.Config().Dir
		c.Upstream, c.UpstreamCA = fmt.Sprintf("https://127.0.0.1:%d", apiPort), filepath.Join(dir, "server.pem")
		c.Token, c.TLS = filepath.Join(dir, "agent.token"), [2]string{filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")}
		return nil
	}})
	var all []*site
	for _, name := range names {
		s := &site{t, e.Site(name), filepath.Join(programs, "kubectl")}
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

// direct asks the site's own cluster, past the agent.
func (s *site) direct(args ...string) (string, error) {
	s.Helper()
	return s.run("direct.yaml", "", append([]string{s.kubectl}, args...)...)
}

// object returns what the site's own cluster has; nil where it has nothing of the name.
func (s *site) object(args ...string) map[string]any {
	s.Helper()
	out, err := s.direct(append(append([]string{"get"}, args...), "-o", "json")...)
	if err != nil && strings.Contains(err.Error(), "NotFound") {
		return nil
	}
	if err != nil {
		s.Fatal(err)
	}
	var o map[string]any
	if err := json.Unmarshal([]byte(out), &o); err != nil {
		s.Fatal(err)
	}
	return o
}
