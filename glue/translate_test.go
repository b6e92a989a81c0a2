package glue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// table is a fixed translation: "service.kind/meta" to local.
type table map[string]string

func (t table) Local(_ context.Context, s engine.ServiceName, k engine.KindName, id engine.ResourceID) (engine.LocalID, bool) {
	l, ok := t[string(s)+"."+string(k)+"/"+string(id)]
	return engine.LocalID(l), ok
}

func (t table) Meta(_ context.Context, s engine.ServiceName, k engine.KindName, id engine.LocalID) (engine.ResourceID, bool) {
	prefix := string(s) + "." + string(k) + "/"
	for meta, local := range t {
		if local == string(id) && strings.HasPrefix(meta, prefix) {
			return engine.ResourceID(meta[len(prefix):]), true
		}
	}
	return "", false
}

func (t table) Translated(s engine.ServiceName, k engine.KindName) bool {
	prefix := string(s) + "." + string(k) + "/"
	for meta, local := range t {
		if strings.HasPrefix(meta, prefix) && meta[len(prefix):] != local {
			return true
		}
	}
	return false
}

var (
	image  = testKinds()[0]
	server = &engine.Kind{
		Service: "servers", Name: "server", Collection: "/servers", Item: "/servers/{id}",
		ID: engine.IDRule{From: engine.IDFromBody, At: "/id"},
		Refs: []engine.Ref{
			{At: "/image", Service: "images", Kind: "image"},
			{At: "/spec/images", Service: "images", Kind: "image"},
		},
	}
	ids = table{"images.image/M1": "img-1", "images.image/M2": "img-2", "servers.server/S": "7"}
)

