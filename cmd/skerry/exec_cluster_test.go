package main

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crypto/tls"

	"github.com/skerry/skerry/glue"
)

// TestClientsOfClusters: a client of Kubernetes, which trusts what its kubeconfig names alone, is given copies of that with which its requests
// have the scope, and come after what it has written before. One that shows a certificate goes past the proxy with the scope.
func TestClientsOfClusters(t *testing.T) {
	cluster := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Skerry-Resource", "r")
		w.Header().Set("Skerry-After", "written")
		fmt.Fprintf(w, "%s scope=%q after=%q", r.URL.Path, r.Header.Get("Scope"), r.Header.Get("Skerry-After"))
	}))
	defer cluster.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cluster.Certificate().Raw})
	const first, after = `/~scope/paris/api scope="" after=""`, `/~scope/paris/api scope="" after="written"`
	named := strings.Replace(cluster.URL, "127.0.0.1", "localhost", 1) // the certificate is for example.com
	for _, c := range []struct{ at, certified, user, second string }{
		{cluster.URL, "", "token: abc", after},
		{named, "example.com", "token: abc", after},
		{cluster.URL, "", "client-certificate-data: abc", first},
		{named, "example.com", "client-certificate-data: abc", first},
		{cluster.URL, "", "exec: {command: some-programme}", first},
	} {
		user, want := c.user, []string{first, c.second}
		file := filepath.Join(t.TempDir(), "config")
		text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q, tls-server-name: %q, certificate-authority-data: %q}}],
users: [{name: u, user: {%s}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`, c.at, c.certified, base64.StdEncoding.EncodeToString(ca), user)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		services := []service{{Name: "cluster", URL: c.at, Glue: glue.GlueKubernetes}}
		x, err := startProxy(context.Background(), "paris", services, &http.Transport{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, remove, err := scopedKubeconfigs([]string{"KUBECONFIG=" + file}, services, "paris", x)
		if err != nil {
			t.Fatal(err)
		}
		client, at := clientOf(t, list)
		for _, w := range want {
			resp, err := client.Get(at + "/api")
			if err != nil {
				t.Fatalf("%s: %v", user, err)
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(b) != w {
				t.Errorf("%s: the cluster got %s, want %s", user, b, w)
			}
		}
		client.CloseIdleConnections()
		remove()
		x.close()
	}
}

// clientOf is a client that heeds a kubeconfig, as kubectl does.
func clientOf(t *testing.T, file string) (*http.Client, string) {
	t.Helper()
	c, err := readKubeconfig(file)
	if err != nil {
		t.Fatal(err)
	}
	at, err := c.Cluster("")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, proxy, ok := strings.Cut(string(b), "proxy-url: ")
	proxy, _, _ = strings.Cut(proxy, "\n")
	u, err := url.Parse(strings.Trim(proxy, `"`))
	if !ok || err != nil {
		t.Fatalf("it names no proxy: %s, %v", b, err)
	}
	trusts := &tls.Config{RootCAs: x509.NewCertPool()}
	trusts.RootCAs.AppendCertsFromPEM(at.CA)
	if strings.Contains(string(b), "tls-server-name: example.com") {
		trusts.ServerName = "example.com"
	}
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(u), TLSClientConfig: trusts}}, at.Server
}

// TestWhomACertificateIsFor: clients are told the name in it where they would look for another.
func TestWhomACertificateIsFor(t *testing.T) {
	for _, c := range []struct{ url, name, want string }{
		{"https://192.0.2.1:7443", "paris.example", "paris.example"},
		{"https://192.0.2.1:7443", "", ""},
		{"https://Paris.Example:7443", "paris.example", ""},
	} {
		if got := (&service{URL: c.url, ServerName: c.name}).certified(); got != c.want {
			t.Errorf("at %s for %q it is %q, want %q", c.url, c.name, got, c.want)
		}
	}
}
