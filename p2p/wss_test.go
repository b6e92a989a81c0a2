package p2p

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/engine"
)

// localhost makes a certificate that is its own authority. A process reads once whom it trusts, so it has one.
var localhost = sync.OnceValues(func() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
})

// trusted returns a certificate for localhost that this process trusts. Nobody has asked for one before: sites know each other by their keys.
func trusted(t *testing.T) tls.Certificate {
	t.Helper()
	c, err := localhost()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "authorities.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	return c
}

// A web server that ends TLS stands before a site, and passes WebSockets on: who is let out over HTTPS alone reaches it there.
func TestReachedOverHTTPS(t *testing.T) {
	certificate := trusted(t)
	a := newTestSite(t, testConfig{listen: []string{"/ip4/127.0.0.1/tcp/0/ws"}})
	port, err := a.net.listens()[0].ValueForProtocol(multiaddr.P_TCP)
	if err != nil {
		t.Fatal(err)
	}
	behind, err := url.Parse("http://127.0.0.1:" + port)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(behind))
	front.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	front.StartTLS()
	defer front.Close()

	b := newTestSite(t, testConfig{listen: []string{"/ip4/127.0.0.1/tcp/0"}})
	a.members.add(b.nowhere())
	b.members.add(a.at(fmt.Sprintf("/dns/localhost/tcp/%d/wss", front.Listener.Addr().(*net.TCPAddr).Port)))
	a.run(t)
	b.run(t)
	eventually(t, "both are reachable", func() bool { return allUp([]*testSite{a, b}) })
	if w := b.net.Ways()[a.id]; w.Transport != "websocket" || !strings.HasSuffix(w.Seen, "/wss") {
		t.Errorf("b reaches a %+v", w)
	}
	if w := a.net.Ways()[b.id]; w.Transport != "websocket" || !w.Inbound {
		t.Errorf("a sees b %+v", w)
	}
	a.send(a.exchange.create("doc", []engine.SiteID{a.id, b.id}), "through the front")
	eventually(t, "both have the same", func() bool { return a.exchange.sum(b.id) == b.exchange.sum(a.id) })
}
