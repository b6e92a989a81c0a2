package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/auth"
	"github.com/skerry/skerry/web/webtest"
	"github.com/skerry/skerry/web/webtest/served"
)

// secured is a server that people log in to, over TLS.
type secured struct {
	t      *testing.T
	site   *webtest.Site
	server *web.Server
	guard  *auth.Guard
	http   *httptest.Server
	now    time.Time
}

func startSecured(t *testing.T) *secured {
	t.Helper()
	f := &secured{t: t, site: webtest.Generous(), now: time.Now()}
	f.site.Clock = func() time.Time { return f.now }
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.server.ServeHTTP(w, r) }))
	c, err := f.site.ConfigWithAccounts(t.TempDir(), h.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if f.server, err = web.New(c); err != nil {
		t.Fatal(err)
	}
	f.guard = c.Auth
	h.StartTLS()
	f.http = h
	t.Cleanup(h.Close)
	return f
}

// do makes a request that follows no redirect and keeps no cookie.
func (f *secured) do(method, path, body string, header ...string) (*http.Response, string) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // streams do not end by themselves
	r, err := http.NewRequestWithContext(ctx, method, f.http.URL+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := f.http.Client().Transport.RoundTrip(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		return resp, ""
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp, string(b)
}

func (f *secured) login(name, password string) *http.Response {
	f.t.Helper()
	resp, _ := f.do("POST", "/login", url.Values{"name": {name}, "password": {password}, "next": {"/sites?x=1"}}.Encode(),
		"Content-Type", "application/x-www-form-urlencoded")
	return resp
}

// session logs in and returns the cookie to send.
func (f *secured) session(name string) string {
	f.t.Helper()
	resp := f.login(name, webtest.Password(name))
	if resp.StatusCode != 303 || len(resp.Cookies()) != 2 {
		f.t.Fatalf("%s cannot log in: %d", name, resp.StatusCode)
	}
	c := resp.Cookies()[0]
	return c.Name + "=" + c.Value
}

// token makes a token of a role for somebody.
func (f *secured) token(by, role string) string {
	f.t.Helper()
	r, err := auth.ParseRole(role)
	if err != nil {
		f.t.Fatal(err)
	}
	most, _ := auth.ParseRole(by)
	_, secret, err := f.guard.NewToken(context.Background(), auth.Principal{Account: by, Role: most, By: auth.BySession}, "for "+role, r, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	return "Bearer " + secret
}

// TestEveryRouteForEveryRole asks each route as anyone and as each role, with a session and with a token: those below the role
// that is declared get 401 or 403 and change nothing, and the others get through to the handler.
func TestEveryRouteForEveryRole(t *testing.T) {
	f := startSecured(t)
	credentials := map[auth.Role][]string{}
	for r := auth.Viewer; r <= auth.Admin; r++ {
		credentials[r] = []string{f.token("admin", r.String()), f.session(r.String())}
	}
	params := regexp.MustCompile(`:[a-z]+`)
	for _, route := range f.server.Routes() {
		least, declared := web.Need(route.Method, route.Path)
		if !declared {
			t.Errorf("%s %s has no policy", route.Method, route.Path)
		}
		path := params.ReplaceAllString(route.Path, "nothing")
		try := func(role auth.Role, header ...string) {
			resp, body := f.do(route.Method, path, "", header...)
			refused := resp.StatusCode == 401 && route.Path != "/login" || strings.Contains(body, "problems/forbidden")
			if refused != (role < least) {
				t.Errorf("%s %s as %s (%v): %d %.200s", route.Method, path, role, header, resp.StatusCode, body)
			}
			if want := 403; refused {
				if role == auth.Anyone {
					want = 401
				}
				if resp.StatusCode != want {
					t.Errorf("%s %s as %s: %d, want %d", route.Method, path, role, resp.StatusCode, want)
				}
			}
		}
		if route.Path == "/logout" { // would end the sessions
			continue
		}
		try(auth.Anyone)
		for role, ways := range credentials {
			try(role, "Authorization", ways[0])
			try(role, "Cookie", ways[1])
		}
	}
	if f.site.Isolated() {
		t.Error("a refused request changed something")
	}
}

func TestOpenAPITellsTheRoleOfEveryCall(t *testing.T) {
	d := served.Describe(t)
	params := regexp.MustCompile(`\{([a-z]+)\}`)
	for path, item := range d.Root["paths"].(map[string]any) {
		for method, call := range item.(map[string]any) {
			role, _ := web.Need(strings.ToUpper(method), params.ReplaceAllString(path, ":$1"))
			if got := call.(map[string]any)["x-role"]; got != role.String() {
				t.Errorf("%s %s: x-role is %v, the policy says %s", method, path, got, role)
			}
		}
	}
}

func TestWhoHasNotLoggedInIsToldHow(t *testing.T) {
	f := startSecured(t)
	if resp, body := f.do("GET", "/api/v1/sites", ""); resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") == "" || !strings.Contains(body, "problems/unauthenticated") {
		t.Errorf("a program gets %d %s", resp.StatusCode, body)
	}
	for path, want := range map[string]string{"/": "/login", "/resources?q=a&site=b": "/login?next=%2Fresources%3Fq%3Da%26site%3Db", "/nothing": "/login?next=%2Fnothing"} {
		if resp, _ := f.do("GET", path, "", "Accept", "text/html"); resp.StatusCode != 303 || resp.Header.Get("Location") != want {
			t.Errorf("%s: a browser gets %d to %s", path, resp.StatusCode, resp.Header.Get("Location"))
		}
	}
	if resp, _ := f.do("GET", "/sites", "", "Accept", "text/html", "HX-Request", "true"); resp.StatusCode != 401 || resp.Header.Get("HX-Redirect") != "/login?next=%2Fsites" {
		t.Errorf("a page that reloads gets %d, HX-Redirect %q", resp.StatusCode, resp.Header.Get("HX-Redirect"))
	}
}

func TestLoginAndLogout(t *testing.T) {
	f := startSecured(t)
	resp := f.login("operator", webtest.Password("operator"))
	if resp.StatusCode != 303 || resp.Header.Get("Location") != "/sites?x=1" || len(resp.Cookies()) != 2 {
		t.Fatalf("got %d %v", resp.StatusCode, resp.Header)
	}
	c := resp.Cookies()[0]
	if !strings.HasPrefix(c.Name, "__Host-") || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" || c.SameSite != http.SameSiteLaxMode {
		t.Errorf("the cookie is %+v", c)
	}
	cookie := c.Name + "=" + c.Value
	_, page := f.do("GET", "/", "", "Cookie", cookie, "Accept", "text/html")
	if !strings.Contains(page, "<b>operator</b>") || !strings.Contains(page, `action="/logout"`) {
		t.Error("the page does not tell who has logged in, or has no way out")
	}
	if resp, _ := f.do("POST", "/logout", "", "Cookie", cookie, "Origin", "https://evil.example"); resp.StatusCode != 403 {
		t.Errorf("another origin logs out: %d", resp.StatusCode)
	}
	if resp, _ := f.do("POST", "/logout", "", "Cookie", cookie); resp.StatusCode != 303 || resp.Cookies()[0].MaxAge >= 0 {
		t.Errorf("logout: %d %v", resp.StatusCode, resp.Header)
	}
	if resp, _ := f.do("GET", "/api/v1/sites", "", "Cookie", cookie); resp.StatusCode != 401 {
		t.Errorf("the cookie still counts after logout: %d", resp.StatusCode)
	}
	cookie = f.session("operator")
	f.now = f.now.Add(13 * time.Hour)
	if resp, _ := f.do("GET", "/api/v1/sites", "", "Cookie", cookie); resp.StatusCode != 401 {
		t.Errorf("the cookie still counts after 13 hours: %d", resp.StatusCode)
	}
	for _, elsewhere := range []string{"//evil.example", "https://evil.example", `/\evil.example`, ""} {
		resp, _ := f.do("POST", "/login", url.Values{"name": {"viewer"}, "password": {webtest.Password("viewer")}, "next": {elsewhere}}.Encode(),
			"Content-Type", "application/x-www-form-urlencoded")
		if resp.Header.Get("Location") != "/" {
			t.Errorf("next %q leads to %q", elsewhere, resp.Header.Get("Location"))
		}
	}
}

