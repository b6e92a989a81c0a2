package conform

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/skerry/skerry/docs/catalogs"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/openstack"
	"github.com/skerry/skerry/testnet/process"
	agents "github.com/skerry/skerry/testnet/site"
)

// What follows are applications that nobody here wrote, as they are. Each is had once and kept in .cache, beside the module.

// PocketBaseCatalog describes PocketBase with one collection, notes.
//
//go:embed pocketbase.yaml
var PocketBaseCatalog []byte

//go:embed json-server.yaml
var jsonServerCatalog []byte

//go:embed couchdb.yaml
var couchDBCatalog []byte

// Versions of what is installed from npm.
const (
	jsonServerVersion = "0.17.4"
	couchDBVersion    = "4.2.0"
)

var pocketBase = Application{
	Name: "pocketbase", Title: "PocketBase 0.37", Catalog: PocketBaseCatalog,
	About:  "[PocketBase](https://pocketbase.io), unmodified, with a collection of three fields that everybody may use. It assigns identifiers of 15 characters or takes one.",
	Bodies: map[string]Body{"records/note": {Text: []byte(`{"title":"x","stars":1,"tags":["a","b","c"]}`)}},
	Start: func(ctx context.Context, dir string) (map[string]string, func() error, error) {
		program, err := BuildPocketBase(ctx)
		if err != nil {
			return nil, nil, err
		}
		at, stop, err := launch(ctx, dir, "/api/health", func(address string) ([]string, error) {
			return []string{program, "serve", "--http", address, "--dir", filepath.Join(dir, "data")}, nil
		})
		if err == nil {
			err = AddNotes(ctx, program, filepath.Join(dir, "data"), &agents.Client{Base: at, HTTP: http.DefaultClient})
		}
		return map[string]string{"records": at}, stop, err
	},
}

var jsonServer = Application{
	Name: "json-server", Title: "json-server " + jsonServerVersion, Catalog: jsonServerCatalog,
	About: "json-server, unmodified: a file of JSON behind an API, with integers that it assigns as identifiers. It takes a PATCH as `application/json`, and does nothing at all with one of another media type, though it answers 200.",
	Bodies: map[string]Body{
		"posts/post":    {Text: []byte(`{"title":"x","views":7,"tags":["a","b","c"],"author":{"name":"ada"}}`)},
		"posts/comment": {Text: []byte(`{"body":"x","stars":1}`)},
	},
	Start: func(ctx context.Context, dir string) (map[string]string, func() error, error) {
		program, err := installed(ctx, "json-server", jsonServerVersion)
		if err != nil {
			return nil, nil, err
		}
		data := filepath.Join(dir, "db.json")
		if err := os.WriteFile(data, []byte(`{"posts":[],"comments":[]}`), 0o600); err != nil {
			return nil, nil, err
		}
		at, stop, err := launch(ctx, dir, "/posts", func(address string) ([]string, error) {
			host, port, _ := strings.Cut(address, ":")
			return []string{program, "--quiet", "--host", host, "--port", port, data}, nil
		})
		return map[string]string{"posts": at}, stop, err
	},
}

var couchDB = Application{
	Name: "couchdb", Title: "CouchDB's API, of pouchdb-server " + couchDBVersion, Catalog: couchDBCatalog,
	About:  "pouchdb-server, unmodified, with one database in memory. Clients choose identifiers; a PUT has to have the revision of what it replaces in its body, which each database counts for itself.",
	Bodies: map[string]Body{"documents/note": {Text: []byte(`{"title":"x","stars":1,"tags":["a","b","c"]}`)}},
	Start: func(ctx context.Context, dir string) (map[string]string, func() error, error) {
		program, err := installed(ctx, "pouchdb-server", couchDBVersion)
		if err != nil {
			return nil, nil, err
		}
		config := filepath.Join(dir, "config.json") // without it the log goes to where this runs
		if err := os.WriteFile(config, fmt.Appendf(nil, `{"log":{"file":%q}}`, filepath.Join(dir, "log.txt")), 0o600); err != nil {
			return nil, nil, err
		}
		at, stop, err := launch(ctx, dir, "/", func(address string) ([]string, error) {
			host, port, _ := strings.Cut(address, ":")
			return []string{program, "--in-memory", "--host", host, "--port", port, "--config", config}, nil
		})
		if err == nil {
			err = (&agents.Client{Base: at, HTTP: http.DefaultClient}).Call(ctx, http.MethodPut, "/notes", nil, nil)
		}
		return map[string]string{"documents": at}, stop, err
	},
}

