//go:build openstack

package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/openstack"
	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/handbook"
	"github.com/skerry/skerry/testnet/process"
)

// once does not keep connections, which uWSGI ends without a word.
var once = &http.Transport{DisableKeepAlives: true}

// directory is a Keystone that is asked as its administrator does.
type directory struct {
	*testing.T
	api, token string
}

// ask returns what Keystone answers, and the token in its header.
func (d *directory) ask(method, path, token, body string, want int) (answer map[string]any, subject string) {
	d.Helper()
	r, err := http.NewRequestWithContext(d.Context(), method, d.api+path, strings.NewReader(body))
	if err != nil {
		d.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := once.RoundTrip(r)
	if err != nil {
		d.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != want {
		d.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, b)
	}
	_ = json.Unmarshal(b, &answer)
	return answer, resp.Header.Get("X-Subject-Token")
}

// made asks the administrator's Keystone to make something and returns its identifier.
func (d *directory) made(what, path, body string) string {
	d.Helper()
	a, _ := d.ask("POST", path, d.token, body, 201)
	return a[what].(map[string]any)["id"].(string)
}

// login gives a user a token for a project.
func (d *directory) login(user, project string) string {
	d.Helper()
	_, token := d.ask("POST", "/auth/tokens", "", fmt.Sprintf(`{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":%q,"domain":{"id":"default"},"password":%q}}},
"scope":{"project":{"name":%q,"domain":{"id":"default"}}}}}`, user, Password, project), 201)
	return token
}

// member makes a user with the role member in a project.
func (d *directory) member(name, project, role string) string {
	d.Helper()
	id := d.made("user", "/users", fmt.Sprintf(`{"user":{"name":%q,"domain_id":"default","password":%q}}`, name, Password))
	d.ask("PUT", "/projects/"+project+"/users/"+id+"/roles/"+role, d.token, "", 204)
	return id
}

// started runs a Keystone of its own and returns it with the role member.
func started(t *testing.T) (d *directory, role string) {
	t.Helper()
	k := Keystone{Dir: t.TempDir()}
	if err := k.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	ports, err := process.Ports(1)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	args := k.Command(k.Dir, address)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	d = &directory{T: t, api: "http://" + address + "/v3"}
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(d.api)
		if err == nil {
			resp.Body.Close()
			break
		}
		if time.Since(begin) > patience {
			t.Fatal(err)
		}
	}
	d.token = d.login("admin", "admin")
	roles, _ := d.ask("GET", "/roles?name=member", d.token, "", 200)
	return d, roles["roles"].([]any)[0].(map[string]any)["id"].(string)
}

