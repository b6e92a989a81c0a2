//go:build kubernetes

package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/cluster"
	"github.com/skerry/skerry/testnet/env"
)

// tenancy lets the tenants work in their namespace, as an administrator does it, and nowhere else.
const tenancy = `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}},
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"tenants","namespace":"shop"},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"tenant"},
"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"tenants"}]},
{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"tenant"},"rules":[
{"apiGroups":["","apps","batch","networking.k8s.io","autoscaling"],"verbs":["*"],
"resources":["pods","services","serviceaccounts","secrets","configmaps","persistentvolumeclaims","deployments","deployments/scale","replicasets","statefulsets","jobs","ingresses","horizontalpodautoscalers"]}]}]}`

// tenant is a site as one of the tenants sees it.
type tenant struct{ *site }

// tenants have a namespace in each cluster, in which roles let them work.
func tenants(t *testing.T, e *env.Env, all []*site) (list []tenant) {
	t.Helper()
	if out, err := all[0].try(both, tenancy, "create", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	for _, s := range all {
		list = append(list, s.tenant(e))
	}
	return list
}

// tenant is the site as one of the tenants sees it, once its cluster lets her in.
func (s *site) tenant(e *env.Env) tenant {
	s.Helper()
	s.write("dora.yaml", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "https://%s", certificate-authority: %q}}],
