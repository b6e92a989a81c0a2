package agent

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/skerry/skerry/glue/strictyaml"
)

// api reads who may reach the REST API and the page, and refuses what would let in more people than somebody has decided about.
func (r *configReader) api(v strictyaml.Value) {
	m, c := v.Mapping("configuration of the API"), &r.config.API
	listen, accounts := m.Optional("listen"), m.Optional("accounts")
	if listen.Present() {
		c.Listen = readListen(listen)
		r.listen("api.listen", listen, c.Listen)
	} else {
		r.listeners = append(r.listeners, listener{"api.listen", c.Listen})
	}
	if probes := m.Optional("probes"); probes.Present() {
		c.Probes = readListen(probes)
		r.listen("api.probes", probes, c.Probes)
	}
	c.TLS = r.listenerTLS(m.Optional("tls"))
	c.Accounts = r.file(accounts)
	for _, h := range m.Optional("hosts").Sequence() {
		c.Hosts = append(c.Hosts, readHost(h))
	}
	if v := m.Optional("loopback"); v.Present() {
		if c.Loopback = v.Choice("open", "user"); c.Loopback == "user" && accounts.Present() {
			v.Problem(`with "accounts" everybody logs in, also on loopback`)
		}
	}
	c.TrustedProxies = readProxies(m.Optional("trusted_proxies"))
	m.Done()

	host, _, _ := net.SplitHostPort(c.Listen)
	switch {
	case accounts.Present() && c.TLS == nil:
		accounts.Problem(`without "tls" passwords would travel in clear: give a certificate too`)
	case c.Listen != "" && !loopback(host) && (c.TLS == nil || !accounts.Present()):
		listen.Problem(`beyond loopback (such as 127.0.0.1:8700) the API needs "tls" and "accounts", so that not everyone can change this site; found %q`, c.Listen)
	case c.Listen != "" && everywhere(host) && len(c.Hosts) == 0:
		listen.Problem(`%q is all addresses of this machine: give "hosts", the names that clients reach it under`, c.Listen)
	}
}

// readProxies returns addresses and networks.
func readProxies(v strictyaml.Value) (list []netip.Prefix) {
	for _, e := range v.Sequence() {
		text := e.Text()
		p, err := netip.ParsePrefix(text)
		if a, none := netip.ParseAddr(text); none == nil {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if text != "" && (err != nil || p.Addr().Is4In6()) {
			e.Problem("expected an address such as 192.0.2.1 or a network such as 10.0.0.0/8, found %q", text)
		}
		list = append(list, p)
	}
	return list
}

// everywhere reports whether a host to listen on stands for all addresses.
func everywhere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// readHost returns a host name or address, with a port or without.
func readHost(v strictyaml.Value) string {
	s := v.Text()
	host := s
	if h, port, err := net.SplitHostPort(s); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err == nil {
			host = h
		}
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return s
	}
	if s != "" && (host == "" || strings.ContainsAny(host, ":/@?#[] *")) {
		v.Problem("expected a host name such as skerry.example or skerry.example:8700, found %q", s)
	}
	return s
}
