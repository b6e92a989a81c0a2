package p2p

import (
	"fmt"
	"slices"
	"strings"

	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// announced returns the addresses that a site is told to announce. A DNS name, which has no slash, stands for one address for
// each that the site listens on: the name in place of the IP address.
func announced(texts []string, listen []multiaddr.Multiaddr) ([]multiaddr.Multiaddr, error) {
	var all []multiaddr.Multiaddr
	for _, text := range texts {
		if strings.Contains(text, "/") {
			a, err := multiaddr.NewMultiaddr(text)
			if err != nil {
				return nil, fmt.Errorf("address to announce %q: %w", text, err)
			}
			all = append(all, a)
			continue
		}
		name, err := multiaddr.NewComponent("dns", text)
		if err != nil {
			return nil, fmt.Errorf("name to announce %q: %w", text, err)
		}
		for _, l := range listen {
			// Of IPv4 and IPv6 the name says which there is.
			if _, rest := multiaddr.SplitFirst(l); len(rest) > 0 && !slices.ContainsFunc(all, name.Encapsulate(rest).Equal) {
				all = append(all, name.Encapsulate(rest))
			}
		}
	}
	return all, nil
}

// Addresses returns the addresses that other sites can reach this one at, without the /p2p part: those of the
// configuration, and those it really listens on, with an unspecified address replaced by those of the interfaces.
func (n *Network) Addresses() []string {
	addrs, err := n.host.Network().InterfaceListenAddresses()
	if err != nil {
		n.log.Warn("the addresses of the interfaces are not known", "err", err)
		addrs = n.host.Network().ListenAddresses()
	}
	addrs = slices.DeleteFunc(addrs, circuit)
	all := n.Announced() // of names the ports that are listened on, which the system may have chosen
	var outside []string
	for _, a := range addrs {
		if !manet.IsIPLoopback(a) {
			outside = append(outside, a.String())
		}
	}
	// Loopback is of use to others only where there is nothing else.
	if len(all)+len(outside) == 0 {
		return texts(addrs)
	}
	return append(all, outside...)
}

// Announced returns the addresses that the configuration announces, a name as one address for each port.
func (n *Network) Announced() []string {
	told, err := announced(n.cfg.Announce, n.listens())
	if err != nil {
		n.log.Error("announce", "err", err) // validate has looked at it
	}
	return texts(told)
}

// listens returns the addresses that the site listens on itself.
func (n *Network) listens() []multiaddr.Multiaddr {
	return slices.DeleteFunc(n.host.Network().ListenAddresses(), circuit)
}

func texts(addrs []multiaddr.Multiaddr) []string {
	var all []string
	for _, a := range addrs {
		all = append(all, a.String())
	}
	return all
}
