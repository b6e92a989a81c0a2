//go:build kubernetes

package kubernetes

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
)

const (
	both   = "site1 & site2"
	spread = "site1 % site2"
)

// within is how long the other site may take to do what has been done at one: a bound for tests that fail, whatever else the machine does.
const within = 3 * time.Minute

// has waits until a site's own cluster has an object and it satisfies ok.
func has(e *env.Env, s *site, what string, ok func(o map[string]any) error, args ...string) {
	s.Helper()
	e.Eventually(s, within, s.Name()+" has "+what, func() error {
		o := s.object(args...)
		if o == nil {
			return errors.New("it is not there")
		}
		if ok == nil {
			return nil
		}
		return ok(o)
	})
}

// at returns what an object has at a path.
func at(o any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := o.(map[string]any)
			o = m[p]
		case int:
			l, _ := o.([]any)
			if p >= len(l) {
				return nil
			}
			o = l[p]
		}
	}
	return o
}

// is wants a value at a path.
func is(want any, path ...any) func(map[string]any) error {
	return func(o map[string]any) error {
		if got := at(o, path...); !reflect.DeepEqual(got, want) {
			return fmt.Errorf("at %v it has %v, want %v", path, got, want)
		}
		return nil
	}
}

// apart waits until every site misses the other.
func apart(t *testing.T, e *env.Env, all []*site) {
	t.Helper()
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" misses the other", func() error {
			seen, err := s.Client().Sites(t.Context())
			for _, other := range seen {
				if !other.Self && other.Reachable {
					return errors.Join(err, errors.New("it reaches "+other.Name))
				}
			}
			return err
		})
	}
}

// TestDeploymentThroughACut: what kubectl sends is kept equal, whatever it is, and two sides of a cut are made one.
func TestDeploymentThroughACut(t *testing.T) {
	t.Parallel()
	e, all := sites(t, "site1", "site2")
	site1, site2 := all[0], all[1]
	deployment := []string{"deployment", "web"}
	wanted := func(what string, ok func(map[string]any) error) {
		t.Helper()
		for _, s := range all {
			has(e, s, what, ok, deployment...)
		}
	}
	container := func(field ...any) []any { return append([]any{"spec", "template", "spec", "containers", 0}, field...) }

	// A body of protobuf.
	site1.kube(both, "create", "deployment", "web", "--image=registry.example/web:1", "--replicas=1")
	wanted("the deployment", is("registry.example/web:1", container("image")...))
	// Each way to change it.
	site2.kube("", "set", "image", "deployment/web", "web=registry.example/web:2")
	wanted("another image (strategic merge patch)", is("registry.example/web:2", container("image")...))
	site1.kube("", "scale", "deployment/web", "--replicas=3")
	wanted("three replicas (scale)", is(3.0, "spec", "replicas"))
	site2.kube("", "patch", "deployment", "web", "--type=merge", "-p", `{"metadata":{"labels":{"tier":"front"}}}`)
	wanted("a label (merge patch)", is("front", "metadata", "labels", "tier"))
	site1.kube("", "patch", "deployment", "web", "--type=json", "-p", `[{"op":"add","path":"/metadata/labels/by","value":"json"}]`)
	wanted("a label (JSON patch)", is("json", "metadata", "labels", "by"))
	site2.kube("", "annotate", "deployment", "web", "note=hello")
	wanted("an annotation", is("hello", "metadata", "annotations", "note"))

	// Nothing of a dry run is done anywhere.
	site1.kube(both, "create", "configmap", "never", "--from-literal=a=b", "--dry-run=server")
	site1.kube("", "label", "deployment", "web", "dry=run", "--dry-run=server")
	site1.kube("", "delete", "deployment", "web", "--dry-run=server")
	if site1.object("configmap", "never") != nil || at(site1.object(deployment...), "metadata", "labels", "dry") != nil {
		t.Error("a dry run has done something")
	}

	site2.Cut(t)
	apart(t, e, all)
	site1.kube("", "patch", "deployment", "web", "-p", `{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"SIDE","value":"one"}]}]}}}}`)
	site1.kube("", "label", "deployment", "web", "side1=yes")
	site2.kube("", "scale", "deployment/web", "--replicas=5")
	site2.kube("", "set", "image", "deployment/web", "web=registry.example/web:3")
	if n := at(site1.object(deployment...), "spec", "replicas"); n != 3.0 {
		t.Errorf("site1 is cut off and has %v replicas", n)
	}
	out, err := site1.try("site2", "", "run", "late", "--image=registry.example/x")
	if err != nil || !strings.Contains(out, "late") {
		t.Errorf("for a site that cannot be reached: %s, %v", out, err)
	}
	if out, err := site1.try("site2", "", "create", "configmap", "late"); err == nil || !strings.Contains(err.Error(), "site2 cannot be reached") {
		t.Errorf("what only site2 can read: %s, %v", out, err)
	}
	site2.Heal(t)
	has(e, site2, "what was asked for while it was cut off", nil, "pod", "late")
	wanted("what was changed at site2", is("registry.example/web:3", container("image")...))
	wanted("what was changed at site2", is(5.0, "spec", "replicas"))
	wanted("what was changed at site1", is("one", container("env", 0, "value")...))
	wanted("what was changed at site1", is("yes", "metadata", "labels", "side1"))
	e.Eventually(t, within, "both sites show the same", func() error {
		one, two := site1.object(deployment...), site2.object(deployment...)
		if !reflect.DeepEqual(at(one, "spec"), at(two, "spec")) || !reflect.DeepEqual(at(one, "metadata", "labels"), at(two, "metadata", "labels")) {
			return fmt.Errorf("%v\n%v", one, two)
		}
		return nil
	})
	converged(t, e, all)

	site1.kube("", "delete", "deployment", "web", "--wait=false")
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" has none", func() error {
			if s.object(deployment...) != nil {
				return errors.New("it is there")
			}
			return nil
		})
	}
}
