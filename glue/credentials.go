package glue

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
)

// FileCredentials returns the source of one header whose value is prefix and the trimmed content of a file, read anew
// each time: FileCredentials("Authorization", "Bearer ", tokenFile).
func FileCredentials(header, prefix, path string) func() (http.Header, error) {
	return func() (http.Header, error) {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		value := strings.TrimSpace(string(b))
		if value == "" || strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("%s does not hold exactly one line", path)
		}
		return http.Header{http.CanonicalHeaderKey(header): {prefix + value}}, nil
	}
}

// UpstreamTLS returns how to speak TLS with an upstream on a host: ca is a file of trusted authorities in PEM (empty: the
// system's), cert and key authenticate the agent (both or none), insecure trusts any certificate. The files are read again when they
// change.
func UpstreamTLS(host, ca, cert, key string, insecure bool, log *slog.Logger) (*tls.Config, error) {
	if (cert == "") != (key == "") {
		return nil, errors.New("a certificate for the upstream needs its key, and the other way round")
	}
	files, err := Watched([]string{ca, cert, key}, func() (upstreamFiles, error) { return readUpstream(ca, cert, key) }, log)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure, ServerName: host}
	if cert != "" {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return files.Get().pair, nil }
	}
	if ca != "" && !insecure { // crypto/tls knows only authorities that stay what they are
		c.InsecureSkipVerify = true
		c.VerifyConnection = func(s tls.ConnectionState) error {
			o := x509.VerifyOptions{Roots: files.Get().roots, DNSName: host, Intermediates: x509.NewCertPool()}
			for _, between := range s.PeerCertificates[1:] {
				o.Intermediates.AddCert(between)
			}
			_, err := s.PeerCertificates[0].Verify(o)
			return err
		}
	}
	return c, nil
}

type upstreamFiles struct {
	roots *x509.CertPool
	pair  *tls.Certificate
}

func readUpstream(ca, cert, key string) (f upstreamFiles, err error) {
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return f, fmt.Errorf("read the upstream's authorities: %w", err)
		}
		f.roots = x509.NewCertPool()
		if !f.roots.AppendCertsFromPEM(pem) {
			return f, fmt.Errorf("%s holds no certificate in PEM", ca)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return f, fmt.Errorf("read the certificate for the upstream: %w", err)
		}
		f.pair = &pair
	}
	return f, nil
}
