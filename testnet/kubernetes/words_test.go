//go:build kubernetes

package kubernetes

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/cluster"
)

// shop is a namespace with what lies in it, in one file.
func shop(name string) string {
	return strings.ReplaceAll(`{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"NS"}},
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"NS"},"data":{"a":"b"}},
{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"NS"},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"web"}},
"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"registry.example/web:1"}]}}}}]}`, "NS", name)
}

// wants runs kubectl with a scope and compares what it says, on standard error too where it fails.
func (s *site) wants(scope, input string, want string, args ...string) {
	s.Helper()
	out, err := s.try(scope, input, args...)
	if err != nil {
		out += err.Error()
	}
	if !strings.Contains(out, want) {
		s.Errorf("%s, scope %q, kubectl %s: %s\nwant %s", s.Name(), scope, strings.Join(args, " "), out, want)
	}
}

// TestWordsOfTheCluster: what happens with a scope is told as without one.
func TestWordsOfTheCluster(t *testing.T) {
	t.Parallel()
	e, all := working(t, "site1", "site2")
	one, two := all[0], all[1]

	// What is not there is not found.
	for _, scope := range []string{"", both, "site2", "sync(site1 & site2)"} {
		one.wants(scope, "", `Error from server (NotFound): configmaps "none" not found`, "delete", "configmap", "none")
		one.wants(scope, "", `Error from server (NotFound): configmaps "none" not found`, "patch", "configmap", "none", "--type=merge", "-p", `{"data":{"a":"b"}}`)
	}

	// Questions are answered by the scope's site.
	if _, err := two.direct("create", "serviceaccount", "robot"); err != nil {
		t.Fatal(err)
	}
	for _, scope := range []string{both, "site2", "site1 % site2", "site2 | site1", "sync(site1 & site2)"} {
		one.wants(scope, "", "yes", "auth", "can-i", "create", "pods")
		one.wants(scope, "", "user", "auth", "whoami")
	}
	one.wants("site2", "", "eyJ", "create", "token", "robot")

	// Who may see one cluster's objects and not the other's is told so.
	one.kube(both, "create", "configmap", "seen", "--from-literal=a=b")
	for _, args := range [][]string{{"create", "role", "maps", "--verb=get,list", "--resource=configmaps"}, {"create", "rolebinding", "maps", "--role=maps", "--user=" + cluster.Dora}} {
		if _, err := one.direct(args...); err != nil {
			t.Fatal(err)
		}
	}
	e.Eventually(t, within, "the cluster lets her", func() error {
		_, err := one.direct("--token", cluster.DoraToken, "get", "configmaps")
		return err
	})
	one.write("dora.yaml", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "https://%s", certificate-authority: %q}}],
