package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// pair is a certificate with its key.
type pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// authority makes a certificate that is its own authority, for loopback, and for what pods call an API server.
func authority(name string) (*pair, error) {
	c := template(pkix.Name{CommonName: name}, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	c.IsCA, c.BasicConstraintsValid, c.IPAddresses, c.DNSNames = true, true, []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"kubernetes.default.svc"}
	c.KeyUsage |= x509.KeyUsageCertSign
	return sign(c, nil)
}

// client makes the certificate of a client.
func (p *pair) client(user string, groups ...string) (*pair, error) {
	return sign(template(pkix.Name{CommonName: user, Organization: groups}, x509.ExtKeyUsageClientAuth), p)
}

func template(name pkix.Name, usage ...x509.ExtKeyUsage) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: name, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(365 * 24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: usage}
}

// sign makes a certificate; by is nil for one that signs itself.
func sign(c *x509.Certificate, by *pair) (*pair, error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if by == nil {
		by = &pair{c, k}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by.certificate, k.Public(), by.key)
	if err != nil {
		return nil, err
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return &pair{c, k}, nil
}

// pem returns both in PEM.
func (p *pair) pem() (certificate, key string) {
	b, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		panic(err) // it has been made here
	}
	encode := func(what string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: what, Bytes: b}))
	}
	return encode("CERTIFICATE", p.certificate.Raw), encode("PRIVATE KEY", b)
}