func TestGuessingIsSlowedDown(t *testing.T) {
	f := startSecured(t)
	for range 8 {
		if resp := f.login("admin", "wrong password"); resp.StatusCode != 401 || len(resp.Cookies()) != 0 {
			t.Fatalf("a wrong password: %d", resp.StatusCode)
		}
	}
	resp := f.login("admin", webtest.Password("admin"))
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("the ninth attempt gets %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	f.now = f.now.Add(16 * time.Second)
	f.session("admin")
	f.session("admin")
	if resp := f.login("nobody", webtest.Password("admin")); resp.StatusCode != 401 {
		t.Errorf("an account that is not there: %d", resp.StatusCode)
	}
}

func TestWhatIsTakenFromAnAccountCounts(t *testing.T) {
	f := startSecured(t)
	cookie, token := f.session("operator"), f.token("operator", "operator")
	change := func(to func(auth.Accounts) auth.Accounts) {
		t.Helper()
		all, err := auth.ReadAccounts(f.site.Accounts)
		if err == nil {
			err = to(all).Write(f.site.Accounts)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	zone := func(header, value string) int {
		resp, _ := f.do("PUT", "/api/v1/zones/west", `{"sites":["paris"]}`, header, value, "Content-Type", "application/json")
		return resp.StatusCode
	}
	if got := zone("Cookie", cookie); got != 200 {
		t.Errorf("an operator sets a zone: %d", got)
	}
	change(func(all auth.Accounts) auth.Accounts {
		a, _ := all.Find("operator")
		a.Role = auth.Viewer
		all, _ = all.Set(a)
		return all
	})
	for header, value := range map[string]string{"Cookie": cookie, "Authorization": token} {
		if got := zone(header, value); got != 403 {
			t.Errorf("who is a viewer now sets a zone by %s: %d", header, got)
		}
	}
	change(func(all auth.Accounts) auth.Accounts {
		a, _ := all.Find("operator")
		a.Hash, _ = auth.Hash("another password")
		all, _ = all.Set(a)
		return all
	})
	for header, value := range map[string]string{"Cookie": cookie, "Authorization": token} {
		if resp, _ := f.do("GET", "/api/v1/sites", "", header, value); resp.StatusCode != 401 {
			t.Errorf("%s outlives the password: %d", header, resp.StatusCode)
		}
	}
	token = f.token("operator", "operator")
	change(func(all auth.Accounts) auth.Accounts { return all.Without("operator") })
	if resp, _ := f.do("GET", "/api/v1/sites", "", "Authorization", token); resp.StatusCode != 401 {
		t.Errorf("the token outlives the account: %d", resp.StatusCode)
	}
}

func TestTokens(t *testing.T) {
	f := served.Start(t)
	made := f.Want(201, "POST", "/api/v1/tokens", `{"name":"metrics","role":"viewer","expires":"1h"}`)
	secret := "Bearer " + made["token"].(string)
	if made["role"] != "viewer" || made["name"] != "metrics" || made["id"] == "" {
		t.Errorf("got %v", made)
	}
	if _, b := f.Do("GET", "/api/v1/tokens", ""); !strings.Contains(string(b), `"metrics"`) || strings.Contains(string(b), "skt_") {
		t.Errorf("the list is %s", b)
	}
	if resp, _ := f.Do("GET", "/metrics", "", "Authorization", secret); resp.StatusCode != 200 {
		t.Errorf("a viewer gets no metrics: %d", resp.StatusCode)
	}
	p := f.Problem(403, "forbidden", "the role operator", "PUT", "/api/v1/zones/west", `{"sites":["paris"]}`, "Authorization", secret)
	if !strings.Contains(p["detail"].(string), "token metrics") {
		t.Errorf("got %v", p)
	}
	f.Problem(403, "forbidden", "cannot give the role admin", "POST", "/api/v1/tokens", `{"name":"more","role":"admin"}`, "Authorization", secret)
	f.Problem(400, "bad-request", "give a duration from 1s to", "POST", "/api/v1/tokens", `{"name":"longer","role":"viewer","expires":"2h"}`, "Authorization", secret)
	f.Want(201, "POST", "/api/v1/tokens", `{"name":"as long","role":"viewer"}`, "Authorization", secret)
	for _, wrong := range []string{`{"role":"viewer"}`, `{"name":"x","role":"root"}`, `{"name":"x"}`, `{"name":"x","role":"viewer","expires":"soon"}`,
		`{"name":"x","role":"viewer","expires":"9000h"}`, `{"name":"a\nb","role":"viewer"}`} {
		f.Want(400, "POST", "/api/v1/tokens", wrong)
	}
	id := made["id"].(string)
	f.Want(204, "DELETE", "/api/v1/tokens/"+id, "")
	f.Problem(404, "not-found", "", "DELETE", "/api/v1/tokens/"+id, "")
	f.Problem(401, "unauthenticated", "no longer counts", "GET", "/api/v1/sites", "", "Authorization", secret)
	// What an application's client shows is not ours.
	f.Want(200, "GET", "/api/v1/sites", "", "Authorization", "Bearer of-the-application")
}

// One viewer's streams do not keep others from theirs, however many tokens that account makes.
func TestStreamsOfOneViewerAreBounded(t *testing.T) {
	f := startSecured(t)
	open := func(by string) int {
		r, err := http.NewRequest("GET", f.http.URL+"/api/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", by)
		resp, err := f.http.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp.StatusCode
	}
	viewer, operator := f.token("viewer", "viewer"), f.token("operator", "viewer")
	for i := range 33 {
		want := 200
		if i == 32 {
			want = 503
		}
		if got := open(viewer); got != want {
			t.Fatalf("stream %d: %d, want %d", i, got, want)
		}
	}
	if got := open(f.token("viewer", "viewer")); got != 503 {
		t.Errorf("with another token of the same account: %d", got)
	}
	if got := open(operator); got != 200 {
		t.Errorf("another one: %d", got)
	}
}

// Where nobody logs in, what shows nothing of who it is is one viewer: a program that opens streams without an end leaves room for pages and for
// programs that have a token.
func TestStreamsOfAMachineAreBounded(t *testing.T) {
	a, err := api.New(webtest.Empty().Config("127.0.0.1:0").Config)
	if err != nil {
		t.Fatal(err)
	}
	enter := func(p auth.Principal) error {
		_, err := a.EnterStream(auth.With(t.Context(), p))
		return err
	}
	for i := range 33 {
		if err := enter(auth.Principal{Role: auth.Admin, By: auth.ByLoopback}); (err == nil) != (i < 32) {
			t.Errorf("stream %d: %v", i, err)
		}
	}
	for _, p := range []auth.Principal{{By: auth.ByLoopback, Key: "a browser"}, {By: auth.BySession, Key: "another"}, {By: auth.ByToken, Key: "a token"}} {
		if err := enter(p); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// Behind a proxy that is trusted clients are told apart by what it says of them, and no client says itself where it is.
func TestClientsBehindOneProxy(t *testing.T) {
	f := startSecured(t)
	c, err := f.site.ConfigWithAccounts(t.TempDir(), f.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("198.51.100.0/24")}
	if f.server, err = web.New(c); err != nil {
		t.Fatal(err)
	}
	try := func(way, name, password string) int {
		resp, _ := f.do("POST", "/login", url.Values{"name": {name}, "password": {password}}.Encode(),
			"Content-Type", "application/x-www-form-urlencoded", "X-Forwarded-For", way)
		return resp.StatusCode
	}
	for i := range 9 {
		// Whatever a client says stands before what the proxies add: other addresses, and those of proxies.
		way := fmt.Sprintf("203.0.113.%d, 198.51.100.9, 192.0.2.1, 198.51.100.7", i)
		if got := try(way, fmt.Sprint("nobody", i), "wrong password"); (got == 429) != (i == 8) {
			t.Errorf("attempt %d: %d", i, got)
		}
	}
	if got := try("192.0.2.1", "viewer", webtest.Password("viewer")); got != 429 {
		t.Errorf("the same client by a shorter way: %d", got)
	}
	if got := try("192.0.2.2", "viewer", webtest.Password("viewer")); got != 303 {
		t.Errorf("another client of the proxy: %d", got)
	}
	for range 9 { // who stands for nobody is the proxy
		_ = try("no address", "nobody", "wrong password")
	}
	if got := try("unknown", "viewer", webtest.Password("viewer")); got != 429 {
		t.Errorf("who says nothing that can be read: %d", got)
	}
}

// A token ends with the one that it was made with, however many are between them.
func TestATokenEndsWithWhatMadeIt(t *testing.T) {
	f := served.Start(t)
	made := f.Want(201, "POST", "/api/v1/tokens", `{"name":"t","role":"viewer","expires":"1h"}`)
	secrets, first := []string{"", "Bearer " + made["token"].(string)}, made["id"].(string)
	for len(secrets) < 5 {
		made := f.Want(201, "POST", "/api/v1/tokens", `{"name":"t","role":"viewer"}`, "Authorization", secrets[len(secrets)-1])
		secrets = append(secrets, "Bearer "+made["token"].(string))
	}
	for _, s := range secrets[1:] {
		f.Want(200, "GET", "/api/v1/sites", "", "Authorization", s)
	}
	f.Want(204, "DELETE", "/api/v1/tokens/"+first, "")
	for i, s := range secrets[1:] {
		if resp, _ := f.Do("GET", "/api/v1/sites", "", "Authorization", s); resp.StatusCode != 401 {
			t.Errorf("token %d outlives the one that it was made with: %d", i, resp.StatusCode)
		}
	}
}

// Whoever guesses, from wherever, keeps nobody out of their account in a browser in which they have logged in before; and a stranger's form
// has a bound.
func TestInvariantGuessesKeepNobodyOut(t *testing.T) {
	f := startSecured(t)
	resp := f.login("admin", webtest.Password("admin"))
	known := resp.Cookies()[1]
	guess := func(address, name string) error {
		_, _, err := f.guard.Login(context.Background(), address, name, "wrong password")
		return err
	}
	for i := range 40 {
		_ = guess(fmt.Sprintf("192.0.2.%d:1", i), "admin")
		_ = guess("127.0.0.1:1", "admin")
	}
	if resp := f.login("admin", webtest.Password("admin")); resp.StatusCode != 429 {
		t.Errorf("guesses are not slowed down: %d", resp.StatusCode)
	}
	with := func(name, cookie string) int {
		resp, _ := f.do("POST", "/login", url.Values{"name": {name}, "password": {webtest.Password(name)}}.Encode(),
			"Content-Type", "application/x-www-form-urlencoded", "Cookie", known.Name+"="+cookie)
		return resp.StatusCode
	}
	if got := with("viewer", known.Value); got != 429 {
		t.Errorf("a browser that is known for one account tries another: %d", got)
	}
	if got := with("admin", "0123456789abcdef."+strings.Repeat("0", 64)); got != 429 {
		t.Errorf("a forged cookie: %d", got)
	}
	if got := with("admin", known.Value); got != 303 {
		t.Errorf("the admin is kept out: %d", got)
	}
	// Who has to wait at an address counts at no account.
	for range 100 {
		_ = guess("127.0.0.1:1", "operator")
	}
	if err := guess("198.51.100.7:1", "operator"); !errors.Is(err, auth.ErrLogin) {
		t.Errorf("another address is told %v", err)
	}
	if resp := f.login(strings.Repeat("x", 1<<20), "p"); resp.StatusCode != 413 {
		t.Errorf("a name of 1 MiB: %d", resp.StatusCode)
	}
}

func TestFurtherHostNames(t *testing.T) {
	c := webtest.Empty().Config("0.0.0.0:8443")
	c.Hosts = []string{"skerry.example", "other.example:9443"}
	server, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{"skerry.example:8443": 200, "other.example:9443": 200, "skerry.example": 421, "other.example:8443": 421, "evil.example:8443": 421} {
		r, w := httptest.NewRequest("GET", "/healthz", nil), httptest.NewRecorder()
		r.Host = host
		if server.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d, want %d", host, w.Code, want)
		}
	}
}

func TestAStreamEndsWithWhatLetsInToIt(t *testing.T) {
	f := startSecured(t)
	ctx := context.Background()
	for _, path := range []string{"/api/v1/events", "/live"} {
		k, secret, err := f.guard.NewToken(ctx, auth.Principal{Account: "viewer", Role: auth.Viewer, By: auth.BySession}, "watch", auth.Viewer, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequest("GET", f.http.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		resp, err := f.http.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		tell := func(subject string) bool {
			n := f.site.AddEvent("site.up", subject, "{}")
			for lines.Scan() {
				if lines.Text() == fmt.Sprint("id: ", n) {
					return true
				}
			}
			return false
		}
		for lines.Scan() && lines.Text() != "" { // the head: the stream is at the end of the log
		}
		if !tell("seen") {
			t.Errorf("%s: an event does not arrive", path)
		}
		if err := f.guard.Revoke(ctx, auth.Principal{Account: "viewer", Role: auth.Viewer}, k.ID); err != nil {
			t.Fatal(err)
		}
		if tell("unseen") {
			t.Errorf("%s: who was shut out is told of events", path)
		}
	}
}
