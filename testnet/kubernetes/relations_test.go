//go:build kubernetes

package kubernetes

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// consumer is a deployment whose pods rely on the config map called settings.
const consumer = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"web"}},
"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"registry.example/web:1",
"envFrom":[{"configMapRef":{"name":"settings"}},{"configMapRef":{"name":"perhaps","optional":true}}]}]}}}}`

// TestRelations: a deployment is made where what it relies on is, keeps that from being deleted, and is shown with its pods.
func TestRelations(t *testing.T) {
	t.Parallel()
	e, all := working(t, "site1", "site2")
	site1, site2 := all[0], all[1]

	site1.kube("", "create", "configmap", "settings", "--from-literal=a=b")
	site1.kube("", "create", "configmap", "perhaps", "--from-literal=a=b")
	out, err := site1.try(both, consumer, "create", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "mismatched owners") || !strings.Contains(err.Error(), `configmaps "default/settings"`) ||
		strings.Contains(err.Error(), "perhaps") {
		t.Errorf("without its config map at site2: %s, %v", out, err)
	}
	for _, s := range all {
		if s.object("deployment", "web") != nil {
			t.Errorf("%s has the deployment", s.Name())
		}
	}
	site1.kube("", "delete", "configmap", "settings")
	site1.kube(both, "create", "configmap", "settings", "--from-literal=a=b")
	if out, err := site1.try(both, consumer, "create", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	for _, s := range all {
		has(e, s, "the deployment", nil, "deployment", "web")
		e.Eventually(t, within, s.Name()+" tells of what the deployment needs and of its pods", func() error {
			out := s.skerry("relations", "default/web")
			for _, want := range []string{"configmaps/default/settings", "replicasets.apps/default/web-", "pods/default/web-"} {
				if !strings.Contains(out, want) {
					return errors.New("it lacks " + want + ":\n" + out)
				}
			}
			return nil
		})
	}

	for _, s := range all {
		if out, err := s.try("", "", "delete", "configmap", "settings", "--wait=false"); err == nil ||
			!strings.Contains(err.Error(), "deployments.apps default/web") || strings.Contains(err.Error(), "replicasets") {
			t.Errorf("%s deletes what the deployment relies on: %s, %v", s.Name(), out, err)
		}
	}
	site2.kube("", "delete", "configmap", "settings", "--force", "--wait=false")
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" has no settings, and says what lacks them", func() error {
			if s.object("configmap", "settings") != nil {
				return errors.New("it has")
			}
			if out := s.skerry("resources", "show", "default/web"); !strings.Contains(out, "default/settings, which was deleted") {
				return errors.New(out)
			}
			return nil
		})
	}
}

// TestNamespaceThatHolds: a namespace that holds what is not at all of its own sites is kept, unless its deletion is forced: then that goes with it.
// What is at the same sites goes along (TestWordsOfTheCluster).
func TestNamespaceThatHolds(t *testing.T) {
	t.Parallel()
	e, all := working(t, "site1", "site2")
	all[0].kube(both, "create", "namespace", "foo")
	all[0].kube(both, "create", "configmap", "c", "-n", "foo", "--from-literal=a=b")
	has(e, all[1], "the config map", nil, "configmap", "c", "-n", "foo")
	all[0].skerry("resources", "place", "foo/c", "--remove", "site1")
	e.Eventually(t, within, "site2 alone has it", func() error {
		list, err := all[1].Client().Resources(t.Context())
		for _, r := range list {
			if r.ID == "foo/c" && len(r.Sites) != 1 {
				err = fmt.Errorf("it is at %v", r.Sites)
			}
		}
		return err
	})
	if out, err := all[1].try("", "", "delete", "namespace", "foo", "--wait=false"); err == nil || !strings.Contains(err.Error(), "foo/c") {
		t.Errorf("a namespace with a replica in it is deleted: %s, %v", out, err)
	}
	all[1].kube("", "delete", "namespace", "foo", "--force", "--wait=false")
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" has no namespace foo", func() error {
			if s.object("namespace", "foo") != nil {
				return errors.New("it has")
			}
			return nil
		})
	}
}
