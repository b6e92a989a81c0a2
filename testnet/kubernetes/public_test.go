//go:build kubernetes

package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

// accounts makes an environment in which agents have accounts of their clusters, who may do what rules say and nothing else, and tenants a namespace in
// each.
func accounts(t *testing.T) (e *env.Env, all []*site, list []tenant) {
	t.Helper()
	account, err := filepath.Abs(filepath.Join("testdata", "account.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	e, all = workingWith(t, func(at *env.Site) {
		s := &site{T: t, Site: at, kubectl: filepath.Join(programs, "kubectl")}
		if _, err := s.run("direct.yaml", tenancy, s.kubectl, "create", "-f", "-", "-f", account); err != nil {
			t.Fatal(err)
		}
		token, err := s.direct("create", "token", "skerry", "-n", "skerry")
		if err != nil {
			t.Fatal(err)
		}
		s.write("account.token", token)
		s.Config().Services[0].Token = s.file("account.token")
	}, "site1", "site2")
	for _, s := range all {
		list = append(list, s.tenant(e))
	}
	return e, all, list
}

// operates does what the operator of a cluster does with a Foo that it has found: it makes or changes the deployment, which the Foo owns, and says how
// many there are.
func (s *site) operates(e *env.Env, name string) {
	s.Helper()
	foo := s.object("foo", name, "-n", "operators")
	if foo == nil {
		s.Fatalf("%s has no Foo %s", s.Name(), name)
	}
	made := fmt.Sprint(at(foo, "spec", "deploymentName"))
	deployment, err := json.Marshal(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": made, "ownerReferences": []any{map[string]any{
			"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "name": name, "uid": at(foo, "metadata", "uid"), "controller": true}}},
		"spec": map[string]any{"replicas": at(foo, "spec", "replicas"), "selector": map[string]any{"matchLabels": map[string]any{"controller": name}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"controller": name}},
				"spec": map[string]any{"containers": []any{map[string]any{"name": "nginx", "image": "registry.example/nginx"}}}}}})
	if err != nil {
		s.Fatal(err)
	}
	as := []string{s.kubectl, "--as", "system:serviceaccount:operators:foo-operator", "-n", "operators"}
	if _, err := s.run("direct.yaml", string(deployment), append(as, "apply", "--server-side", "-f", "-")...); err != nil {
		s.Fatal(err)
	}
	if _, err := s.run("direct.yaml", "", append(as, "patch", "foo", name, "--subresource=status", "--type=merge", "-p",
		fmt.Sprintf(`{"status":{"availableReplicas":%v}}`, at(foo, "spec", "replicas")))...); err != nil {
		s.Fatal(err)
	}
	has(e, s, "what the Foo has made", is(at(foo, "spec", "replicas"), "status", "availableReplicas"), "deployment", made, "-n", "operators")
}

