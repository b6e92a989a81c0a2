package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// trustVariables name files of authorities, in PEM: of OpenSSL and Go, curl, Python's requests, the clients of OpenStack, and Node.
var trustVariables = []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "OS_CACERT", "NODE_EXTRA_CA_CERTS"}

// systemAuthorities are where systems keep the authorities that their programs trust; the first that is there counts.
var systemAuthorities = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}

// stand is what the proxy stands in for services of HTTPS with: the command trusts an authority that is made for it alone, and whose key is in
// memory only. A command that does not heed the environment refuses its certificates, so that no scope is lost without a word. It is safe for
// concurrent use.
type stand struct {
	root   *x509.Certificate
	signer *ecdsa.PrivateKey
	// key is that of all certificates.
	key       *ecdsa.PrivateKey
	authority []byte // in PEM
}

func newStand(now time.Time) (*stand, error) {
	s := &stand{root: &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "skerry exec"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), IsCA: true, MaxPathLenZero: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}}
	var err error
	if s.signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	if s.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, s.root, s.root, s.signer.Public(), s.signer)
	if err != nil {
		return nil, err
	}
	s.authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return s, nil
}

// certificate makes one for a host, which may have a port.
func (s *stand) certificate(host string) (*tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // clients may refuse two of one number
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "skerry exec, in place of services"},
		NotBefore: s.root.NotBefore, NotAfter: s.root.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if ip := net.ParseIP(name); ip != nil {
		leaf.IPAddresses = []net.IP{ip}
	} else {
		leaf.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, s.root, s.key.Public(), s.signer)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: s.key}, nil
}

// environment returns what makes a command trust the stand: for each variable a file of what it would have trusted, and the stand's authority.
func (s *stand) environment(folder string, env []string) (map[string]string, error) {
	set := map[string]string{}
	for _, name := range trustVariables {
		trusted, err := trustedBy(env, name)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(folder, strings.ToLower(name)+".pem")
		if err := os.WriteFile(file, slices.Concat(trusted, []byte("\n"), s.authority), 0o600); err != nil {
			return nil, err
		}
		set[name] = file
	}
	return set, nil
}

// trusted returns what a command needs in its environment to trust the proxy, and what removes it again.
func (x *scopeProxy) trusted(env []string) (set map[string]string, remove func(), err error) {
	if x.stand == nil {
		return nil, func() {}, nil
	}
	folder, err := os.MkdirTemp("", "skerry-exec-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { os.RemoveAll(folder) }
	if set, err = x.stand.environment(folder, env); err != nil {
		remove()
		return nil, nil, fmt.Errorf("have the command trust the proxy: %w", err)
	}
	return set, remove, nil
}

// trustedBy returns the authorities that a command would take from a variable.
func trustedBy(env []string, name string) ([]byte, error) {
	for _, own := range []string{name, "SSL_CERT_FILE"} {
		for _, e := range slices.Backward(env) {
			if file, ok := strings.CutPrefix(e, own+"="); ok && file != "" {
				return os.ReadFile(file)
			}
		}
	}
	for _, file := range systemAuthorities {
		if b, err := os.ReadFile(file); err == nil {
			return b, nil
		}
	}
	return nil, nil
}

// inside takes the connection of a client that wants to speak TLS to a service, and has its requests served.
func (x *scopeProxy) inside(w http.ResponseWriter, r *http.Request, by http.Handler) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "skerry exec: "+err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := io.WriteString(conn, established); err != nil {
		conn.Close()
		return
	}
	early, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	secured := tls.Server(&begun{conn, bytes.NewReader(bytes.Clone(early))}, &tls.Config{MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return x.stand.certificate(r.Host) }})
	only := newOnlyConn(secured)
	s := &http.Server{Handler: by, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed || state == http.StateHijacked {
				only.Close()
			}
		}}
	stop := context.AfterFunc(x.running, func() { s.Close() })
	defer stop()
	_ = s.Serve(only) // until the connection ends
}

// begun is a connection of which some bytes have been read already.
type begun struct {
	net.Conn
	early *bytes.Reader
}

func (b *begun) Read(p []byte) (int, error) {
	if b.early.Len() > 0 {
		return b.early.Read(p)
	}
	return b.Conn.Read(p)
}

// onlyConn is a listener that has one connection.
type onlyConn struct {
	conn   chan net.Conn
	addr   net.Addr
	closed context.Context
	end    context.CancelFunc
}

func newOnlyConn(c net.Conn) *onlyConn {
	l := &onlyConn{conn: make(chan net.Conn, 1), addr: c.LocalAddr()}
	l.closed, l.end = context.WithCancel(context.Background())
	l.conn <- c
	return l
}

func (l *onlyConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed.Done():
		return nil, net.ErrClosed
	}
}

func (l *onlyConn) Close() error { l.end(); return nil }

func (l *onlyConn) Addr() net.Addr { return l.addr }

// through dials host by way of the proxy that the environment names for HTTPS, as the command would without this program.
func (x *scopeProxy) through(ctx context.Context, host string) (net.Conn, error) {
	d := &net.Dialer{Timeout: 30 * time.Second}
	proxy, err := x.next(&url.URL{Scheme: "https", Host: host})
	if err != nil {
		return nil, err
	}
	if proxy == nil {
		return d.DialContext(ctx, "tcp", host)
	}
	conn, err := d.DialContext(ctx, "tcp", hostPort(proxy))
	if err != nil {
		return nil, err
	}
	if proxy.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: proxy.Hostname(), MinVersion: tls.VersionTLS12})
	}
	ask := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: host}, Host: host, Header: http.Header{}}
	if proxy.User != nil {
		password, _ := proxy.User.Password()
		ask.SetBasicAuth(proxy.User.Username(), password)
		ask.Header = http.Header{"Proxy-Authorization": ask.Header["Authorization"]}
	}
	if err := ask.Write(conn); err != nil {
		conn.Close()
		return nil, err
	}
	// A proxy sends nothing after its answer until it is asked something, so that no byte of the tunnel is lost in the buffer.
	answer, err := readHead(conn)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("ask the proxy %s for %s: %w", proxy.Host, host, err)
	}
	if _, status, _ := strings.Cut(answer, " "); !strings.HasPrefix(status, "200") {
		conn.Close()
		return nil, fmt.Errorf("the proxy %s does not let through to %s: %s", proxy.Host, host, status)
	}
	return conn, nil
}

// readHead reads a response's head and returns its first line.
func readHead(r io.Reader) (string, error) {
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); {
		if len(head) > 16<<10 {
			return "", fmt.Errorf("its answer has no end")
		}
		if _, err := io.ReadFull(r, one); err != nil {
			return "", err
		}
		head = append(head, one[0])
	}
	line, _, _ := strings.Cut(string(head), "\r\n")
	return line, nil
}