users: [{name: u, user: {token: %s}}], contexts: [{name: c, context: {cluster: c, user: u, namespace: shop}}]}`, s.Config().Services[0].Listen, s.file("server.pem"), cluster.DoraToken))
	e.Eventually(s.T, within, "the cluster of "+s.Name()+" lets her", func() error {
		_, err := s.direct("--token", cluster.DoraToken, "get", "secrets", "-n", "shop")
		return err
	})
	return tenant{s}
}

// runs runs a program through the agent with a scope, empty for none, and returns what it prints.
func (n tenant) runs(scope, input string, argv ...string) string {
	n.Helper()
	if scope != "" {
		argv = append([]string{program, "--api", "http://" + n.Config().API, "exec", "--scope", scope, "--service", "cluster", "--"}, argv...)
	}
	out, err := n.run("dora.yaml", input, argv...)
	if err != nil {
		n.Fatal(err)
	}
	return out
}

// helm runs Helm.
func (n tenant) helm(scope string, args ...string) string {
	n.Helper()
	return n.runs(scope, "", append([]string{filepath.Join(helm, "helm")}, args...)...)
}

// assigned are fields of metadata that each cluster writes.
var assigned = []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "ownerReferences"}

// holds is what a cluster has of some kinds in the namespace of the tenants, less what each cluster assigns and what controllers have made of it.
func (n tenant) holds(kinds string) map[string]any {
	n.Helper()
	list, _ := at(n.object(kinds, "-n", "shop"), "items").([]any)
	all := map[string]any{}
	for _, o := range list {
		meta, _ := at(o, "metadata").(map[string]any)
		name := fmt.Sprint(at(o, "kind"), "/", meta["name"])
		if meta["ownerReferences"] != nil || name == "ConfigMap/kube-root-ca.crt" || name == "ServiceAccount/default" {
			continue
		}
		for _, field := range assigned {
			delete(meta, field)
		}
		notes, _ := meta["annotations"].(map[string]any)
		delete(notes, "deployment.kubernetes.io/revision") // each controller counts
		if spec, _ := at(o, "spec").(map[string]any); spec != nil {
			for _, field := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
				delete(spec, field)
			}
			ports, _ := spec["ports"].([]any)
			for _, port := range ports {
				delete(port.(map[string]any), "nodePort")
			}
		}
		delete(o.(map[string]any), "status")
		all[name] = o
	}
	return all
}

// alike waits until direct clients of both clusters are shown the same, and returns that.
func alike(t *testing.T, e *env.Env, list []tenant, kinds string) (same map[string]any) {
	t.Helper()
	e.Eventually(t, within, "direct clients are shown the same", func() error {
		one, two := list[0].holds(kinds), list[1].holds(kinds)
		for name := range two {
			if one[name] == nil {
				return errors.New("only site2 has " + name)
			}
		}
		for name, o := range one {
			if !reflect.DeepEqual(o, two[name]) {
				a, _ := json.Marshal(o)
				b, _ := json.Marshal(two[name])
				return fmt.Errorf("%s is\n%s\n%s", name, a, b)
			}
		}
		same = one
		return nil
	})
	return same
}

// TestHelm: a chart, as "helm create" makes it, is installed at two sites at once by somebody who may work in one namespace. It is upgraded
// at each, on both sides of a cut too, rolled back and uninstalled; releases and objects stay the same.
func TestHelm(t *testing.T) {
	t.Parallel()
	e, all := working(t, "site1", "site2")
	list := tenants(t, e, all)
	one, two := list[0], list[1]
	chart := filepath.Join(one.Config().Dir, "web")
	if err := os.RemoveAll(chart); err != nil { // of another test with this cluster
		t.Fatal(err)
	}
	one.runs("", "", filepath.Join(helm, "helm"), "create", chart)
	const kinds = "deployments,services,serviceaccounts,secrets,ingresses,horizontalpodautoscalers,configmaps"
	revisions := func(want ...string) {
		t.Helper()
		for _, n := range list {
			out := n.helm("", "history", "web", "-o", "json")
			var got []struct {
				Revision int
				Status   string
			}
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatal(out, err)
			}
			var all []string
			for _, r := range got {
				all = append(all, fmt.Sprint(r.Revision, " ", r.Status))
			}
			if !reflect.DeepEqual(all, want) {
				t.Errorf("%s has the releases %q, want %q", n.Name(), all, want)
			}
		}
	}
	deployment := func(want string, path ...any) {
		t.Helper()
		same := alike(t, e, list, kinds)
		if got := fmt.Sprint(at(same["Deployment/web"], path...)); got != want {
			t.Errorf("at %v is %s, want %s", path, got, want)
		}
	}
	image := []any{"spec", "template", "spec", "containers", 0, "image"}

	// Each goes under the scope: a revision is a secret of its own.
	one.helm(both, "install", "web", chart, "--set", "image.repository=registry.example/web,image.tag=1,ingress.enabled=true", "--wait")
	deployment("registry.example/web:1", image...)
	two.helm(both, "upgrade", "web", chart, "--reuse-values", "--set", "image.tag=2")
	deployment("registry.example/web:2", image...)
	revisions("1 superseded", "2 deployed")

	// What is upgraded at each side of a cut is one release in the end: fields of the object come from both, the record from who was later.
	all[1].Cut(t)
	apart(t, e, all)
	one.helm(both, "upgrade", "web", chart, "--reuse-values", "--set", "replicaCount=3")
	two.helm(both, "upgrade", "web", chart, "--reuse-values", "--set", "image.tag=3")
	all[1].Heal(t)
	e.Eventually(t, within, "both have both changes", func() error {
		for _, n := range list {
			o := n.object("deployment", "web", "-n", "shop")
			if err := errors.Join(is(3.0, "spec", "replicas")(o), is("registry.example/web:3", image...)(o)); err != nil {
				return err
			}
		}
		return nil
	})
	deployment("registry.example/web:3", image...)
	converged(t, e, all)
	revisions("1 superseded", "2 superseded", "3 deployed")

	one.helm(both, "rollback", "web", "1")
	deployment("registry.example/web:1", image...)
	deployment("1", "spec", "replicas")
	converged(t, e, all)
	revisions("1 superseded", "2 superseded", "3 superseded", "4 deployed")

	// Who forgets the scope is told that the revision is at one site.
	if out := one.runs("", "", "sh", "-c", `"$@" 2>&1`, "sh", filepath.Join(helm, "helm"), "upgrade", "web", chart, "--reuse-values"); !strings.Contains(out, "made at site1 alone") ||
		!strings.Contains(out, "{cluster: site1 & site2}") {
		t.Errorf("an upgrade without a scope says %s", out)
	}

	one.helm(both, "uninstall", "web")
	e.Eventually(t, within, "nothing of it is left", func() error {
		for _, n := range list {
			for name := range n.holds(kinds) {
				return errors.New(n.Name() + " has " + name)
			}
		}
		return nil
	})
	if out := one.helm("", "list", "-a", "-q"); strings.TrimSpace(out) != "" {
		t.Errorf("site1 lists %s", out)
	}
}
