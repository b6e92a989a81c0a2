package glue

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

func testKinds() []*engine.Kind {
	image := &engine.Kind{
		Service: "images", Name: "image", Collection: "/images", Item: "/images/{id}",
		ID: engine.IDRule{From: engine.IDFromBody, At: "/id"},
		Operations: []engine.NamedOperation{
			{Name: "start", Method: "POST", Path: "/images/{id}/start"},
			{Name: "rename", Method: "POST", Path: "/images/{id}/names/{name}"},
		},
	}
	special := &engine.Kind{Service: "images", Name: "special", Collection: "/images/special", Item: "/images/special/{id}", Lists: []string{"/images/special/detail"}}
	record := &engine.Kind{Service: "images", Name: "record", Collection: "/v1/{tenant}/records/", Item: "/v1/{tenant}/records/{id}/"}
	return []*engine.Kind{image, special, record}
}

func TestMatch(t *testing.T) {
	r := NewRouter(testKinds())
	for _, c := range []struct {
		method, path, media string
		want                string // kind verb type target path name, or "" for no match
	}{
		{"GET", "/images", "", "image list - - /images -"},
		{"HEAD", "/images/", "", "image list - - /images/ -"},
		{"POST", "/images", "application/json", "image create create - /images -"},
		{"DELETE", "/images", "", "image other - - /images -"},
		{"GET", "/images/72", "", "image read - 72 /images/{id} -"},
		{"GET", "/images/72/", "", "image read - 72 /images/{id}/ -"},
		{"GET", "/images/72/file", "", "image read - 72 /images/{id}/file below"},
		{"PUT", "/images/72", "application/json; charset=utf-8", "image change replace 72 /images/{id} -"},
		{"PUT", "/images/72", "application/vnd.acme+json", "image change replace 72 /images/{id} -"},
		{"PUT", "/images/72", "application/octet-stream", "image change absolute 72 /images/{id} -"},
		{"PUT", "/images/72", "", "image change absolute 72 /images/{id} -"},
		{"PUT", "/images/72/file", "application/json", "image change absolute 72 /images/{id}/file below"},
		{"PATCH", "/images/72", "application/merge-patch+json", "image change merge 72 /images/{id} -"},
		{"PATCH", "/images/72", "application/json", "image change merge 72 /images/{id} -"},
		{"PATCH", "/images/72", "application/json-patch+json", "image change patch 72 /images/{id} -"},
		{"PATCH", "/images/72", "application/openstack-images-v2.1-json-patch", "image change patch 72 /images/{id} -"},
		{"PATCH", "/images/72/tags", "application/json", "image change action 72 /images/{id}/tags below"},
		{"DELETE", "/images/72", "", "image change delete 72 /images/{id} -"},
		{"DELETE", "/images/72/file", "", "image change action 72 /images/{id}/file below"},
		{"POST", "/images/72/start", "", "image change action 72 /images/{id}/start below:start"},
		{"POST", "/images/72/names/x", "", "image change action 72 /images/{id}/names/x below:rename"},
		{"POST", "/images/72", "", "image change action 72 /images/{id} -"},
		{"GET", "/images/special", "", "special list - - /images/special -"},
		{"GET", "/images/special/1", "", "special read - 1 /images/special/{id} -"},
		{"GET", "/images/special/detail", "", "special list - - /images/special/detail -"},
		{"POST", "/images/special/detail", "", "special other - - /images/special/detail -"},
		{"GET", "/images/special/detail/1", "", "special read - detail /images/special/{id}/1 below"},
		{"GET", "/v1/acme/records", "", "record list - - /v1/{tenant}/records -"},
		{"GET", "/v1/acme/records/5/", "", "record read - acme/5 /v1/{tenant}/records/{id}/ -"},
		{"GET", "/images/a%20b", "", "image read - a b /images/{id} -"},
		{"GET", "/images/{id}", "", "image read - {id} /images/{id} -"},
		{"POST", "/images/72/{id}", "", "image change action 72 /images/{id}/%7Bid%7D below"},
		{"GET", "/%69mages/72", "", "image read - 72 /%69mages/{id} -"},
		{"GET", "/image", "", ""},
		{"GET", "/", "", ""},
		{"GET", "*", "", ""},
		{"GET", "/images%", "", ""},
		// What matches only when servers resolve it is told as such.
		{"PUT", "/x/../images/72", "", "! image change absolute 72 /images/{id} -"},
		{"PUT", "/images/./72", "", "! image change absolute 72 /images/{id} -"},
		{"PUT", "/images//72", "", "! image change absolute 72 /images/{id} -"},
		{"PUT", "/images/%2e%2e/images/72", "", "! image change absolute 72 /images/{id} -"},
		{"PUT", "/images%2F72", "", "! image change absolute 72 /images/{id} -"},
		{"DELETE", "/images/..", "", ""},
		{"DELETE", "/../../images/72", "", "! image change delete 72 /images/{id} -"},
		{"PUT", "/images;v=1/72", "", "! image change absolute 72 /images/{id} -"},
		{"PUT", "/x/..;/images/72", "", "! image change absolute 72 /images/{id} -"},
		{"DELETE", "/images%3bv/72", "", "! image change delete 72 /images/{id} -"},
	} {
		h := http.Header{}
		if c.media != "" {
			h.Set("Content-Type", c.media)
		}
		m, ok := r.Match(c.method, c.path, h)
		if got := show(m, ok); got != c.want {
			t.Errorf("%s %s %s:\n got %q\nwant %q", c.method, c.path, c.media, got, c.want)
		}
	}
}

