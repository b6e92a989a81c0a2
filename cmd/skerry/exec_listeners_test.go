package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestExecByAnotherName: a client that knows a service's host by another name than the agent tells has its scope there all the same, and is told so by
// its certificate where it does not trust the proxy.
func TestExecByAnotherName(t *testing.T) {
	own, err := newStand(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := own.certificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host, " ", r.Header.Get("Scope")) }))
	served.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
	served.StartTLS()
	defer served.Close()
	trusts := func(authorities []byte) *http.Transport {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(authorities)
		return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	}
	x, err := startProxy(context.Background(), "paris", []service{{Name: "images", URL: served.URL}, {Name: "named", URL: served.URL, ServerName: "localhost"}}, trusts(own.authority), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	proxy, err := url.Parse(x.url)
	if err != nil {
		t.Fatal(err)
	}
	// At the address that the agent tells, whose certificate has a name alone, it is known by what the agent tells as well.
	for name, want := range map[string]string{"images": "502 skerry exec: ", "named": "200 " + served.Listener.Addr().String() + " paris"} {
		resp, err := http.Get(x.bases[name])
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := fmt.Sprint(resp.StatusCode, " ", string(b)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: {url} is answered %q", name, got)
		}
	}
	_, port, _ := strings.Cut(served.Listener.Addr().String(), ":")
	for name, authorities := range map[string][]byte{"the proxy's authority": x.stand.authority, "the service's alone": own.authority} {
		via := trusts(authorities)
		via.Proxy = http.ProxyURL(proxy)
		resp, err := (&http.Client{Transport: via}).Get("https://localhost:" + port)
		if name != "the proxy's authority" {
			if err == nil {
				t.Error("who does not trust the proxy gets past it, without the scope")
				resp.Body.Close()
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := "localhost:" + port + " paris"; string(b) != want {
			t.Errorf("the service got %q, want %q", b, want)
		}
		via.CloseIdleConnections()
	}
}

// TestListeners: what listens everywhere is found at each address of this machine, anything else where it listens alone.
func TestListeners(t *testing.T) {
	all, err := ofThisMachine()
	if err != nil || len(all) == 0 {
		t.Fatalf("%v, %v", all, err)
	}
	l, err := newListeners(t.Context(), []service{{URL: "http://127.0.0.1:9701"}, {URL: "https://127.0.0.1:9702", everywhere: true}, {URL: "http://nowhere.invalid"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if !l.has(t.Context(), net.JoinHostPort(a.String(), "9702")) {
			t.Errorf("what listens everywhere is not found at %s", a)
		}
		if !a.IsLoopback() && l.has(t.Context(), net.JoinHostPort(a.String(), "9701")) {
			t.Errorf("what listens at 127.0.0.1 is found at %s", a)
		}
	}
	for _, here := range []string{"127.0.0.1:9701", "LOCALHOST:9701", "localhost:9702", "NOWHERE.invalid:80"} {
		if !l.has(t.Context(), here) {
			t.Errorf("%s is no service", here)
		}
	}
	if elsewhere := []string{"localhost:9703", "192.0.2.1:9701", "192.0.2.1:9702", "other.invalid:80", "localhost"}; slices.ContainsFunc(elsewhere, func(h string) bool { return l.has(t.Context(), h) }) {
		t.Errorf("one of %v is a service", elsewhere)
	}
}
