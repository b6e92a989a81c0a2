//go:build openstack && nova

package openstack

import (
	"context"
	"encoding/json"
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

// compute is Nova's name in the catalog.
const compute = "compute"

// datacenters is an application of Keystone, Glance, Nova and Neutron at dc1 and dc2. Each Nova takes a gigabyte and most of a minute to start,
// each Neutron a fifth of a gigabyte.
func datacenters(t *testing.T) env.Setup {
	t.Helper()
	for _, name := range []string{"nova-api", "nova-conductor", "nova-scheduler", "nova-compute", "placement-api", "neutron-server", "mariadbd", "rabbitmq-server"} {
		// Those for the administrator may not be in a user's path.
		if err := exec.Command("sh", "-c", `PATH="$PATH:/usr/sbin:/sbin" command -v "$0"`, name).Run(); err != nil {
			t.Fatalf("%s is missing: Nova and what it needs are installed by .ci/deps nova", name)
		}
	}
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	s := clouds(t)
	s.Sites = []string{"dc1", "dc2"}
	s.Application.Catalog = catalogs.OpenStack
	s.Application.Services = map[string]int{Identity: 5000, Image: 9292, compute: 8774, Network: 9696}
	neutron := func(dir string) Neutron {
		return Neutron{Dir: filepath.Join(dir, "neutron"), Address: "127.0.0.1:9696", Host: filepath.Base(dir), Account: account}
	}
	before := s.Before
	s.Before = func(dir string) error { return errors.Join(before(dir), neutron(dir).Furnish(t.Context())) }
	cloud, ready := s.Application.Command, s.Application.Ready
	s.Application.Command = func(dir string) []string {
		nova := append([]string{"sh", filepath.Join(here, "nova.sh"), filepath.Join(dir, "nova"), filepath.Base(dir)}, neutron(dir).Command()...)
		// In a namespace of processes of its own, all of Nova and Neutron ends with the first.
		return slices.Concat([]string{"bash", "-c", `ended=$1 n=$2; shift 2
(setpriv --pdeathsig KILL unshare --pid --fork --kill-child --mount-proc "${@:1:n}" || :; : > "$ended") & nova=$!
setpriv --pdeathsig KILL "${@:n+1}" & cloud=$!
trap 'kill $cloud; kill -KILL $nova 2>/dev/null; wait; exit 0' TERM
wait $cloud
exit 1`, "datacenter", filepath.Join(dir, "nova.ended"), fmt.Sprint(len(nova))}, nova, cloud(dir))
	}
	s.Application.Ready = func(ctx context.Context, s *env.Site) error {
		if err := ready(ctx, s); err != nil {
			return err
		}
		for {
			_, err := os.Stat(filepath.Join(s.Config().Dir, "nova", "ready"))
			if err == nil {
				_, err = s.RequestApplication(ctx, Network, "GET /", "")
			}
			if err == nil {
				return nil
			}
			if _, err := os.Stat(filepath.Join(s.Config().Dir, "nova.ended")); err == nil {
				return errors.New("Nova has ended, or something that it needs; the log of the application says which")
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait for Nova: %w", ctx.Err())
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return s
}

// TestNova boots servers, mostly at dc1: Nova there asks for images as ever, and the scope of the request for the server goes along.
func TestNova(t *testing.T) {
	c := newCloud(t, datacenters(t))
	dc1, dc2 := c.Site("dc1"), c.Site("dc2")
	do := func(s *env.Site, service, request, body string, header ...string) env.Answer {
		t.Helper()
		return c.do(t, s, service, request, body, append(header, "X-OpenStack-Nova-API-Version", "2.37")...)
	}
	for _, s := range c.Sites() {
		do(s, compute, "POST /v2.1/flavors", `{"flavor":{"name":"tiny","id":"1","ram":64,"disk":0,"vcpus":1}}`).Must(t, 200)
	}
	boot := func(s *env.Site, name, image, networks string, header ...string) env.Answer {
		t.Helper()
		return do(s, compute, "POST /v2.1/servers", `{"server":{"name":"`+name+`","imageRef":"`+image+`","flavorRef":"1","networks":`+networks+`}}`, header...)
	}
	runs := func(s *env.Site, a env.Answer, image string) (id string) {
		t.Helper()
		var made struct{ Server struct{ ID string } }
		if err := json.Unmarshal([]byte(a.Must(t, 202).Body), &made); err != nil {
			t.Fatal(err)
		}
		c.Eventually(t, patience, "the server is active", func() error {
			got := do(s, compute, "GET /v2.1/servers/"+made.Server.ID, "").Must(t, 200).Body
			if strings.Contains(got, `"status": "ERROR"`) {
				t.Fatal(got)
			}
			if !strings.Contains(got, `"status": "ACTIVE"`) || !strings.Contains(got, image) {
				return fmt.Errorf("it is %s", got)
			}
			return nil
		})
		return made.Server.ID
	}
	const none = `"none"`

	// Sharing: the image is at dc2 alone, and stays there.
	debian := c.made(t, dc2, "debian")
	c.image(t, dc2, "PUT /v2/images/"+debian+"/file", bytes, "Content-Type", octets).Must(t, 204)
	if a := boot(dc1, "unscoped", debian, none); a.Status != 400 || !strings.Contains(a.Body, "Can not find requested image") {
		t.Errorf("without a scope the server is answered with %d %s", a.Status, a.Body)
	}
	out := output(t, dc1, append(scoped("{compute: dc1, image: dc2}"), "--os-compute-api-version", "2.37", "server", "create",
		"--image", debian, "--flavor", "1", "--nic", "none", "--wait", "shared", "-f", "json")...)
	var shown struct{ Status, Image string }
	if err := json.Unmarshal(out, &shown); err != nil || shown.Status != "ACTIVE" || !strings.Contains(shown.Image, debian) {
		t.Errorf("the client shows %s", out)
	}
	runs(dc1, boot(dc1, "either", debian, none, "Scope", "{compute: dc1, image: dc1 | dc2}"), debian)
	if a := c.glance(t, dc1, "GET /v2/images/"+debian, ""); a.Status != 404 {
		t.Errorf("dc1 has the image: %d %s", a.Status, a.Body)
	}

	// A flat network of another site: nothing could ever reach the server.
	var made struct{ Network struct{ ID string } }
	a := do(dc2, Network, "POST /v2.0/networks", `{"network":{"name":"hall","provider:network_type":"flat","provider:physical_network":"hall"}}`).Must(t, 201)
	if err := json.Unmarshal([]byte(a.Body), &made); err != nil {
		t.Fatal(err)
	}
	flat := made.Network.ID
	if a := boot(dc1, "nowhere", debian, `[{"uuid":"`+flat+`"}]`, "Scope", "{compute: dc1, image: dc2, network: dc2}"); a.Status != 422 ||
		!strings.Contains(a.Body, "mismatched owners") || !strings.Contains(a.Body, "dc2/network") {
		t.Errorf("a flat network of dc2 is answered with %d %s", a.Status, a.Body)
	}

	// Replication: an image of dc2, with its file at both.
	do(dc2, Image, "PATCH /v2/images/"+debian, `[{"op":"add","path":"/team","value":"infra"}]`, "Content-Type", jsonPatch, "Scope", "{image: dc1 & dc2}").Must(t, 200)
	c.converged(t, debian)
	c.file(t, debian, bytes)

	networks(t, c, func(s *env.Site, name, network string) (id string) {
		t.Helper()
		return runs(s, boot(s, name, debian, `[{"uuid":"`+network+`"}]`), debian)
	})

	// The servers of both sites are one list, whoever asks and however much of each is asked for. One site alone has its own.
	runs(dc2, boot(dc2, "far", debian, none), debian)
	lists := func(s *env.Site, scope string, names ...string) {
		t.Helper()
		c.Eventually(t, patience, "the client lists the servers of "+scope, func() error {
			out := output(t, s, append(scoped(scope), "server", "list", "-f", "value", "-c", "Name")...)
			got := strings.Fields(string(out))
			if slices.Sort(got); !slices.Equal(got, names) {
				return fmt.Errorf("%s lists %q, not %q", s.Name(), got, names)
			}
			return nil
		})
	}
	lists(dc1, "{compute: dc1 & dc2}", "either", "far", "shared")
	lists(dc2, "{compute: dc1 & dc2}", "either", "far", "shared")
	lists(dc1, "{compute: dc2}", "far")
	for _, path := range []string{"/v2.1/servers", "/v2.1/servers/detail"} {
		var names []string
		for next := path + "?limit=1"; next != ""; {
			var page struct {
				Servers []struct{ Name string }
				Links   []struct{ Href string } `json:"servers_links"`
			}
			if err := json.Unmarshal([]byte(c.list(t, dc1, compute, "GET "+next, "{compute: dc1 & dc2}")), &page); err != nil {
				t.Fatal(err)
			}
			for _, s := range page.Servers {
				names = append(names, s.Name)
			}
			if next = ""; len(page.Links) > 0 {
				_, next, _ = strings.Cut(page.Links[0].Href, ":8674")
			}
		}
		if slices.Sort(names); !slices.Equal(names, []string{"either", "far", "shared"}) {
			t.Errorf("the pages of %s have %q", path, names)
		}
	}

	c.cut(t, dc2)
	// Whoever has a copy needs nobody.
	runs(dc1, boot(dc1, "alone", debian, none), debian)
	lists(dc1, "{compute: dc1 & dc2}", "alone", "either", "shared")
	if a := do(dc1, compute, "GET /v2.1/servers/detail", "", "Scope", "{compute: dc1 & dc2}").Must(t, 200); a.Header.Get("Skerry-Missing") != "dc2" {
		t.Errorf("the list of a site that is cut off has %v", a.Header)
	}
	lists(dc1, "{compute: dc2 | dc1}", "alone", "either", "shared")
	do(dc1, compute, "GET /v2.1/servers/detail", "", "Scope", "{compute: dc2}").Must(t, 503)
	if told := refused(t, dc1, append(scoped("{compute: dc2}"), "server", "list")...); !strings.Contains(told, "dc2 cannot be reached") {
		t.Errorf("the client tells %s", told)
	}
}
