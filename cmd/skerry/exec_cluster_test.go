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
	for user, want := range map[string][]string{
		"token: abc":                      {`/~scope/paris/api scope="" after=""`, `/~scope/paris/api scope="" after="written"`},
		"client-certificate-data: abc":    {`/~scope/paris/api scope="" after=""`, `/~scope/paris/api scope="" after=""`},
		"exec: {command: some-programme}": {`/~scope/paris/api scope="" after=""`, `/~scope/paris/api scope="" after=""`},
	} {
		file := filepath.Join(t.TempDir(), "config")
		text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %q}}],
users: [{name: u, user: {%s}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`, cluster.URL, base64.StdEncoding.EncodeToString(ca), user)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		services := []service{{Name: "cluster", URL: cluster.URL, Glue: glue.GlueKubernetes}}
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
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(at.CA)
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(u), TLSClientConfig: &tls.Config{RootCAs: roots}}}, at.Server
}
