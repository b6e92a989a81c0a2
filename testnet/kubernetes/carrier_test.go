//go:build kubernetes

package kubernetes

import (
	"errors"
	"strings"
	"testing"
)

const annotated = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"annotated","annotations":{"skerry/scope":"site1 & site2"}},"data":{"a":"b"}}`

// TestCarriers: a scope comes with kubectl's own flag, and with an annotation of the object itself.
func TestCarriers(t *testing.T) {
	t.Parallel()
	e, all := sites(t, "site1", "site2")
	one, two := all[0], all[1]
	shows := func(name, jsonpath, want string) {
		t.Helper()
		e.Eventually(t, within, "both sites show "+name+" with "+want, func() error {
			for _, s := range all {
				if out, err := s.direct("get", "configmap", name, "-o", "jsonpath={"+jsonpath+"}"); err != nil || out != want {
					return errors.Join(errors.New(s.Name()+" shows "+out), err)
				}
			}
			return nil
		})
	}
	as := []string{one.kubectl, "--as", "skerry:me", "--as-user-extra", "scope=" + both}
	if out, err := one.run("agent.yaml.kube", "", append(as, "create", "configmap", "extra", "--from-literal=a=b")...); err != nil {
		t.Fatal(out, err)
	}
	shows("extra", ".data.a", "b")
	if table, err := one.run("agent.yaml.kube", "", append(as, "get", "configmaps")...); err != nil || !ends(row(table, "extra"), strings.Fields(both)...) {
		t.Errorf("%s, %v", table, err)
	}

	for _, apply := range [][]string{{"apply", "-f", "-"}, {"apply", "--server-side", "-f", "-"}} {
		object := strings.ReplaceAll(annotated, "annotated", "annotated-"+map[bool]string{true: "there", false: "here"}[len(apply) == 4])
		name := map[bool]string{true: "annotated-there", false: "annotated-here"}[len(apply) == 4]
		for _, value := range []string{"b", "b", "c"} { // made, applied again as it is, and changed
			if out, err := one.try("", strings.Replace(object, `"b"`, `"`+value+`"`, 1), apply...); err != nil {
				t.Fatal(out, err)
			}
		}
		shows(name, ".data.a", "c")
		shows(name, ".metadata.annotations.skerry/scope", both)
		if err := one.resource(name); err != "" {
			t.Error(err)
		}
		// The other site's client sends back what it has read, and its site is left out of nothing.
		out, err := two.run("agent.yaml.kube", "", two.kubectl, "get", "configmap", name, "-o", "json")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := two.try("", strings.Replace(out, `"a": "c"`, `"a": "d"`, 1), "replace", "-f", "-"); err != nil {
			t.Fatal(out, err)
		}
		shows(name, ".data.a", "d")
	}

	// One that was here alone, and says now that it is at both.
	one.kube("", "create", "configmap", "late", "--from-literal=a=b")
	one.kube("", "annotate", "configmap", "late", "skerry/scope="+both)
	shows("late", ".data.a", "b")
	shows("late", ".metadata.annotations.skerry/scope", both)

	// What is taken out of a site stays out, though the object says otherwise.
	one.skerry("resources", "place", "default/annotated-here", "--remove", "site2")
	if out, err := one.try("", strings.NewReplacer("annotated", "annotated-here", `"b"`, `"e"`).Replace(annotated), "apply", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	e.Eventually(t, within, "site1 shows e, site2 what it had", func() error {
		a, _ := one.direct("get", "configmap", "annotated-here", "-o", "jsonpath={.data.a}")
		b, _ := two.direct("get", "configmap", "annotated-here", "-o", "jsonpath={.data.a}")
		if a+b != "ed" {
			return errors.New(a + " and " + b)
		}
		return nil
	})
}

// resource tells what is wrong with a config map as a resource of both sites, empty for nothing.
func (s *site) resource(name string) string {
	s.Helper()
	if out := s.skerry("resources", "show", "default/"+name); !strings.Contains(out, "site1") || !strings.Contains(out, "site2") {
		return out
	}
	return ""
}
