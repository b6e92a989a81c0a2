package conform

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue/kubernetes"
	"github.com/skerry/skerry/testnet/cluster"
	"github.com/skerry/skerry/testnet/process"
)

// Kubernetes is a cluster of its API server, etcd and its controllers, with pods that are said to run.
var Kubernetes = Application{
	Name: "kubernetes", Title: "Kubernetes 1.36", Catalog: cluster.Catalog,
	About:    "kube-apiserver and kube-controller-manager, unmodified, with etcd. There are no machines: pods are said to run. Each cluster tells its kinds itself, and the schema says which arrays have keys; `widgets.example.org` is of a definition that the run makes. Kinds whose names are long are those of `kubectl api-resources`.",
	Patience: 5 * time.Minute, // of over a thousand objects, on a machine that runs both clusters
	Header:   http.Header{"Authorization": {"Bearer " + cluster.UserToken}},
	Bodies:   kubernetesBodies(),
	Start: func(ctx context.Context, dir string) (map[string]string, func() error, error) {
		_, module, err := cached(ctx, "")
		if err != nil {
			return nil, nil, err
		}
		programs, err := cluster.Build(ctx, filepath.Join(module, "testnet", "apps", "kubernetes"))
		if err != nil {
			return nil, nil, err
		}
		return startCluster(ctx, dir, programs)
	},
	Found: func(ctx context.Context, c *Conformance, dirs [2]string) error {
		for i, dir := range dirs {
			k := cluster.Cluster{Dir: dir}
			c.TLS[i] = TLS{k.CA(), k.Key()}
			if err := c.define(ctx, i); err != nil {
				return err
			}
		}
		return c.discover(ctx)
	},
}

// startCluster starts a cluster with its data in dir, and what stands in for its nodes.
func startCluster(ctx context.Context, dir, programs string) (upstreams map[string]string, stop func() error, err error) {
	ports, err := process.Ports(3)
	if err != nil {
		return nil, nil, err
	}
	k := &cluster.Cluster{Dir: dir, Programs: programs, API: ports[0], Etcd: ports[1], Peer: ports[2], Controllers: true}
	if err := k.Furnish(); err != nil {
		return nil, nil, err
	}
	p, err := process.Start("a cluster", filepath.Join(dir, "log"), k.Command()...)
	if err != nil {
		return nil, nil, err
	}
	nodes, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	stop = func() error {
		end()
		<-ended
		return p.Stop(stopping)
	}
	base := http.DefaultTransport.(*http.Transport)
	starts, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	if err := k.Ready(starts, base, p.Ended); err != nil {
		ended <- nil
		return nil, stop, err
	}
	go func() {
		ended <- (&cluster.Nodes{Cluster: k, Base: base, Log: slog.New(slog.DiscardHandler)}).Run(nodes)
	}()
	return map[string]string{cluster.Service: k.URL()}, stop, nil
}

// define makes the definition of widgets at one cluster, as an operator's installation does at each.
func (c *Conformance) define(ctx context.Context, i int) error {
	client, err := trusting(c.TLS[i].Cert)
	if err != nil {
		return err
	}
	do := func(method, path, media, text string) error {
		a, err := (&site{client: client}).send(ctx, &run{Conformance: c}, c.Upstreams[i][cluster.Service],
			request{method: method, path: path, body: []byte(text), header: map[string]string{"Content-Type": media}})
		if err == nil && !a.fine() {
			err = fmt.Errorf("%s %s: %s", method, path, a.excerpt())
		}
		return err
	}
	text := strings.ReplaceAll(definition, "{name}", "widgets")
	if err := do(http.MethodPatch, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.org?fieldManager=conform", applied, text); err != nil {
		return err
	}
	return within(ctx, starting, "widgets are known", func() error { return do(http.MethodGet, "/openapi/v3/apis/example.org/v1", "", "") })
}

// discover has the kinds that are tried, as the first cluster tells them.
func (c *Conformance) discover(ctx context.Context) error {
	client, err := trusting(c.TLS[0].Cert)
	if err != nil {
		return err
	}
	at, err := url.Parse(c.Upstreams[0][cluster.Service])
	if err != nil {
		return err
	}
	all, err := kubernetes.Discover(ctx, kubernetes.Source{Service: cluster.Service, URL: at, Transport: client.Transport,
		Credentials: func() (http.Header, error) { return c.Header.Clone(), nil }})
	if err != nil {
		return err
	}
	s := c.Catalog.Services[cluster.Service]
	s.Kinds, s.Rules = all, kubernetes.Rules(all)
	c.Kinds = slices.DeleteFunc(slices.Clone(all), func(k *engine.Kind) bool { _, tried := c.Bodies[nameOf(k)]; return !tried })
	return nil
}

const (
	applied   = "application/apply-patch+yaml"
	strategic = "application/strategic-merge-patch+json"
	// definition defines a kind of resource.
	definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"{name}.example.org","labels":{"tier":"a","team":"a"}},
		"spec":{"group":"example.org","scope":"Namespaced","names":{"plural":"{name}","singular":"{name}-one","kind":"Of-{name}","listKind":"List-{name}"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
			"size":{"type":"integer"},"colour":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},
			"ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],
				"properties":{"name":{"type":"string"},"port":{"type":"integer"}}}}}}}}}}]}}`
)

// template is that of pods, with two steps before and settings in an order.
const template = `{"metadata":{"labels":{"app":"{name}"}},"spec":{
	"initContainers":[{"name":"wait-db","image":"registry.example/wait:1"},{"name":"migrate","image":"registry.example/migrate:1"}],
	"containers":[{"name":"main","image":"registry.example/main:1","env":[{"name":"A","value":"1"},{"name":"B","value":"$(A)2"}]}]%s}}`

// labels are two that every object has.
const labels = `"labels":{"tier":"a","team":"a"}`

var (
	bothLabels = []engine.Pointer{"/metadata/labels/tier", "/metadata/labels/team"}
)

// workload is what has pods made.
func workload(version, kind, spec, template string) Body {
	return Body{Text: fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":"{name}",%s},"spec":{%s"template":%s}}`, version, kind, labels, spec, template)}
}

