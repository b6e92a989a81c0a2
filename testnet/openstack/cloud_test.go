//go:build openstack

package openstack

import (
	"context"
	"errors"
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

// services is where clients find them: at the agent, at every site. Services ask Keystone itself about tokens.
func services() (catalog string) {
	for service, url := range map[string]string{"identity": "http://127.0.0.1:4900/v3", "image": "http://127.0.0.1:9192",
		"compute": "http://127.0.0.1:8674/v2.1", "network": "http://127.0.0.1:9596"} {
		for _, key := range []string{"public", "admin", "internal"} {
			if service == Identity && key == "internal" {
				url = "http://127.0.0.1:5000/v3"
			}
			catalog += fmt.Sprintf("catalog.edge.%s.%sURL = %s\n", service, key, url)
		}
		catalog += fmt.Sprintf("catalog.edge.%s.name = %[1]s\n", service)
	}
	// What is there itself, with nothing in front of it.
	for service, url := range map[string]string{"identity": "http://127.0.0.1:5000/v3", "image": "http://127.0.0.1:9292"} {
		catalog += fmt.Sprintf("catalog.bare.%s.publicURL = %s\ncatalog.bare.%[1]s.name = %[1]s\n", service, url)
	}
	return catalog + "catalog.both.image.publicURL = http://127.0.0.1:9192/~scope/paris&nantes\ncatalog.both.image.name = image\n"
}

// user is what a client has in its environment.
var user = []string{"env", "OS_AUTH_URL=http://127.0.0.1:4900/v3", "OS_USERNAME=admin", "OS_PASSWORD=" + Password, "OS_PROJECT_NAME=admin",
	"OS_USER_DOMAIN_ID=default", "OS_PROJECT_DOMAIN_ID=default", "OS_IDENTITY_API_VERSION=3"}

// ofBoth is the client in a region of Keystone's catalog whose image service has a scope in its address.
func ofBoth(args ...string) []string {
	return slices.Concat(user, []string{"openstack", "--os-region-name", "both"}, args)
}

// scoped is the client under skerry exec.
func scoped(scope string) []string {
	return append(slices.Clone(user), program, "exec", "--api", "http://127.0.0.1:8701", "--scope", scope, "--", "openstack")
}

// account is what services ask Keystone with about tokens.
const account = `[keystone_authtoken]
www_authenticate_uri = http://127.0.0.1:4900
auth_url = http://127.0.0.1:5000
auth_type = password
user_domain_id = default
project_domain_id = default
project_name = admin
username = admin
password = ` + Password + "\n"

// clouds is an application of one Keystone and one Glance a site, where Glance asks Keystone about each token. Agents do what other sites
// have done with a token of their own. What all sites begin with is made once.
func clouds(t *testing.T) env.Setup {
	t.Helper()
	database := filepath.Join(t.TempDir(), "glance.db")
	if err := NewGlanceDatabase(t.Context(), database); err != nil {
		t.Fatal(err)
	}
	keystones := Keystone{Dir: t.TempDir(), Services: services()}
	if err := keystones.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := func(dir string) Glance { return Glance{Dir: filepath.Join(dir, "glance"), Address: "127.0.0.1:9292"} }
	return env.Setup{
		Program: program,
		Sites:   []string{"paris", "nantes"},
		// A busy machine is no reason to give OpenStack up.
		Extra: "limits: {answer_timeout: 10m, ask_timeout: 5m}\n",
		Before: func(dir string) error {
			if err := errors.Join(at(dir).Furnish(database), keystones.Furnish(filepath.Join(dir, "keystone"))); err != nil {
				return err
			}
			f, err := os.OpenFile(at(dir).file(), os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("flavor = keystone\n" + account)
				f.Close()
			}
			return err
		},
		Application: env.Application{
			Catalog:  append(append([]byte{}, catalogs.Glance...), "  identity: {glue: openstack, paths: [\"/v3/*\"], kinds: {}}\n"...),
			Services: map[string]int{Identity: 5000, Image: 9292},
			Health:   "/v3",
			Command: func(dir string) []string {
				keystone := keystones.Command(filepath.Join(dir, "keystone"), "127.0.0.1:5000")
				return slices.Concat([]string{"bash", "-c", `n=$1; shift
setpriv --pdeathsig KILL "${@:1:n}" & uwsgi=$!
setpriv --pdeathsig KILL "${@:n+1}" & glance=$!
trap 'kill $glance $uwsgi; wait; exit 0' TERM
wait $glance
exit 1`, "cloud", fmt.Sprint(len(keystone))}, keystone, at(dir).Command())
			},
			Ready:  ready,
			Within: time.Hour,
		},
	}
}

// ready waits for a site's Glance, too, and gives its agent a token.
func ready(ctx context.Context, s *env.Site) error {
	for {
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
	file := filepath.Join(s.Config().Dir, "agent.token")
	for i := range s.Config().Services {
		if c := &s.Config().Services[i]; c.Name == Image || c.Name == Network {
			c.Header, c.Token, c.Keystone = "X-Auth-Token", file, "http://127.0.0.1:5000/v3"
		}
	}
	return os.WriteFile(file, []byte(token), 0o600)
}

// login gets a token of a site's own Keystone, through its agent where that runs.
func login(ctx context.Context, s *env.Site) (string, error) {
	request, body := "POST /v3/auth/tokens", `{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"admin","domain":{"id":"default"},"password":"`+
		Password+`"}}},"scope":{"project":{"name":"admin","domain":{"id":"default"}}}}}`
	ask := s.Request
	if s.Agent() == nil {
		ask = s.RequestApplication
	}
	a, err := ask(ctx, Identity, request, body)
	if err == nil && a.Status != 201 {
		err = fmt.Errorf("log in at %s: %d %s", s.Name(), a.Status, a.Body)
	}
	return a.Header.Get("X-Subject-Token"), err
}

// cloud is the environment with the token of a user at each site, who does what a test asks for.
type cloud struct {
	*env.Env
	tokens map[*env.Site]string
}

func newCloud(t *testing.T, setup env.Setup) cloud {
	t.Helper()
	c := cloud{env.New(t, setup), map[*env.Site]string{}}
	for _, s := range c.Sites() {
		c.login(t, s)
	}
	return c
}

// login gives the user a new token at a site.
func (c cloud) login(t *testing.T, s *env.Site) {
	t.Helper()
	token, err := login(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	c.tokens[s] = token
}

// do asks a service through a site's agent.
func (c cloud) do(t *testing.T, s *env.Site, service, request, body string, header ...string) env.Answer {
	t.Helper()
	return s.Do(t, service, request, body, append([]string{"X-Auth-Token", c.tokens[s]}, header...)...)
}

// image asks Glance through a site's agent.
func (c cloud) image(t *testing.T, s *env.Site, request, body string, header ...string) env.Answer {
	t.Helper()
	return c.do(t, s, Image, request, body, header...)
}

// glance asks a site's own Glance, past the agent.
func (c cloud) glance(t *testing.T, s *env.Site, request, body string, header ...string) env.Answer {
	t.Helper()
	return s.Application(t, Image, request, body, append([]string{"X-Auth-Token", c.tokens[s]}, header...)...)
}

// made makes an image through a site's agent.
func (c cloud) made(t *testing.T, s *env.Site, name string, header ...string) (id string) {
	t.Helper()
	return c.image(t, s, "POST /v2/images", `{"name":"`+name+`","container_format":"bare","disk_format":"raw"}`, header...).Must(t, 201).Text("id")
}

// shows waits until something holds of every site.
func (c cloud) shows(t *testing.T, id, what string, ok func(*env.Site) error) {
	t.Helper()
	for _, s := range c.Sites() {
		c.Eventually(t, patience, s.Name()+" "+what+": "+id, func() error { return ok(s) })
	}
}

// file wants every site's own Glance to have these bytes of an image.
func (c cloud) file(t *testing.T, id, want string) {
	t.Helper()
	c.shows(t, id, "has the file", func(s *env.Site) error {
		if a := c.glance(t, s, "GET /v2/images/"+id+"/file", ""); a.Status != 200 || a.Body != want {
			return fmt.Errorf("%d, %d bytes", a.Status, len(a.Body))
		}
		return nil
	})
}

// list reads a list of several sites until none is missing: the first that answers does not wait long for the others.
func (c cloud) list(t *testing.T, s *env.Site, service, request, scope string) string {
	t.Helper()
	var a env.Answer
	c.Eventually(t, patience, request+" has all of "+scope, func() error {
		a = c.do(t, s, service, request, "", "Scope", scope).Must(t, 200)
		if missing := a.Header.Get("Skerry-Missing"); missing != "" {
			return fmt.Errorf("%s is missing", missing)
		}
		return nil
	})
	return a.Body
}

// converged waits until every site says so.
func (c cloud) converged(t *testing.T, id string) {
	t.Helper()
	c.shows(t, id, "says that it has converged", func(s *env.Site) error {
		a := s.API(t, "GET /api/v1/resources/"+id, "")
		if state := a.Text("state"); a.Status != 200 || state != "converged" {
			return fmt.Errorf("%d %s: %s", a.Status, state, a.Text("reason"))
		}
		return nil
	})
}

// cut cuts a site off and waits until all have noticed.
func (c cloud) cut(t *testing.T, s *env.Site) {
	t.Helper()
	s.Cut(t)
	for _, s := range c.Sites() {
		c.Eventually(t, patience, s.Name()+" notices the cut", func() error {
			seen, err := s.Client().Sites(t.Context())
			if err != nil {
				return err
			}
			for _, x := range seen {
				if !x.Self && x.Reachable {
					return fmt.Errorf("it reaches %s", x.Name)
				}
			}
			return nil
		})
	}
}

// output runs a program on the host of a site, and returns what it prints.
func output(t *testing.T, s *env.Site, args ...string) []byte {
	t.Helper()
	out, told, err := run(t, s, args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, out, told)
	}
	return out
}

// refused runs a program on the host of a site that has to fail, and returns what it says of that.
func refused(t *testing.T, s *env.Site, args ...string) string {
	t.Helper()
	out, told, err := run(t, s, args...)
	if err == nil {
		t.Errorf("%v prints %s", args, out)
	}
	return told
}

func run(t *testing.T, s *env.Site, args ...string) (out []byte, told string, err error) {
	var b strings.Builder
	argv := s.Host().Command(args...)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Stderr = &b
	out, err = cmd.Output()
	return out, b.String(), err
}
