package agent

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/skerry/skerry/glue"
)

// secure makes a listener speak HTTPS. Optional: clients may come without a certificate. Its files are read again when they change.
func secure(l net.Listener, t *ListenerTLS, optional bool, log *slog.Logger) (net.Listener, error) {
	files, err := glue.Watched([]string{t.Cert, t.Key, t.ClientCA}, func() (*tls.Config, error) { return listenerConfig(t, optional) }, log)
	if err != nil {
		return nil, err
	}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return files.Get(), nil }}), nil
}

// nameAt is a name that the certificate of a listener has, as its files have it now; empty where it has the listener's address, or no name.
func (t *ListenerTLS) nameAt(address net.Addr) string {
	if t == nil {
		return ""
	}
	certificate, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return "" // it is just being renewed
	}
	host, _, err := net.SplitHostPort(address.String())
	if err != nil || certificate.Leaf.VerifyHostname(host) == nil {
		return ""
	}
	i := slices.IndexFunc(certificate.Leaf.DNSNames, func(name string) bool { return !strings.HasPrefix(name, "*") })
	if i < 0 {
		return ""
	}
	return certificate.Leaf.DNSNames[i]
}

func listenerConfig(t *ListenerTLS, optional bool) (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("load the certificate: %w", err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if t.ClientCA != "" {
		pem, err := os.ReadFile(t.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("load the authorities of clients: %w", err)
		}
		c.ClientCAs = x509.NewCertPool()
		if !c.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("load the authorities of clients: %s has no certificate in PEM", t.ClientCA)
		}
		if c.ClientAuth = tls.RequireAndVerifyClientCert; optional {
			c.ClientAuth = tls.VerifyClientCertIfGiven
		}
	}
	return c, nil
}
