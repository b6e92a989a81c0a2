//go:build openstack

package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/docs/catalogs"
	"github.com/skerry/skerry/testnet/env"
)

// identity is Keystone's name in the catalog.
const identity = "identity"

// password is that of the administrator, the same at both sites.
const password = "secret"

// keystone is what all sites' Keystones begin with: a database with one user, and the keys that tokens are made with.
type keystone struct{ dir string }

// newKeystone makes that once, which takes seconds. Each site gets a copy: the same users, under the same identifiers, and the same keys.
func newKeystone(t *testing.T) keystone {
	t.Helper()
	k := keystone{t.TempDir()}
	if err := k.configure(k.dir); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"db_sync"}, {"fernet_setup", "--keystone-user", "root", "--keystone-group", "root"},
		{"bootstrap", "--bootstrap-password", password}} {
		cmd := exec.CommandContext(t.Context(), "keystone-manage", append([]string{"--config-file", k.file(k.dir)}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("keystone-manage %v: %v\n%s", args, err, out)
		}
	}
	return k
}

func (k keystone) file(dir string) string { return filepath.Join(dir, "keystone.conf") }

func (k keystone) configure(dir string) error {
	// Where clients find the services: at the agent, at every site. Services ask Keystone itself about tokens.
	catalog := ""
	for service, url := range map[string]string{"identity": "http://127.0.0.1:4900/v3", "image": "http://127.0.0.1:9192",
		"compute": "http://127.0.0.1:8674/v2.1", "network": "http://127.0.0.1:9596"} {
		for _, key := range []string{"public", "admin", "internal"} {
			if service == identity && key == "internal" {
				url = "http://127.0.0.1:5000/v3"
			}
			catalog += fmt.Sprintf("catalog.edge.%s.%sURL = %s\n", service, key, url)
		}
		catalog += fmt.Sprintf("catalog.edge.%s.name = %[1]s\n", service)
	}
	if err := os.WriteFile(filepath.Join(dir, "catalog.templates"), []byte(catalog), 0o600); err != nil {
		return err
	}
	return os.WriteFile(k.file(dir), []byte(fmt.Sprintf(`[DEFAULT]
use_stderr = true
[database]
connection = sqlite:///%[1]s/keystone.db
[catalog]
driver = templated
template_file = %[1]s/catalog.templates
[fernet_tokens]
key_repository = %[1]s/fernet-keys
[cache]
enabled = false
[identity]
password_hash_rounds = 4
`, dir)), 0o600)
}

// furnish gives a site its Keystone.
func (k keystone) furnish(dir string) error {
	if err := os.CopyFS(dir, os.DirFS(k.dir)); err != nil {
		return err
	}
	return k.configure(dir)
}

// user is what a client has in its environment.
var user = []string{"env", "OS_AUTH_URL=http://127.0.0.1:4900/v3", "OS_USERNAME=admin", "OS_PASSWORD=" + password, "OS_PROJECT_NAME=admin",
	"OS_USER_DOMAIN_ID=default", "OS_PROJECT_DOMAIN_ID=default", "OS_IDENTITY_API_VERSION=3"}

// scoped is the client under skerry exec.
func scoped(scope string) []string {
	return append(slices.Clone(user), program, "exec", "--api", "http://127.0.0.1:8701", "--scope", scope, "--", "openstack")
}

// clouds is an application of one Keystone and one Glance a site, where Glance asks Keystone about each token. Agents do what other sites
// have done with a token of their own.
func clouds(t *testing.T) env.Setup {
	t.Helper()
	s := glances(t)
	glances, keystones := s.Before, newKeystone(t)
	s.Before = func(dir string) error {
		if err := glances(dir); err != nil {
			return err
		}
		if err := keystones.furnish(filepath.Join(dir, "keystone")); err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(dir, "glance", "glance.conf"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(`flavor = keystone
[keystone_authtoken]
www_authenticate_uri = http://127.0.0.1:4900
auth_url = http://127.0.0.1:5000
auth_type = password
user_domain_id = default
project_domain_id = default
project_name = admin
username = admin
password = ` + password + "\n")
			f.Close()
		}
		return err
	}
	glance := s.Application.Command
	s.Application.Command = func(dir string) []string {
		return append([]string{"sh", "-c", `keystone=$1; shift
setpriv --pdeathsig KILL env OS_KEYSTONE_CONFIG_FILES="$keystone/keystone.conf" uwsgi_python3 --http-socket 127.0.0.1:5000 --master --no-orphans \
	--die-on-term --processes 1 --lazy-apps --buffer-size 65535 --rem-header Content-Length --disable-logging --wsgi-file /usr/bin/keystone-wsgi-public & uwsgi=$!
setpriv --pdeathsig KILL "$@" & glance=$!
trap 'kill $glance $uwsgi; wait; exit 0' TERM
wait $glance
exit 1`, "cloud", filepath.Join(dir, "keystone")}, glance(dir)...)
	}
	s.Application.Catalog = append(append([]byte{}, catalogs.Glance...), "  identity:\n    kinds: {}\n"...)
	s.Application.Services = map[string]int{identity: 5000, Image: 9292}
	s.Application.Health = "/v3"
	s.Application.Ready = func(ctx context.Context, s *env.Site) error {
		for { // until Glance is there, too
			if _, err := s.RequestApplication(ctx, Image, "GET /v2/images", ""); err == nil {
				break
			} else if ctx.Err() != nil {
				return err
			}
			time.Sleep(50 * time.Millisecond)
		}
		token, err := login(ctx, s)
		if err != nil {
			return err
		}
		for i := range s.Config().Services {
			if c := &s.Config().Services[i]; c.Name == Image {
				c.Header, c.Token = "X-Auth-Token", filepath.Join(s.Config().Dir, "agent.token")
				return os.WriteFile(c.Token, []byte(token), 0o600)
			}
		}
		return nil
	}
	return s
}

