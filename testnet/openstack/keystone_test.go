//go:build openstack

package openstack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

// reads asks a site for the file of an image under a scope, and returns the status of the answer.
func reads(t *testing.T, s *env.Site, id, token, scope string) int {
	t.Helper()
	return s.Do(t, Image, "GET /v2/images/"+id+"/file", "", "X-Auth-Token", token, "Scope", scope).Status
}

// tokens has clients log in at their own site's Keystone, through the agent, and work with two sites.
func tokens(t *testing.T, c cloud) {
	paris, nantes := c.Site("paris"), c.Site("nantes")
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
	c.converged(t, image.ID)
	c.file(t, image.ID, bytes)

	// The catalog may name an address with a scope, as a region of its own: then the client needs nothing else.
	out = output(t, paris, ofBoth("image", "create", "by region", "--disk-format", "raw", "--container-format", "bare", "-f", "json")...)
	if json.Unmarshal(out, &image) != nil || image.ID == "" {
		t.Fatalf("the client shows %s", out)
	}
	c.converged(t, image.ID)
	if out := output(t, nantes, ofBoth("image", "list", "-f", "value", "-c", "Name")...); !strings.Contains(string(out), "by region") {
		t.Errorf("the client lists %s", out)
	}

	// What an agent refuses, the client tells in its words.
	if told := refused(t, paris, append(scoped("{image: lyon}"), "image", "show", image.ID)...); !strings.Contains(told, "lyon") {
		t.Errorf("the client tells %s", told)
	}

	// A token of paris, at nantes: both Keystones have the same keys and users.
	only := c.made(t, nantes, "only nantes")
	c.image(t, nantes, "PUT /v2/images/"+only+"/file", bytes, "Content-Type", octets).Must(t, 204)
	if out := output(t, paris, append(scoped("{image: nantes}"), "image", "show", only, "-f", "value", "-c", "name")...); strings.TrimSpace(string(out)) != "only nantes" {
		t.Errorf("the client shows %s", out)
	}
	if status := reads(t, paris, only, c.tokens[paris], "{image: nantes}"); status != 200 {
		t.Errorf("nantes answers a token of paris with %d", status)
	}
	// What no Keystone has given is refused by Glance, and nothing of the agent's own is used in its place.
	for _, token := range []string{"", "wrong"} {
		for _, scope := range []string{"{image: nantes}", "{image: paris}"} {
			if status := reads(t, paris, only, token, scope); status != 401 {
				t.Errorf("with the token %q and the scope %s the answer is %d", token, scope, status)
			}
		}
		paris.Do(t, Image, "POST /v2/images", `{"name":"stranger"}`, "X-Auth-Token", token, "Scope", both).Must(t, 401)
	}
}

// otherKeys gives nantes keys of its own: a token of paris says nothing there, and what agents do for each other goes on.
func otherKeys(t *testing.T, c cloud) {
	paris, nantes := c.Site("paris"), c.Site("nantes")
	only := c.made(t, nantes, "only at nantes")
	if err := NewKeys(filepath.Join(nantes.Config().Dir, "keystone")); err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Sites() {
		c.login(t, s)
	}
	if err := os.WriteFile(filepath.Join(nantes.Config().Dir, "agent.token"), []byte(c.tokens[nantes]), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := reads(t, paris, only, c.tokens[paris], "{image: nantes}"); status != 401 {
		t.Errorf("nantes, with keys of its own, answers a token of paris with %d", status)
	}
	apart := c.made(t, paris, "apart", "Scope", both)
	c.image(t, paris, "PUT /v2/images/"+apart+"/file", bytes, "Content-Type", octets).Must(t, 204)
	c.converged(t, apart)
	c.file(t, apart, bytes)
	// Whoever wants something of nantes alone logs in there: the scope names both services.
	if out := output(t, paris, append(scoped("{identity: nantes, image: nantes}"), "image", "show", only, "-f", "value", "-c", "name")...); strings.TrimSpace(string(out)) != "only at nantes" {
		t.Errorf("the client shows %s", out)
	}
}
