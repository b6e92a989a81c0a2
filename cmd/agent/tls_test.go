package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/skerry/skerry/glue"
)

// A certificate that was renewed counts at once, for those that a site shows and for those that it is shown, and broken files change
// nothing.
func TestFilesOfCertificatesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put := func(text, to string) {
		t.Helper()
		err := os.WriteFile(to+".new", []byte(text), 0o600)
		if err == nil {
			err = os.Rename(to+".new", to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cert1, key1, roots1 := certificate(t)
	cert2, key2, roots2 := certificate(t)
	put(cert1, at("cert"))
	put(key1, at("key"))
	put(cert1, at("ca"))
	l, err := net.Listen("tcp", "127.0.77.2:0")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	secured, err := secure(l, &ListenerTLS{Cert: at("cert"), Key: at("key")}, false, log)
	if err != nil {
		t.Fatal(err)
	}
	defer secured.Close()
	go func() {
		for {
			c, err := secured.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go func() { _, _ = io.Copy(io.Discard, c); c.Close() }()
			}
		}
	}()
	upstream, err := glue.UpstreamTLS("127.0.77.2", at("ca"), "", "", false, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	trusts := func(c *tls.Config) bool {
		d := tls.Dialer{Config: c}
		conn, err := d.DialContext(ctx, "tcp", l.Addr().String())
		if err == nil {
			conn.Close()
		}
		return err == nil
	}
	first, second := &tls.Config{RootCAs: roots1}, &tls.Config{RootCAs: roots2}
	if !trusts(first) || trusts(second) || !trusts(upstream) {
		t.Fatal("the first certificate is not shown, or not trusted")
	}
	other, err := glue.UpstreamTLS("192.0.2.1", at("ca"), "", "", false, log)
	if err != nil || trusts(other) {
		t.Errorf("the certificate of another host is trusted (%v)", err)
	}
	if err := os.WriteFile(at("key"), []byte("half of a fi"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(cert2, at("cert"))
	if !trusts(first) {
		t.Error("a certificate without its key takes the place of a good one")
	}
	put(key2, at("key"))
	for !trusts(second) {
		if ctx.Err() != nil {
			t.Fatal("the second certificate is not shown")
		}
	}
	if trusts(upstream) {
		t.Error("an authority that is unknown is trusted")
	}
	put(cert2, at("ca"))
	for !trusts(upstream) {
		if ctx.Err() != nil {
			t.Fatal("the new authority is not trusted")
		}
	}
	old := &tls.Config{RootCAs: roots2, MaxVersion: tls.VersionTLS11}
	if trusts(old) {
		t.Error("TLS 1.1 is spoken")
	}
}

// TestNameOfAListener: what a certificate is for, where that is not the address of its listener, as the file has it by now.
func TestNameOfAListener(t *testing.T) {
	dir := t.TempDir()
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 77, 2), Port: 9701}
	l := &ListenerTLS{Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	if name := l.nameAt(at); name != "" {
		t.Errorf("without a file it is %q", name)
	}
	for want, names := range map[string][]string{"": nil, "paris.example.org": {"*.example.org", "paris.example.org", "other.example.org"}} {
		cert, key, _ := certificate(t, names...)
		for file, text := range map[string]string{l.Cert: cert, l.Key: key} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if name := l.nameAt(at); name != want {
			t.Errorf("a certificate for %v is called %q", names, name)
		}
	}
	var plain *ListenerTLS
	if name := plain.nameAt(at); name != "" {
		t.Errorf("without TLS it is %q", name)
	}
}
