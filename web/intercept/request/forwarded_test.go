package request

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

var proxies = Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::1/128")}

// What an application is told of who asks is the agent's word, or that of a proxy that is trusted.
func TestInvariantClientsDoNotSayWhereTheyAre(t *testing.T) {
	for name, c := range map[string]struct {
		remote, from                     string
		lie                              bool
		forwarded, addresses, host, user string
		client                           string
	}{
		"a client":                  {remote: "192.0.2.7:9", forwarded: `for=192.0.2.7;host="images:9701";proto=http`, addresses: "192.0.2.7", host: "images:9701", client: "192.0.2.7"},
		"a client that lies":        {remote: "192.0.2.7:9", lie: true, forwarded: `for=192.0.2.7;host="images:9701";proto=http`, addresses: "192.0.2.7", host: "images:9701", client: "192.0.2.7"},
		"one over IPv6":             {remote: "[2001:db8::7]:9", lie: true, forwarded: `for="[2001:db8::7]";host="images:9701";proto=http`, addresses: "2001:db8::7", host: "images:9701", client: "2001:db8::7"},
		"a trusted proxy":           {remote: "10.1.2.3:9", lie: true, forwarded: `for=127.0.0.1, for=10.1.2.3;host="images:9701";proto=http`, addresses: "127.0.0.1, 10.9.9.9, 10.1.2.3", host: "lie", user: "root", client: "127.0.0.1"},
		"another site":              {remote: "QmNantes", from: "nantes", lie: true, forwarded: "for=_nantes", addresses: "unknown"},
		"this process, for the API": {remote: "", lie: true},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://images:9701/images", nil)
		r.RemoteAddr = c.remote
		if c.lie {
			for name, value := range map[string]string{"Forwarded": "for=127.0.0.1", "X-Forwarded-For": "127.0.0.1, 10.9.9.9", "X-Forwarded-Host": "lie", "X-Forwarded-User": "root",
				"X-Forwarded-Proto": "https", "X-Real-Ip": "127.0.0.1"} {
				r.Header.Set(name, value)
			}
		}
		client := Forwarded(r, proxies, "")
		if c.from != "" {
			client = Forwarded(r, proxies, "nantes")
		}
		h := r.Header
		if h.Get("Forwarded") != c.forwarded || h.Get("X-Forwarded-For") != c.addresses || h.Get("X-Forwarded-Host") != c.host || h.Get("X-Forwarded-User") != c.user || client != c.client ||
			c.user == "" && h.Get("X-Real-Ip") != "" {
			t.Errorf("%s at %q: the application gets %v", name, client, h)
		}
	}
}

// Whatever a client says, its address is one that it has, and what a proxy says is only added to.
func FuzzForwarded(f *testing.F) {
	f.Add("192.0.2.1", "127.0.0.1", "for=127.0.0.1")
	f.Add("10.0.0.1", "192.0.2.1, 10.0.0.2", `for="[::1]:9"`)
	f.Add("::ffff:10.0.0.1", "x,,", "")
	f.Fuzz(func(t *testing.T, remote, addresses, forwarded string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = remote
		r.Header["X-Forwarded-For"], r.Header["Forwarded"] = []string{addresses}, []string{forwarded}
		peer := addressOf(remote)
		client := Forwarded(r, proxies, "")
		got := r.Header.Get("X-Forwarded-For")
		switch {
		case !peer.IsValid():
			if client != "" || got != "" {
				t.Fatalf("%q at %q: %v", remote, client, r.Header)
			}
		case !proxies.Trusts(peer):
			if client != peer.String() || got != client || strings.Contains(r.Header.Get("Forwarded"), "for="+peer.String()+";") != peer.Is4() {
				t.Fatalf("%q at %q: %v", remote, client, r.Header)
			}
		default:
			if a, err := netip.ParseAddr(client); err != nil || !strings.HasPrefix(got, addresses) || proxies.Trusts(a) && !slices.Contains(strings.Split(got, ", "), client) && addresses == "" {
				t.Fatalf("%q at %q: %v", remote, client, r.Header)
			}
		}
	})
}
