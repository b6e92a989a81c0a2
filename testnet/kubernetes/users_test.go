//go:build kubernetes

package kubernetes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/cluster"
	"github.com/skerry/skerry/testnet/env"
)

// TestWithTheRightsOfUsers: site2 does what site1 asks for with the rights that its own cluster gives to who asked there, by name or group:
// its agent, who may do everything, impersonates her.
func TestWithTheRightsOfUsers(t *testing.T) {
	t.Parallel()
	e, all := openWith(t, false, func(s *env.Site) {
		if s.Name() == "site2" {
			s.Config().Extra += "accept: [{from: site1, as: user}]\n"
		}
	}, "site1", "site2")
	one, two := all[0], all[1]
	one.write("dora.yaml", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: "https://%s", certificate-authority: %q}}],
users: [{name: u, user: {token: %s}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`,
		one.Config().Services[0].Listen, one.file("server.pem"), cluster.DoraToken))
	grant := func(s *site, to string) {
		t.Helper()
		for _, args := range [][]string{
			{"create", "role", "maps", "--verb=get,create,update,patch,delete", "--resource=configmaps"},
			{"create", "rolebinding", "maps", "--role=maps", to},
		} {
			if _, err := s.direct(args...); err != nil {
				t.Fatal(err)
			}
		}
		// The API server hears of roles a moment later, those included by which users find out what there is.
		e.Eventually(t, within, "the cluster of "+s.Name()+" lets her", func() error {
			_, err := s.direct("--token", cluster.DoraToken, "create", "configmap", "doras-try", "--dry-run=server")
			return err
		})
	}
	grant(one, "--user="+cluster.Dora)
	create := func(name string) {
		t.Helper()
		if _, err := one.run("dora.yaml", configMap(name, "a", "b"), program, "--api", "http://"+one.Config().API, "exec", "--scope", both, "--service", "cluster", "--",
			one.kubectl, "create", "-f", "-"); err != nil {
			t.Fatal(err)
		}
	}
	create("doras")
	e.Eventually(t, within, "the cluster of site2 refuses it to her", func() error {
		if out := two.skerry("operations", "-o", "json"); !strings.Contains(out, `User \"dora\" cannot create resource`) && !strings.Contains(out, `User \\\"dora\\\" cannot create resource`) {
			return errors.New(out)
		}
		return nil
	})
	if two.object("configmap", "doras") != nil {
		t.Error("it is there all the same")
	}
	out := two.skerry("operations", "-o", "json")
	if !strings.Contains(out, `"user": "dora"`) || !strings.Contains(out, `"as": "user"`) {
		t.Errorf("site2 tells %s", out)
	}

	// As one of the tenants she may by now.
	grant(two, "--group="+cluster.Tenants)
	create("more")
	e.Eventually(t, within, "site2 has made it for her", func() error {
		if two.object("configmap", "more") == nil {
			return errors.New("it is not there")
		}
		return nil
	})
}
