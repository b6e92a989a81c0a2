package glue

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
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

// UpstreamTLS returns how to speak TLS with an upstream: ca is a file of trusted authorities in PEM (empty: the
// system's), cert and key authenticate the agent (both or none), insecure trusts any certificate.
func UpstreamTLS(ca, cert, key string, insecure bool) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("read the upstream's authorities: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("a certificate for the upstream needs its key, and the other way round")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate for the upstream: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
