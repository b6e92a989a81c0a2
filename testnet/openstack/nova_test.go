//go:build openstack && nova

package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/docs/catalogs"
	"github.com/skerry/skerry/testnet/env"
)

// Further services of the catalog.
const (
	compute = "compute"
	network = "network"
)

// flat is the one network that there is, at dc2.
const flat = "f1a7f1a7-0000-4000-8000-000000000002"

// datacenters is an application of Keystone, Glance and something in the place of Neutron at dc1 and dc2, and of Nova at dc1, which takes a
// gigabyte and most of a minute to start.
func datacenters(t *testing.T) env.Setup {
	t.Helper()
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	s := clouds(t)
	s.Sites = []string{"dc1", "dc2"}
	s.Application.Catalog = catalogs.OpenStack
	s.Application.Services = map[string]int{identity: 5000, Image: 9292, compute: 8774, network: 9696}
	cloud, ready := s.Application.Command, s.Application.Ready
	s.Application.Command = func(dir string) []string {
		known, nova := flat, ":"
		if filepath.Base(dir) == "dc1" {
			// In a namespace of processes of its own, all of Nova ends with the first.
			known, nova = "", `setpriv --pdeathsig KILL unshare --pid --fork --kill-child --mount-proc sh "$here/nova.sh" "$dir/nova" dc1`
		}
		return append([]string{"sh", "-c", `here=$1 dir=$2; shift 2
` + nova + ` & nova=$!
setpriv --pdeathsig KILL /usr/bin/python3 "$here/neutron.py" ` + known + ` & neutron=$!
setpriv --pdeathsig KILL "$@" & cloud=$!
trap 'kill $cloud; kill -KILL $neutron $nova 2>/dev/null; wait; exit 0' TERM
wait $cloud
exit 1`, "datacenter", here, dir}, cloud(dir)...)
	}
	s.Application.Ready = func(ctx context.Context, s *env.Site) error {
		if err := ready(ctx, s); err != nil || s.Name() != "dc1" {
			return err
		}
		for {
			if _, err := os.Stat(filepath.Join(s.Config().Dir, "nova", "ready")); err == nil {
				return nil
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("Nova is not there: %w", ctx.Err())
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return s
}

// TestNova boots servers at dc1: Nova there asks for images as ever, and the scope of the request for the server goes along.
func TestNova(t *testing.T) {
	e := env.New(t, datacenters(t))
	dc1, dc2 := e.Site("dc1"), e.Site("dc2")
	tokens := loggedIn(t, e)
	do := func(s *env.Site, service, request, body string, header ...string) env.Answer {
		t.Helper()
		return s.Do(t, service, request, body, append(header, "X-Auth-Token", tokens[s], "X-OpenStack-Nova-API-Version", "2.37")...)
	}
	do(dc1, compute, "POST /v2.1/flavors", `{"flavor":{"name":"tiny","id":"1","ram":64,"disk":0,"vcpus":1}}`).Must(t, 200)
	imageOfDC2 := func(name string) (id string) {
		t.Helper()
		id = do(dc2, Image, "POST /v2/images", `{"name":"`+name+`","container_format":"bare","disk_format":"raw"}`).Must(t, 201).Text("id")
		do(dc2, Image, "PUT /v2/images/"+id+"/file", bytes, "Content-Type", octets).Must(t, 204)
		return id
	}
	boot := func(name, image, networks string, header ...string) env.Answer {
		t.Helper()
		return do(dc1, compute, "POST /v2.1/servers", `{"server":{"name":"`+name+`","imageRef":"`+image+`","flavorRef":"1","networks":`+networks+`}}`, header...)
	}
	runs := func(a env.Answer, image string) {
		t.Helper()
		var made struct{ Server struct{ ID string } }
		if err := json.Unmarshal([]byte(a.Must(t, 202).Body), &made); err != nil {
			t.Fatal(err)
		}
		e.Eventually(t, patience, "the server is active", func() error {
			got := do(dc1, compute, "GET /v2.1/servers/"+made.Server.ID, "").Must(t, 200).Body
			if strings.Contains(got, `"status": "ERROR"`) {
				t.Fatal(got)
			}
			if !strings.Contains(got, `"status": "ACTIVE"`) || !strings.Contains(got, image) {
				return fmt.Errorf("it is %s", got)
			}
			return nil
		})
	}
	const none = `"none"`

	// Sharing: the image is at dc2 alone, and stays there.
	debian := imageOfDC2("debian")
	if a := boot("unscoped", debian, none); a.Status != 400 || !strings.Contains(a.Body, "Can not find requested image") {
		t.Errorf("without a scope the server is answered with %d %s", a.Status, a.Body)
	}
	out := output(t, dc1, append(scoped("{compute: dc1, image: dc2}"), "--os-compute-api-version", "2.37", "server", "create",
		"--image", debian, "--flavor", "1", "--nic", "none", "--wait", "shared", "-f", "json")...)
	var shown struct{ Status, Image string }
	if err := json.Unmarshal(out, &shown); err != nil || shown.Status != "ACTIVE" || !strings.Contains(shown.Image, debian) {
		t.Errorf("the client shows %s", out)
	}
	runs(boot("either", debian, none, "Scope", "{compute: dc1, image: dc1 | dc2}"), debian)
	if a := dc1.Application(t, Image, "GET /v2/images/"+debian, "", "X-Auth-Token", tokens[dc1]); a.Status != 404 {
		t.Errorf("dc1 has the image: %d %s", a.Status, a.Body)
	}

	// A flat network of another site: nothing could ever reach the server.
	if a := boot("nowhere", debian, `[{"uuid":"`+flat+`"}]`, "Scope", "{compute: dc1, image: dc2, network: dc2}"); a.Status != 422 ||
		!strings.Contains(a.Body, "mismatched owners") || !strings.Contains(a.Body, "dc2/network") {
		t.Errorf("a flat network of dc2 is answered with %d %s", a.Status, a.Body)
	}

	// Replication: dc1 needs nobody once it has a copy.
	do(dc2, Image, "PATCH /v2/images/"+debian, `[{"op":"add","path":"/team","value":"infra"}]`, "Content-Type", jsonPatch, "Scope", "{image: dc1 & dc2}").Must(t, 200)
	converged(t, e, debian)
	dc2.Cut(t)
	for _, s := range e.Sites() {
		e.Eventually(t, patience, s.Name()+" notices the cut", func() error { return alone(t, s) })
	}
	runs(boot("alone", debian, none), debian)
}
