//go:build kubernetes

package kubernetes

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

// charts is the folder of the chart and its examples.
var charts = filepath.Join("..", "..", "packaging", "helm")

// rendered is what Helm makes of the chart, with the values of an example and some more, for a namespace.
func rendered(t *testing.T, namespace, example, more string) (string, error) {
	t.Helper()
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(helm, "render"), filepath.Join(charts, "skerry"), namespace, filepath.Join(charts, "examples", example), values).CombinedOutput()
	return string(out), err
}

// TestChart: a cluster takes what Helm renders, makes a pod of it with the configuration that the values say, and lets the account of that pod do for
// other sites what the values' rules say and nothing else.
func TestChart(t *testing.T) {
	t.Parallel()
	e, all := openWith(t, true, func(*env.Site) {}, "site1", "site2")
	one, two := all[0], all[1]
	apply := func(namespace, objects string) string {
		t.Helper()
		if _, err := one.direct("create", "namespace", namespace); err != nil && !strings.Contains(err.Error(), "AlreadyExists") {
			t.Fatal(err)
		}
		out, err := one.run("direct.yaml", objects, one.kubectl, "apply", "--validate=strict", "-f", "-")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	monitors, err := os.ReadFile(filepath.Join("testdata", "servicemonitors.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.run("direct.yaml", string(monitors), one.kubectl, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	e.Eventually(t, within, "the cluster has monitors", func() error {
		_, err := one.direct("get", "servicemonitors")
		return err
	})
	for namespace, example := range map[string]string{"skerry": "cluster.yaml", "shop": "workload.yaml"} {
		objects, err := rendered(t, namespace, example, "{}")
		if err != nil {
			t.Fatalf("%s: %v\n%s", example, err, objects)
		}
		apply(namespace, objects)
		// Templates of claims come back with a status, so that kubectl takes them for others. The cluster counts the changes.
		again := strings.Replace(apply(namespace, objects), "statefulset.apps/skerry configured", "", 1)
		agents := one.object("statefulset", "skerry", "-n", namespace)
		if strings.Contains(again, "configured") || agents["metadata"].(map[string]any)["generation"] != 1.0 {
			t.Errorf("%s: what the cluster has is not what the chart says:\n%s%v", example, again, agents)
		}
		one.started(e, namespace)
	}
	one.grants(e, two)
}

// started sees the pod of a release and reads the configuration that it gets.
func (s *site) started(e *env.Env, namespace string) {
	s.Helper()
	e.Eventually(s.T, within, "the cluster has made the pod", func() error {
		if s.object("pod", "skerry-0", "-n", namespace) == nil {
			return errors.New("it is not there")
		}
		return nil
	})
	for _, name := range []string{"agent.yaml", "catalog.yaml"} {
		text, err := s.direct("get", "configmap", "skerry", "-n", namespace, "-o", `go-template={{index .data "`+name+`"}}`)
		if err != nil {
			s.Fatal(err)
		}
		// The files that the pod would have are those of this cluster.
		s.write(namespace+"-"+name, strings.NewReplacer("/etc/skerry/site/", namespace+"-", "/etc/skerry/secrets/listener/tls.crt", "server.pem",
			"/etc/skerry/secrets/listener/tls.key", "server.key", "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt", "server.pem",
			"/var/run/secrets/kubernetes.io/serviceaccount/token", "agent.token", "/etc/skerry/invitation/invitation", "invitation").Replace(text))
	}
	s.skerry("config", "check", s.file(namespace+"-agent.yaml"))
}

// grants has the agent work with the token that the cluster gives to the chart's account.
func (s *site) grants(e *env.Env, from *site) {
	s.Helper()
	token, err := s.direct("create", "token", "skerry", "-n", "skerry")
	if err != nil {
		s.Fatal(err)
	}
	s.write("agent.token", token)
	if _, err := from.try("site1 & site2", "", "create", "configmap", "granted", "--from-literal", "a=b"); err != nil {
		s.Fatal(err)
	}
	e.Eventually(s.T, within, "the agent has made what its account may make", func() error {
		if s.object("configmap", "granted") == nil {
			return errors.New("it is not there")
		}
		return nil
	})
	if _, err := from.try("site1 & site2", "", "create", "role", "ungranted", "--verb=get", "--resource=pods"); err != nil {
		s.Fatal(err)
	}
	refused := regexp.MustCompile(`system:serviceaccount:skerry:skerry\\*" cannot`)
	e.Eventually(s.T, within, "the cluster refuses what its account may not make", func() error {
		if out := s.skerry("operations", "-o", "json"); !refused.MatchString(out) {
			return errors.New(out)
		}
		return nil
	})
	if s.object("role", "ungranted") != nil {
		s.Error("it is there all the same")
	}
}

// TestChartTakesFurtherKeys: those that the chart does not write come to the agent, also beside those that it does.
func TestChartTakesFurtherKeys(t *testing.T) {
	out, err := rendered(t, "skerry", "cluster.yaml", `{configuration: {mesh: {relay: true}, limits: {members: 7}}}`)
	if err != nil || !regexp.MustCompile(`(?m)^ +relay: true$`).MatchString(out) || !regexp.MustCompile(`(?m)^ +members: 7$`).MatchString(out) {
		t.Errorf("%v, %s", err, out)
	}
}

// TestChartRefuses: what the values lack is said in words.
func TestChartRefuses(t *testing.T) {
	for values, want := range map[string]string{
		`{site: ""}`:                                             "site is required: this site's name",
		`{image: {tag: ""}}`:                                     "image.tag is required: the version",
		`{services: {cluster: {listen: ""}}}`:                    "services.cluster.listen is required",
		`{networkPolicy: {enabled: true}}`:                       "set mesh.hostNetwork to false, or leave it out",
		`{meshes: {port: 1}}`:                                    "additional properties 'meshes' not allowed",
		`{mesh: {relay: true}}`:                                  "additional properties 'relay' not allowed",
		`{probes: many}`:                                         "got string, want integer",
		`{site: site1, services: {cluster: null}}`:               "services is empty: say what is in front of the agent",
		`{configuration: {site: nantes}}`:                        "configuration.site is not for you to set",
		`{configuration: {data_dir: /data}}`:                     "configuration.data_dir is not for you to set",
		`{configuration: {mesh: {relay: true, listen: []}}}`:     "configuration.mesh.listen is not for you to set",
		`{configuration: {services: {cluster: {listen: ":1"}}}}`: "configuration.services.cluster.listen is not for you to set",
	} {
		out, err := rendered(t, "skerry", "cluster.yaml", values)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, %s", values, err, out)
		}
	}
}
