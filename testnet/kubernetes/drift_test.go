//go:build kubernetes

package kubernetes

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/cluster"
	"github.com/skerry/skerry/testnet/env"
)

// everything is one object of each kind that people make most.
const everything = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {word: opensesame}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: alone}
spec: {serviceAccountName: robot, containers: [{name: c, image: registry.example/x}, {name: d, image: registry.example/x, envFrom: [{configMapRef: {name: settings}}]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "registry.example/web:1", ports: [{containerPort: 8080}]}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: "registry.example/db:1"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: registry.example/x}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: often}
spec: {schedule: "@yearly", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: registry.example/x}]}}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: in}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
`

// TestNoFalseDrift: what two clusters make of the same object by themselves, with all that their controllers do, is no drift.
func TestNoFalseDrift(t *testing.T) {
	t.Parallel()
	e, all := working(t, "site1", "site2")
	for _, way := range [][]string{{"create"}, {"apply"}, {"apply", "--server-side", "--force-conflicts"}, {"replace"}} {
		manifest := everything
		if way[0] != "create" {
			manifest = strings.ReplaceAll(everything, "web:1", "web:"+way[len(way)-1])
		}
		scope := ""
		if way[0] == "create" {
			scope = both
		}
		if way[0] == "replace" { // of a pod, a job and a claim hardly anything may be replaced
			manifest = strings.Split(everything, "---\napiVersion: v1\nkind: Service\n")[0]
		}
		if out, err := all[0].try(scope, manifest, append(way, "-f", "-")...); err != nil {
			t.Fatal(way, out, err)
		}
		for _, s := range all {
			noDrift(t, e, s, fmt.Sprint("after ", way))
		}
	}

	site1, site2 := all[0], all[1]
	site2.Cut(t)
	apart(t, e, all)
	mine := strings.ReplaceAll(everything, "web:1", "web:mine")
	if out, err := site1.try("", mine[strings.Index(mine, "apiVersion: apps/v1"):], "apply", "-f", "-", "--server-side", "--force-conflicts"); err != nil {
		t.Fatal(out, err)
	}
	site2.kube("", "patch", "deployment", "web", "-p", `{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"SIDE","value":"two"}]}]}}}}`)
	site2.kube("", "scale", "statefulset", "db", "--replicas=2")
	site1.kube(both, "create", "configmap", "twice", "--from-literal=one=1")
	site2.kube(both, "create", "configmap", "twice", "--from-literal=two=2")
	if out, err := site2.try("", strings.Replace(everything[strings.Index(everything, "apiVersion: v1\nkind: Secret"):strings.Index(everything, "---\napiVersion: v1\nkind: Service\n")],
		"opensesame", "changed", 1), "replace", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	site2.Heal(t)
	container := []any{"spec", "template", "spec", "containers", 0}
	for _, s := range all {
		has(e, s, "the image of site1", is("registry.example/web:mine", append(container, "image")...), "deployment", "web")
		has(e, s, "what site2 has set", is("two", append(container, "env", 0, "value")...), "deployment", "web")
		has(e, s, "two of them", is(2.0, "spec", "replicas"), "statefulset", "db")
		has(e, s, "what both have created", is(map[string]any{"one": "1", "two": "2"}, "data"), "configmap", "twice")
		has(e, s, "the secret of site2", is("Y2hhbmdlZA==", "data", "word"), "secret", "password")
	}
	for _, s := range all {
		noDrift(t, e, s, "after a cut")
	}
	converged(t, e, all)
	hidden(t, all, "opensesame", "b3BlbnNlc2FtZQ", "changed\"", "Y2hhbmdlZA")
}

// TestNotesOfOneCluster: what a cluster notes in an object for itself, how often it has changed or to what it has bound it, stays there though a
// client reads the object and puts it back with something changed.
func TestNotesOfOneCluster(t *testing.T) {
	t.Parallel()
	e, all := sites(t, "site1", "site2")
	site1, site2 := all[0], all[1]
	manifest := everything[strings.Index(everything, "apiVersion: v1\nkind: PersistentVolumeClaim"):strings.Index(everything, "---\napiVersion: v1\nkind: Pod")] + `---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: each}
spec:
  selector: {matchLabels: {app: each}}
  template:
    metadata: {labels: {app: each}}
    spec: {containers: [{name: c, image: "registry.example/each:1"}]}