var glance = Application{
	Name: "glance", Title: "Glance, OpenStack's image service", Catalog: catalogs.Glance,
	About:  "Glance as Debian packages it, unmodified, with the catalog of [catalogs/glance.yaml](../catalogs/glance.yaml). It takes UUIDs that clients choose, JSON patches of a media type of its own, and the file of an image once.",
	Bodies: map[string]Body{"image/image": {Text: []byte(`{"name":"debian","about":"twelve","disk_format":"raw","container_format":"bare","tags":["a","b","c"]}`)}},
	Start: func(ctx context.Context, dir string) (map[string]string, func() error, error) {
		database := filepath.Join(dir, "database")
		if err := openstack.NewGlanceDatabase(ctx, database); err != nil {
			return nil, nil, err
		}
		at, stop, err := launch(ctx, dir, "/v2/images", func(address string) ([]string, error) {
			g := openstack.Glance{Dir: filepath.Join(dir, "glance"), Address: address}
			return g.Command(), g.Furnish(database)
		})
		return map[string]string{openstack.Image: at}, stop, err
	},
}

// keystoneToken is that of the administrator who makes what is tried.
const keystoneToken = "token-of-an-administrator"

var keystone = Application{
	Name: "keystone", Title: "Keystone, OpenStack's identity service", Catalog: catalogs.Keystone,
	About: "Keystone as Debian packages it, behind uWSGI, unmodified, with the catalog of [catalogs/keystone.yaml](../catalogs/keystone.yaml). It assigns all identifiers but those of regions, gives names once, and changes with `PATCH` alone. uWSGI closes each connection after its answer and does not say so.",
	Bodies: map[string]Body{
		"identity/domain":   {Text: []byte(`{"domain":{"name":"x","description":"first","enabled":false,"tags":["a","b","c"]}}`)}, // as Keystone deletes one
		"identity/project":  {Text: []byte(`{"project":{"name":"x","description":"first","domain_id":"default","tags":["a","b","c"]}}`)},
		"identity/user":     {Text: []byte(`{"user":{"name":"x","email":"ada@example.org","domain_id":"default","password":"secret"}}`)},
		"identity/group":    {Text: []byte(`{"group":{"name":"x","description":"first","domain_id":"default"}}`)},
		"identity/role":     {Text: []byte(`{"role":{"name":"x","description":"first"}}`)},
		"identity/region":   {Text: []byte(`{"region":{"id":"x","description":"first"}}`)},
		"identity/service":  {Text: []byte(`{"service":{"name":"x","type":"dns","description":"first"}}`)},
		"identity/endpoint": {Text: []byte(`{"endpoint":{"url":"http://127.0.0.1:9/","about":"first","interface":"public"}}`)},
	},
	Header: http.Header{"X-Auth-Token": {keystoneToken}},
	Start: func(ctx context.Context, dir string) (map[string]string, func() error, error) {
		k := openstack.Keystone{Dir: filepath.Join(dir, "prepared"), Token: keystoneToken}
		own := filepath.Join(dir, "keystone")
		if err := os.MkdirAll(k.Dir, 0o700); err != nil {
			return nil, nil, err
		}
		if err := errors.Join(k.Prepare(ctx), k.Furnish(own)); err != nil {
			return nil, nil, err
		}
		at, stop, err := launch(ctx, dir, "/v3", func(address string) ([]string, error) { return k.Command(own, address), nil })
		return map[string]string{openstack.Identity: at}, stop, err
	},
}

