package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// world is paris, nantes and lyon; paris reaches both, which do not reach each other.
func world() *Mesh {
	m := &Mesh{Now: noon, Views: map[string]*View{}}
	for i, n := range []string{"paris", "nantes", "lyon"} {
		at := fmt.Sprintf("/ip4/10.0.0.%d", i+1)
		m.Sites = append(m.Sites, Site{ID: n, Name: n, Version: "v" + fmt.Sprint(i), Addresses: []string{at + "/udp/4700/quic-v1", at + "/tcp/4700"}})
	}
	m.Views["paris"] = &View{Site: "paris", Ways: []Way{met("nantes", "/ip4/10.0.0.2/udp/4700/quic-v1"), met("lyon", "/ip4/10.0.0.3/udp/4700/quic-v1")}}
	m.Views["nantes"] = &View{Site: "nantes", Ways: []Way{met("paris", ""), lost("lyon", "10.0.0.3", engine.TrySilent)}}
	m.Views["lyon"] = &View{Site: "lyon", Ways: []Way{met("paris", ""), lost("nantes", "10.0.0.2", engine.TrySilent)}}
	return m
}

func met(site, seen string) Way {
	return Way{Site: site, Name: site, Reachable: true, Transport: "quic", Seen: seen, Inbound: seen != ""}
}

func lost(site, ip string, r engine.TryResult) Way {
	return Way{Site: site, Name: site, Tries: []Try{{Address: "/ip4/" + ip + "/udp/4700/quic-v1", Result: r, Detail: "as it was said"}, {Result: engine.TryNoRelay}}}
}

// nat puts a site behind a NAT, which has an address of its own; it announces some.
func (m *Mesh) nat(site, outer string, announced ...string) {
	i := slices.IndexFunc(m.Sites, func(s Site) bool { return s.ID == site })
	m.Sites[i].Addresses = append(slices.Clone(announced), "/ip4/192.168.1.2/udp/4700/quic-v1")
	m.Views["paris"].to(site).Seen = "/ip4/" + outer + "/udp/33333/quic-v1"
	if v := m.Views[site]; v != nil {
		v.Announced = announced
	}
}