// TestTrusts: an agent acts for those users who have trusted its account in Keystone, in the project and with the roles of that trust, and for nobody
// else. At each site users and projects have other identifiers, so names count.
func TestTrusts(t *testing.T) {
	t.Parallel()
	d, role := started(t)
	project := d.made("project", "/projects", `{"project":{"name":"demo","domain_id":"default"}}`)
	other := d.made("project", "/projects", `{"project":{"name":"other","domain_id":"default"}}`)
	alice := d.member("alice", project, role)
	d.ask("PUT", "/projects/"+other+"/users/"+alice+"/roles/"+role, d.token, "", 204)
	d.member("bob", project, role)
	agent := d.member("agent", project, role)
	trust := func(impersonates bool, in string) string {
		token := d.login("alice", "demo")
		a, _ := d.ask("POST", "/OS-TRUST/trusts", token, fmt.Sprintf(`{"trust":{"trustor_user_id":%q,"trustee_user_id":%q,"project_id":%q,"impersonation":%t,"roles":[{"id":%q}]}}`,
			alice, agent, in, impersonates, role), 201)
		return a["trust"].(map[string]any)["id"].(string)
	}

	at, err := url.Parse(d.api)
	if err != nil {
		t.Fatal(err)
	}
	own := d.login("agent", "demo")
	k := &openstack.Keystone{URL: at, Via: once, Now: time.Now,
		Agent: func() (http.Header, error) { return http.Header{"X-Auth-Token": {own}}, nil }}
	ctx := context.Background()
	who, err := k.Asker(ctx, nil, nil, http.Header{"X-Auth-Token": {d.login("alice", "demo")}})
	if err != nil || who.User != "alice" || who.Validate() != nil || fmt.Sprint(who.Extra) != "map[domain:[Default] project:[demo] project-domain:[Default]]" {
		t.Fatalf("it says that %+v asks, %v", who, err)
	}
	if who, err := k.Asker(ctx, nil, nil, http.Header{"X-Auth-Token": {"wrong"}}); err == nil {
		t.Errorf("with a token that nobody has given it says that %+v asks", who)
	}
	acts := func() (http.Header, error) {
		h := http.Header{"X-Auth-Token": {own}}
		return h, k.Impersonate(ctx, h, who)
	}
	refused := func(when string) {
		t.Helper()
		if h, err := acts(); !errors.As(err, new(*glue.NoRights)) || h.Get("X-Auth-Token") != own || !strings.Contains(err.Error(), "openstack trust create --project demo") {
			t.Errorf("%s it acts for her: %v", when, err)
		}
	}
	refused("without a trust")
	trust(false, project)
	refused("with a trust that says the agent acts as itself")
	trust(true, other)
	refused("with a trust for another project")

	trust(true, project)
	h, err := acts()
	if err != nil {
		t.Fatal(err)
	}
	token := h.Get("X-Auth-Token")
	if again, err := acts(); err != nil || again.Get("X-Auth-Token") != token {
		t.Errorf("it takes another token each time: %v", err)
	}
	r, err := http.NewRequestWithContext(ctx, "GET", d.api+"/auth/tokens", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", d.token)
	r.Header.Set("X-Subject-Token", token)
	resp, err := once.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if s := string(b); !strings.Contains(s, alice) || !strings.Contains(s, project) || !strings.Contains(s, `"member"`) {
		t.Errorf("the token is that of %s", s)
	}
	bob, err := k.Asker(ctx, nil, nil, http.Header{"X-Auth-Token": {d.login("bob", "demo")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Impersonate(ctx, http.Header{}, bob); !errors.As(err, new(*glue.NoRights)) {
		t.Errorf("it acts for bob, who has trusted nobody: %v", err)
	}

	// A trust that gives nothing any more counts no more, once the application has said so: here she has lost the role. (She cannot take it back
	// from this Keystone, whose database is SQLite: it locks itself out.)
	d.ask("DELETE", "/projects/"+project+"/users/"+alice+"/roles/"+role, d.token, "", 204)
	if !k.Refused(who) {
		t.Error("it is the agent's own fault")
	}
	refused("after she has lost the role")
}

// identity asks a site's Keystone through its agent as a user, and returns what it answers.
func (c cloud) identity(t *testing.T, s *env.Site, token, request, body string) env.Answer {
	t.Helper()
	return s.Do(t, Identity, request, body, "X-Auth-Token", token, "Content-Type", "application/json")
}

// alice gives a site's Keystone a user, with a project of her own, and returns the identifier of that and a token of hers.
func (c cloud) alice(t *testing.T, s *env.Site) (project, token string) {
	t.Helper()
	admin := c.tokens[s]
	var made struct{ User, Project struct{ ID string } }
	read := func(a env.Answer) {
		t.Helper()
		if err := json.Unmarshal([]byte(a.Must(t, 201).Body), &made); err != nil {
			t.Fatal(err)
		}
	}
	read(c.identity(t, s, admin, "POST /v3/projects", `{"project":{"name":"alices","domain_id":"default"}}`))
	read(c.identity(t, s, admin, "POST /v3/users", `{"user":{"name":"alice","domain_id":"default","password":"`+Password+`"}}`))
	c.identity(t, s, admin, "PUT /v3/projects/"+made.Project.ID+"/users/"+made.User.ID+"/roles/"+c.role(t, s), "").Must(t, 204)
	a := c.identity(t, s, "", "POST /v3/auth/tokens", `{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"alice","domain":{"id":"default"},"password":"`+
		Password+`"}}},"scope":{"project":{"name":"alices","domain":{"id":"default"}}}}}`).Must(t, 201)
	return made.Project.ID, a.Header.Get("X-Subject-Token")
}

// role is the identifier of the role member at a site.
func (c cloud) role(t *testing.T, s *env.Site) string {
	t.Helper()
	var list struct{ Roles []struct{ ID string } }
	if err := json.Unmarshal([]byte(c.identity(t, s, c.tokens[s], "GET /v3/roles?name=member", "").Must(t, 200).Body), &list); err != nil || len(list.Roles) != 1 {
		t.Fatalf("%v: %v", list, err)
	}
	return list.Roles[0].ID
}

// rightsOfUsers has nantes do what paris asks for with the rights of who asked there: alice, who has another identifier at each site, and has to
// trust the agent of nantes first.
func rightsOfUsers(t *testing.T, c cloud) {
	paris, nantes := c.Site("paris"), c.Site("nantes")
	nantes.Stop(t)
	before := nantes.Config().Extra
	nantes.Config().Extra += "accept: [{from: paris, as: user}]\n"
	nantes.Start(t)
	for _, s := range c.Sites() {
		c.login(t, s)
	}
	_, token := c.alice(t, paris)
	project, _ := c.alice(t, nantes)
	id := paris.Do(t, Image, "POST /v2/images", `{"name":"alices","container_format":"bare","disk_format":"raw"}`, "X-Auth-Token", token, "Scope", both).Must(t, 201).Text("id")
	c.Eventually(t, patience, "nantes does not do it with the rights of its agent", func() error {
		if a := nantes.API(t, "GET /api/v1/resources/"+id, ""); !strings.Contains(a.Body, "has not trusted the agent's account") {
			return errors.New(a.Body)
		}
		return nil
	})
	if a := c.glance(t, nantes, "GET /v2/images/"+id, ""); a.Status != 404 {
		t.Errorf("it is there all the same: %d %s", a.Status, a.Body)
	}
	handbook.Follow(t, filepath.Join("..", ".."), "testnet/openstack rightsOfUsers", 1, blocks(t, c))
	c.converged(t, id)
	if a := c.glance(t, nantes, "GET /v2/images/"+id, "").Must(t, 200); a.Text("owner") != project {
		t.Errorf("the image is %s's, alice's project is %s", a.Text("owner"), project)
	}
	paris.Do(t, Image, "PUT /v2/images/"+id+"/file", bytes, "X-Auth-Token", token, "Content-Type", octets).Must(t, 204)
	c.converged(t, id)
	c.file(t, id, bytes)
	nantes.Stop(t)
	nantes.Config().Extra = before
	nantes.Start(t)
}