var cinder = Application{
	Name: "cinder", Title: "Cinder, OpenStack's block storage service", Catalog: catalogs.Cinder,
	About: "Cinder as Debian packages it, unmodified, with the catalog of [catalogs/cinder.yaml](../catalogs/cinder.yaml): its API, its scheduler and its volumes, whose driver is the one for tests. It assigns all identifiers, and changes with a `PUT` that has what is to change and nothing else.",
	Bodies: map[string]Body{
		"volume/type":            {Text: []byte(`{"volume_type":{"name":"x","description":"first"}}`)},
		"volume/type/specs":      {Text: []byte(`{"extra_specs":{"speed":"high"}}`)},
		"volume/volume":          {Text: []byte(`{"volume":{"name":"x","description":"first","size":1}}`), Fields: []engine.Pointer{"/volume/name", "/volume/description"}},
		"volume/volume/metadata": {Text: []byte(`{"metadata":{"use":"db"}}`)},
		"volume/snapshot":        {Text: []byte(`{"snapshot":{"name":"x","description":"first"}}`)},
	},
	Header: http.Header{"X-Auth-Token": {openstack.CinderToken}},
	Start: func(ctx context.Context, dir string) (map[string]string, func() error, error) {
		at, stop, err := launch(ctx, dir, "/healthcheck", func(address string) ([]string, error) {
			c := openstack.Cinder{Dir: filepath.Join(dir, "cinder"), Address: address}
			return c.Command(), c.Furnish(ctx)
		})
		return map[string]string{openstack.Volume: at}, stop, err
	},
}

var neutron = Application{
	Name: "neutron", Title: "Neutron, OpenStack's networks", Catalog: catalogs.Neutron,
	About: "Neutron's own server as Debian packages it, unmodified, with the catalog of [catalogs/neutron.yaml](../catalogs/neutron.yaml), without agents: nothing carries its networks. It assigns all identifiers, picks segments and addresses, and changes with a `PUT` that has what is to change and nothing else.",
	Bodies: map[string]Body{
		"network/network":                 {Text: []byte(`{"network":{"name":"x","description":"first","router:external":true}}`), Fields: []engine.Pointer{"/network/name", "/network/description"}},
		"network/network/tags":            {Text: []byte(`{"tags":["x","y","z"]}`)},
		"network/subnet":                  {Text: []byte(`{"subnet":{"name":"x","description":"first","ip_version":4,"cidr":"10.{high}.{low}.0/24","dns_nameservers":["192.0.2.9","192.0.2.7","192.0.2.8"]}}`), Fields: []engine.Pointer{"/subnet/name", "/subnet/description"}},
		"network/subnetpool":              {Text: []byte(`{"subnetpool":{"name":"x","description":"first","prefixes":["10.1.0.0/16"]}}`), Fields: []engine.Pointer{"/subnetpool/name", "/subnetpool/description"}},
		"network/port/tags":               {Text: []byte(`{"tags":["x","y","z"]}`)},
		"network/port":                    {Text: []byte(`{"port":{"name":"x","description":"first","security_groups":[]}}`), Fields: []engine.Pointer{"/port/name", "/port/description"}},
		"network/group":                   {Text: []byte(`{"security_group":{"name":"x","description":"first"}}`), Fields: []engine.Pointer{"/security_group/name", "/security_group/description"}},
		"network/rule":                    {Text: []byte(`{"security_group_rule":{"description":"first","direction":"ingress","ethertype":"IPv6","remote_ip_prefix":"2001:db8:{number}::/64"}}`)},
		"network/subnet/tags":             {Text: []byte(`{"tags":["x","y","z"]}`)},
		"network/subnetpool/tags":         {Text: []byte(`{"tags":["x","y","z"]}`)},
		"network/group/tags":              {Text: []byte(`{"tags":["x","y","z"]}`)},
		"network/router/tags":             {Text: []byte(`{"tags":["x","y","z"]}`)},
		"network/router/add-interface":    {Text: []byte(`{}`)},
		"network/router/remove-interface": {Text: []byte(`{}`)},
		"network/floatingip":              {Text: []byte(`{"floatingip":{"description":"first"}}`), Fields: []engine.Pointer{"/floatingip/description"}},
		"network/floatingip/tags":         {Text: []byte(`{"tags":["x","y","z"]}`)},
		"network/router":                  {Text: []byte(`{"router":{"name":"x","description":"first"}}`), Fields: []engine.Pointer{"/router/name", "/router/description"}},
	},
	Patience: 3 * time.Minute, // it does one thing after the other
	Start: func(ctx context.Context, dir string) (map[string]string, func() error, error) {
		at, stop, err := launch(ctx, dir, "/", func(address string) ([]string, error) {
			n := openstack.Neutron{Dir: filepath.Join(dir, "neutron"), Address: address}
			return n.Command(), n.Furnish(ctx)
		})
		return map[string]string{openstack.Network: at}, stop, err
	},
}

