//go:build kubernetes

package kubernetes

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/testnet/cluster"
)

// resource is one that a cluster serves, as its discovery tells it.
type resource struct {
	Resource, SingularResource string
	ShortNames                 []string
	Scope                      string
	// path is that of its group and version.
	path string
}

// object returns what the site's own cluster has, past the agent; nil where it has nothing of the name. Args are those of kubectl get: kinds, with
// commas between them, a name or none, and the namespace after -n. It asks by itself: to start kubectl takes more time than anything else that tests do.
func (s *site) object(args ...string) map[string]any {
	s.Helper()
	namespace := "default"
	if i := slices.Index(args, "-n"); i >= 0 {
		namespace, args = args[i+1], slices.Delete(slices.Clone(args), i, i+2)
	}
	items := []any{}
	for kind := range strings.SplitSeq(args[0], ",") {
		r := s.serves(kind)
		path := r.path
		if r.Scope == "Namespaced" {
			path += "/namespaces/" + namespace
		}
		path += "/" + r.Resource
		if len(args) > 1 {
			path += "/" + args[1]
		}
		var o map[string]any
		status := s.reads(path, "application/json", &o)
		switch {
		case status == http.StatusNotFound && len(args) > 1:
			return nil
		case status != http.StatusOK:
			s.Fatalf("the cluster of %s answers GET %s with %d: %v", s.Name(), path, status, o)
		case len(args) > 1:
			return o
		}
		list, _ := o["items"].([]any)
		for _, item := range list { // in a list of one kind they do not say which it is
			item.(map[string]any)["kind"] = strings.TrimSuffix(fmt.Sprint(o["kind"]), "List")
		}
		items = append(items, list...)
	}
	return map[string]any{"items": items}
}

// serves finds a kind by one of its names. What the cluster has learned meanwhile is found too.
func (s *site) serves(kind string) resource {
	s.Helper()
	for range 2 {
		for _, r := range s.resources {
			if r.Resource == kind || r.SingularResource == kind || slices.Contains(r.ShortNames, kind) {
				return r
			}
		}
		s.discover()
	}
	s.Fatalf("the cluster of %s serves no %s", s.Name(), kind)
	return resource{}
}

// discover reads what there is: groups in their order, each in the version that it prefers.
func (s *site) discover() {
	s.Helper()
	s.resources = nil
	for _, root := range []string{"/api", "/apis"} {
		var groups struct {
			Items []struct {
				Metadata struct{ Name string }
				Versions []struct {
					Version   string
					Resources []resource
				}
			}
		}
		if status := s.reads(root, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", &groups); status != http.StatusOK {
			s.Fatalf("the cluster of %s answers GET %s with %d", s.Name(), root, status)
		}
		for _, g := range groups.Items {
			if len(g.Versions) == 0 {
				continue
			}
			path := strings.TrimSuffix(root+"/"+g.Metadata.Name, "/") + "/" + g.Versions[0].Version
			for _, r := range g.Versions[0].Resources {
				r.path = path
				s.resources = append(s.resources, r)
			}
		}
	}
}

// reads asks the site's own cluster and decodes what it answers.
func (s *site) reads(path, accept string, into any) (status int) {
	s.Helper()
	status, text := s.request(http.MethodGet, clusterIn(s.Config().Dir, false).URL()+path, "", http.Header{"Accept": {accept}})
	if err := json.Unmarshal(text, into); err != nil {
		s.Fatalf("the cluster of %s answers GET %s: %v", s.Name(), path, err)
	}
	return status
}

// request makes a request of the site's user to its cluster or to the listener of its agent.
func (s *site) request(method, at, body string, header http.Header) (status int, answer []byte) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, at, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header = header
	r.Header.Set("Authorization", "Bearer "+cluster.UserToken)
	resp, err := s.past.RoundTrip(r)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return resp.StatusCode, text
}
