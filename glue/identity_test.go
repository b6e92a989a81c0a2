package glue_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/kubernetes"
)

// TestTheFrontProxysCertificate goes with what says who asks, and with nothing else: an application that took it for the client's would let
// everybody in.
func TestTheFrontProxysCertificate(t *testing.T) {
	shown := make(chan int, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { shown <- len(r.TLS.PeerCertificates) }))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := &tls.Config{InsecureSkipVerify: true, Certificates: server.TLS.Certificates}
	c, err := glue.NewClient(glue.ClientConfig{Upstreams: []glue.Upstream{{Service: "cluster", URL: u, TLS: &tls.Config{InsecureSkipVerify: true}, Front: front, Dialect: kubernetes.Dialect{}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdle()
	to, over := c.Upstream("cluster")
	for _, said := range []bool{false, true, false} { // over connections that stay open
		h := http.Header{"Authorization": {"Bearer mine"}}
		if said {
			if err := (kubernetes.Dialect{}).Assert(h, glue.Identity{User: "alice"}); err != nil {
				t.Fatal(err)
			}
		}
		resp, err := over.RoundTrip(&http.Request{Method: http.MethodGet, URL: glue.Target(to, "/pods", ""), Header: h, Host: "cluster"})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if n := <-shown; (n > 0) != said {
			t.Errorf("a request that says who asks: %v; certificates: %d", said, n)
		}
	}
}