// launch starts a program at an address of its own, and waits until a path is answered.
func launch(ctx context.Context, dir, health string, command func(address string) ([]string, error)) (at string, stop func() error, err error) {
	ports, err := process.Ports(1)
	if err != nil {
		return "", nil, err
	}
	argv, err := command(address(ports[0]))
	if err != nil {
		return "", nil, err
	}
	p, err := process.Start(filepath.Base(argv[0]), filepath.Join(dir, "log"), argv...)
	if err != nil {
		return "", nil, err
	}
	at = "http://" + address(ports[0])
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	return at, p.Kill, (&agents.Client{Base: at, HTTP: http.DefaultClient}).Answers(ctx, health, p.Ended)
}

// cached is a path in .cache, beside the module that this runs in.
func cached(ctx context.Context, name string) (path, module string, err error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", "", fmt.Errorf("find the module: %w", err)
	}
	module = filepath.Dir(string(bytes.TrimSpace(out)))
	return filepath.Join(module, ".cache", name), module, os.MkdirAll(filepath.Join(module, ".cache"), 0o755)
}

// BuildPocketBase builds PocketBase once for each version of its module, and returns its path.
func BuildPocketBase(ctx context.Context) (string, error) {
	path, _, err := built(ctx, "pocketbase", "github.com/pocketbase/pocketbase/examples/base", "CGO_ENABLED=0")
	return path, err
}

// built builds a program once for each version of the module in testnet/apps that requires it, and returns its path and the folder of that module.
func built(ctx context.Context, name, program string, env ...string) (path, folder string, err error) {
	_, module, err := cached(ctx, "")
	if err != nil {
		return "", "", err
	}
	folder = filepath.Join(module, "testnet", "apps", name)
	sum, err := os.ReadFile(filepath.Join(folder, "go.sum"))
	if err != nil {
		return "", "", err
	}
	path, _, err = cached(ctx, fmt.Sprintf("%s-%x", name, sha256.Sum256(sum)))
	if err != nil {
		return "", "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, folder, nil
	}
	// Built beside its place and moved there whole: another run may be doing the same.
	building := fmt.Sprintf("%s.%d", path, os.Getpid())
	cmd := exec.CommandContext(ctx, "go", "build", "-o", building, program)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, folder, os.Rename(building, path)
}

// AddNotes makes a collection in a running PocketBase with its data in dir, as the operator of an instance does.
func AddNotes(ctx context.Context, program, dir string, client *agents.Client) error {
	const superuser, password = "admin@example.org", "a password for tests"
	if out, err := exec.CommandContext(ctx, program, "superuser", "upsert", superuser, password, "--dir", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("make a superuser: %w: %s", err, out)
	}
	var login struct{ Token string }
	if err := client.Call(ctx, http.MethodPost, "/api/collections/_superusers/auth-with-password", map[string]string{"identity": superuser, "password": password}, &login); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	own := *client
	own.HTTP = &http.Client{Transport: authorized{client.HTTP, login.Token}}
	return own.Call(ctx, http.MethodPost, "/api/collections", json.RawMessage(`{"name":"notes","type":"base",
		"listRule":"","viewRule":"","createRule":"","updateRule":"","deleteRule":"",
		"fields":[{"name":"title","type":"text","required":true},{"name":"text","type":"text"},{"name":"stars","type":"number"},{"name":"tags","type":"json"}]}`), nil)
}

// authorized sends a token with each request.
type authorized struct {
	by    *http.Client
	token string
}

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", a.token)
	return a.by.Do(r)
}

// installed installs a program of npm once, and returns its path.
func installed(ctx context.Context, name, version string) (string, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return "", fmt.Errorf("%s needs node and npm, which are Debian's nodejs and npm", name)
	}
	folder, _, err := cached(ctx, name+"-"+version)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "node_modules", ".bin", name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder, name+"@"+version).CombinedOutput(); err != nil {
		return "", fmt.Errorf("install %s: %w\n%s", name, err, out)
	}
	return path, nil
}
