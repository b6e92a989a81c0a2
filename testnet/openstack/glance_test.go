//go:build openstack

package openstack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

const (
	both      = "{image: paris & nantes}"
	jsonPatch = "application/openstack-images-v2.1-json-patch"
	bytes     = "the bytes of Debian"
)

// TestGlance has one Glance at each of two sites, which all that is tested shares: it takes seconds to start.
func TestGlance(t *testing.T) {
	e := env.New(t, glances(t))
	t.Run("through a cut", func(t *testing.T) { throughACut(t, e) })
	t.Run("client", func(t *testing.T) { client(t, e) })
	t.Run("a file that is there already", func(t *testing.T) { fileThereAlready(t, e) })
	t.Run("a file on its way", func(t *testing.T) { fileOnItsWay(t, e) })
	t.Run("lists", func(t *testing.T) { lists(t, e) })
	t.Run("a large file", func(t *testing.T) { largeFile(t, e) })
}

// throughACut replicates an image with its file, and has each site change it while the network is cut.
func throughACut(t *testing.T, e *env.Env) {
	paris, nantes := e.Site("paris"), e.Site("nantes")
	a := paris.Do(t, Image, "POST /v2/images", `{"name":"debian","container_format":"bare","disk_format":"raw","tags":["stable","amd64"]}`, "Scope", both).Must(t, 201)
	id := a.Text("id")
	if a.Text("status") != "queued" || a.Header.Get("Skerry-Resource") != id {
		t.Fatalf("the image was answered with %v %s", a.Header, a.Body)
	}
	paris.Do(t, Image, "PUT /v2/images/"+id+"/file", bytes, "Content-Type", "application/octet-stream").Must(t, 204)
	// Glance takes the identifier of another site.
	shows(t, e, id, "has the file", func(s *env.Site) error {
		if a := s.Application(t, Image, "GET /v2/images/"+id+"/file", ""); a.Status != 200 || a.Body != bytes {
			return fmt.Errorf("%d %q", a.Status, a.Body)
		}
		return nil
	})
	converged(t, e, id)

	patch := func(s *env.Site, body string) env.Answer {
		t.Helper()
		return s.Do(t, Image, "PATCH /v2/images/"+id, body, "Content-Type", jsonPatch)
	}
	nantes.Cut(t)
	t.Cleanup(func() { nantes.Heal(t) })
	for _, s := range e.Sites() {
		e.Eventually(t, patience, s.Name()+" notices the cut", func() error { return alone(t, s) })
	}
	patch(paris, `[{"op":"replace","path":"/name","value":"Debian 12"},{"op":"add","path":"/team","value":"infra"}]`).Must(t, 200)
	patch(nantes, `[{"op":"replace","path":"/min_ram","value":512},{"op":"replace","path":"/tags","value":["amd64","checked"]}]`).Must(t, 200)
	// An application's refusal comes as it is, and nothing of it gets to the other site.
	if a := patch(nantes, `[{"op":"replace","path":"/size","value":1}]`); a.Status != 403 || !strings.Contains(a.Body, "read-only") {
		t.Errorf("a change of a field that is Glance's was answered with %d %s", a.Status, a.Body)
	}
	if a := nantes.Do(t, Image, "GET /v2/images/"+id+"/file", "").Must(t, 200); a.Body != bytes {
		t.Errorf("nantes, cut off, reads %q", a.Body)
	}
	nantes.Heal(t)
	shows(t, e, id, "shows what both have changed", func(s *env.Site) error {
		a := s.Application(t, Image, "GET /v2/images/"+id, "").Must(t, 200)
		var got struct {
			Name   string
			Team   string
			MinRAM int `json:"min_ram"`
			Tags   []string
		}
		if err := json.Unmarshal([]byte(a.Body), &got); err != nil {
			return err
		}
		slices.Sort(got.Tags)
		if got.Name != "Debian 12" || got.Team != "infra" || got.MinRAM != 512 || !slices.Equal(got.Tags, []string{"amd64", "checked"}) {
			return fmt.Errorf("%s", a.Body)
		}
		return nil
	})
	converged(t, e, id)

	nantes.Do(t, Image, "DELETE /v2/images/"+id, "").Must(t, 204)
	shows(t, e, id, "has it no more", func(s *env.Site) error {
		if a := s.Application(t, Image, "GET /v2/images/"+id, ""); a.Status != 404 {
			return fmt.Errorf("%d", a.Status)
		}
		return nil
	})
}

// shows waits until something holds of every site.
func shows(t *testing.T, e *env.Env, id, what string, ok func(*env.Site) error) {
	t.Helper()
	for _, s := range e.Sites() {
		e.Eventually(t, patience, s.Name()+" "+what+": "+id, func() error { return ok(s) })
	}
}

// converged waits until every site says so.
func converged(t *testing.T, e *env.Env, id string) {
	t.Helper()
	shows(t, e, id, "says that it has converged", func(s *env.Site) error {
		a := s.API(t, "GET /api/v1/resources/"+id, "")
		if state := a.Text("state"); a.Status != 200 || state != "converged" {
			return fmt.Errorf("%d %s: %s", a.Status, state, a.Text("reason"))
		}
		return nil
	})
}

// alone says that a site still reaches another.
func alone(t *testing.T, s *env.Site) error {
	t.Helper()
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
}