// described is an object whose members, beside its metadata, are given.
func described(version, kind, members string, fields, lists []engine.Pointer) Body {
	return Body{Text: fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":"{name}",%s}%s}`, version, kind, labels, members), Fields: fields, Lists: lists}
}

func kubernetesBodies() map[string]Body {
	pods := func(more string) string { return fmt.Sprintf(template, more) }
	const selects = `"replicas":1,"selector":{"matchLabels":{"app":"{name}"}},`
	deployment := workload("apps/v1", "Deployment", selects, pods(""))
	deployment.Fields = []engine.Pointer{"/metadata/labels/tier", "/spec/minReadySeconds"}
	deployment.Text = []byte(strings.Replace(string(deployment.Text), selects, selects+`"minReadySeconds":1,`, 1))
	deployment.Lists = []engine.Pointer{"/spec/template/spec/initContainers"}
	deployment.Requests = []Request{
		{"apply: env", http.MethodPatch, "?fieldManager=conform&force=true", applied, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"{name}"},"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"C","value":"{value}"}]}]}}}}`,
			"/spec/template/spec"},
		{"strategic merge: containers", http.MethodPatch, "", strategic, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"registry.example/{value}:2"}],"initContainers":[{"name":"seed-{value}","image":"registry.example/seed:1"}]}}}}`,
			"/spec/template/spec"},
	}
	stateful := workload("apps/v1", "StatefulSet", selects+`"serviceName":"{name}",`, pods(""))
	stateful.Fields = []engine.Pointer{"/metadata/labels/tier", "/spec/template/spec/containers/0/image"}
	stateful.Lists = []engine.Pointer{"/spec/template/spec/containers/0/env"}
	job := workload("batch/v1", "Job", "", pods(`,"restartPolicy":"Never"`))
	job.Fields = []engine.Pointer{"/metadata/labels/tier", "/spec/activeDeadlineSeconds"}
	job.Text = []byte(strings.Replace(string(job.Text), `"spec":{"template"`, `"spec":{"activeDeadlineSeconds":600,"template"`, 1))
	all := map[string]Body{
		"namespaces":      described("v1", "Namespace", "", bothLabels, nil),
		"configmaps":      described("v1", "ConfigMap", `,"data":{"a":"1","b":"2"},"binaryData":{"bytes":"AP8B"}`, []engine.Pointer{"/data/a", "/data/b"}, nil),
		"secrets":         described("v1", "Secret", `,"data":{"a":"MQ==","b":"Mg=="}`, bothLabels, nil),
		"serviceaccounts": described("v1", "ServiceAccount", `,"imagePullSecrets":[{"name":"x"},{"name":"y"}]`, bothLabels, []engine.Pointer{"/imagePullSecrets"}),
		"services": described("v1", "Service", `,"spec":{"type":"NodePort","selector":{"app":"{name}"},"ports":[{"name":"http","port":80},{"name":"https","port":443}]}`,
			[]engine.Pointer{"/spec/selector/app", "/metadata/labels/tier"}, []engine.Pointer{"/spec/ports"}),
		"persistentvolumeclaims": described("v1", "PersistentVolumeClaim", `,"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"none","resources":{"requests":{"storage":"1Gi"}}}`, bothLabels, nil),
		"deployments.apps":       deployment,
		"statefulsets.apps":      stateful,
		"jobs.batch":             job,
		"ingresses.networking.k8s.io": described("networking.k8s.io/v1", "Ingress", `,"spec":{"ingressClassName":"a","rules":[{"host":"a.example"},{"host":"b.example"}],"defaultBackend":{"service":{"name":"x","port":{"number":80}}}}`,
			[]engine.Pointer{"/spec/ingressClassName", "/spec/defaultBackend/service/name"}, []engine.Pointer{"/spec/rules"}),
		"roles.rbac.authorization.k8s.io": described("rbac.authorization.k8s.io/v1", "Role", `,"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]},{"apiGroups":[""],"resources":["secrets"],"verbs":["list"]}]`,
			bothLabels, []engine.Pointer{"/rules", "/rules/0/verbs"}),
		"rolebindings.rbac.authorization.k8s.io": described("rbac.authorization.k8s.io/v1", "RoleBinding", `,"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"x"},"subjects":[{"kind":"User","name":"a","apiGroup":"rbac.authorization.k8s.io"},{"kind":"User","name":"b","apiGroup":"rbac.authorization.k8s.io"}]`,
			bothLabels, []engine.Pointer{"/subjects"}),
		"customresourcedefinitions.apiextensions.k8s.io": {Text: []byte(definition), Fields: bothLabels},
		"widgets.example.org": described("example.org/v1", "Of-widgets", `,"spec":{"size":1,"colour":"red","tags":["a","b"],"ports":[{"name":"x","port":1},{"name":"y","port":2}]}`,
			[]engine.Pointer{"/spec/size", "/spec/colour"}, []engine.Pointer{"/spec/tags", "/spec/ports"}),
	}
	for _, name := range []string{"deployments.apps", "statefulsets.apps"} {
		all[name+"/scale-patch"] = Body{Media: "application/merge-patch+json", Text: []byte(`{"spec":{"replicas":2}}`)}
	}
	named := map[string]Body{}
	for name, b := range all {
		named[cluster.Service+"/"+name] = b
	}
	return named
}
