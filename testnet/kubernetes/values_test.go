//go:build kubernetes

package kubernetes

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// otherwise is what each value of the chart is given in place of what it is in full, as YAML. A test reads from it that the value counts.
var otherwise = map[string]string{
	"site": "nantes", "image.repository": "other.example/skerry", "image.tag": "v9", "image.pullPolicy": "Never", "image.pullSecrets": "[{name: pull}]",
	"catalog": `"application: other"`, "services": `{more: {listen: "0.0.0.0:9799", upstream: "http://more.svc"}}`, "configuration": "{limits: {body: 1MiB}}",
	"api.listen": `"127.0.0.1:8799"`, "api.loopback": "open", "probes": "8799", "mesh.port": "4799", "mesh.hostNetwork": "true", "mesh.invitation": "other",
	"secrets": "{more: other}", "service.type": "NodePort", "service.annotations": "{a: b}", "storage.size": "1Gi", "storage.className": "fast",
	"serviceAccount.annotations": "{a: b}", "rules": "[{apiGroups: [batch], resources: [jobs], verbs: [get]}]", "serviceMonitor.enabled": "false",
	"serviceMonitor.interval": "7s", "serviceMonitor.labels": "{a: b}", "networkPolicy.enabled": "false", "networkPolicy.clients": "[{podSelector: {}}]",
	"networkPolicy.monitoring": "[{podSelector: {}}]", "resources.requests.cpu": "7m", "resources.requests.memory": "7Mi", "nodeSelector": "{a: b}",
	"tolerations": "[{key: a}]", "affinity": "{podAffinity: {}}", "priorityClassName": "high",
}

// full has all parts of the chart rendered. What the node's network is for has no policy.
const full = `{serviceMonitor: {enabled: true}, networkPolicy: {enabled: true}, mesh: {hostNetwork: false, invitation: given}}`

// TestEachValueCounts: whatever values.yaml offers changes what Helm makes of the chart, and the schema beside it knows that and nothing else.
func TestEachValueCounts(t *testing.T) {
	render := func(more string) string {
		t.Helper()
		out, err := rendered(t, "skerry", "workload.yaml", more)
		if err != nil {
			t.Fatalf("%s: %v\n%s", more, err, out)
		}
		return out
	}
	text, err := os.ReadFile(filepath.Join(charts, "skerry", "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	offered := leaves("", values)
	if told := slices.Sorted(maps.Keys(otherwise)); !slices.Equal(offered, told) {
		t.Errorf("values.yaml offers\n%v\nand here are\n%v", offered, told)
	}
	for _, path := range offered {
		before := full
		if path == "mesh.hostNetwork" {
			before = strings.Replace(full, "{enabled: true}, mesh", "{enabled: false}, mesh", 1)
		}
		var with map[string]any
		if err := yaml.Unmarshal([]byte(before), &with); err != nil {
			t.Fatal(err)
		}
		var value any
		if err := yaml.Unmarshal([]byte(otherwise[path]), &value); err != nil {
			t.Fatal(err)
		}
		at, keys := with, strings.Split(path, ".")
		for _, k := range keys[:len(keys)-1] {
			if at[k] == nil {
				at[k] = map[string]any{}
			}
			at = at[k].(map[string]any)
		}
		at[keys[len(keys)-1]] = value
		after, err := json.Marshal(with)
		if err != nil {
			t.Fatal(err)
		}
		if render(before) == render(string(after)) {
			t.Errorf("%s makes no difference", path)
		}
	}

	var schema map[string]any
	text, err = os.ReadFile(filepath.Join(charts, "skerry", "values.schema.json"))
	if err == nil {
		err = json.Unmarshal(text, &schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	known := described("", schema)
	for _, path := range known {
		if path != "global" && !slices.ContainsFunc(offered, func(o string) bool { return o == path || strings.HasPrefix(o, path+".") }) {
			t.Errorf("the schema has %s, which values.yaml does not offer", path)
		}
	}
	for _, path := range offered {
		if !slices.ContainsFunc(known, func(k string) bool { return k == path || strings.HasPrefix(path, k+".") }) {
			t.Errorf("the schema lacks %s", path)
		}
	}
}

// leaves are the paths of values that hold no others, in order.
func leaves(at string, v any) (paths []string) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		return []string{at}
	}
	for k, inner := range m {
		paths = append(paths, leaves(strings.TrimPrefix(at+"."+k, "."), inner)...)
	}
	slices.Sort(paths)
	return paths
}

// described are the paths of a schema that have no properties of their own.
func described(at string, schema map[string]any) (paths []string) {
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return []string{at}
	}
	for k, inner := range properties {
		paths = append(paths, described(strings.TrimPrefix(at+"."+k, "."), inner.(map[string]any))...)
	}
	return paths
}
