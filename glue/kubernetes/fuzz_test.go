package kubernetes

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// FuzzBodies looks into bodies of clients and answers of an API server. What is made of them is JSON where they were.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{
		`{"kind":"Status","message":"failed to create typed patch object: x"}`, `{"metadata":{"generateName":"a","ownerReferences":[{"uid":"1"}]},"dryRun":["All"],"gracePeriodSeconds":0}`,
		`[{"op":"replace","path":"/metadata/resourceVersion","value":"1"}]`, `{"kind":"Scale","metadata":{"name":"a","creationTimestamp":"x"},"spec":{"replicas":-1},"status":[]}`, `null`, `[[`, ``,
	} {
		f.Add(body)
	}
	var kinds []*engine.Kind
	for name := range columns {
		k := &engine.Kind{Name: name}
		leave(k)
		kinds = append(kinds, k)
	}
	f.Fuzz(func(t *testing.T, body string) {
		d, header := Dialect{}, http.Header{"Content-Type": {"application/json"}}
		d.Rehearses(http.MethodDelete, "", header, []byte(body))
		d.Forces(header, []byte(body))
		d.Rehearsal(nil, "", header, []byte(body))
		d.Refuses([]byte(body))
		d.Closed([]byte(body))
		d.Leaves(nil, []byte(body))
		for _, k := range kinds {
			d.Own(k, []byte(body))
			if got := d.Portable(k, []byte(body)); json.Valid([]byte(body)) && !json.Valid(got) {
				t.Errorf("%q becomes %q", body, got)
			}
			if _, table, ok := d.Rendered(k, "application/json;as=Table;v=v1;g=meta.k8s.io", []byte(body)); ok && !json.Valid(table) {
				t.Errorf("%q is shown as %q", body, table)
			}
			cellsOf(k, json.RawMessage(body), 100)
		}
	})
}

// answers is a cluster that answers the same to whatever it is asked.
type answers struct {
	status int
	body   string
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

// FuzzCluster has a cluster say anything of its kinds, and of who asks. Each kind that is made of that has a path.
func FuzzCluster(f *testing.F) {
	f.Add(`{"items":[{"metadata":{"name":""},"versions":[{"version":"v1","resources":[{"resource":"namespaces","responseKind":{"version":"v1","kind":"Namespace"},"scope":"Cluster","verbs":["create","get","list","update","delete"]}]}]}]}`)
	f.Add(`{"status":{"userInfo":{"username":"ann\r\nX: y","groups":["a",""],"extra":{"k":["v"]}}}}`)
	f.Add(`{"items":[{}]}`)
	at := &url.URL{Scheme: "http", Host: "cluster"}
	f.Fuzz(func(t *testing.T, body string) {
		kinds, err := Discover(t.Context(), Source{Service: "api", URL: at, Transport: answers{http.StatusOK, body}})
		for _, k := range kinds {
			if err == nil && (k.Name == "" || k.Item == "" || k.Collection == "") {
				t.Errorf("%q makes %+v", body, k)
			}
		}
		_, _ = Dialect{}.Asker(t.Context(), at, answers{http.StatusCreated, body}, http.Header{"Authorization": {"Bearer a"}})
	})
}