// login gets a token of a site's own Keystone, through its agent where that runs.
func login(ctx context.Context, s *env.Site) (string, error) {
	request, body := "POST /v3/auth/tokens", `{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"admin","domain":{"id":"default"},"password":"`+
		password+`"}}},"scope":{"project":{"name":"admin","domain":{"id":"default"}}}}}`
	ask := s.Request
	if s.Agent() == nil {
		ask = s.RequestApplication
	}
	a, err := ask(ctx, identity, request, body)
	if err == nil && a.Status != 201 {
		err = fmt.Errorf("log in at %s: %d %s", s.Name(), a.Status, a.Body)
	}
	return a.Header.Get("X-Subject-Token"), err
}

// loggedIn gets a token at each site.
func loggedIn(t *testing.T, e *env.Env) map[*env.Site]string {
	t.Helper()
	tokens := map[*env.Site]string{}
	for _, s := range e.Sites() {
		token, err := login(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		tokens[s] = token
	}
	return tokens
}

// TestKeystone has clients log in at their own site's Keystone, through the agent, and work with two sites.
func TestKeystone(t *testing.T) {
	e := env.New(t, clouds(t))
	paris, nantes := e.Site("paris"), e.Site("nantes")
	tokens := loggedIn(t, e)
	has := func(id string) func(s *env.Site) error {
		return func(s *env.Site) error {
			if a := s.Application(t, Image, "GET /v2/images/"+id+"/file", "", "X-Auth-Token", tokens[s]); a.Status != 200 || a.Body != bytes {
				return fmt.Errorf("%d %q", a.Status, a.Body)
			}
			return nil
		}
	}
	data := filepath.Join(t.TempDir(), "debian.raw")
	if err := os.WriteFile(data, []byte(bytes), 0o600); err != nil {
		t.Fatal(err)
	}

	// The client finds everything by its own site's catalog: at the agent.
	var image struct{ ID string }
	out := output(t, paris, append(scoped(both), "image", "create", "debian", "--disk-format", "raw", "--container-format", "bare", "--file", data, "-f", "json")...)
	if json.Unmarshal(out, &image) != nil || image.ID == "" {
		t.Fatalf("the client shows %s", out)
	}
	shows(t, e, image.ID, "has the file", has(image.ID))
	converged(t, e, image.ID)

	// A token of paris, at nantes: both Keystones have the same keys and users.
	only := nantes.Do(t, Image, "POST /v2/images", `{"name":"only nantes","container_format":"bare","disk_format":"raw"}`, "X-Auth-Token", tokens[nantes]).Must(t, 201).Text("id")
	nantes.Do(t, Image, "PUT /v2/images/"+only+"/file", bytes, "Content-Type", octets, "X-Auth-Token", tokens[nantes]).Must(t, 204)
	if out := output(t, paris, append(scoped("{image: nantes}"), "image", "show", only, "-f", "value", "-c", "name")...); strings.TrimSpace(string(out)) != "only nantes" {
		t.Errorf("the client shows %s", out)
	}
	read := func(s *env.Site, token, scope string) int {
		return s.Do(t, Image, "GET /v2/images/"+only+"/file", "", "X-Auth-Token", token, "Scope", scope).Status
	}
	if status := read(paris, tokens[paris], "{image: nantes}"); status != 200 {
		t.Errorf("nantes answers a token of paris with %d", status)
	}
	// What no Keystone has given is refused by Glance, and nothing of the agent's own is used in its place.
	for _, token := range []string{"", "wrong"} {
		for _, scope := range []string{"{image: nantes}", "{image: paris}"} {
			if status := read(paris, token, scope); status != 401 {
				t.Errorf("with the token %q and the scope %s the answer is %d", token, scope, status)
			}
		}
		paris.Do(t, Image, "POST /v2/images", `{"name":"stranger"}`, "X-Auth-Token", token, "Scope", both).Must(t, 401)
	}

	// With other keys at nantes a token of paris says nothing there; what agents do for each other goes on.
	keys := filepath.Join(nantes.Config().Dir, "keystone", "fernet-keys")
	if err := os.RemoveAll(keys); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "keystone-manage", "--config-file", filepath.Join(nantes.Config().Dir, "keystone", "keystone.conf"),
		"fernet_setup", "--keystone-user", "root", "--keystone-group", "root")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	token, err := login(t.Context(), nantes)
	if err == nil {
		tokens[nantes] = token
		err = os.WriteFile(filepath.Join(nantes.Config().Dir, "agent.token"), []byte(token), 0o600)
	}
	if err == nil {
		tokens[paris], err = login(t.Context(), paris)
	}
	if err != nil {
		t.Fatal(err)
	}
	if status := read(paris, tokens[paris], "{image: nantes}"); status != 401 {
		t.Errorf("nantes, with keys of its own, answers a token of paris with %d", status)
	}
	apart := paris.Do(t, Image, "POST /v2/images", `{"name":"apart","container_format":"bare","disk_format":"raw"}`, "X-Auth-Token", tokens[paris], "Scope", both).Must(t, 201).Text("id")
	paris.Do(t, Image, "PUT /v2/images/"+apart+"/file", bytes, "Content-Type", octets, "X-Auth-Token", tokens[paris]).Must(t, 204)
	shows(t, e, apart, "has the file", has(apart))
	converged(t, e, apart)
	// Whoever wants something of nantes alone logs in there: the scope names both services.
	if out := output(t, paris, append(scoped("{identity: nantes, image: nantes}"), "image", "show", only, "-f", "value", "-c", "name")...); strings.TrimSpace(string(out)) != "only nantes" {
		t.Errorf("the client shows %s", out)
	}
}
