package glue

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// linked is a server whose representations have addresses of itself and of images.
func linked() *engine.Kind {
	k := *server
	k.Links = []engine.Link{{At: "/self", Service: "servers"}, {At: "/links/*/href", Service: "images"}}
	return &k
}

func linkClient(t *testing.T, images, servers string) *Client {
	t.Helper()
	i, err := url.Parse(images)
	if err != nil {
		t.Fatal(err)
	}
	s, err := url.Parse(servers)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(ClientConfig{Upstreams: []Upstream{
		{Service: "images", URL: i, Kinds: testKinds()[:1]}, {Service: "servers", URL: s, Kinds: []*engine.Kind{linked()}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c.Use(ids)
	return c
}

// TestLinks shows clients the addresses of replicated resources as paths that are the same at every site, and gives them to
// the application as it shows them itself.
func TestLinks(t *testing.T) {
	const shown = `{"self" : "http://app:9801/servers/7?v=1#x", "links":[{"href":"http://img/base/images/img-1/file"},` +
		`{"href":"http://img/base/images/alone"},{"href":"http://else/images/img-1"},{"href":"/servers/img-1"},{"href":null}]}`
	const seen = `{"self" : "/servers/S?v=1#x", "links":[{"href":"/images/M1/file"},` +
		`{"href":"http://img/base/images/alone"},{"href":"http://else/images/img-1"},{"href":"/servers/img-1"},{"href":null}]}`
	c, k := linkClient(t, "http://img/base", "http://app:9801"), linked()
	json := http.Header{"Content-Type": {"application/json"}}
	p, err := c.Present(t.Context(), k, engine.Reply{Status: 200, Header: json, Body: []byte(shown)})
	if err != nil || string(p.Body) != seen {
		t.Errorf("clients see %s, %v\nwant %s", p.Body, err, seen)
	}
	_, body, err := c.Localize(t.Context(), k, "", json, "", []byte(seen))
	if err != nil || string(body) != shown {
		t.Errorf("the application sees %s, %v\nwant %s", body, err, shown)
	}
	for _, sent := range []string{`{"self":"/servers/7"}`, `{"self":"/servers/S"}`, `{"self":"http://app:9801/servers/7"}`} {
		if _, body := c.Canonical(t.Context(), k, "", json, "", []byte(sent)); string(body) != `{"self":"/servers/S"}` {
			t.Errorf("%s travels as %s", sent, body)
		}
	}
	patch := http.Header{"Content-Type": {"application/json-patch+json"}}
	if _, body := c.Canonical(t.Context(), k, "", patch, "", []byte(`[{"op":"add","path":"/links/0","value":{"href":"/images/img-2"}}]`)); !strings.Contains(string(body), `"/images/M2"`) {
		t.Errorf("a patch travels as %s", body)
	}
}

// TestFind looks for the marker of a request in a list of three pages, whichever way it goes on.
func TestFind(t *testing.T) {
	k := *image
	k.Marker = "/text"
	page := func(n string) string {
		switch n {
		case "", "1":
			return `{"id":"a","text":"mine"}`
		case "2":
			return `{"id":"b"},{"id":"c","text":"x [skerry op.site]"}`
		case "3":
			return `{"id":"d","text":"[skerry op.other]"}`
		}
		return ""
	}
	next := map[string]string{"": "2", "2": "3"}
	for name, c := range map[string]struct {
		list   *List
		answer func(w http.ResponseWriter, r *http.Request)
	}{
		"header": {nil, func(w http.ResponseWriter, r *http.Request) {
			n := r.FormValue("after")
			if next[n] != "" {
				w.Header().Set("Link", `</images?after=1>; rel="prev", <http://`+r.Host+`/images?after=`+next[n]+`>; rel="next"`)
			}
			_, _ = io.WriteString(w, `[`+page(n)+`]`)
		}},
		"address": {&List{Items: "/all", Next: "/more"}, func(w http.ResponseWriter, r *http.Request) {
			n := r.FormValue("after")
			more := "null"
			if next[n] != "" {
				more = `"?after=` + next[n] + `"`
			}
			_, _ = io.WriteString(w, `{"all":[`+page(n)+`],"more":`+more+`}`)
		}},
		"number": {&List{Items: "", Page: "p"}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `[`+page(r.FormValue("p"))+`]`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			address, log := application(t, c.answer)
			u, _ := url.Parse(address)
			client, err := NewClient(ClientConfig{Upstreams: []Upstream{{Service: "images", URL: u, Kinds: []*engine.Kind{&k}}},
				List: func(*engine.Kind) *List { return c.list }})
			if err != nil {
				t.Fatal(err)
			}
			client.Use(table{})
			found, err := client.Find(t.Context(), &k, "op.site")
			if err != nil || len(found) != 1 || found[0].Local != "c" {
				t.Fatalf("found %+v, %v", found, err)
			}
			p, err := client.Present(t.Context(), &k, found[0])
			if err != nil || string(p.Body) != `{"id":"c","text":"x"}` {
				t.Errorf("presented as %s, %v", p.Body, err)
			}
			if none, err := client.Find(t.Context(), &k, "op"); len(none) != 0 || err != nil {
				t.Errorf("found %+v, %v", none, err)
			}
			if len(*log) < 6 {
				t.Errorf("%d requests for three pages, twice", len(*log))
			}
		})
	}
}

// TestFindSaysWhenItCannotTell reads lists that do not tell whether something is there.
func TestFindSaysWhenItCannotTell(t *testing.T) {
	k := *image
	k.Marker = "/text"
	for answer, want := range map[string]string{
		`[{"id":"a"}]`:                            "the application's list does not tell",
		`{"a":[],"b":[]}`:                         "the application's list does not tell",
		`{"all":[{"text":""}],"more":"?"}`:        "which is no address of it",
		`{"all":[{"text":""}],"more":"?after=1"}`: "leads back to a page",
		`{"all":[{"text":""}],"more":"http://elsewhere/images?a=1"}`: "which is no address of it",
		`{"all":[{"text":""}],"more":"/servers?a=1"}`:                "which is another path",
	} {
		address, _ := application(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
		u, _ := url.Parse(address)
		client, err := NewClient(ClientConfig{Upstreams: []Upstream{{Service: "images", URL: u, Kinds: []*engine.Kind{&k}}},
			List: func(*engine.Kind) *List {
				if strings.Contains(answer, "all") {
					return &List{Items: "/all", Next: "/more"}
				}
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		client.Use(table{})
		if _, err := client.Find(t.Context(), &k, "op.site"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
	}
}
