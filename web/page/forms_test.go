package page_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest"
)

// noRedirect is a client that shows redirections.
var noRedirect = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// ask makes a request as a browser does.
func ask(t *testing.T, method, address string, form url.Values) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,*/*;q=0.8")
	if method == "POST" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	resp, err := noRedirect.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func TestEveryViewWorksWithoutJavaScript(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	tb := open(t, "light", false)
	for _, v := range views {
		v.path = strings.Replace(v.path, cutOf, webtest.CutOf(site), 1)
		tb.do(chromedp.Navigate(address + v.path))
		if h1 := get(tb, chromedp.Text(chromedp.CSS("main h1"))); h1 == "" {
			t.Errorf("%s has no heading", v.path)
		}
		if text := get(tb, chromedp.Text(chromedp.CSS("#live"))); strings.Contains(text, "Pause") || !strings.Contains(text, "Not live") {
			t.Errorf("%s: what nothing keeps live offers %q", v.path, text)
		}
		tb.noComplaints(v.path)
	}
}

func TestARequestIsCheckedAndSentWithoutJavaScript(t *testing.T) {
	address := serve(t, webtest.Generous())
	tb := open(t, "light", false)
	tb.do(
		chromedp.Navigate(address+"/compose"),
		chromedp.SendKeys(chromedp.CSS("#scope"), "images: paris & nants"),
		chromedp.Click(chromedp.CSS("button[value=check]")),
		chromedp.WaitVisible(chromedp.CSS("#explanation .banner")),
	)
	if text := get(tb, chromedp.Text(chromedp.CSS("#explanation"))); !strings.Contains(text, `did you mean "nantes"?`) {
		t.Errorf("the check says %q", text)
	}
	tb.do(
		chromedp.SetValue(chromedp.CSS("#scope"), "images: paris & nantes"),
		chromedp.SendKeys(chromedp.CSS("textarea"), `{"name": "first"}`),
		chromedp.Click(chromedp.CSS("button[value=send]")),
		chromedp.WaitVisible(chromedp.CSS(".lanes")),
	)
	if at := get(tb, chromedp.Location()); !strings.Contains(at, "/operations/") {
		t.Errorf("after sending the browser is at %s", at)
	}
	if text := get(tb, chromedp.Text(chromedp.CSS("main"))); !strings.Contains(text, `"name": "first"`) {
		t.Errorf("the operation shows %q", text)
	}
	tb.noComplaints("compose")
}

func TestComposeTellsWhatWasAnswered(t *testing.T) {
	address := serve(t, webtest.Generous())
	send := func(pairs ...string) (*http.Response, string) {
		form := url.Values{"do": {"send"}}
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		return ask(t, "POST", address+"/compose", form)
	}
	for _, c := range []struct {
		status int
		want   string
		form   []string
	}{
		{200, "what the application answered", []string{"service", "images", "method", "PUT", "path", "/echo", "body", "hällo", "content_type", "text/plain"}},
		{409, "the name is taken", []string{"service", "images", "method", "POST", "path", "/refuse"}},
		{200, "The body is not JSON", []string{"service", "images", "method", "POST", "path", "/images", "body", "{"}},
		{400, "absolute path", []string{"service", "images", "method", "POST", "path", "/a b"}},
		{200, "absolute path", []string{"service", "images", "method", "POST", "path", "images"}},
		{200, "no service", []string{"service", "nope", "method", "POST", "path", "/images"}},
	} {
		resp, body := send(c.form...)
		if resp.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%v: %d without %q in\n%s", c.form, resp.StatusCode, c.want, body)
		}
	}
}

func TestFormsChangeWhatTheySay(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	resp, body := ask(t, "POST", address+"/sites/invitations", url.Values{"expires": {"2h"}, "uses": {"3"}})
	if resp.StatusCode != 201 || !strings.Contains(body, "join: skr1:inv-4.") {
		t.Errorf("invite: %d %s", resp.StatusCode, body)
	}
	if _, body := ask(t, "GET", address+"/sites", nil); strings.Contains(body, "skr1:") {
		t.Error("the token is told again")
	}
	for _, form := range []url.Values{{"expires": {"soon"}, "uses": {"1"}}, {"expires": {"1h"}, "uses": {"many"}}} {
		if resp, body := ask(t, "POST", address+"/sites/invitations", form); resp.StatusCode != 400 || !strings.Contains(body, `role="alert"`) {
			t.Errorf("%v: %d", form, resp.StatusCode)
		}
	}
	if resp, _ := ask(t, "POST", address+"/sites/invitations/inv-4f1a/revoke", nil); resp.StatusCode != 303 || !site.Invitations()[0].Revoked {
		t.Errorf("revoke: %d", resp.StatusCode)
	}
	const offline = "12D3KooWOffline"
	certificate := url.Values{"site": {"nantes"}, "valid_for": {"soon"}}
	if resp, body := ask(t, "POST", address+"/authorities/certificates", certificate); resp.StatusCode != 400 || !strings.Contains(body, `role="alert"`) || !strings.Contains(body, `value="soon"`) {
		t.Errorf("a certificate for no time: %d", resp.StatusCode)
	}
	certificate.Set("valid_for", "24h")
	if resp, _ := ask(t, "POST", address+"/authorities/certificates", certificate); resp.StatusCode != 303 || !slices.ContainsFunc(site.Members(), func(m engine.Member) bool { return m.Name == "nantes" && !m.Until.IsZero() }) {
		t.Errorf("certify: %d", resp.StatusCode)
	}
	if resp, _ := ask(t, "POST", address+"/authorities", url.Values{"key": {offline}}); resp.StatusCode != 303 || !slices.Contains(site.Authorities(), offline) {
		t.Errorf("add an authority: %d %v", resp.StatusCode, site.Authorities())
	}
	if _, body := ask(t, "GET", address+"/authorities", nil); !strings.Contains(body, offline) || !strings.Contains(body, "What it signs from now on counts no more") {
		t.Errorf("the authorities are shown as %s", body)
	}
	if resp, _ := ask(t, "POST", address+"/authorities/"+offline+"/remove", nil); resp.StatusCode != 303 || slices.Contains(site.Authorities(), offline) {
		t.Errorf("remove an authority: %d %v", resp.StatusCode, site.Authorities())
	}
	if resp, body := ask(t, "POST", address+"/sites/zones", url.Values{"name": {"west"}, "sites": {"paris, lyno"}}); resp.StatusCode != 422 || !strings.Contains(body, "lyno") {
		t.Errorf("a zone of no site: %d %s", resp.StatusCode, body)
	}
	if resp, _ := ask(t, "POST", address+"/sites/zones", url.Values{"name": {"west"}, "sites": {"paris, nantes"}}); resp.StatusCode != 303 || len(site.Zones()) != 1 {
		t.Errorf("zone: %d", resp.StatusCode)
	}
	if _, body := ask(t, "GET", address+"/sites", nil); !strings.Contains(body, "nantes, paris") {
		t.Error("the zone is not shown")
	}
	if resp, _ := ask(t, "POST", address+"/sites/zones/west/delete", nil); resp.StatusCode != 303 || len(site.Zones()) != 0 {
		t.Errorf("take a zone away: %d", resp.StatusCode)
	}
	if resp, _ := ask(t, "POST", address+"/sites/isolation", url.Values{"isolated": {"true"}}); resp.StatusCode != 303 || !site.Isolated() {
		t.Errorf("isolate: %d", resp.StatusCode)
	}
	for _, path := range []string{"/", "/resources", "/relations", "/operations", "/events", "/compose"} {
		if _, body := ask(t, "GET", address+path, nil); !strings.Contains(body, "A cut is being rehearsed") {
			t.Errorf("%s does not say that a cut is rehearsed", path)
		}
	}
	if ask(t, "POST", address+"/sites/isolation", url.Values{"isolated": {"false"}}); site.Isolated() {
		t.Error("the rehearsal did not end")
	}
	if resp, _ := ask(t, "POST", address+"/sites/isolation", nil); resp.StatusCode != 400 {
		t.Errorf("a form without its field: %d", resp.StatusCode)
	}

	rejected := address + "/operations/019aa3f0-6a00-7c31-9a5e-00a1b2c3d4e5"
	if resp, _ := ask(t, "POST", rejected+"/retry", nil); resp.StatusCode != 303 || resp.Header.Get("Location") != "/operations/019aa3f0-6a00-7c31-9a5e-00a1b2c3d4e5" {
		t.Errorf("retry: %d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	if _, body := ask(t, "GET", rejected, nil); strings.Contains(body, "Retry: send it again") {
		t.Error("an operation that is settled can still be settled")
	}
	if resp, body := ask(t, "POST", rejected+"/drop", nil); resp.StatusCode != 409 || !strings.Contains(body, "it waits at nantes") {
		t.Errorf("drop: %d", resp.StatusCode)
	}
}

func TestEveryTwinIsJSON(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	for _, v := range views {
		v.path = strings.Replace(v.path, cutOf, webtest.CutOf(site), 1)
		_, body := ask(t, "GET", address+v.path, nil)
		_, rest, found := strings.Cut(body, `class="twin" href="`)
		if !found {
			if !strings.HasPrefix(v.path, "/compose") && v.name != "missing" {
				t.Errorf("%s has no twin", v.path)
			}
			continue
		}
		twin, _, _ := strings.Cut(rest, `"`)
		resp, _ := ask(t, "GET", address+strings.ReplaceAll(twin, "&amp;", "&"), nil)
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("the twin %s of %s: %d %s", twin, v.path, resp.StatusCode, resp.Header.Get("Content-Type"))
		}
	}
}

func TestErrorsAreViews(t *testing.T) {
	const followers = 5 // calls until all that follow the events wait for more: metrics, hooks, the chronicle and the audit trail
	site, follows := webtest.Generous(), make(chan struct{}, followers)
	site.SetFault(func(method string) error {
		if method == "WaitEvents" {
			select {
			case follows <- struct{}{}:
			default:
			}
		}
		return nil
	})
	address := serve(t, site)
	for path, status := range map[string]int{
		"/resources?state=fine": 400, "/resources?cursor=x": 400, "/resources?site=nope": 422, "/operations/nope": 404,
		"/events?before=x": 400, "/nothing": 404, "/resources/nope/differences": 404,
	} {
		resp, body := ask(t, "GET", address+path, nil)
		if resp.StatusCode != status || !strings.Contains(body, "Back to the overview") {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	for range followers { // a server whose store is broken when one of them begins ends
		<-follows
	}
	site.SetFault(func(string) error { return io.ErrUnexpectedEOF })
	for _, path := range []string{"/", "/resources", "/operations", "/events"} {
		resp, body := ask(t, "GET", address+path, nil)
		if resp.StatusCode != 500 || strings.Contains(body, "unexpected EOF") {
			t.Errorf("%s with a broken store: %d", path, resp.StatusCode)
		}
	}
	if resp, _ := ask(t, "POST", address+"/compose", url.Values{"body": {strings.Repeat("x", 3<<20)}}); resp.StatusCode != 413 {
		t.Errorf("a form of 3 MiB: %d", resp.StatusCode)
	}
}

func TestAClockThatIsFarOffIsShown(t *testing.T) {
	site := webtest.Generous()
	site.SetStatus(webtest.Nantes, engine.SiteStatus{Reachable: true, RTT: time.Millisecond, LastSeen: time.Now(), Ahead: 90 * time.Second})
	address := serve(t, site)
	for _, path := range []string{"/", "/sites"} {
		if _, body := ask(t, "GET", address+path, nil); !strings.Contains(body, "clock-off") {
			t.Errorf("%s does not tell", path)
		}
	}
}
