package agent

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/web/auth"
)

// TestAgentThatPeopleLogInTo runs a whole agent with TLS and accounts: who has not logged in gets nothing, who has keeps the
// session over a restart.
func TestAgentThatPeopleLogInTo(t *testing.T) {
	certificate, key, roots := certificate(t)
	hash, err := auth.Hash("correct horse ada")
	if err != nil {
		t.Fatal(err)
	}
	// Nobody else takes the port of this address before the agent does: what dials gets its own from 127.0.0.1.
	l, err := net.Listen("tcp", "127.0.77.2:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	folder := write(t, map[string]string{"cert.pem": certificate, "key.pem": key, "accounts": "ada admin " + hash + "\n",
		"app.yaml": "application: a\nservices: {a: {kinds: {thing: {collection: /things, item: '/things/{id}', id: {from: body, at: /id}}}}}\n",
		"skerry.yaml": `
site: paris
data_dir: ./paris
application: ./app.yaml
api: {listen: "` + address + `", tls: {cert: cert.pem, key: key.pem}, accounts: accounts}
mesh: {listen: [/ip4/127.0.0.1/tcp/0]}
services: {a: {listen: "127.0.0.1:0", upstream: "http://127.0.0.1:9"}}
`})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	do := func(method, path, body, cookie string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(method, "https://"+address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Cookie", cookie)
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	run := func(use func()) {
		t.Helper()
		cfg, err := Load(filepath.Join(folder, "skerry.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		a, err := New(ctx, cfg, "test", slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err != nil {
			stop()
			t.Fatal(err)
		}
		ran := make(chan error, 1)
		go func() { ran <- a.Run(ctx) }()
		defer func() {
			stop()
			if err := <-ran; err != nil {
				t.Error(err)
			}
		}()
		use()
	}
	cookie := ""
	run(func() {
		if resp := do("GET", "/api/v1/sites", "", ""); resp.StatusCode != 401 || resp.ProtoMajor != 2 {
			t.Errorf("without login: %d over HTTP/%d", resp.StatusCode, resp.ProtoMajor)
		}
		resp := do("POST", "/login", url.Values{"name": {"ada"}, "password": {"correct horse ada"}}.Encode(), "")
		if resp.StatusCode != 303 || len(resp.Cookies()) != 2 {
			t.Fatalf("login: %d %v", resp.StatusCode, resp.Header)
		}
		cookie = resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value
		if resp := do("GET", "/api/v1/sites", "", cookie); resp.StatusCode != 200 {
			t.Errorf("with the session: %d", resp.StatusCode)
		}
	})
	transport.CloseIdleConnections()
	run(func() {
		if resp := do("GET", "/api/v1/sites", "", cookie); resp.StatusCode != 200 {
			t.Errorf("with the session, after a restart: %d", resp.StatusCode)
		}
	})
	if err := os.WriteFile(filepath.Join(folder, "accounts"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(filepath.Join(folder, "skerry.yaml"))
	if err == nil {
		_, err = New(context.Background(), cfg, "test", slog.New(slog.NewTextHandler(io.Discard, nil)))
	}
	if err == nil || !strings.Contains(err.Error(), "add one with \"skerry accounts add\"") {
		t.Errorf("an agent that nobody can log in to: %v", err)
	}
}

// certificate is one for 127.0.77.2 that is its own authority.
func certificate(t *testing.T, names ...string) (certificate, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 77, 2)}, IsCA: true, BasicConstraintsValid: true}
	if len(names) > 0 {
		template.IPAddresses, template.DNSNames = nil, names
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(certificate))
	return certificate, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})), roots
}
