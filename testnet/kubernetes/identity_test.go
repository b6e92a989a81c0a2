//go:build kubernetes

package kubernetes

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/cluster"
)

// TestCertificates: a client that shows a certificate, or a token of the agent's own, is who it is for the cluster behind the agent too. Site2
// takes site1's word for it, and site1 nobody's.
func TestCertificates(t *testing.T) {
	t.Parallel()
	e, all := certified(t)
	for _, s := range all {
		for _, user := range []string{cluster.Anna, cluster.Carol} {
			s.write(user+"-agent.yaml", s.skerry("kubeconfig", "--from", s.file(user+".yaml"), "--listener-ca", s.file("server.pem")))
		}
	}
	one, two := all[0], all[1]

	direct, through := one.whoami(cluster.Anna+".yaml"), one.whoami(cluster.Anna+"-agent.yaml")
	if through["username"] != cluster.Anna || !reflect.DeepEqual(direct, through) {
		t.Errorf("past the agent the user is %v, through it %v", direct, through)
	}
	if _, err := one.run("carol-agent.yaml", "", one.kubectl, "get", "pods"); err == nil || !strings.Contains(err.Error(), `User "carol" cannot list`) {
		t.Errorf("carol: %v", err)
	}
	if _, err := one.run("carol-agent.yaml", "", one.kubectl, "get", "pods", "--as", "anna"); err == nil || !strings.Contains(err.Error(), `User "carol" cannot impersonate`) {
		t.Errorf("carol as anna: %v", err)
	}

	// What she makes at both sites, site2's agent makes in its own name.
	if _, err := one.run("anna-agent.yaml", configMap("annas", "a", "b"), program, "--api", "http://"+one.Config().API, "exec", "--scope", both, "--service", "cluster", "--",
		one.kubectl, "create", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	e.Eventually(t, within, "both sites have the config map", func() error {
		if one.object("configmap", "annas") == nil || two.object("configmap", "annas") == nil {
			return errors.New("it is not there")
		}
		return nil
	})
	if operations := one.skerry("operations", "-o", "json"); !strings.Contains(operations, `"user": "anna"`) {
		t.Errorf("the operations are %s", operations)
	}

	// A site that does not take another's word says so.
	for _, c := range []struct {
		at      *site
		scope   string
		refused bool
	}{{one, "site2", false}, {two, "site1", true}} {
		out, err := c.at.run("anna-agent.yaml", "", program, "--api", "http://"+c.at.Config().API, "exec", "--scope", c.scope, "--service", "cluster", "--",
			c.at.kubectl, "get", "--raw", "/api/v1/namespaces/default/configmaps")
		if c.refused != (err != nil) || c.refused && !strings.Contains(err.Error(), "does not take the word of "+c.at.Name()) || !c.refused && !strings.Contains(out, "annas") {
			t.Errorf("%s at %s: %s, %v", c.scope, c.at.Name(), out, err)
		}
	}

	// A token of the agent's own.
	token := strings.TrimSpace(one.skerry("tokens", "add", "ci", "--role", "viewer", "-q"))
	bearer := []string{one.kubectl, "--server", "https://" + one.Config().Services[0].Listen, "--certificate-authority", one.file("server.pem"), "--token", token}
	if out, err := one.run("none.yaml", "", append(bearer, "get", "configmap", "annas")...); err != nil || !strings.Contains(out, "annas") {
		t.Errorf("with a token: %s, %v", out, err)
	}
	if _, err := one.run("none.yaml", "", append(bearer, "delete", "configmap", "annas")...); err == nil || !strings.Contains(err.Error(), `User "skerry:token:ci" cannot delete`) {
		t.Errorf("with a token that reads: %v", err)
	}

	// Nobody is who they say they are.
	transport, err := clusterIn(one.Config().Dir, false).Transport(one.HTTP().Transport.(*http.Transport))
	if err != nil {
		t.Fatal(err)
	}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+one.Config().Services[0].Listen+"/api/v1/namespaces/default/secrets", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"X-Remote-User": {"anna"}, "X-Remote-Group": {"system:masters"}, "Connection": {"close"}}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("who says that they are anna gets %d", resp.StatusCode)
	}
}

// whoami is the user that the cluster takes the holder of a kubeconfig for.
func (s *site) whoami(config string) map[string]any {
	s.Helper()
	out, err := s.run(config, "", s.kubectl, "auth", "whoami", "-o", "json")
	if err != nil {
		s.Fatal(err)
	}
	var review struct {
		Status struct{ UserInfo map[string]any }
	}
	if err := json.Unmarshal([]byte(out), &review); err != nil {
		s.Fatal(err)
	}
	return review.Status.UserInfo
}