func show(m Match, ok bool) string {
	if !ok {
		return ""
	}
	dash := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	last := "-"
	if m.Below {
		last = "below"
	}
	if m.Name != "" {
		last += ":" + m.Name
	}
	out := strings.Join([]string{string(m.Kind.Name), string(m.Verb), dash(string(m.Type)), dash(m.Target), m.Path, last}, " ")
	if !m.Canonical {
		out = "! " + out
	}
	return out
}

func TestMatchEscapedSlashTellsBothReadings(t *testing.T) {
	m, ok := NewRouter(testKinds()).Match("PUT", "/images/72%2Ffile", nil)
	if !ok || m.Target != "72/file" || m.Below {
		t.Fatalf("as written: %+v", m)
	}
	if m.Other == nil || m.Other.Target != "72" || !m.Other.Below || m.Other.Canonical {
		t.Fatalf("decoded: %+v", m.Other)
	}
}

// Whatever servers make of a path that they read in different ways is among its matches.
func TestMatchTellsAllReadings(t *testing.T) {
	for path, want := range map[string][]string{
		"/images/72;a=b":       {"72;a=b", "72"},
		"/images/72%3Ba=b":     {"72;a=b", "72"},
		"/images/72%2Ffile;x":  {"72/file;x", "72", "72/file", "72"},
		"/images/72;a%2Ffile":  {"72;a/file", "72;a", "72", "72"},
		"/images/72/file;type": {"72", "72"},
	} {
		m, ok := NewRouter(testKinds()).Match("PUT", path, nil)
		if !ok || !m.Canonical {
			t.Errorf("%s as written: %+v", path, m)
		}
		var got []string
		for o := &m; o != nil; o = o.Other {
			if got = append(got, o.Target); o != &m && o.Canonical {
				t.Errorf("%s is plainly %s", path, o.Target)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

func TestMatchEncodedBodiesAreOpaque(t *testing.T) {
	h := http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}
	m, _ := NewRouter(testKinds()).Match("PUT", "/images/72", h)
	if m.Type != engine.TypeAbsolute {
		t.Errorf("a compressed body is taken for %s", m.Type)
	}
}

func TestExpandPath(t *testing.T) {
	for id, want := range map[string]string{
		"72": "/images/72/file", "a/b": "/images/a%2Fb/file", "{id}": "/images/%7Bid%7D/file", "a b?#": "/images/a%20b%3F%23/file",
		"..": "", ".": "", "": "",
	} {
		got, ok := ExpandPath("/images/{id}/file", id)
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q %v", id, got, ok)
		}
	}
}

// What a match gives back must lead to the same match again, so that a path that travels means at every site what it
// meant where it was written.
func FuzzMatch(f *testing.F) {
	for _, s := range []string{"/images/72", "/images//..%2f/x", "/v1/a/records/%7Bid%7D/x/", "/images/%2e%2e", "/images/72%2Ffile", "//images", "/images/\x80{id}", "/images/72;a", "/a;/..;b/images;/7%3b/x"} {
		f.Add(s)
	}
	r := NewRouter(testKinds())
	f.Fuzz(func(t *testing.T, path string) {
		m, ok := r.Match("PUT", path, nil)
		if !ok || m.Target == "" {
			return
		}
		if strings.Count(m.Path, "{id}") != 1 {
			t.Fatalf("%q gives the path %q", path, m.Path)
		}
		full, ok := ExpandPath(m.Path, m.Target)
		if !ok {
			t.Fatalf("%q gives the identifier %q", path, m.Target)
		}
		again, ok := r.Match("PUT", full, nil)
		if !ok || again.Kind != m.Kind || again.Target != m.Target || again.Path != m.Path || again.Below != m.Below {
			t.Fatalf("%q: %+v, then by %q %+v", path, m, full, again)
		}
		if m.Canonical && !again.Canonical {
			t.Fatalf("%q was canonical, %q is not", path, full)
		}
	})
}
