package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// maxDocument bounds what is read of one answer; the schema of the core API has 1 to 2 MiB.
const maxDocument = 64 << 20

// namespaces is the kind that others lie inside.
const namespaces = "namespaces"

// Patches of Kubernetes' own: what they set depends on the schema, or on who owns which field, so that it is observed.
const (
	strategicMerge = "application/strategic-merge-patch+json"
	serverApply    = "application/apply-patch+yaml"
)

// Source is a cluster's API server.
type Source struct {
	Service engine.ServiceName
	URL     *url.URL
	// Transport carries requests to it, Credentials are the agent's own.
	Transport   http.RoundTripper
	Credentials func() (http.Header, error)
}

// Discover asks a cluster for the kinds of resource that it has, custom ones among them. A resource that is served in several
// versions is a kind in the one that the cluster prefers. Resources that cannot be created, read, listed, changed and deleted are none.
func Discover(ctx context.Context, s Source) ([]*engine.Kind, error) {
	found, err := s.found(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(found, func(f foundKind) bool { return f.kind.Name == namespaces }) {
		return nil, fmt.Errorf("%s lists no namespaces: it is no API server of Kubernetes, or has no aggregated discovery (from 1.30 on)", s.URL)
	}
	if _, err := s.keys(ctx, found); err != nil {
		return nil, err
	}
	kinds := make([]*engine.Kind, len(found))
	for i, f := range found {
		kinds[i] = f.kind
	}
	return kinds, nil
}

// DiscoverMore asks for the kinds that a cluster has got beside those that are known. One whose schema the cluster does not tell yet counts
// later, for every site has to take the same arrays for keyed: untold says that there is one.
func DiscoverMore(ctx context.Context, s Source, known func(engine.KindName) bool) (kinds []*engine.Kind, untold bool, err error) {
	found, err := s.found(ctx)
	if err != nil {
		return nil, false, err
	}
	found = slices.DeleteFunc(found, func(f foundKind) bool { return known(f.kind.Name) })
	if len(found) == 0 {
		return nil, false, nil
	}
	told, err := s.keys(ctx, found)
	if err != nil {
		return nil, false, err
	}
	for _, f := range found {
		if told[f.kind.Name] {
			kinds = append(kinds, f.kind)
		}
	}
	return kinds, len(kinds) < len(found), nil
}

// found asks for everything that a cluster serves.
func (s Source) found(ctx context.Context) ([]foundKind, error) {
	var found []foundKind
	for _, path := range []string{"/api", "/apis"} {
		var list struct{ Items []group }
		if err := s.get(ctx, path, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", &list); err != nil {
			return nil, err
		}
		for _, g := range list.Items {
			found = append(found, g.kinds(s.Service)...)
		}
	}
	return found, nil
}

// Rules returns what the engine's kinds have no place for.
func Rules(kinds []*engine.Kind) map[engine.KindName]*glue.Rules {
	rules := map[engine.KindName]*glue.Rules{}
	for _, k := range kinds {
		rules[k.Name] = &glue.Rules{Visibility: visibility(k), List: &glue.List{Items: "/items", Watch: "watch", Deletes: true}, Owners: owners(k)}
	}
	return rules
}

// foundKind is a kind with what its schema is found by.
type foundKind struct {
	kind                         *engine.Kind
	group, version, schema, path string
}

// group is an API group as aggregated discovery (apidiscovery.k8s.io/v2) tells it; the core group has no name.
type group struct {
	Metadata struct{ Name string }
	Versions []struct {
		Version   string
		Freshness string
		Resources []resource
	}
}

type resource struct {
	Resource string
	Scope    string
	// ResponseKind leaves out the group and the version where they are those of the resource.
	ResponseKind struct{ Group, Version, Kind string }
	Verbs        []string
	Subresources []struct {
		Subresource string
		Verbs       []string
	}
}

// needed are the verbs of what can be kept equal between sites.
var needed = []string{"create", "delete", "get", "list", "patch", "update"}

// plainName is what may stand in a path template without escapes.
var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

func (g group) kinds(service engine.ServiceName) []foundKind {
	var all []foundKind
	seen := map[string]bool{}
	for _, v := range g.Versions { // the preferred one first
		base := "/apis/" + g.Metadata.Name + "/" + v.Version
		if g.Metadata.Name == "" {
			base = "/api/" + v.Version
		}
		for _, r := range v.Resources {
			able := !slices.ContainsFunc(needed, func(verb string) bool { return !slices.Contains(r.Verbs, verb) })
			if seen[r.Resource] || !able || !plainName.MatchString(r.Resource) || !plainName.MatchString(v.Version) ||
				g.Metadata.Name != "" && !plainName.MatchString(g.Metadata.Name) {
				continue
			}
			seen[r.Resource] = true
			all = append(all, foundKind{r.kind(service, g.Metadata.Name, base), cmp.Or(r.ResponseKind.Group, g.Metadata.Name), cmp.Or(r.ResponseKind.Version, v.Version), r.ResponseKind.Kind,
				strings.TrimPrefix(base, "/")})
		}
	}
	return all
}

func (r resource) kind(service engine.ServiceName, group, base string) *engine.Kind {
	name := r.Resource
	if group != "" {
		name += "." + group
	}
	k := &engine.Kind{
		Service: service, Name: engine.KindName(name), ID: engine.IDRule{From: engine.IDFromBody, At: "/metadata/name", Settable: true},
		Label: Label, MergePatch: true, OnlyNamed: true, Contains: name == namespaces,
		ObservedPatches: []string{strategicMerge, serverApply}, CreatingPatches: []string{serverApply},
	}
	leave(k)
	last(k)
	if name == "secrets" {
		k.Sensitive = []engine.Pointer{"/data", "/stringData", "/metadata/annotations/" + lastApplied}
	}
	if r.Scope == "Namespaced" {
		base += "/namespaces/{" + namespaces + "}"
		k.Within = namespaces
	}
	k.Refs = refs(k)
	k.Collection = base + "/" + r.Resource
	k.Item = k.Collection + "/{id}"
	for _, sub := range r.Subresources {
		if sub.Subresource != "scale" {
			continue
		}
		for _, method := range []string{http.MethodPut, http.MethodPatch} {
			k.Operations = append(k.Operations, engine.NamedOperation{
				Name: "scale-" + strings.ToLower(method), Method: method, Path: k.Item + "/scale", Observed: true, Repeatable: true, States: true})
		}
	}
	return k
}

// Label is what people call an object.
const Label = engine.Pointer("/metadata/name")

// get reads one document.
func (s Source) get(ctx context.Context, path, accept string, into any) error {
	u, err := s.URL.Parse(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if s.Credentials != nil {
		if r.Header, err = s.Credentials(); err != nil {
			return fmt.Errorf("read the credentials of service %s: %w", s.Service, err)
		}
	}
	r.Header.Set("Accept", accept)
	resp, err := s.Transport.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("ask the API server for %s: %w", path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the API server for %s: it answered %s", path, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxDocument)).Decode(into); err != nil {
		return fmt.Errorf("read what the API server tells at %s: %w", path, err)
	}
	return nil
}
