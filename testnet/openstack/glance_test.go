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

// throughACut replicates an image with its file, and has each site change it while the network is cut.
func throughACut(t *testing.T, c cloud) {
	paris, nantes := c.Site("paris"), c.Site("nantes")
	a := c.image(t, paris, "POST /v2/images", `{"name":"debian","container_format":"bare","disk_format":"raw","tags":["stable","amd64"]}`, "Scope", both).Must(t, 201)
	id := a.Text("id")
	if a.Text("status") != "queued" || a.Header.Get("Skerry-Resource") != id {
		t.Fatalf("the image was answered with %v %s", a.Header, a.Body)
	}
	c.image(t, paris, "PUT /v2/images/"+id+"/file", bytes, "Content-Type", "application/octet-stream").Must(t, 204)
	// Glance takes the identifier of another site.
	c.converged(t, id)
	c.file(t, id, bytes)

	patch := func(s *env.Site, body string) env.Answer {
		t.Helper()
		return c.image(t, s, "PATCH /v2/images/"+id, body, "Content-Type", jsonPatch)
	}
	t.Cleanup(func() { nantes.Heal(t) })
	c.cut(t, nantes)
	patch(paris, `[{"op":"replace","path":"/name","value":"Debian 12"},{"op":"add","path":"/team","value":"infra"}]`).Must(t, 200)
	patch(nantes, `[{"op":"replace","path":"/min_ram","value":512},{"op":"replace","path":"/tags","value":["amd64","checked"]}]`).Must(t, 200)
	// An application's refusal comes as it is, and nothing of it gets to the other site.
	if a := patch(nantes, `[{"op":"replace","path":"/size","value":1}]`); a.Status != 403 || !strings.Contains(a.Body, "read-only") {
		t.Errorf("a change of a field that is Glance's was answered with %d %s", a.Status, a.Body)
	}
	if a := c.image(t, nantes, "GET /v2/images/"+id+"/file", "").Must(t, 200); a.Body != bytes {
		t.Errorf("nantes, cut off, reads %q", a.Body)
	}
	nantes.Heal(t)
	c.shows(t, id, "shows what both have changed", func(s *env.Site) error {
		a := c.glance(t, s, "GET /v2/images/"+id, "").Must(t, 200)
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
	c.converged(t, id)

	c.image(t, nantes, "DELETE /v2/images/"+id, "").Must(t, 204)
	c.shows(t, id, "has it no more", func(s *env.Site) error {
		if a := c.glance(t, s, "GET /v2/images/"+id, ""); a.Status != 404 {
			return fmt.Errorf("%d", a.Status)
		}
		return nil
	})
}