func TestCauses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *Mesh)
		a, b   string // lyon and nantes where empty
		state  State
		codes  string
		says   []string // parts of causes and help
	}{
		"two firewalls": {change: func(*Mesh) {}, state: Apart, codes: "firewall firewall", says: []string{"the agent of lyon runs, and nothing answers nantes at /ip4/10.0.0.3", "let UDP 4700 and TCP 4700 in from nantes at lyon", "mesh.relay: true at paris"}},
		"one of them rejects": {change: func(m *Mesh) { *m.Views["nantes"].to("lyon") = lost("lyon", "10.0.0.3", engine.TryRefused) }, state: Apart, codes: "firewall firewall",
			says: []string{"the agent of lyon runs, and nantes is refused at /ip4/10.0.0.3", "mesh.listen"}},
		"two NATs": {change: func(m *Mesh) { m.nat("nantes", "10.0.0.2"); m.nat("lyon", "10.0.0.3") }, state: Apart, codes: "nat nat",
			says: []string{"lyon is behind a NAT (others see it at 10.0.0.3) and announces nothing", "/ip4/10.0.0.3/udp/PORT/quic-v1", "mesh.relay: true at paris"}},
		"a NAT, and what it announces is wrong": {change: func(m *Mesh) {
			m.nat("lyon", "10.0.0.3", "/ip4/10.0.0.9/udp/4700/quic-v1")
			*m.Views["nantes"].to("lyon") = lost("lyon", "10.0.0.9", engine.TrySilent)
		}, state: Apart, codes: "wrong-address firewall", says: []string{"lyon announces /ip4/10.0.0.9/udp/4700/quic-v1, and nothing answers there", "others see it at 10.0.0.3"}},
		"a NAT that passes the port on, for some": {change: func(m *Mesh) {
			m.nat("lyon", "10.0.0.3", "/ip4/10.0.0.3/udp/4700/quic-v1")
			m.Views["paris"].to("lyon").Inbound = false
		}, state: Apart, codes: "firewall firewall", says: []string{"a firewall in between"}},
		"another agent answers": {change: func(m *Mesh) {
			*m.Views["nantes"].to("lyon") = lost("lyon", "10.0.0.1", engine.TryOtherKey)
			m.Views["nantes"].to("lyon").Tries[0].Other = "paris"
		}, state: Apart, codes: "other-key firewall", says: []string{"at /ip4/10.0.0.1/udp/4700/quic-v1, where lyon is to be, answers paris"}},
		"stopped": {change: func(m *Mesh) {
			delete(m.Views, "lyon")
			*m.Views["nantes"].to("lyon"), *m.Views["paris"].to("lyon") = lost("lyon", "10.0.0.3", engine.TryRefused), lost("lyon", "10.0.0.3", engine.TryRefused)
		}, state: Apart, codes: "stopped", says: []string{"the machine of lyon answers nantes at /ip4/10.0.0.3/udp/4700/quic-v1, and no agent listens there", "systemctl start skerry"}},
		"off": {change: func(m *Mesh) {
			delete(m.Views, "lyon")
			*m.Views["paris"].to("lyon") = lost("lyon", "10.0.0.3", engine.TrySilent)
		}, state: Apart, codes: "silent", says: []string{"nothing answers at any address of lyon", "open UDP 4700 and TCP 4700 there"}},
		"neither can be asked": {change: func(m *Mesh) { delete(m.Views, "lyon"); delete(m.Views, "nantes") }, state: Unknown, codes: "not-asked", says: []string{"skerry sites doctor"}},
		"one sees the other":   {change: func(m *Mesh) { delete(m.Views, "lyon"); *m.Views["nantes"].to("lyon") = met("lyon", "") }, state: Direct},
		"a relay": {change: func(m *Mesh) {
			m.nat("nantes", "10.0.0.2")
			w := m.Views["nantes"].to("lyon")
			w.Reachable, w.Relay, w.Transport = true, "paris", "quic"
		}, state: Relayed, codes: "firewall nat", says: []string{"nantes is behind a NAT"}},
		"a relay that is full": {change: func(m *Mesh) {
			m.Views["nantes"].to("lyon").Tries[1] = Try{Relay: "paris", Result: engine.TryRelayFull}
		}, state: Apart, codes: "firewall firewall relay-full", says: []string{"the relay paris has as many connections"}},
		"a relay that has lost one": {change: func(m *Mesh) { m.Views["nantes"].to("lyon").Tries[1] = Try{Relay: "paris", Result: engine.TryNoPlace} }, state: Apart,
			codes: "firewall firewall no-place", says: []string{"the relay paris has no connection with lyon"}},
		"revoked": {change: func(m *Mesh) { m.Sites[2].Revoked = true }, state: Apart, codes: "revoked", says: []string{"the key of lyon was revoked"}},
		"expired": {change: func(m *Mesh) { m.Sites[1].Until = noon.Add(-time.Hour) }, state: Apart, codes: "expired", says: []string{"2026-05-04 11:00:00", "skerry sites certify nantes"}},
		"a rehearsal": {change: func(m *Mesh) { m.Views["lyon"].Isolated = true; m.Views["lyon"].to("nantes").Tries = nil }, state: Apart, codes: "firewall rehearsal",
			says: []string{"lyon rehearses a cut", "end the rehearsal at lyon"}},
		"turned away": {change: func(m *Mesh) { *m.Views["nantes"].to("lyon") = lost("lyon", "", engine.TryTurnedAway) }, state: Apart, codes: "turned-away firewall",
			says: []string{"the agent of lyon closes each connection of nantes"}},
		"versions": {change: func(m *Mesh) { *m.Views["nantes"].to("lyon") = lost("lyon", "", engine.TryOtherVersion) }, state: Apart, codes: "version firewall",
			says: []string{"nantes has v1, lyon has v2"}},
		"no route": {change: func(m *Mesh) { *m.Views["nantes"].to("lyon") = lost("lyon", "10.0.0.3", engine.TryNoRoute) }, state: Apart, codes: "no-route firewall"},
		"no name":  {change: func(m *Mesh) { *m.Views["nantes"].to("lyon") = lost("lyon", "10.0.0.3", engine.TryNoName) }, state: Apart, codes: "no-name firewall"},
		"no address": {change: func(m *Mesh) { *m.Views["nantes"].to("lyon") = lost("lyon", "", engine.TryNoAddress) }, state: Apart, codes: "no-address firewall",
			says: []string{"at lyon: set mesh.announce"}},
		"just now": {change: func(m *Mesh) { m.Views["nantes"].to("lyon").Tries, m.Views["lyon"].to("nantes").Tries = nil, nil }, state: Apart, codes: "trying"},
		"something else": {change: func(m *Mesh) { *m.Views["nantes"].to("lyon") = lost("lyon", "10.0.0.3", engine.TryFailed) }, state: Apart, codes: "other firewall",
			says: []string{"as it was said"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := world()
			c.change(m)
			pairs := m.Pairs("")
			if len(pairs) != 3 {
				t.Fatalf("%d pairs of three sites", len(pairs))
			}
			p := pairs[slices.IndexFunc(pairs, func(p Pair) bool { return p.A == "lyon" && p.B == "nantes" })]
			var codes []string
			text := strings.Join(p.Help, "\n")
			for _, cause := range p.Causes {
				codes = append(codes, cause.Code)
				text += "\n" + cause.Why
			}
			slices.Sort(codes)
			want := strings.Fields(c.codes)
			slices.Sort(want)
			if p.State != c.state || !slices.Equal(codes, want) {
				t.Errorf("they are %s for %v, want %s for %v:\n%s", p.State, codes, c.state, want, text)
			}
			for _, part := range c.says {
				if !strings.Contains(text, part) {
					t.Errorf("%q is not said:\n%s", part, text)
				}
			}
		})
	}
}

func TestPairsOfOne(t *testing.T) {
	m := world()
	if pairs := m.Pairs("paris"); len(pairs) != 2 || pairs[0].State != Direct || pairs[0].Transport != "quic" {
		t.Errorf("of paris it tells %+v", pairs)
	}
	if pairs := m.Pairs(""); pairs[0].State != Apart || pairs[0].Tries[0].From != "lyon" {
		t.Errorf("those that do not meet are not first: %+v", pairs)
	}
}
