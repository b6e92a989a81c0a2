package netns

import (
	"fmt"
	"os/exec"
	"strings"
)

// BehindNAT puts a router between the host and the bridge, which has the host's address there and gives what comes from the host its own, as
// a router at home does. Nobody on the bridge reaches the host, whose address becomes a private one. It needs the program nft.
func (h *Host) BehindNAT() error {
	outer := h.Address
	inner := "192.168." + outer[strings.LastIndexByte(outer, '.')+1:]
	router := h.namespace + "-nat"
	ports := h.network
	commands := [][]string{
		{"ip", "-n", h.namespace, "link", "delete", "eth0"},
		{"ip", "netns", "add", router},
		{"ip", "-n", ports.name, "link", "add", h.port, "type", "veth", "peer", "name", "outside", "netns", router},
		{"ip", "-n", ports.name, "link", "set", h.port, "master", "bridge", "up"},
		{"ip", "-n", router, "link", "add", "inside", "type", "veth", "peer", "name", "eth0", "netns", h.namespace},
		{"ip", "-n", router, "address", "add", outer + "/24", "dev", "outside"},
		{"ip", "-n", router, "address", "add", inner + ".1/24", "dev", "inside"},
		{"ip", "-n", router, "link", "set", "lo", "up"},
		{"ip", "-n", router, "link", "set", "outside", "up"},
		{"ip", "-n", router, "link", "set", "inside", "up"},
		{"ip", "netns", "exec", router, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"},
		{"ip", "netns", "exec", router, "nft", "add table ip nat"},
		{"ip", "netns", "exec", router, "nft", "add chain ip nat out { type nat hook postrouting priority 100; }"},
		{"ip", "netns", "exec", router, "nft", "add rule ip nat out oifname outside masquerade"},
		// What nobody has asked for is dropped silently, not answered by the router itself.
		{"ip", "netns", "exec", router, "nft", "add chain ip nat in { type filter hook input priority 0; }"},
		{"ip", "netns", "exec", router, "nft", "add rule ip nat in iifname outside ct state new drop"},
	}
	h.network.mu.Lock()
	h.network.routers = append(h.network.routers, router)
	h.network.mu.Unlock()
	for _, argv := range commands {
		if err := command(argv...); err != nil {
			return fmt.Errorf("put %s behind a NAT: %w", h.Name, err)
		}
	}
	h.Address, h.router = inner+".2", router
	if err := h.address(); err != nil {
		return fmt.Errorf("put %s behind a NAT: %w", h.Name, err)
	}
	if err := ip("-n", h.namespace, "route", "add", "default", "via", inner+".1"); err != nil {
		return fmt.Errorf("put %s behind a NAT: %w", h.Name, err)
	}
	return nil
}

// Symmetric makes the host's NAT one that no hole is made in: each connection leaves from a port that nobody can foretell.
func (h *Host) Symmetric() error {
	for _, argv := range [][]string{
		{"ip", "netns", "exec", h.router, "nft", "flush chain ip nat out"},
		{"ip", "netns", "exec", h.router, "nft", "add rule ip nat out oifname outside masquerade random,fully-random"},
	} {
		if err := command(argv...); err != nil {
			return fmt.Errorf("have the NAT of %s choose ports: %w", h.Name, err)
		}
	}
	return nil
}

func command(argv ...string) error {
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
