//go:build kubernetes

package kubernetes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestDivided: a deployment that is spread over two sites is one. Controllers make its pods at both, and a cut leaves it readable.
func TestDivided(t *testing.T) {
	t.Parallel()
	e, all := working(t, "site1", "site2")
	site1, site2 := all[0], all[1]
	pods := func(s *site, want int) {
		t.Helper()
		e.Eventually(t, within, fmt.Sprintf("%s runs %d pods", s.Name(), want), func() error {
			out, err := s.direct("get", "pods", "-l", "app=web", "--field-selector=status.phase=Running", "-o", "name")
			if n := len(strings.Fields(out)); err == nil && n != want {
				err = fmt.Errorf("it runs %d", n)
			}
			return err
		})
	}
	ready := func(s *site, want string) {
		t.Helper()
		e.Eventually(t, within, s.Name()+" reads "+want, func() error {
			out, err := s.try("", "", "get", "deployment", "web", "--no-headers")
			if fields := strings.Fields(out); err == nil && (len(fields) != 5 || fields[1] != want) {
				err = errors.New("it reads " + out)
			}
			return err
		})
	}

	site1.kube(spread, "create", "deployment", "web", "--image=registry.example/web:1", "--replicas=5")
	pods(site1, 3)
	pods(site2, 2)
	for _, s := range all {
		ready(s, "5/5")
	}
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" reads the scale of all", func() error { // what the other part runs is asked there
			out, err := s.try("", "", "get", "deployment", "web", "--subresource=scale", "-o", "jsonpath={.spec.replicas} {.status.replicas}")
			if err == nil && out != "5 5" {
				err = errors.New("it reads " + out)
			}
			return err
		})
		if out := row(s.kube("", "get", "deployment", "web", "--subresource=scale"), "web", "5", "5"); out == nil {
			t.Errorf("%s does not print the scale", s.Name())
		}
	}
	if out, err := site1.try("", "", "scale", "deployment/web", "--current-replicas=3", "--replicas=9"); err == nil {
		t.Errorf("site1 takes the number of its own part for that of all: %s", out)
	}
	if out, err := site1.try("", "", "patch", "deployment", "web", "--subresource=scale", "--type=json", "-p",
		`[{"op":"test","path":"/spec/replicas","value":3},{"op":"replace","path":"/spec/replicas","value":9}]`); err == nil {
		t.Errorf("site1 compares with the number of its own part: %s", out)
	}
	followed := site1.follow("agent.yaml.kube", site1.kubectl, "get", "deployment", "web", "-w", "--output-watch-events")
	// In each way that can say how many.
	for i, way := range []struct {
		total int
		args  string
	}{
		{8, `scale deployment/web --replicas=8`},
		{3, `patch deployment web -p {"spec":{"replicas":3}}`}, // which site1 shows by itself
		{6, `patch deployment web --type=json -p [{"op":"replace","path":"/spec/replicas","value":6}]`},
		{4, `patch deployment web --type=merge -p {"spec":{"replicas":4}}`},
		{7, `scale deployment/web --current-replicas=4 --replicas=7`},
		{4, `patch deployment web --subresource=scale --type=merge -p {"spec":{"replicas":4}}`}, // which site1 shows by itself
		{5, `patch deployment web --subresource=scale --type=json -p [{"op":"test","path":"/spec/replicas","value":4},{"op":"replace","path":"/spec/replicas","value":5}]`},
	} {
		all[i%2].kube("", strings.Fields(way.args)...)
		pods(site1, (way.total+1)/2)
		pods(site2, way.total/2)
		of := fmt.Sprintf("%d/%d", way.total, way.total)
		for _, s := range all {
			ready(s, of)
		}
		followed.tells(e, site1, 0, "web", of)
	}
	for _, s := range all {
		for _, scope := range []string{both, spread} {
			if table := s.kube(scope, "get", "deployments"); !slices.Contains(row(table, "web"), "5/5") || strings.Count(table, "web") != 1 {
				t.Errorf("%s prints %s", s.Name(), table)
			}
		}
		s.kube("", "wait", "deployment/web", "--for=jsonpath={.status.readyReplicas}=5", "--timeout=3m")
		s.kube("", "rollout", "status", "deployment/web", "--timeout=3m")
	}
	// And in one that does not.
	site2.kube("", "set", "image", "deployment/web", "web=registry.example/web:2")
	for _, s := range all {
		has(e, s, "the other image", is("registry.example/web:2", "spec", "template", "spec", "containers", 0, "image"), "deployment", "web")
	}
	ready(site1, "5/5")
	ready(site2, "5/5")
	converged(t, e, all)

	site2.Cut(t)
	apart(t, e, all)
	out, err := site1.run("agent.yaml.kube", "", site1.kubectl, "get", "deployment", "web", "-o", "jsonpath={.spec.replicas}", "-v=0")
	if err != nil || out != "5" {
		t.Errorf("site1 alone reads %s replicas: %v", out, err)
	}
	if warned := site1.warned("get", "deployment", "web"); !strings.Contains(warned, "site2 cannot be reached") {
		t.Errorf("site1 alone is not told what is missing: %s", warned)
	}
	site1.kube("", "scale", "deployment/web", "--replicas=9")
	pods(site1, 5)
	pods(site2, 2)
	site2.Heal(t)
	pods(site2, 4)
	ready(site1, "9/9")
	ready(site2, "9/9")
	converged(t, e, all)

	site1.kube("", "delete", "deployment", "web", "--wait=false")
	pods(site1, 0)
	pods(site2, 0)
}

