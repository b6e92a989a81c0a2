package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/auth"
	"github.com/skerry/skerry/web/webtest"
)

// TestALinkLetsOneBrowserIn: where only the agent's own user comes in over loopback, a browser that is somebody else's is let in by a link that this
// user has made: once, soon, by who presses the button, and with a cookie of this port alone.
func TestALinkLetsOneBrowserIn(t *testing.T) {
	site, now := webtest.Generous(), time.Now()
	server := httptest.NewUnstartedServer(nil)
	c := site.Config(server.Listener.Addr().String())
	var err error
	c.Auth, err = auth.New(auth.Config{Own: true, Store: &site.Kept, Secret: webtest.Secret, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	s, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler, server.Config.ConnContext = s, auth.WithOwner
	server.Start()
	defer server.Close()
	f := &secured{t: t, http: server}
	const elsewhere, another = "X-Forwarded-For", "192.0.2.7" // who comes through a proxy is not the agent's own user
	link := func() string {
		resp, body := f.do("POST", "/api/v1/links", "{}", "Content-Type", "application/json")
		_, path, _ := strings.Cut(body, `"path":"`)
		path, _, ok := strings.Cut(path, `"`)
		if resp.StatusCode != 201 || !ok {
			t.Fatalf("no link is made: %d %s", resp.StatusCode, body)
		}
		return path
	}
	opens := func(path string) *http.Response {
		_, once, _ := strings.Cut(path, "?once=")
		resp, _ := f.do("POST", "/login", url.Values{"once": {once}, "next": {"/sites"}}.Encode(), "Content-Type", "application/x-www-form-urlencoded", elsewhere, another)
		return resp
	}
	if resp, _ := f.do("POST", "/api/v1/links", "{}", "Content-Type", "application/json", elsewhere, another); resp.StatusCode != 401 {
		t.Errorf("somebody else makes a link: %d", resp.StatusCode)
	}
	if resp, body := f.do("GET", "/login", "", elsewhere, another); resp.StatusCode != 200 || strings.Contains(body, "Password") || !strings.Contains(body, "skerry open") {
		t.Errorf("without a link the page says %d %s", resp.StatusCode, body)
	}
	path := link()
	for range 2 { // whoever looks at it before uses nothing up
		resp, body := f.do("GET", path, "", elsewhere, another)
		if resp.StatusCode != 200 || !strings.Contains(body, "Open the page") || resp.Header.Get("Referrer-Policy") != "origin" || len(resp.Cookies()) != 0 {
			t.Errorf("the link shows %d %v %s", resp.StatusCode, resp.Header, body)
		}
	}
	resp := opens(path)
	if resp.StatusCode != 303 || resp.Header.Get("Location") != "/sites" || len(resp.Cookies()) != 1 {
		t.Fatalf("the link does not let anybody in: %d %v", resp.StatusCode, resp.Header)
	}
	in := resp.Cookies()[0]
	_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	if in.Name != auth.LocalCookie+port || !in.HttpOnly || in.SameSite != http.SameSiteStrictMode || in.MaxAge != 12*60*60 {
		t.Errorf("the cookie is %s", in)
	}
	asks := func() int {
		resp, _ := f.do("GET", "/api/v1/sites", "", elsewhere, another, "Cookie", in.Name+"="+in.Value)
		return resp.StatusCode
	}
	if got := asks(); got != 200 {
		t.Errorf("who was let in gets %d", got)
	}
	if resp := opens(path); resp.StatusCode != 401 || len(resp.Cookies()) != 0 {
		t.Errorf("a link that was used lets in once more: %d", resp.StatusCode)
	}
	late := link()
	if now = now.Add(11 * time.Minute); opens(late).StatusCode != 401 {
		t.Error("a link counts after its time")
	}
	first := link()
	for range 16 {
		link()
	}
	if opens(first).StatusCode != 401 {
		t.Error("links are kept without an end")
	}
	if now = now.Add(12 * time.Hour); asks() != 401 {
		t.Error("a session has no end")
	}
	resp = opens(link())
	in = resp.Cookies()[0]
	if resp, _ := f.do("POST", "/logout", "", elsewhere, another, "Cookie", in.Name+"="+in.Value, "Content-Type", "application/x-www-form-urlencoded"); resp.StatusCode != 303 || asks() != 401 {
		t.Errorf("nobody can log out: %d, %d", resp.StatusCode, asks())
	}
}
