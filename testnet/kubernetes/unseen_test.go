//go:build kubernetes

package kubernetes

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

// lacks waits until a site's own cluster has an object no more.
func lacks(e *env.Env, s *site, args ...string) {
	s.Helper()
	e.Eventually(s, within, fmt.Sprint(s.Name(), " has no ", args), func() error {
		if s.object(args...) != nil {
			return errors.New("it has")
		}
		return nil
	})
}

// conflict is what waits for a person.
type conflict struct{ ID, Resource, Site, Reason string }

func (s *site) conflicts() (list []conflict) {
	s.Helper()
	var page struct{ Items []conflict }
	if err := s.Client().Call(s.Context(), http.MethodGet, "/api/v1/conflicts", nil, &page); err != nil {
		s.Fatal(err)
	}
	return page.Items
}

// TestNamespaceDeletedDuringACut: one side of a cut deletes two namespaces, in which the other makes something meanwhile. Where that is, both are kept
// until a person says what is to be: one goes with all of it, the other stays there.
func TestNamespaceDeletedDuringACut(t *testing.T) {
	t.Parallel()
	e, all := working(t, "site1", "site2")
	one, two := all[0], all[1]
	for _, ns := range []string{"goes", "stays"} {
		one.kube(both, "create", "namespace", ns)
		one.kube(both, "create", "configmap", "old", "-n", ns, "--from-literal=a=b")
		has(e, two, "the config map", nil, "configmap", "old", "-n", ns)
	}
	one.write("held.json", strings.Replace(configMap("held", "a", "b"), `"name"`, `"finalizers":["example.org/keeps"],"name"`, 1))
	one.kube(both, "create", "-f", one.file("held.json"))
	has(e, two, "what a finalizer keeps", nil, "configmap", "held")
	two.Cut(t)
	apart(t, e, all)
	one.kube("", "delete", "configmap", "held", "--wait=false")
	for _, ns := range []string{"goes", "stays"} {
		two.kube(both, "create", "configmap", "new", "-n", ns, "--from-literal=a=b")
		one.kube("", "delete", "namespace", ns)
		if one.object("namespace", ns) != nil {
			t.Errorf("site1 has the namespace %s, and kubectl has waited for its end", ns)
		}
	}
	two.Heal(t)
	for ns, action := range map[string]string{"goes": "retry", "stays": "drop"} {
		for _, s := range all {
			e.Eventually(t, within, s.Name()+" asks about "+ns, func() error {
				list := s.conflicts()
				for _, c := range list {
					if c.Resource == ns && c.Site == "site2" && strings.Contains(c.Reason, ns+"/new") {
						return nil
					}
				}
				return fmt.Errorf("it asks %+v", list)
			})
		}
		has(e, two, "what site1 had not seen", nil, "configmap", "new", "-n", ns)
		for _, c := range one.conflicts() {
			if c.Resource == ns {
				one.skerry("conflicts", "resolve", c.ID, action)
			}
		}
	}
	for _, s := range all {
		lacks(e, s, "namespace", "goes")
	}
	has(e, two, "what it was to keep", nil, "configmap", "new", "-n", "stays")
	// The namespace is at site2 alone. Once site1 has one of that name, what was made in it is made there too.
	one.kube("", "create", "namespace", "stays")
	has(e, one, "what was made during the cut", nil, "configmap", "new", "-n", "stays")
	goesWithoutFinalizer(t, e, all)
	madeWhereAllEnds(t, e, all)
	converged(t, e, all)
}

