package acceptance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/netns"
)

// TestOutThroughAProxyAlone: a site that reaches nothing but a proxy joins over HTTPS (HTTPS_PROXY), and is reached that way.
func TestOutThroughAProxyAlone(t *testing.T) {
	dir := t.TempDir()
	authority, wrapped := filepath.Join(dir, "authority.pem"), filepath.Join(dir, "skerry")
	if err := os.WriteFile(wrapped, []byte("#!/bin/sh\ncase \"$*\" in *nantes*) export HTTPS_PROXY=http://10.77.0.1:3128 SSL_CERT_FILE="+authority+
		" ;; esac\nexec "+program+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var passed atomic.Int64
	e := env.New(t, env.Setup{Program: wrapped, Sites: []string{"paris", "nantes"}, Application: env.Lab(program), Prepare: func(s *env.Site) error {
		if s.Name() == "nantes" {
			return onlyTo(s.Host(), "10.77.0.1", 3128)
		}
		at := s.Host().Address
		s.Config().Mesh = []string{"/ip4/127.0.0.1/tcp/4780/ws"}
		s.Config().MeshExtra = "  announce: [/ip4/" + at + "/tcp/443/wss]\n"
		certificate, err := certifiedFor(at, authority)
		if err != nil {
			return err
		}
		agent := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:4780"})
		agent.Transport = s.HTTP().Transport
		if err := serving(t, s.Host(), at+":443", agent, &tls.Config{Certificates: []tls.Certificate{certificate}}); err != nil {
			return err
		}
		return serving(t, s.Host(), at+":3128", tunnel(s.Host(), &passed), nil)
	}})
	paris, nantes := e.Site("paris"), e.Site("nantes")
	meet(t, e)
	create(t, nantes, "{images: sync(paris & nantes)}", `{"name":"debian"}`)
	// What the other one answers, asked from either side.
	prompt(t, nantes, "GET /images", "", "Scope", "{images: paris}").Must(t, 200)
	prompt(t, paris, "GET /images", "", "Scope", "{images: nantes}").Must(t, 200)
	if passed.Load() == 0 {
		t.Error("nothing has gone through the proxy")
	}
}

// onlyTo drops what a host sends anywhere else.
func onlyTo(h *netns.Host, address string, port int) error {
	for _, argv := range [][]string{
		{"nft", "add table ip proxied"},
		{"nft", "add chain ip proxied out { type filter hook output priority 0; }"},
		{"nft", fmt.Sprintf("add rule ip proxied out oifname eth0 ip daddr %s tcp dport %d accept", address, port)},
		{"nft", "add rule ip proxied out oifname eth0 drop"},
	} {
		if err := h.Run(argv...); err != nil {
			return err
		}
	}
	return nil
}

// certifiedFor makes a certificate of an address, that is its own authority, and writes it into a file.
func certifiedFor(address, file string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.ParseIP(address)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}

// serving serves on a host until the test ends.
func serving(t *testing.T, h *netns.Host, at string, handler http.Handler, secure *tls.Config) error {
	l, err := h.Listen(at)
	if err != nil {
		return err
	}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	s := &http.Server{Handler: handler}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	return nil
}

// tunnel is a proxy that lets HTTPS out and nothing else. It counts what has passed.
func tunnel(from *netns.Host, passed *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, port, _ := net.SplitHostPort(r.Host); r.Method != http.MethodConnect || port != "443" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		there, err := from.DialContext(r.Context(), "tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer there.Close()
		passed.Add(1)
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer here.Close()
		if _, err := io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return
		}
		ended := make(chan struct{}, 2)
		for _, way := range [][2]net.Conn{{here, there}, {there, here}} {
			go func() {
				_, _ = io.Copy(way[0], way[1])
				ended <- struct{}{}
			}()
		}
		<-ended
	})
}
