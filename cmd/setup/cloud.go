package setup

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/skerry/skerry/docs/catalogs"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/openstack"
)

// identityService is what the image service's catalog gets where there is a Keystone: what its clients log in at.
const identityService = `  identity:
    glue: openstack
    paths: ["/v3/*"]
    kinds: {}
`

// apiVersion is the end of an endpoint's path that clients ask for below it.
var apiVersion = regexp.MustCompile(`^/?(v[0-9.]+/?)?$`)

// FromClouds has the OpenStack of a file clouds.yaml; name may be empty where it has one cloud alone. Its Keystone tells where the
// services are.
func FromClouds(ctx context.Context, path, name string, o Options) (Front, error) {
	c, err := cloudIn(path, name)
	if err != nil {
		return Front{}, err
	}
	if o.Offline {
		return Front{}, errors.New("where the services of a cloud are, its Keystone tells: leave --offline out")
	}
	f := Front{Files: map[string][]byte{}, Told: []string{fmt.Sprintf("the cloud %s in %s", c.Name, path)}}
	ca := orElse(o.CA, c.CA)
	t, err := f.transport(Service{CA: ca})
	if err != nil {
		return Front{}, err
	}
	defer t.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	token, services, err := c.LogIn(ctx, t)
	if err != nil {
		return Front{}, err
	}
	if f.Catalog, err = cloudCatalog(services); err != nil {
		return Front{}, err
	}
	described, err := glue.ParseCatalog("the catalog", f.Catalog)
	if err != nil {
		return Front{}, err
	}
	o.CA, o.Upstreams = ca, map[string]string{}
	for name := range described.Services {
		u, err := url.Parse(services[string(name)])
		if err != nil || u.Host == "" || !apiVersion.MatchString(u.Path) {
			return Front{}, fmt.Errorf("the Keystone says that %s is at %q; an agent needs a host and a port of the service's own there, and no path", name, services[string(name)])
		}
		o.Upstreams[string(name)] = u.Scheme + "://" + u.Host
	}
	if err := f.place(described, o); err != nil {
		return Front{}, err
	}
	for i := range f.Services {
		if s := &f.Services[i]; s.Token == "" && s.Name != "identity" {
			s.Header, s.Value = "X-Auth-Token", "agent-token"
			f.Files["agent-token"] = []byte(token + "\n")
		}
	}
	if o.Token == "" {
		f.Next = append(f.Next, "agent-token has a token of the user in clouds.yaml, which ends: have a timer write one of the agent's own account into it (docs/openstack.md)")
	}
	return f, nil
}

// cloudIn finds a cloud in a file; name may be empty where it has one alone.
func cloudIn(path, name string) (openstack.Cloud, error) {
	clouds, err := cloudsIn(path)
	if err != nil {
		return openstack.Cloud{}, err
	}
	var names []string
	for _, c := range clouds {
		if c.Name == name || name == "" && len(clouds) == 1 {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return openstack.Cloud{}, fmt.Errorf("which cloud of %s? give --cloud one of %s", path, strings.Join(names, ", "))
}

// cloudsIn reads the clouds of a file, with what secure.yaml beside it says, sorted by name.
func cloudsIn(path string) ([]openstack.Cloud, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the clouds: %w", err)
	}
	secure, err := os.ReadFile(filepath.Join(filepath.Dir(path), "secure.yaml"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the clouds: %w", err)
	}
	clouds, err := openstack.ParseClouds(path, b, secure)
	slices.SortFunc(clouds, func(a, b openstack.Cloud) int { return strings.Compare(a.Name, b.Name) })
	return clouds, err
}

// cloudCatalog is the catalog of what a cloud has.
func cloudCatalog(services map[string]string) ([]byte, error) {
	has := func(types ...string) bool {
		return !slices.ContainsFunc(types, func(t string) bool { return services[t] == "" })
	}
	switch {
	case has("identity", "image", "compute", "network"):
		return catalogs.OpenStack, nil
	case has("identity", "image"):
		return append(slices.Clip(catalogs.Glance), identityService...), nil
	case has("image"):
		return catalogs.Glance, nil
	}
	return nil, errors.New("the cloud has no image service: write a catalog of what it has (docs/openstack.md), and give it with --catalog")
}
