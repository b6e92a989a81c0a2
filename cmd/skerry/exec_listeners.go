package main

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// listeners tell which of the addresses that a command asks are this site's services: a client may know a service's host by another name, or by
// another of its addresses, than the agent tells. They do not change.
type listeners struct {
	// told are host and port as the agent tells them.
	told map[string]bool
	// at are the addresses of the listeners by port.
	at map[string][]netip.Addr
}

// newListeners finds out where services listen. A name that stands for nothing is known by itself alone.
func newListeners(ctx context.Context, services []service) (listeners, error) {
	l := listeners{map[string]bool{}, map[string][]netip.Addr{}}
	here, err := ofThisMachine()
	if err != nil {
		return l, err
	}
	for _, s := range services {
		u, err := url.Parse(s.URL)
		if err != nil {
			return l, err
		}
		l.told[hostPort(u)] = true
		host, port, err := net.SplitHostPort(hostPort(u))
		if err != nil {
			return l, err
		}
		addresses := addressesOf(ctx, host)
		if s.everywhere && slices.ContainsFunc(addresses, func(a netip.Addr) bool { return slices.Contains(here, a) }) {
			addresses = append(addresses, here...)
		}
		l.at[port] = append(l.at[port], addresses...)
	}
	return l, nil
}

// has reports whether a host with its port is one of them. Names are looked up where a service has the port.
func (l listeners) has(ctx context.Context, hostPort string) bool {
	hostPort = strings.ToLower(hostPort)
	if l.told[hostPort] {
		return true
	}
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil || len(l.at[port]) == 0 {
		return false
	}
	return slices.ContainsFunc(addressesOf(ctx, host), func(a netip.Addr) bool { return slices.Contains(l.at[port], a) })
}

// addressesOf returns what a host stands for, nothing if that cannot be found out.
func addressesOf(ctx context.Context, host string) []netip.Addr {
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for i := range all {
		all[i] = all[i].Unmap()
	}
	return all
}

// ofThisMachine returns the addresses at which this machine's programs find what listens at all of them.
func ofThisMachine() (all []netip.Addr, err error) {
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, i := range interfaces {
		if p, err := netip.ParsePrefix(i.String()); err == nil {
			all = append(all, p.Addr().Unmap())
		}
	}
	return all, nil
}
