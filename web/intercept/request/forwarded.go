package request

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// Proxies are the addresses whose word counts for whom they ask for.
type Proxies []netip.Prefix

// Trusts reports whether one of them is at an address.
func (p Proxies) Trusts(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(a) })
}

// Trusted reports whether a request comes from one of some proxies, to the listener of its service.
func Trusted(r *http.Request, proxies Proxies) bool {
	return r.Context().Value(inside{}) == nil && proxies.Trusts(addressOf(r.RemoteAddr))
}

type inside struct{}

// Inside marks the requests that this process makes itself for whoever uses its API: nobody stands in front of them.
func Inside(ctx context.Context) context.Context { return context.WithValue(ctx, inside{}, true) }

// Forwarded has a request say for whom it comes and how it was asked for, in Forwarded (RFC 7239) and X-Forwarded-*, as the agent knows it:
// an application that goes by them must not take a client's own word. What a proxy says that is trusted stays, and is added to. Of a
// request that another site's agent has passed on, that site is all that is known; an application must not take it for one of this
// machine. It returns the address of the client, empty for none.
func Forwarded(r *http.Request, proxies Proxies, from engine.SiteName) string {
	h := r.Header
	before, elements := h.Values("X-Forwarded-For"), h.Values("Forwarded")
	peer := addressOf(r.RemoteAddr)
	if from != "" || !proxies.Trusts(peer) {
		prefix, of := h["X-Forwarded-Prefix"]
		Unforwarded(h)
		if from != "" && of { // that of the scope, which the site has cut off
			h["X-Forwarded-Prefix"] = prefix
		}
		before, elements = nil, nil
	}
	if from != "" {
		h["X-Forwarded-For"], h["Forwarded"] = []string{"unknown"}, []string{"for=_" + string(from)}
		return ""
	}
	if !peer.IsValid() { // made in this process
		return ""
	}
	proto := "http"
	if r.TLS != nil {
		proto = "https"
	}
	h["Forwarded"] = []string{strings.Join(append(slices.Clone(elements), string(AppendElement(nil, peer, escaped(r.Host), proto))), ", ")}
	h["X-Forwarded-For"] = []string{strings.Join(append(slices.Clone(before), peer.String()), ", ")}
	if h.Get("X-Forwarded-Host") == "" {
		h.Set("X-Forwarded-Host", r.Host)
	}
	if h.Get("X-Forwarded-Proto") == "" {
		h.Set("X-Forwarded-Proto", proto)
	}
	return clientIn(before, peer, proxies).String()
}

// Unforwarded takes out what says for whom somebody asks.
func Unforwarded(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" || name == "X-Real-Ip" {
			delete(h, name)
		}
	}
}

// AppendElement appends what Forwarded says of one that has asked. The host has nothing that must be escaped between quotes.
func AppendElement(b []byte, peer netip.Addr, host, proto string) []byte {
	b = append(b, "for="...)
	if peer.Is6() {
		b = append(peer.AppendTo(append(b, `"[`...)), `]"`...)
	} else {
		b = peer.AppendTo(b)
	}
	return append(append(append(append(b, `;host="`...), host...), `";proto=`...), proto...)
}

func escaped(host string) string {
	quoted := Quoted(host)
	return quoted[1 : len(quoted)-1]
}

// clientIn is the last address on the way of a request that is none of a trusted proxy.
func clientIn(before []string, peer netip.Addr, proxies Proxies) netip.Addr {
	way := strings.Split(strings.Join(before, ","), ",")
	for _, text := range slices.Backward(way) {
		if !proxies.Trusts(peer) {
			break
		}
		a, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			break
		}
		peer = a.Unmap().WithZone("")
	}
	return peer
}

// addressOf is the address of host and port; not valid for anything else.
func addressOf(remote string) netip.Addr {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}
