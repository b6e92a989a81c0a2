package intercept

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Every carrier decides by its precedence, and none of them reaches the application.
func TestCarriers(t *testing.T) {
	m := newMesh(t)
	for _, c := range []struct {
		path    string
		headers []string
		site    string // who answers; empty: no scope was found
		uri     string // what the application sees
		baggage string
		prefix  string
	}{
		{path: "/x", site: "", uri: "/x"},
		{path: "/x", headers: []string{"Scope: nantes"}, site: "nantes", uri: "/x"},
		{path: "/x", headers: []string{"X-Scope: nantes"}, site: "nantes", uri: "/x"},
		{path: "/x", headers: []string{"Scope: lyon", "X-Scope: nantes"}, site: "lyon", uri: "/x"},
		{path: "/x", headers: []string{"Scope: servers: paris", "Scope: images: lyon"}, site: "lyon", uri: "/x"},
		{path: "/x", headers: []string{"Scope: ", "X-Scope: nantes"}, site: "nantes", uri: "/x"},
		{path: "/~scope/nantes/x?q=%20", site: "nantes", uri: "/x?q=%20", prefix: "/~scope/nantes"},
		{path: "/%7Escope/nantes/x", site: "nantes", uri: "/x", prefix: "/%7Escope/nantes"},
		{path: "/~scope/%7Bimages%3A%20lyon%7D/a%20b/", site: "lyon", uri: "/a%20b/", prefix: "/~scope/%7Bimages%3A%20lyon%7D"},
		{path: "/~scope/images%2Flyon", site: "lyon", uri: "/", prefix: "/~scope/images%2Flyon"},
		{path: "/~scope/lyon/~scope/nantes/x", site: "lyon", uri: "/x", prefix: "/~scope/lyon/~scope/nantes"},
		{path: "/~scope/lyon/x", headers: []string{"Scope: nantes"}, site: "nantes", uri: "/x", prefix: "/~scope/lyon"},
		{path: "/~scope//x", site: "", uri: "/x", prefix: "/~scope/"},
		{path: "/~scopes/x", site: "", uri: "/~scopes/x"},
		{path: "/x/~scope/nantes/", site: "", uri: "/x/~scope/nantes/"},
		{path: "/x", headers: []string{"Baggage: a=1,scope=images%3A%20lyon;p=1, b=%20"}, site: "lyon", uri: "/x", baggage: "a=1, b=%20"},
		{path: "/x", headers: []string{"Baggage: scope=lyon"}, site: "lyon", uri: "/x"},
		{path: "/x", headers: []string{"Baggage: a=1;scope=lyon, scoped=lyon"}, site: "", uri: "/x", baggage: "a=1;scope=lyon, scoped=lyon"},
		{path: "/~scope/nantes/x", headers: []string{"Baggage: scope=lyon,a=1"}, site: "nantes", uri: "/x", baggage: "a=1", prefix: "/~scope/nantes"},
	} {
		a := m.sites[paris].do("GET", c.path, "", c.headers...)
		name := fmt.Sprint(c.path, c.headers)
		if got := a.header.Get("Skerry-Site"); a.status != 200 || got != c.site {
			t.Errorf("%s: answered by %q, want %q: %s", name, got, c.site, a.body)
			continue
		}
		site := m.sites[paris]
		switch c.site {
		case "nantes":
			site = m.sites[nantes]
		case "lyon":
			site = m.sites[lyon]
		}
		log := site.app.asked()
		if len(log) == 0 {
			t.Errorf("%s: the application of %s was not asked", name, c.site)
			continue
		}
		got := log[len(log)-1]
		if got.uri != c.uri || got.header.Get("Baggage") != c.baggage || got.header.Get("X-Forwarded-Prefix") != c.prefix {
			t.Errorf("%s: asked %s, baggage %q, prefix %q", name, got.uri, got.header.Get("Baggage"), got.header.Get("X-Forwarded-Prefix"))
		}
		for header := range got.header {
			if header == "Scope" || header == "X-Scope" || strings.HasPrefix(header, "Skerry-") {
				t.Errorf("%s: the application sees %s", name, header)
			}
		}
	}
}

// A client that follows a Location keeps its scope; one that has the prefix already, or leads elsewhere, stays.
func TestLocationKeepsThePrefix(t *testing.T) {
	s := newMesh(t).sites[paris]
	host := strings.TrimPrefix(s.url, "http://")
	const prefix = "/~scope/paris"
	for in, want := range map[string]string{
		"/images/1":                           prefix + "/images/1",
		prefix + "/images/1":                  prefix + "/images/1",
		"http://" + host + "/images/1?a#b":    "http://" + host + prefix + "/images/1?a#b",
		"http://" + host + prefix + "/images": "http://" + host + prefix + "/images",
		s.app.url + "/images/1":               s.app.url + prefix + "/images/1",
		"http://elsewhere/images/1":           "http://elsewhere/images/1",
		"//elsewhere/images/1":                "//elsewhere/images/1",
		"1":                                   "1",
	} {
		s.app.set(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", in)
			w.WriteHeader(302)
		})
		s.do("GET", prefix+"/images/x/y", "").want(t, 302, "Location: "+want)
		s.do("GET", "/images/x/y", "").want(t, 302, "Location: "+in)
	}
	// An operation's Location as well; the address of an operation is at the API and stays.
	s.do("POST", "/~scope/paris%20&%20nantes/images", "{}").want(t, 201, "Location: /~scope/paris%20&%20nantes/images/M")
}
