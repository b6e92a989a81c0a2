package setup

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Site is what a person says of the site itself.
type Site struct {
	Name, DataDir string
	// API is where the agent's API listens, Listen where the first service does; the others follow at the next ports.
	API, Listen string
	// MeshPort is where other sites reach the agent. JoinFile is an invitation; empty: the first site of a new mesh.
	MeshPort int
	// Announce are further addresses of it, such as those of a NAT that passes the port on.
	Announce []string
	JoinFile string
}

// Configuration is the name of the file that says how the agent runs.
const Configuration = "agent.yaml"

// files are all that is written into the folder, by name. now is when certificates begin.
func (f *Front) files(s Site, now time.Time) (map[string][]byte, error) {
	all := map[string][]byte{"catalog.yaml": f.Catalog}
	for name, b := range f.Files {
		all[name] = b
	}
	config, err := f.configuration(s)
	if err != nil {
		return nil, err
	}
	all[Configuration] = config
	if slices.ContainsFunc(f.Services, func(s Service) bool { return s.TLS }) {
		if all["listener.pem"], all["listener.key"], err = certificate(s.Listen, now); err != nil {
			return nil, fmt.Errorf("make a certificate for the listener: %w", err)
		}
	}
	return all, nil
}

// Write writes all files into a folder, or none: it refuses where one of them is there. It returns their paths.
func (f *Front) Write(folder string, s Site, now time.Time) (paths []string, err error) {
	all, err := f.files(s, now)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		path := filepath.Join(folder, name)
		if same, err := os.ReadFile(path); err == nil && f.Given && bytes.Equal(same, f.Catalog) {
			continue // the person has put it there
		}
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("%s is there already, and init overwrites nothing: give it another folder, or move the file away", path)
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		paths = append(paths, path)
	}
	for i, path := range paths {
		if err := create(path, all[filepath.Base(path)]); err != nil {
			for _, made := range paths[:i] {
				err = errors.Join(err, os.Remove(made))
			}
			return nil, err
		}
	}
	return paths, nil
}

// create makes a file that only its owner reads, for some hold secrets.
func create(path string, b []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	return errors.Join(err, file.Close())
}

// configuration is the site's, with a word on each key.
func (f *Front) configuration(s Site) ([]byte, error) {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	q := strconv.Quote
	line("# One site's agent. docs/reference/configuration.md describes every key; \"skerry config check FILE\" finds mistakes, here and in the catalog.")
	line("site: %s # unique in the mesh, and what scopes call it", q(s.Name))
	line("data_dir: %s # its key, its database, large bodies", q(s.DataDir))
	line("application: catalog.yaml # the same file at every site")
	line("api:")
	line("  listen: %s # REST API and dashboard; beyond this machine it takes tls and accounts", q(s.API))
	line("  loopback: user # only root and the agent's own account need no token on this machine")
	line("mesh:")
	line("  listen: # where the other sites' agents reach this one")
	line("    - /ip4/0.0.0.0/udp/%d/quic-v1", s.MeshPort)
	line("    - /ip4/0.0.0.0/tcp/%d", s.MeshPort)
	if len(s.Announce) > 0 {
		line("  announce: # where they reach it besides")
	}
	for _, address := range s.Announce {
		line("    - %s", q(address))
	}
	if s.JoinFile != "" {
		line("  join_file: %s # needed once", q(s.JoinFile))
	}
	line("services:")
	host, first, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return nil, fmt.Errorf("--listen is %q: give HOST:PORT", s.Listen)
	}
	port, err := strconv.Atoi(first)
	if err != nil {
		return nil, fmt.Errorf("--listen is %q: give HOST:PORT", s.Listen)
	}
	for i, service := range f.Services {
		line("  %s:", q(string(service.Name)))
		line("    listen: %s # clients reach the service here, through the agent", q(net.JoinHostPort(host, strconv.Itoa(port+i))))
		if service.TLS {
			line("    tls: {cert: listener.pem, key: listener.key}")
		}
		line("    upstream: %s # and the agent reaches the application here", q(service.Upstream))
		if service.CA != "" {
			line("    upstream_tls: {ca: %s}", q(service.CA))
		}
		switch {
		case service.Token != "":
			line("    credentials: {token_file: %s} # the agent's own account: what other sites may do here", q(service.Token))
		case service.Value != "":
			line("    credentials: {header: %s, value_file: %s} # the agent's own account: what other sites may do here", service.Header, q(service.Value))
		}
	}
	return b.Bytes(), nil
}

// certificate makes one for a listener, good for ten years, that is its own authority.
func certificate(listen string, now time.Time) (cert, key []byte, err error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	c := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "skerry listener"}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}}
	if ip := net.ParseIP(host); ip == nil {
		c.DNSNames = append(c.DNSNames, host)
	} else {
		c.IPAddresses = append(c.IPAddresses, ip)
	}
	if name, err := os.Hostname(); err == nil {
		c.DNSNames = append(c.DNSNames, name)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}
