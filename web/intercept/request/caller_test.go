package request

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Callers are told apart by all that an application may tell them apart by, and not by what differs from one try to the next.
func TestInvariantKeysAreTheirCallersOwn(t *testing.T) {
	caller := func(name, value string) string {
		r := httptest.NewRequest(http.MethodPost, "/images", nil)
		r.Header.Add(name, value)
		return (&Request{Request: r}).Caller()
	}
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Auth-Token", "X-Subject-Token", "X-Service-Token", "X-Api-Key", "Apikey",
		"X-Amz-Security-Token", "X-Remote-User", "X-Remote-Group", "X-Forwarded-User", "X-Ssl-Client-Cert", "Impersonate-User", "X-Csrf-Token", "Ocp-Apim-Subscription-Key",
		"X-Tenant-Id", "X-Project-Id", "X-User-Id", "Cf-Access-Jwt-Assertion", "X-Session"} {
		if caller(name, "a") == caller(name, "b") || caller(name, "a") == caller("X", "a") {
			t.Errorf("%s tells nobody apart", name)
		}
	}
	for _, name := range []string{"X-Request-Id", "Traceparent", "User-Agent", "Date", "Accept", "Content-Type", "If-Match", "Idempotency-Key", "X-Retry-Count", "X-Forwarded-For"} {
		if caller(name, "a") != caller(name, "b") {
			t.Errorf("%s makes another caller of who tries again", name)
		}
	}
	if caller("Cookie", "a=1; b=2") == caller("Cookie", "a=1; b=3") {
		t.Error("only one cookie counts")
	}
	asks := func(query string) string {
		return (&Request{Request: httptest.NewRequest(http.MethodPost, "/images?"+query, nil)}).Caller()
	}
	for _, name := range []string{"access_token", "api_key", "X-Amz-Signature", "sig", "a%63cess_t%6Fken", "password", "sessionid"} {
		if asks(name+"=a") == asks(name+"=b") || asks("x=1&"+name+"=a") == asks("") || asks("x=1;"+name+"=a") == asks("x=1;"+name+"=b") {
			t.Errorf("%s in the query tells nobody apart", name)
		}
	}
	if asks("limit=1&user=a&keyword=b") != asks("limit=2&user=b&keyword=c") {
		t.Error("what a query asks for makes another caller")
	}
	shown := func(subject string) string {
		r := httptest.NewRequest(http.MethodPost, "/images", nil)
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{RawSubject: []byte(subject)}}}
		return (&Request{Request: r}).Shown()
	}
	if shown("CN=ann,O=a") == shown("CN=ann,O=b") || shown("") == (&Request{Request: httptest.NewRequest(http.MethodGet, "/", nil)}).Shown() {
		t.Error("certificates tell nobody apart")
	}
}