`
	if out, err := site1.try(both, manifest, "create", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	const count, bound = "deprecated.daemonset.template.generation", "pv.kubernetes.io/bind-completed"
	if out, err := site1.direct("annotate", "persistentvolumeclaim", "disk", bound+"=yes"); err != nil {
		t.Fatal(out, err)
	}
	has(e, site2, "the daemon set", nil, "daemonset", "each")
	has(e, site2, "the claim", nil, "persistentvolumeclaim", "disk")
	site2.Cut(t)
	apart(t, e, all)
	for _, image := range []string{"2", "3"} {
		site1.kube("", "set", "image", "daemonset/each", "c=registry.example/each:"+image)
	}
	site2.kube("", "set", "image", "daemonset/each", "c=registry.example/each:4") // so that it never has those
	for _, name := range []string{"daemonset/each", "persistentvolumeclaim/disk"} {
		now := strings.Replace(site1.kube("", "get", name, "-o", "json"), `"metadata": {`, `"metadata": {"labels":{"put":"back"},`, 1)
		if out, err := site1.try("", now, "replace", "-f", "-"); err != nil {
			t.Fatal(out, err)
		}
	}
	site2.Heal(t)
	has(e, site2, "what was put back", is("back", "metadata", "labels", "put"), "daemonset", "each")
	has(e, site2, "what was put back", is("back", "metadata", "labels", "put"), "persistentvolumeclaim", "disk")
	converged(t, e, all)
	if got := at(site2.object("persistentvolumeclaim", "disk"), "metadata", "annotations", bound); got != nil {
		t.Errorf("site2 says that its claim is bound: %v", got)
	}
	if one, two := at(site1.object("daemonset", "each"), "metadata", "annotations", count), at(site2.object("daemonset", "each"), "metadata", "annotations", count); one == two {
		t.Errorf("both clusters count %v", one)
	}
}

// hidden wants that nothing of what secrets hold is shown by the agents or in what they write down for people.
func hidden(t *testing.T, all []*site, values ...string) {
	t.Helper()
	for _, s := range all {
		told := map[string]string{}
		for _, args := range [][]string{{"resources", "show", "default/password"}, {"operations", "-o", "json"}, {"events", "-o", "json"}, {"conflicts", "-o", "json"},
			{"audit"}} {
			told["skerry "+strings.Join(args, " ")] = s.skerry(args...)
		}
		list, err := s.Client().Operations(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		token := []string{"Authorization", "Bearer " + cluster.UserToken}
		for _, o := range list {
			if strings.HasSuffix(o.Resource, "/password") {
				told["operation "+o.Type] = s.API(t, "GET /operations/"+o.ID, "").Must(t, 200).Body + s.API(t, "GET /api/v1/operations/"+o.ID, "").Must(t, 200).Body
			}
		}
		for _, page := range []string{"/resources/default%2Fpassword", "/api/v1/resources/default%2Fpassword", "/api/v1/resources/default%2Fpassword/replicas", "/operations", "/conflicts"} {
			told[page] = s.API(t, "GET "+page, "", token...).Must(t, 200).Body
		}
		log, err := os.ReadFile(s.Config().Log())
		if err != nil {
			t.Fatal(err)
		}
		told["the log"] = string(log)
		for where, text := range told {
			for _, v := range values {
				if strings.Contains(text, v) {
					t.Errorf("%s of %s shows %s of a secret:\n%s", where, s.Name(), v, text)
				}
			}
		}
	}
}

// noDrift waits until all that an agent replicates shows no differences.
func noDrift(t *testing.T, e *env.Env, s *site, when string) {
	t.Helper()
	list, err := s.Client().Resources(t.Context())
	if err != nil || len(list) < 11 {
		t.Fatalf("%s: %d resources: %v", when, len(list), err)
	}
	for _, r := range list {
		e.Eventually(t, within, fmt.Sprintf("%s: %s tells no drift of %s %s", when, s.Name(), r.Kind, r.ID), func() error {
			answer := s.API(t, "GET /api/v1/resources/"+url.PathEscape(r.ID)+"/replicas?service="+r.Service+"&kind="+r.Kind, "",
				"Authorization", "Bearer "+cluster.UserToken)
			var told struct {
				Equal       bool
				Differences []struct {
					Path   string
					Values map[string]any
				}
			}
			if err := json.Unmarshal([]byte(answer.Body), &told); err != nil || !told.Equal {
				return fmt.Errorf("%v of %.500s: %v", told.Differences, answer.Body, err)
			}
			return nil
		})
	}
}
