package glue

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestReferring reads what of the application refers to a replicated image, under the application's own identifiers.
func TestReferring(t *testing.T) {
	status := 200
	url, log := application(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"servers":[{"id":7,"image":"img-1"},{"id":8,"image":"img-1"},{"id":9,"image":"img-9"},{"id":10}]}`)
	})
	c := testClient(t, "http://127.0.0.1:1", url, ids)
	t1 := engine.Target{Service: "images", Kind: "image", ID: "M1"}
	found, err := c.Referring(t.Context(), t1, &engine.Credentials{Header: http.Header{"Authorization": {"Bearer x"}}})
	var got []string
	for _, r := range found {
		got = append(got, fmt.Sprint(r.ID, " ", r.Replicated, " ", r.By.At))
	}
	if s := strings.Join(got, ", "); err != nil || s != "S true /image, 8 false /image" {
		t.Errorf("%s, %v", s, err)
	}
	if (*log)[0].header.Get("Authorization") != "Bearer x" || (*log)[0].uri != "/servers" {
		t.Errorf("asked %+v", (*log)[0])
	}
	status = 503
	if found, err := c.Referring(t.Context(), t1, nil); len(found) != 0 || err == nil || !strings.Contains(err.Error(), "servers.server (it answered 503 Service Unavailable)") {
		t.Errorf("%v, %v", found, err)
	}
	if found, err := c.Referring(t.Context(), engine.Target{Service: "servers", Kind: "server", ID: "S"}, nil); found != nil || err != nil {
		t.Errorf("nothing refers to servers: %v, %v", found, err)
	}
}

// FuzzOwners reads what any object of an application says that it was made along with.
func FuzzOwners(f *testing.F) {
	f.Add(`{"metadata":{"ownerReferences":[{"kind":"Pod","name":"a"},{"kind":1},null]}}`)
	f.Add(`{"metadata":{"ownerReferences":{"kind":"Pod"}}}`)
	c := &Client{config: ClientConfig{Owners: func(*engine.Kind) []Owner {
		return []Owner{{At: "/metadata/ownerReferences", Member: "kind", Equals: "Pod", ID: "name", Kind: "pods"}}
	}}}
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range c.ownersOf(&engine.Kind{Service: "api", Name: "pods"}, []byte(text)) {
			if r.Target.ID == "" {
				t.Errorf("%q names nobody: %+v", text, r)
			}
		}
		if !sameJSON([]byte(text), []byte(text)) && json.Valid([]byte(text)) {
			t.Errorf("%q is not itself", text)
		}
	})
}