users: [{name: u, user: {token: %s}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`, one.Config().Services[0].Listen, one.file("server.pem"), cluster.DoraToken))
	out, err := one.run("dora.yaml", "", "sh", "-c", `"$@" 2>&1`, "sh", program, "--api", "http://"+one.Config().API, "exec", "--scope", both, "--service", "cluster", "--",
		one.kubectl, "get", "configmaps")
	if err != nil || !strings.Contains(out, "site2 has answered 403 Forbidden") || strings.Contains(out, "cannot be reached") || row(out, "seen") == nil {
		t.Errorf("dora reads %s, %v", out, err)
	}

	// A server-side apply that the schema refuses is refused, and holds nothing up.
	wrong := strings.Replace(configMap("wrong", "a", "b"), `"data"`, `"bogus":1,"data"`, 1)
	for _, scope := range []string{both, "site2"} {
		one.wants(scope, wrong, "Error from server: failed to create typed patch object (default/wrong; /v1, Kind=ConfigMap): .bogus: field not declared in schema",
			"apply", "--server-side", "-f", "-")
		one.wants(scope, "", "configmap/wrong created", "create", "configmap", "wrong", "--from-literal=a=b")
		one.kube(scope, "delete", "configmap", "wrong")
	}

	// An owner in one cluster is none in another.
	owned := strings.Replace(configMap("owned", "a", "b"), `"name"`, `"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"seen","uid":"1"}],"name"`, 1)
	one.write("owned.json", owned)
	out, err = one.run("agent.yaml.kube", "", "sh", "-c", `"$@" 2>&1`, "sh", program, "--api", "http://"+one.Config().API, "exec", "--scope", both, "--service", "cluster", "--",
		one.kubectl, "create", "-f", one.file("owned.json"))
	if err != nil || !strings.Contains(out, "Warning: metadata.ownerReferences") {
		t.Errorf("with an owner: %s, %v", out, err)
	}

	// A namespace and what lies in it are deleted in one run.
	for i, s := range all {
		name := fmt.Sprint("shop", i)
		if out, err := s.try(both, shop(name), "create", "-f", "-"); err != nil {
			t.Fatal(out, err)
		}
		for _, s := range all {
			has(e, s, "the deployment", nil, "deployment", "web", "-n", name)
		}
		scope := []string{"", both}[i]
		for _, want := range []string{`deployment.apps "web" deleted`} {
			s.wants(scope, shop(name), want, "delete", "-f", "-")
		}
		for _, s := range all {
			e.Eventually(t, within, s.Name()+" has no namespace "+name, func() error {
				if s.object("namespace", name) != nil {
					return errors.New("it has")
				}
				return nil
			})
		}
	}

	// A kind that one cluster has got is known there at once, and does not keep others from agreeing.
	if out, err := one.run("direct.yaml", widgets, one.kubectl, "create", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	e.Eventually(t, within, "the API of site1 has widgets", func() error {
		_, err := one.direct("get", "widgets")
		return err
	})
	one.wants(both, `{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1}}`, "widget.example.org/w created", "create", "-f", "-")
	one.wants("sync(site1 & site2)", configMap("agreed", "a", "b"), "configmap/agreed created", "apply", "-f", "-")
	one.wants("sync(site1 & site2)", "", "agreed", "get", "configmap", "agreed")
}

// TestWhatClustersAssign: ports, tokens and addresses are each cluster's own, and no drift; the order of init containers is one.
func TestWhatClustersAssign(t *testing.T) {
	t.Parallel()
	e, all := working(t, "site1", "site2")
	one, two := all[0], all[1]
	const manifest = `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"v1","kind":"Service","metadata":{"name":"np"},"spec":{"type":"NodePort","selector":{"app":"web"},"ports":[{"port":80,"name":"a"},{"port":81,"name":"b"}]}},
{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"robot"}},
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"token","annotations":{"kubernetes.io/service-account.name":"robot"}},"type":"kubernetes.io/service-account-token"}]}`
	if out, err := one.try(both, manifest, "apply", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	init := func(names ...string) string {
		list := ""
		for _, n := range names {
			list += fmt.Sprintf(`,{"name":%q,"image":"registry.example/x"}`, n)
		}
		return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},
"template":{"metadata":{"labels":{"app":"web"}},"spec":{"initContainers":[%s],"containers":[{"name":"web","image":"registry.example/web:1"}]}}}}`, list[1:])
	}
	if out, err := one.try(both, init("wait-db", "seed"), "create", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	has(e, two, "the deployment", nil, "deployment", "web")
	converged(t, e, all)
	tokens := map[any]bool{}
	for _, s := range all {
		has(e, s, "a token", func(o map[string]any) error {
			if at(o, "data", "token") == nil {
				return errors.New("nobody has filled it in")
			}
			return nil
		}, "secret", "token")
		tokens[at(s.object("secret", "token"), "data", "token")] = true
	}
	if len(tokens) != 2 {
		t.Error("the sites have one token")
	}

	two.Cut(t)
	apart(t, e, all)
	if out, err := one.try("", init("wait-db", "migrate", "seed"), "replace", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	if out, err := two.try("", init("wait-db", "seed", "warm"), "replace", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	two.Heal(t)
	names := func(o map[string]any) (names []string) {
		list, _ := at(o, "spec", "template", "spec", "initContainers").([]any)
		for _, c := range list {
			names = append(names, fmt.Sprint(at(c, "name")))
		}
		return names
	}
	for _, s := range all {
		has(e, s, "all init containers in their order", func(o map[string]any) error {
			if got := names(o); !reflect.DeepEqual(got, []string{"wait-db", "migrate", "seed", "warm"}) {
				return fmt.Errorf("it runs %v", got)
			}
			return nil
		}, "deployment", "web")
	}
	converged(t, e, all)
}
