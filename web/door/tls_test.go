package door_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/web/door"
)

// Over TLS it is the same: HTTP/1.1 passes, and what goes to net/http is known there to have come over TLS, HTTP/2 at once.
func TestOverTLS(t *testing.T) {
	donor := httptest.NewTLSServer(nil) // of a certificate
	defer donor.Close()
	roots := x509.NewCertPool()
	roots.AddCert(donor.Certificate())
	plain := listen(t)
	l := tls.NewListener(plain, &tls.Config{Certificates: donor.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}})
	h := openOn(t, l, door.Limits{}, serving(t, says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")))
	rest := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || !r.TLS.HandshakeComplete {
			t.Error("net/http does not know that a request came over TLS")
		}
		_, _ = io.WriteString(w, r.Proto)
	})
	h.rest.Store(&rest)
	conn, err := tls.Dial("tcp", plain.Addr().String(), &tls.Config{RootCAs: roots, ServerName: "example.com", NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	c := &client{conn, t, bufio.NewReader(conn)}
	for range 3 {
		c.say(get).want("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	}
	c.say("GET /x HTTP/1.1\r\nHost: h\r\nX-Rest: 1\r\n\r\n").head()
	c.want("HTTP/1.1")
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("https://" + plain.Addr().String() + "/x")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "HTTP/2.0" || !strings.HasPrefix(resp.Proto, "HTTP/2") {
		t.Errorf("%q %v %s", b, err, resp.Proto)
	}
}

// A client over TLS that goes is seen to go, though nobody can look into what it sends.
func TestClientGoesOverTLS(t *testing.T) {
	donor := httptest.NewTLSServer(nil)
	defer donor.Close()
	plain := listen(t)
	asked, stopped := make(chan struct{}), make(chan struct{})
	openOn(t, tls.NewListener(plain, donor.TLS), door.Limits{}, serving(t, func(in *bufio.Reader, _ net.Conn) {
		_, _ = headOf(in)
		close(asked)
		_, _ = in.ReadByte()
		close(stopped)
	}))
	conn, err := tls.Dial("tcp", plain.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, get)
	<-asked
	conn.Close()
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		t.Fatal("the application still works for a client that has gone")
	}
}