// TestPublicExamples: the guestbook, WordPress with MySQL, and an operator with a kind of its own are at two sites, whose agents may do what their accounts
// may. Tenants and an administrator change and delete them on both sides of a cut. Direct clients are shown the same in the end.
func TestPublicExamples(t *testing.T) {
	t.Parallel()
	e, all, list := accounts(t)
	one, two := list[0], list[1]
	operator, err := os.ReadFile(filepath.Join("testdata", "operator.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	guestbook, wordpress := filepath.Join("testdata", "guestbook.yaml"), filepath.Join("testdata", "wordpress")
	const kinds = "deployments,services,secrets,configmaps,persistentvolumeclaims"
	image := []any{"spec", "template", "spec", "containers", 0, "image"}
	kube := func(n tenant, scope string, args ...string) {
		t.Helper()
		n.runs(scope, "", append([]string{n.kubectl}, args...)...)
	}

	kube(one, both, "apply", "-f", guestbook)
	kube(two, both, "apply", "-k", wordpress)
	if n := len(alike(t, e, list, kinds)); n != 6+7 {
		t.Errorf("%d objects are the same, want 13", n)
	}
	if out, err := all[0].try(both, string(operator), "apply", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	for _, s := range all {
		has(e, s, "the kind", nil, "customresourcedefinition", "foos.samplecontroller.k8s.io")
		has(e, s, "what lets the operator work", nil, "clusterrolebinding", "foo-operator")
		has(e, s, "the operator", is(1.0, "status", "availableReplicas"), "deployment", "foo-operator", "-n", "operators")
	}
	const foo = `{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","metadata":{"name":"example-foo","namespace":"operators"},"spec":{"deploymentName":"example-foo","replicas":1}}`
	e.Eventually(t, within, "the agent knows the kind", func() error {
		_, err := all[0].try(both, foo, "create", "-f", "-")
		return err
	})
	for _, s := range all {
		has(e, s, "a Foo", nil, "foo", "example-foo", "-n", "operators")
		s.operates(e, "example-foo")
	}
	converged(t, e, all)

	all[1].Cut(t)
	apart(t, e, all)
	kube(one, "", "scale", "deployment", "frontend", "--replicas=5")
	kube(two, "", "set", "image", "deployment/frontend", "php-redis=registry.example/gb-frontend:v6")
	kube(one, "", "delete", "deployment,service", "redis-follower", "--wait=false")
	kube(one, "", "scale", "deployment", "wordpress", "--replicas=2")
	kube(two, "", "label", "deployment", "wordpress", "wordpress-mysql", "side=two")
	kube(two, "", "delete", "pvc", "wp-pv-claim", "--wait=false", "--force") // the deployment relies on it; a pod uses it: it stays until that is gone
	all[0].kube("", "patch", "foo", "example-foo", "-n", "operators", "--type=merge", "-p", `{"spec":{"replicas":3}}`)
	all[1].kube("", "annotate", "foo", "example-foo", "-n", "operators", "side=two")
	all[1].Heal(t)
	for _, s := range all {
		lacks(e, s, "deployment", "redis-follower", "-n", "shop")
		lacks(e, s, "service", "redis-follower", "-n", "shop")
		has(e, s, "five frontends", is(5.0, "spec", "replicas"), "deployment", "frontend", "-n", "shop")
		has(e, s, "the image of site2", is("registry.example/gb-frontend:v6", image...), "deployment", "frontend", "-n", "shop")
		has(e, s, "two of WordPress", is(2.0, "spec", "replicas"), "deployment", "wordpress", "-n", "shop")
		has(e, s, "the label of site2", is("two", "metadata", "labels", "side"), "deployment", "wordpress", "-n", "shop")
		has(e, s, "three of Foo", is(3.0, "spec", "replicas"), "foo", "example-foo", "-n", "operators")
		has(e, s, "the annotation of site2", is("two", "metadata", "annotations", "side"), "foo", "example-foo", "-n", "operators")
		has(e, s, "a claim that is to go", func(o map[string]any) error {
			if at(o, "metadata", "deletionTimestamp") == nil {
				return errors.New("it is to stay")
			}
			return nil
		}, "persistentvolumeclaim", "wp-pv-claim", "-n", "shop")
		s.operates(e, "example-foo")
	}

	// Once its deployment is gone, so is the claim, and all is as direct clients are shown it.
	kube(one, "", "delete", "deployment", "wordpress")
	for _, s := range all {
		lacks(e, s, "persistentvolumeclaim", "wp-pv-claim", "-n", "shop")
	}
	if n := len(alike(t, e, list, kinds)); n != 4+5 {
		t.Errorf("%d objects are the same, want 9", n)
	}
	converged(t, e, all)
	for _, s := range all {
		if list := s.conflicts(); len(list) > 0 {
			t.Errorf("%s asks %+v", s.Name(), list)
		}
	}

	// kubectl deletes what others rely on before them.
	kube(two, "", "delete", "-k", wordpress, "--ignore-not-found", "--force")
	kube(one, "", "delete", "-f", guestbook, "--ignore-not-found")
	for _, s := range all {
		s.kube("", "delete", "foo", "example-foo", "-n", "operators", "--ignore-not-found")
	}
	for i, s := range all {
		e.Eventually(t, within, "nothing of it is left at "+s.Name(), func() error {
			for name := range list[i].holds(kinds) {
				return errors.New("it has " + name)
			}
			return nil
		})
		lacks(e, s, "foo", "example-foo", "-n", "operators")
		lacks(e, s, "deployment", "example-foo", "-n", "operators")
	}
}
