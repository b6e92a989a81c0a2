package agent

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/glue/strictyaml"
)

// listener is an address that the agent will listen on, and the key that says so.
type listener struct{ key, address string }

// listen notes that an address is taken already.
func (r *configReader) listen(key string, v strictyaml.Value, address string) {
	if address == "" {
		return
	}
	for _, l := range r.listeners {
		if sameAddress(l.address, address) {
			v.Problem("%s is the address of %s too", address, l.key)
		}
	}
	r.listeners = append(r.listeners, listener{key, address})
}

// readListen returns host and port, empty with a problem.
func readListen(v strictyaml.Value) string {
	s := v.Text()
	if s == "" {
		return ""
	}
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		v.Problem("expected host and port such as 127.0.0.1:9701, found %q", s)
		return ""
	}
	return s
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// sameAddress reports whether two of host:port name one place. Port 0 is any free one.
func sameAddress(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	return hostA == hostB || hostA == "localhost" && loopback(hostB) || hostB == "localhost" && loopback(hostA)
}

// readUpstream returns the address of a service, nil with a problem.
func readUpstream(v strictyaml.Value) *url.URL {
	s := v.Text()
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		v.Problem("expected an address such as http://127.0.0.1:9801, found %q", s)
	case u.User != nil:
		v.Problem(`the address holds a user: secrets go into files, see "credentials"`)
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#"):
		v.Problem("the address %q has more than scheme, host and port", s)
	case u.Path != "" && u.Path != "/":
		v.Problem("the address %q has a path: paths of the service go into the catalog, in full", s)
	default:
		u.Path = ""
		return u
	}
	return nil
}

// readMeshListen returns a multiaddress to listen on.
func readMeshListen(v strictyaml.Value) string {
	s := v.Text()
	if s == "" {
		return ""
	}
	const expected = "expected an address such as /ip4/0.0.0.0/udp/4700/quic-v1 or /ip4/0.0.0.0/tcp/4700, found %q"
	address, err := multiaddr.NewMultiaddr(s)
	if err != nil {
		v.Problem(expected, s)
		return ""
	}
	var protocols []string
	for _, p := range address.Protocols() {
		protocols = append(protocols, p.Name)
	}
	switch strings.Join(protocols, "/") {
	case "ip4/udp/quic-v1", "ip6/udp/quic-v1", "ip4/tcp", "ip6/tcp", "ip4/tcp/ws", "ip6/tcp/ws":
	default:
		v.Problem(expected, s)
	}
	return s
}

// readAnnounce returns an address to announce: a multiaddress or a DNS name.
func readAnnounce(v strictyaml.Value) string {
	s := v.Text()
	if s == "" {
		return ""
	}
	text := s
	if !strings.Contains(s, "/") {
		text = "/dns/" + s + "/tcp/1"
	}
	address, err := multiaddr.NewMultiaddr(text)
	if err == nil {
		var protocols []string
		for _, p := range address.Protocols() {
			protocols = append(protocols, p.Name)
		}
		if kind := strings.Join(protocols, "/"); !reached.MatchString(kind) {
			err = fmt.Errorf("no agent is reached at %s", kind)
		}
	}
	if err != nil || net.ParseIP(s) != nil {
		v.Problem("expected an address such as /ip4/198.51.100.7/udp/4700/quic-v1 or /dns/paris.example.org/tcp/443/wss, or a name such as paris.example.org, found %q", s)
	}
	return s
}

// reached are the kinds of addresses at which agents reach each other.
var reached = regexp.MustCompile(`^(ip4|ip6|dns|dns4|dns6)/(udp/quic-v1|tcp(/ws|/wss|/tls/ws|/tls/sni/ws)?)$`)

// readPeer returns the multiaddress of a member.
func readPeer(v strictyaml.Value) string {
	s := v.Text()
	if s == "" {
		return ""
	}
	address, err := multiaddr.NewMultiaddr(s)
	if err == nil {
		_, err = address.ValueForProtocol(multiaddr.P_P2P)
	}
	if err != nil {
		v.Problem("expected an address with the peer's id such as /ip4/192.0.2.1/udp/4700/quic-v1/p2p/12D3…, found %q", s)
	}
	return s
}
