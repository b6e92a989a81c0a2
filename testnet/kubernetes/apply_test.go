//go:build kubernetes

package kubernetes

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

const widgets = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.org"},
"spec":{"group":"example.org","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
"properties":{"size":{"type":"integer"},"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"n":{"type":"integer"}}}}}}}}}}]}}`

// configMap is one in JSON with a key of data.
func configMap(name, key, value string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{%q:%q}}`, name, key, value)
}

// TestApply: apply makes what is not there and changes what is, by the client and by the server; replace keeps its precondition.
func TestApply(t *testing.T) {
	t.Parallel()
	e, all := sites(t, "site1", "site2")
	site1, site2 := all[0], all[1]
	for _, way := range [][]string{{"apply"}, {"apply", "--server-side"}} {
		name := "c" + fmt.Sprint(len(way))
		apply := func(s *site, scope, value string) {
			t.Helper()
			if out, err := s.try(scope, configMap(name, "a", value), append(way, "-f", "-")...); err != nil {
				t.Fatal(out, err)
			}
		}
		for i, step := range []struct {
			at    *site
			scope string
		}{{site1, both}, {site2, ""}, {site1, ""}} {
			value := fmt.Sprintf("value %d", i)
			apply(step.at, step.scope, value)
			for _, s := range all {
				has(e, s, fmt.Sprint(way, " ", value), is(value, "data", "a"), "configmap", name)
			}
		}
		// What somebody else has set stays.
		site2.kube("", "patch", "configmap", name, "--type=merge", "-p", `{"data":{"b":"other"}}`)
		has(e, site1, "another key", is("other", "data", "b"), "configmap", name)
		apply(site1, "", "last")
		for _, s := range all {
			has(e, s, "both keys", is(map[string]any{"a": "last", "b": "other"}, "data"), "configmap", name)
		}
	}

	waited := make(chan error, 1) // by a watch at one site, for what is done at the other
	go func() {
		_, err := site2.try("", "", "wait", "--for=jsonpath={.data.awaited}=yes", "configmap/c1", "--timeout=3m")
		waited <- err
	}()
	site1.kube("", "patch", "configmap", "c1", "--type=merge", "-p", `{"data":{"awaited":"yes"}}`)
	if err := <-waited; err != nil {
		t.Error(err)
	}

	old, err := site1.try("", "", "get", "configmap", "c1", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := site1.try("", old, "replace", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	site1.kube("", "label", "configmap", "c1", "x=y")
	if out, err := site1.try("", old, "replace", "-f", "-"); err == nil {
		t.Errorf("an old resourceVersion is taken: %s", out)
	}
	if out, err := site1.try("", configMap("c1", "only", "this"), "replace", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	for _, s := range all {
		has(e, s, "what it was replaced with", is(map[string]any{"only": "this"}, "data"), "configmap", "c1")
	}
	e.Eventually(t, within, "both sites have managed fields of their own", func() error {
		if reflect.DeepEqual(at(site1.object("configmap", "c1"), "metadata", "uid"), at(site2.object("configmap", "c1"), "metadata", "uid")) {
			return errors.New("they have one uid")
		}
		return nil
	})
	converged(t, e, all)
}

// TestCustomResources: the cluster tells its kinds, those that somebody has defined among them.
func TestCustomResources(t *testing.T) {
	t.Parallel()
	e, all := sites(t, "site1", "site2")
	for _, s := range all {
		if out, err := s.run("direct.yaml", widgets, s.kubectl, "create", "-f", "-"); err != nil {
			t.Fatal(out, err)
		}
		e.Eventually(t, within, "the API of "+s.Name()+" has widgets", func() error {
			_, err := s.direct("get", "widgets")
			return err
		})
	}
	for _, s := range all {
		s.Stop(t)
		s.Start(t)
	}
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" reaches the other", func() error {
			seen, err := s.Client().Sites(t.Context())
			for _, other := range seen {
				if !other.Reachable {
					return errors.Join(err, errors.New("it misses "+other.Name))
				}
			}
			return err
		})
	}
	if out, err := all[0].try(both, `{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"generateName":"w-"},"spec":{"size":1}}`, "create", "-f", "-", "-o", "name"); err != nil {
		t.Fatal(out, err)
	}
	var list map[string]any
	e.Eventually(t, within, "site2 has the widget", func() error {
		if list = all[1].object("widgets"); len(at(list, "items").([]any)) != 1 {
			return errors.New("it has none")
		}
		return nil
	})
	name, _ := at(list, "items", 0, "metadata", "name").(string)
	all[1].kube("", "patch", "widget", name, "--type=merge", "-p", `{"spec":{"size":2}}`)
	for _, s := range all {
		has(e, s, "the widget, larger", is(2.0, "spec", "size"), "widget", name)
	}
}

// converged waits until every agent says so of all that it replicates.
func converged(t *testing.T, e *env.Env, all []*site) {
	t.Helper()
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" says that all has converged", func() error {
			list, err := s.Client().Resources(t.Context())
			for _, r := range list {
				if r.State != "converged" {
					err = errors.Join(err, fmt.Errorf("%s %s is %s: %s", r.Kind, r.ID, r.State, r.Reason))
				}
			}
			return err
		})
	}
}