func testClient(t *testing.T, images, servers string, ids engine.Identifiers) *Client {
	t.Helper()
	parse := func(s string) *url.URL {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	c, err := NewClient(ClientConfig{Upstreams: []Upstream{
		{Service: "images", URL: parse(images), Kinds: testKinds()},
		{Service: "servers", URL: parse(servers), Kinds: []*engine.Kind{server}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c.Use(ids)
	t.Cleanup(c.CloseIdle)
	return c
}

func reply(body string) engine.Reply {
	return engine.Reply{Status: 200, Header: http.Header{"Content-Type": {"application/json"}, "Content-Length": {"9"}}, Body: []byte(body)}
}

func TestPresent(t *testing.T) {
	c := testClient(t, "http://app:1", "http://app:2", ids)
	for _, x := range []struct{ in, want string }{
		{`{"id":7,"image":"img-1"}`, `{"id":"S","image":"M1"}`},
		{"{ \"z\": 1.50, \"id\" : 7,\n \"big\": 12345678901234567890.10, \"a\":\"<&>\\u0041\" }", "{ \"z\": 1.50, \"id\" : \"S\",\n \"big\": 12345678901234567890.10, \"a\":\"<&>\\u0041\" }"},
		{`{"spec":{"images":["img-2","other","img-1"]}}`, `{"spec":{"images":["M2","other","M1"]}}`},
		{`{"id":"unknown","image":null}`, `{"id":"unknown","image":null}`},
		{`{"note":"img-1","nested":{"image":"img-1"}}`, `{"note":"img-1","nested":{"image":"img-1"}}`},
		{`{"\u0069d":7}`, `{"\u0069d":"S"}`},
		{`{"id":7.0}`, `{"id":7.0}`},
		{`[]`, `[]`}, {`"img-1"`, `"img-1"`}, {`{"id":7`, `{"id":7`}, {``, ``},
	} {
		got, err := c.Present(t.Context(), server, reply(x.in))
		if err != nil || string(got.Body) != x.want {
			t.Errorf("%s\n got %s (%v)\nwant %s", x.in, got.Body, err, x.want)
		}
		if changed := x.in != x.want; changed == (got.Header.Get("Content-Length") == "9") {
			t.Errorf("%s: length header %q", x.in, got.Header.Get("Content-Length"))
		}
	}
}

func TestPresentLeavesWhatIsNotTranslated(t *testing.T) {
	c := testClient(t, "http://app:1", "http://app:2", table{"images.image/same": "same"})
	in := reply(`{"image":"same"}`)
	got, err := c.Present(t.Context(), server, in)
	if err != nil || &got.Body[0] != &in.Body[0] {
		t.Errorf("copied: %s %v", got.Body, err)
	}
	in.Status = 404
	if got, _ = c.Present(t.Context(), server, in); string(got.Body) != `{"image":"same"}` {
		t.Errorf("an error is changed: %s", got.Body)
	}
}

func TestPresentLocation(t *testing.T) {
	c := testClient(t, "http://app:1/base", "http://app:2", ids)
	for in, want := range map[string]string{
		"/images/img-1":                      "/images/M1",
		"http://app:1/base/images/img-1?x=1": "/images/M1?x=1",
		"http://other/images/img-1#f":        "http://other/images/M1#f",
		"http://app:1/base/else":             "/else",
		"/images/img-9":                      "/images/img-9",
		"/images/img-1/file":                 "/images/M1/file",
		"relative":                           "relative",
		"http://%zz":                         "http://%zz",
		"/images/../images/img-1":            "/images/../images/img-1",
	} {
		if got, _ := c.PresentLocation(t.Context(), "images", in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestCanonicalAndLocalize(t *testing.T) {
	// Own identifier of one resource, meta-identifier of another: the meta-identifier wins.
	both := table{"images.image/M1": "img-1", "images.image/img-1": "img-3", "servers.server/S": "7"}
	c := testClient(t, "http://app:1", "http://app:2", both)
	c.learn(nameOf(server), true)
	h := http.Header{"Content-Type": {"application/json"}}
	query, body := c.Canonical(t.Context(), server, "", h, "image=img-3&q=img-3&id=7&&image=a+b", []byte(`{"id":7,"image":"img-1","spec":{"images":["img-3"]}}`))
	if query != "image=img-1&q=img-3&id=S&&image=a+b" || string(body) != `{"id":"S","image":"img-1","spec":{"images":["img-1"]}}` {
		t.Errorf("canonical: %s %s", query, body)
	}
	query, body, err := c.Localize(t.Context(), server, "", h, query, body)
	if err != nil || query != "image=img-3&q=img-3&id=7&&image=a+b" || string(body) != `{"id":7,"image":"img-3","spec":{"images":["img-3"]}}` {
		t.Errorf("local: %s %s %v", query, body, err)
	}
	h.Set("Content-Type", "application/json-patch+json")
	_, body, err = c.Localize(t.Context(), server, "", h, "", []byte(`[{"op":"replace","path":"/image","value":"M1"},{"op":"add","path":"/spec/images/-","value":"M1"},{"op":"add","path":"/spec","value":{"images":["M1"]}},{"op":"add","path":"/name","value":"M1"}]`))
	if err != nil || string(body) != `[{"op":"replace","path":"/image","value":"img-1"},{"op":"add","path":"/spec/images/-","value":"img-1"},{"op":"add","path":"/spec","value":{"images":["img-1"]}},{"op":"add","path":"/name","value":"M1"}]` {
		t.Errorf("patch: %s %v", body, err)
	}
}

func TestItems(t *testing.T) {
	c := testClient(t, "http://app:1", "http://app:2", ids)
	for _, doc := range []string{`[{"id":"img-1"}, {"id":"x"}]`, `{"total": 2, "items" : [{"id":"img-1"}, {"id":"x"}], "next":null}`} {
		list, err := c.ParseItems(t.Context(), image, "", []byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Each) != 2 || list.Each[0].ID != "M1" || !list.Each[0].Replicated || list.Each[1].ID != "x" || list.Each[1].Replicated {
			t.Fatalf("%+v", list.Each)
		}
		want := strings.Replace(strings.Replace(doc, "img-1", "M1", 1), ", {\"id\":\"x", ",{\"id\":\"x", 1)
		if got := string(list.Join(list.Each)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		each, err := c.Items(image, []byte(doc))
		if got := string(bytes.Join(each, []byte("|"))); got != `{"id":"img-1"}|{"id":"x"}` || err != nil {
			t.Errorf("as the application shows them: %s %v", got, err)
		}
	}
	for _, doc := range []string{`{"a":[],"b":[]}`, `{}`, `3`, `[`, ``} {
		if _, err := c.ParseItems(t.Context(), image, "", []byte(doc)); err == nil {
			t.Errorf("%q is taken for a list", doc)
		}
		if _, err := c.Items(image, []byte(doc)); !errors.Is(err, ErrNoList) {
			t.Errorf("%q is taken for a list: %v", doc, err)
		}
	}
}

// Translating must keep every JSON text valid, and must leave everything but the identifiers as it was: there and back
// again gives the same text.
func FuzzTranslate(f *testing.F) {
	for _, s := range []string{`{"id":"7","image":"img-1","spec":{"images":["img-2",1]}}`, `{"id":7,"id":"img-1"}`, `[{"id":1}]`, `{"a":{"b":"\"}{"},"image" : "img-2"}`, `{"image":{"x":[[]]}}`} {
		f.Add([]byte(s))
	}
	up, _ := url.Parse("http://127.0.0.1:1")
	whole := *server
	whole.Links = []engine.Link{{At: "/self", Service: "servers"}, {At: "/links/*/href", Service: "servers"}}
	whole.Marker = "/text"
	server := &whole
	f.Add([]byte(`{"self":"http://127.0.0.1:1/servers/7?a#b","links":[{"href":"/servers/7/file"},{"href":3}],"text":"a [skerry x]"}`))
	c, err := NewClient(ClientConfig{Upstreams: []Upstream{{Service: "servers", URL: up, Kinds: []*engine.Kind{server}}}})
	if err != nil {
		f.Fatal(err)
	}
	c.Use(ids)
	f.Fuzz(func(t *testing.T, doc []byte) {
		c.learn(nameOf(server), true)
		r := reply(string(doc))
		got, err := c.Present(t.Context(), server, r)
		if err != nil {
			t.Fatal(err)
		}
		if json.Valid(doc) != json.Valid(got.Body) {
			t.Fatalf("%q became %q", doc, got.Body)
		}
		again, err := c.Present(t.Context(), server, got)
		if err != nil || string(again.Body) != string(got.Body) {
			t.Fatalf("%q became %q, then %q", doc, got.Body, again.Body)
		}
		if list, err := c.splitItems(server, doc); err == nil && !json.Valid(list.Join(list.Each)) {
			t.Fatalf("the list %q is joined to %q", doc, list.Join(list.Each))
		}
		if !json.Valid(doc) {
			return
		}
		if out, ok := putAt(doc, []string{"a", "b"}, []byte(`"x"`)); ok {
			if id, found := idAt("/a/b", out); !json.Valid(out) || !found || id != "x" {
				t.Fatalf("%q became %q", doc, out)
			}
		}
	})
}
