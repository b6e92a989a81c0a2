package kubernetes

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

// cluster answers as an API server does, shortened.
var cluster = map[string]string{
	"/api": `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1","freshness":"Current","resources":[
		{"resource":"namespaces","scope":"Cluster","responseKind":{"version":"v1","kind":"Namespace"},"verbs":["create","delete","get","list","patch","update","watch"],
			"subresources":[{"subresource":"finalize","verbs":["update"]},{"subresource":"status","verbs":["get","patch","update"]}]},
		{"resource":"pods","scope":"Namespaced","responseKind":{"kind":"Pod"},"verbs":["create","delete","deletecollection","get","list","patch","update","watch"]},
		{"resource":"bindings","scope":"Namespaced","responseKind":{"version":"v1","kind":"Binding"},"verbs":["create"]}]}]}]}`,
	"/apis": `{"items":[{"metadata":{"name":"example.org"},"versions":[
		{"version":"v2","resources":[{"resource":"widgets","scope":"Namespaced","responseKind":{"group":"example.org","version":"v2","kind":"Widget"},
			"verbs":["create","delete","get","list","patch","update"],"subresources":[{"subresource":"scale","verbs":["get","patch","update"]}]}]},
		{"version":"v1","resources":[{"resource":"widgets","scope":"Namespaced","responseKind":{"group":"example.org","version":"v1","kind":"Widget"},
			"verbs":["create","delete","get","list","patch","update"]}]}]}]}`,
	"/openapi/v3": `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=1"},"apis/example.org/v2":{"serverRelativeURL":"/openapi/v3/apis/example.org/v2"}}}`,
	"/openapi/v3/apis/example.org/v2": `{"components":{"schemas":{
		"Widget":{"x-kubernetes-group-version-kind":[{"group":"example.org","version":"v2","kind":"Widget"}],"properties":{
			"spec":{"properties":{"replicas":{"type":"integer"},"maxReplicas":{"type":"integer"}}},
			"status":{"properties":{"readyReplicas":{"type":"integer"},"replicasOf":{"type":"integer"},"observedGeneration":{"type":"integer"}}}}}}}}`,
	"/openapi/v3/api/v1": `{"components":{"schemas":{
		"Pod":{"x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"Pod"}],"properties":{
			"status":{"properties":{"conditions":{"type":"array","items":{"properties":{"type":{}}},"x-kubernetes-patch-merge-key":"type"}}},
			"spec":{"allOf":[{"$ref":"#/components/schemas/PodSpec"}]}}},
		"PodSpec":{"properties":{
			"tolerations":{"type":"array","items":{"properties":{"key":{}}}},
			"containers":{"type":"array","items":{"allOf":[{"$ref":"#/components/schemas/Container"}]},"x-kubernetes-patch-merge-key":"name"}}},
		"Container":{"properties":{"name":{},
			"args":{"type":"array","items":{"type":"string"}},
			"drops":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
			"ports":{"type":"array","items":{"properties":{"port":{}}},"x-kubernetes-list-map-keys":["port","protocol"]},
			"env":{"type":"array","items":{"properties":{"name":{}}},"x-kubernetes-list-map-keys":["name"]}}}}}}`,
}

func source(t *testing.T, answers map[string]string) Source {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := answers[r.URL.Path]
		if !ok || r.Header.Get("Authorization") != "Bearer t" {
			w.WriteHeader(http.StatusForbidden)
		}
		w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return Source{Service: "cluster", URL: u, Transport: http.DefaultTransport,
		Credentials: func() (http.Header, error) { return http.Header{"Authorization": {"Bearer t"}}, nil }}
}

func TestDiscover(t *testing.T) {
	kinds, err := Discover(t.Context(), source(t, cluster))
	if err != nil {
		t.Fatal(err)
	}
	paths := map[engine.KindName]string{}
	for _, k := range kinds {
		paths[k.Name] = k.Item
	}
	want := map[engine.KindName]string{
		"namespaces":          "/api/v1/namespaces/{id}",
		"pods":                "/api/v1/namespaces/{namespaces}/pods/{id}",
		"widgets.example.org": "/apis/example.org/v2/namespaces/{namespaces}/widgets/{id}", // preferred, once
	}
	if !reflect.DeepEqual(paths, want) {
		t.Errorf("found %v, want %v", paths, want)
	}
	pods, widgets := kinds[1], kinds[2]
	keys := []engine.Key{{At: "/spec/containers", Member: "name"}, {At: "/spec/containers/*/env", Member: "name"}}
	if !slices.Equal(pods.Keys, keys) {
		t.Errorf("keyed arrays %v, want %v", pods.Keys, keys)
	}
	if sets := []engine.Pointer{"/spec/containers/*/drops"}; !slices.Equal(pods.Unordered, sets) {
		t.Errorf("arrays without an order %v, want %v", pods.Unordered, sets)
	}
	if pods.Within != "namespaces" || !pods.Natural() || !pods.Ignored("/metadata/uid") || !pods.Ignored("/spec/nodeName") || pods.Ignored("/spec/containers") {
		t.Errorf("pods are %+v", pods)
	}
	if !pods.Ends || widgets.Ends || widgets.EndsIn != nil || pods.Single != "" {
		t.Errorf("pods end: %t, widgets: %t", pods.Ends, widgets.Ends)
	}
	jobs, nodes, secrets := &engine.Kind{Name: "jobs.batch"}, &engine.Kind{Name: "nodes"}, &engine.Kind{Name: "secrets"}
	if last(secrets); len(secrets.EndsIn) != 1 || secrets.Ends {
		t.Errorf("secrets end in %v", secrets.EndsIn)
	}
	if last(jobs); !jobs.Ends {
		t.Error("jobs that are gone are made anew")
	}
	if last(nodes); nodes.Single == "" || nodes.Ends {
		t.Error("clusters hold nodes together")
	}
	if !slices.Equal(widgets.Divide, []engine.Pointer{"/spec/replicas"}) || !slices.Equal(widgets.Aggregate, []engine.Aggregate{{At: "/status/readyReplicas", By: engine.AggregateSum}}) || pods.Divide != nil {
		t.Errorf("widgets are divided by %v and read as one by %v", widgets.Divide, widgets.Aggregate)
	}
	if len(widgets.Operations) != 2 || widgets.Operations[1].Path != widgets.Item+"/scale" {
		t.Errorf("what is below widgets: %v", widgets.Operations)
	}
}

func TestDiscoverNoCluster(t *testing.T) {
	if _, err := Discover(t.Context(), source(t, map[string]string{"/api": `{}`, "/apis": `{}`})); err == nil {
		t.Error("an application without namespaces is taken for a cluster")
	}
	if _, err := Discover(t.Context(), source(t, nil)); err == nil {
		t.Error("a refusal is taken for an answer")
	}
}

func TestDiscoverMore(t *testing.T) {
	known := func(k engine.KindName) bool { return k == "namespaces" }
	answers := maps.Clone(cluster)
	answers["/openapi/v3"] = `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1"}}}`
	kinds, untold, err := DiscoverMore(t.Context(), source(t, answers), known)
	if err != nil || !untold || len(kinds) != 1 || kinds[0].Name != "pods" || len(kinds[0].Keys) != 2 { // of widgets there is no schema yet
		t.Errorf("found %v, %v", kinds, err)
	}
	kinds, untold, err = DiscoverMore(t.Context(), source(t, cluster), func(engine.KindName) bool { return true })
	if err != nil || untold || kinds != nil {
		t.Errorf("found %v, %v, %v", kinds, untold, err)
	}
}