// TestCrossNamespaceThroughACut: each side goes on in a namespace that is spread over both, and a name that both gave is told.
func TestCrossNamespaceThroughACut(t *testing.T) {
	t.Parallel()
	e, all := sites(t, "site1", "site2")
	site1, site2 := all[0], all[1]
	site1.kube(spread, "create", "namespace", "foo")
	has(e, site2, "the namespace foo", nil, "namespace", "foo")
	site2.kube("site1", "run", "blue", "-n", "foo", "--image=registry.example/x")
	site2.Cut(t)
	apart(t, e, all)
	for _, s := range all {
		s.kube("", "run", "at-"+s.Name(), "-n", "foo", "--image=registry.example/x")
		s.kube("", "run", "same", "-n", "foo", "--image=registry.example/x")
	}
	if out := site2.kube("", "get", "pods", "-n", "foo", "-o", "name"); !strings.Contains(out, "at-site2") {
		t.Errorf("site2 alone lists %s", out)
	}
	if warned := site2.warned("get", "pods", "-n", "foo"); !strings.Contains(warned, "site1 cannot be reached") {
		t.Errorf("site2 alone is not told what is missing: %s", warned)
	}
	if out, err := site2.try("site1", "", "run", "far", "-n", "foo", "--image=registry.example/x"); err != nil {
		t.Errorf("for the other side: %s, %v", out, err)
	}
	site2.Heal(t)
	has(e, site1, "what was asked for on the other side", nil, "pod", "far", "-n", "foo")
	for _, s := range all {
		e.Eventually(t, within, s.Name()+" lists all", func() error {
			out := s.kube("", "get", "pods", "-n", "foo", "-o", "name")
			for _, name := range []string{"blue", "at-site1", "at-site2", "same", "far"} {
				if !strings.Contains(out, "pod/"+name+"\n") {
					return errors.New("it lists " + out)
				}
			}
			return nil
		})
		if s.object("pod", "same", "-n", "foo") == nil {
			t.Errorf("%s has lost what it made", s.Name())
		}
	}
	e.Eventually(t, within, "a name that both gave is a conflict", func() error {
		if out := site1.skerry("conflicts") + site2.skerry("conflicts"); !strings.Contains(out, "same") {
			return errors.New(out)
		}
		return nil
	})
}
