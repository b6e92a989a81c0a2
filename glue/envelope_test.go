package glue

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

const enveloped = `application: harbour
services:
  boats:
    kinds:
      boat:
        collection: /boats
        item: /boats/{id}
        id: {from: body, at: /data/id}
        envelope: /data
`

// TestEnvelope: what clients send is taken as the application shows it, and goes to the application as clients send it.
func TestEnvelope(t *testing.T) {
	c, err := ParseCatalog("enveloped.yaml", []byte(enveloped))
	if err != nil {
		t.Fatal(err)
	}
	k := c.Kind("boats", "boat")
	for _, x := range []struct{ method, path, media, body, want string }{
		{"POST", "/boats", "application/json", `{"name":"a","crew":[]}`, `{"data":{"crew":[],"name":"a"}}`},
		{"PUT", "/boats/7", "application/json", `{"data":{"n":1}}`, `{"data":{"data":{"n":1}}}`},
		{"PATCH", "/boats/7", "application/merge-patch+json", `{"name":null}`, `{"data":{"name":null}}`},
		{"PUT", "/boats/7", "text/plain", `{"name":"a"}`, `{"name":"a"}`},
		{"POST", "/boats/7/sail", "application/json", `{"to":"sea"}`, `{"to":"sea"}`},
		{"PATCH", "/boats/7", "application/json-patch+json", `[]`, `[]`},
		{"POST", "/boats", "application/json", `{"name":`, `{"name":`},
	} {
		header := http.Header{"Content-Type": {x.media}}
		m, ok := NewRouter(c.Services["boats"].Kinds).Match(x.method, x.path, header)
		if got := string(m.Enveloped(header, []byte(x.body))); !ok || got != x.want {
			t.Errorf("%s %s %s is %s, want %s", x.method, x.path, x.body, got, x.want)
		}
	}
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 100)
		n, _ := r.Body.Read(b)
		got = append(got, r.Method+" "+r.URL.Path+" "+string(b[:n]))
	}))
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	client, err := NewClient(ClientConfig{Upstreams: []Upstream{{Service: "boats", URL: u, Kinds: []*engine.Kind{k}}}})
	if err != nil {
		t.Fatal(err)
	}
	client.Use(table{})
	for _, call := range []engine.Call{
		{Method: "POST", Path: k.Collection, Body: []byte(`{"data":{"name":"a"}}`)},
		{Method: "PUT", Path: k.Item, Local: "7", Body: []byte(`{"data":{"id":"7","name":"b"},"own":1}`)},
		{Method: "POST", Path: k.Item + "/sail", Local: "7", Body: []byte(`{"data":"sea"}`)},
	} {
		call.Kind, call.Header = k, map[string]string{"Content-Type": "application/json"}
		if _, err := client.Do(t.Context(), call); err != nil {
			t.Fatal(err)
		}
	}
	if want := `POST /boats {"name":"a"}, PUT /boats/7 {"id":"7","name":"b"}, POST /boats/7/sail {"data":"sea"}`; strings.Join(got, ", ") != want {
		t.Errorf("the application is sent %s, want %s", strings.Join(got, ", "), want)
	}
	for _, more := range []string{"links: [{at: /data/self}]", "correct: json-patch", "refs: [{at: /data/dock, to: boats.boat, relation: reliance}]"} {
		if _, err := ParseCatalog("enveloped.yaml", []byte(enveloped+"        "+more+"\n")); err == nil || !strings.Contains(err.Error(), "envelope") {
			t.Errorf("with %s: %v", more, err)
		}
	}
}

// TestTokensTravel: what shows who asks goes on to another site's application, what somebody says of it does not.
func TestTokensTravel(t *testing.T) {
	c := &Client{}
	for header, want := range map[string]bool{"Authorization": true, "x-vault-token": true, "X-Consul-Token": true, "PRIVATE-TOKEN": true, "X-Forwarded-User": false, "X-Vault-Request": false} {
		if got := c.Travels("boats", header); got != want {
			t.Errorf("%s travels: %t", header, got)
		}
	}
}
