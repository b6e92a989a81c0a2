package setup

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// file is what one of the front's own files holds, or a file of the person's.
func (f *Front) file(path string) ([]byte, error) {
	if b, ok := f.Files[path]; ok {
		return b, nil
	}
	return os.ReadFile(path)
}

// transport reaches a service as the agent is going to.
func (f *Front) transport(s Service) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if s.CA == "" {
		return t, nil
	}
	pem, err := f.file(s.CA)
	if err != nil {
		return nil, fmt.Errorf("read the authorities of its certificate: %w", err)
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", s.CA)
	}
	return t, nil
}

// credentials are the headers by which the agent shows a service who it is.
func (f *Front) credentials(s Service) (http.Header, error) {
	header, path, before := s.Header, s.Value, ""
	if s.Token != "" {
		header, path, before = "Authorization", s.Token, "Bearer "
	}
	if header == "" {
		return http.Header{}, nil
	}
	b, err := f.file(path)
	if err != nil {
		return nil, fmt.Errorf("read the agent's credentials: %w", err)
	}
	return http.Header{http.CanonicalHeaderKey(header): {before + strings.TrimSpace(string(b))}}, nil
}