// goesWithoutFinalizer ends what was deleted and a finalizer keeps at both sites, as a controller of each cluster does. Until then it is being deleted, and
// both tell so; who makes one of its name where it is gone has it made at the other site once it is gone there.
func goesWithoutFinalizer(t *testing.T, e *env.Env, all []*site) {
	t.Helper()
	one, two := all[0], all[1]
	release := func(s *site) {
		t.Helper()
		if _, err := s.direct("patch", "configmap", "held", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" tells that it is being deleted", func() error {
			list, err := s.Client().Resources(t.Context())
			for _, r := range list {
				if r.ID == "default/held" && r.State == "deleting" && r.Sites["site1"].State == "deleting" && r.Sites["site2"].State == "deleting" {
					return err
				}
			}
			return fmt.Errorf("it tells %+v, %w", list, err)
		})
		if at(s.object("configmap", "held"), "metadata", "deletionTimestamp") == nil {
			t.Errorf("%s does not delete it", s.Name())
		}
	}
	release(one)
	lacks(e, one, "configmap", "held")
	one.kube(both, "create", "configmap", "held", "--from-literal=a=c")
	has(e, one, "another one", is("c", "data", "a"), "configmap", "held")
	e.Eventually(t, within, "site2 tells what the other one waits for", func() error {
		if out := two.skerry("operations", "--resource", "default/held", "-o", "json"); !strings.Contains(out, "is not gone yet") {
			return fmt.Errorf("it tells %s", out)
		}
		return nil
	})
	has(e, two, "the one before", is("b", "data", "a"), "configmap", "held")
	release(two)
	has(e, two, "the other one", is("c", "data", "a"), "configmap", "held")
}

// madeWhereAllEnds has something made in a namespace that one cluster is deleting: what it waits for is told at both sites, and nobody is asked about
// rights.
func madeWhereAllEnds(t *testing.T, e *env.Env, all []*site) {
	t.Helper()
	one, two := all[0], all[1]
	directly := func(s *site, args ...string) {
		t.Helper()
		if _, err := s.direct(args...); err != nil {
			t.Fatal(err)
		}
	}
	directly(one, "create", "namespace", "ends")
	directly(two, "create", "namespace", "ends")
	directly(two, "create", "configmap", "keeps", "-n", "ends")
	directly(two, "patch", "configmap", "keeps", "-n", "ends", "--type=merge", "-p", `{"metadata":{"finalizers":["example.org/keeps"]}}`)
	directly(two, "delete", "namespace", "ends", "--wait=false")
	one.kube(both, "create", "configmap", "late", "-n", "ends", "--from-literal=a=b")
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" tells what it waits for", func() error {
			if out := s.skerry("operations", "--resource", "ends/late", "-o", "json"); !strings.Contains(out, "the application is deleting the container of it") {
				return fmt.Errorf("it tells %s", out)
			}
			return nil
		})
		if list := s.conflicts(); len(list) != 0 {
			t.Errorf("%s asks %+v", s.Name(), list)
		}
	}
	directly(two, "patch", "configmap", "keeps", "-n", "ends", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	lacks(e, two, "namespace", "ends")
	directly(two, "create", "namespace", "ends")
	has(e, two, "what was to be made in the namespace", nil, "configmap", "late", "-n", "ends")
}

// TestDeletedByOthers: what somebody deletes at one site past its agent, while a change waits for that site, is made again as it is to be.
func TestDeletedByOthers(t *testing.T) {
	t.Parallel()
	e, all := openWith(t, false, looking, "site1", "site2")
	one, two := all[0], all[1]
	one.kube(both, "create", "configmap", "gone", "--from-literal=a=b")
	has(e, two, "the config map", nil, "configmap", "gone")
	two.Cut(t)
	apart(t, e, all)
	one.kube("", "patch", "configmap", "gone", "--type=merge", "-p", `{"data":{"a":"c"}}`)
	if _, err := two.direct("delete", "configmap", "gone"); err != nil {
		t.Fatal(err)
	}
	two.Heal(t)
	has(e, two, "the config map again, as it was changed", is("c", "data", "a"), "configmap", "gone")
	converged(t, e, all)

	// Who deletes and makes again at once, without a scope, is told that it is at one site now.
	one.write("gone.json", configMap("gone", "a", "d"))
	if out := one.warned("replace", "--force", "-f", one.file("gone.json")); !strings.Contains(out, "made at site1 alone") || !strings.Contains(out, "{cluster: site1 & site2}") {
		t.Errorf("what is made again at one site says %q", out)
	}
	lacks(e, two, "configmap", "gone")
	has(e, one, "the config map", is("d", "data", "a"), "configmap", "gone")
}
