//go:build openstack && nova

package openstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

// networks makes a network with its subnet at both sites, for each Neutron one of its own. Servers have ports there, with addresses that this Neutron
// has picked.
func networks(t *testing.T, c cloud, boot func(s *env.Site, name, network string) (id string)) {
	dc1, dc2 := c.Site("dc1"), c.Site("dc2")
	const replicated = "{network: dc1 & dc2}"
	front := strings.TrimSpace(string(output(t, dc1, append(scoped(replicated), "network", "create", "front", "-f", "value", "-c", "id")...)))
	subnet := strings.TrimSpace(string(output(t, dc1, append(scoped(replicated), "subnet", "create", "front", "--network", "front",
		"--subnet-range", "10.7.0.0/24", "-f", "value", "-c", "id")...)))
	c.converged(t, front)
	c.converged(t, subnet)
	wired := map[*env.Site]string{}
	for _, s := range c.Sites() {
		wired[s] = boot(s, "wired", front)
		own, ports := c.network(t, s, "front"), c.ports(t, s, "device_id="+wired[s])
		if len(ports) != 1 {
			t.Fatalf("the server has the ports %+v", ports)
		}
		port := ports[0]
		if port.Network != own || port.Host != s.Name() || port.VIF != "ovs" || len(port.Addresses) != 1 || !strings.HasPrefix(port.Addresses[0].IP, "10.7.0.") {
			t.Errorf("the network of %s is %s, its port is %+v", s.Name(), own, port)
		} else if got := c.do(t, s, compute, "GET /v2.1/servers/"+wired[s], "").Must(t, 200).Body; !strings.Contains(got, `"`+port.Addresses[0].IP+`"`) {
			t.Errorf("the port is %+v, and the server %s", port, got)
		}
	}

	// A router is at both likewise, and the interface that it is given.
	router := strings.TrimSpace(string(output(t, dc1, append(scoped(replicated), "router", "create", "front", "-f", "value", "-c", "id")...)))
	for _, change := range []struct {
		command string
		ports   int
	}{{"add", 1}, {"remove", 0}} {
		output(t, dc1, append(scoped(replicated), "router", change.command, "subnet", "front", "front")...)
		for _, s := range c.Sites() {
			c.Eventually(t, patience, "the router of "+s.Name()+" has such interfaces", func() error {
				got := c.ports(t, s, "network_id="+c.network(t, s, "front")+"&device_owner=network:router_interface")
				if len(got) != change.ports || change.ports > 0 && (len(got[0].Addresses) != 1 || got[0].Addresses[0].IP != "10.7.0.1") {
					return fmt.Errorf("%+v", got)
				}
				return nil
			})
		}
	}
	c.converged(t, router)

	gone := func(s *env.Site) {
		t.Helper()
		c.do(t, s, compute, "DELETE /v2.1/servers/"+wired[s], "").Must(t, 204)
		c.Eventually(t, patience, "the server is gone", func() error {
			if a := c.do(t, s, compute, "GET /v2.1/servers/"+wired[s], ""); a.Status != 404 {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		})
	}

	// Who deletes it is told by Neutron that there is a port. With a port at the other site alone it goes there once that is gone.
	for _, s := range c.Sites() {
		if a := c.do(t, s, Network, "DELETE /v2.0/networks/"+front, ""); a.Status != 409 || !strings.Contains(a.Body, "NetworkInUse") {
			t.Errorf("with a port at %s the deletion is answered with %d %s", s.Name(), a.Status, a.Body)
		}
	}
	c.converged(t, front)
	gone(dc1)
	c.do(t, dc1, Network, "DELETE /v2.0/subnets/"+subnet, "").Must(t, 204)
	c.do(t, dc1, Network, "DELETE /v2.0/networks/"+front, "").Must(t, 204)
	if got := c.network(t, dc1, "front"); got != "" {
		t.Errorf("dc1 has the network: %s", got)
	}
	c.Eventually(t, patience, "the deletion waits at dc2", func() error {
		if a := dc2.API(t, "GET /api/v1/resources/"+front, ""); !strings.Contains(a.Body, "one or more ports still in use on the network") {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	gone(dc2)
	c.Eventually(t, patience, "dc2 has no network any more", func() error {
		if got := c.network(t, dc2, "front"); got != "" {
			return errors.New(got)
		}
		return nil
	})
}

// port is what Neutron shows of one.
type port struct {
	Network   string `json:"network_id"`
	Host      string `json:"binding:host_id"`
	VIF       string `json:"binding:vif_type"`
	Addresses []struct {
		IP string `json:"ip_address"`
	} `json:"fixed_ips"`
}

// ports are those that a site's own Neutron has of all that a query says.
func (c cloud) ports(t *testing.T, s *env.Site, query string) []port {
	t.Helper()
	var got struct{ Ports []port }
	c.neutron(t, s, "/v2.0/ports?"+query, &got)
	return got.Ports
}

// network is the identifier of the one with this name that a site's own Neutron has, empty for none.
func (c cloud) network(t *testing.T, s *env.Site, name string) string {
	t.Helper()
	var got struct{ Networks []struct{ ID string } }
	c.neutron(t, s, "/v2.0/networks?name="+name, &got)
	if len(got.Networks) == 0 {
		return ""
	}
	return got.Networks[0].ID
}

// neutron reads of a site's own Neutron, past the agent.
func (c cloud) neutron(t *testing.T, s *env.Site, path string, into any) {
	t.Helper()
	a := s.Application(t, Network, "GET "+path, "", "X-Auth-Token", c.tokens[s]).Must(t, 200)
	if err := json.Unmarshal([]byte(a.Body), into); err != nil {
		t.Fatal(err)
	}
}
