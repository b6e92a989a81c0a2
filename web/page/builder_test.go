package page_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest"
)

// posted is a form of the composer as it was when the scope was text, with a choice in it.
func posted(text string, pairs ...string) url.Values {
	form := url.Values{"service": {"images"}, "method": {"POST"}, "path": {"/images"}, "scope": {text}, "was": {text}, "for": {"images"}, "shape": {"copies"}, "do": {"check"}}
	for i := 0; i < len(pairs); i += 2 {
		form[pairs[i]] = strings.Split(pairs[i+1], " ")
	}
	return form
}

func TestTheScopeIsMadeFromWhatIsChosenAndTheChoiceFromTheScope(t *testing.T) {
	address := serve(t, webtest.Generous())
	for name, c := range map[string]struct {
		form url.Values
		want []string
	}{
		"a choice is written":            {posted("", "shape", "spread", "at", "paris nantes"), []string{`name="scope" id="scope" value="{images: paris % nantes}"`, `value="spread" checked`}},
		"every site":                     {posted("", "at", "*"), []string{`value="{images: *}"`}},
		"nothing chosen is here alone":   {posted("{images: paris}"), []string{`name="scope" id="scope" value=""`, "Nothing chosen: here alone"}},
		"an answer of most of them":      {posted("{images: paris & nantes}", "at", "paris nantes", "wait", "quorum"), []string{`value="{images: quorum(paris &amp; nantes)}"`}},
		"what is written is chosen":      {posted("{images: paris ^ rennes}", "was", ""), []string{`value="one" checked`, `value="rennes" checked`, `value="paris" checked`, `value="{images: paris ^ rennes}"`}},
		"what is written counts":         {posted("{images: paris}", "was", "", "at", "nantes toulouse"), []string{`name="scope" id="scope" value="{images: paris}"`}},
		"what no choice says stays":      {posted("{images: !paris}", "shape", ""), []string{`value="{images: !paris}"`, "says more than this can"}},
		"as it was written, it stays so": {posted("images: paris&&nantes", "at", "nantes paris"), []string{`value="images: paris&amp;&amp;nantes"`}},
		"another service takes it along": {posted("{images: paris & nantes}", "at", "paris nantes", "service", "servers"), []string{`name="scope" id="scope" value="{servers: paris &amp; nantes}"`, `name="from.images"`}},
		"what it refers to":              {posted("{images: paris}", "at", "paris", "service", "servers", "from.images", "nantes"), []string{`value="{servers: paris, images: nantes}"`}},
		"a scope that does not parse":    {posted("{images: paris &", "shape", ""), []string{"expected a site", "says more than this can"}},
	} {
		if name == "what it refers to" {
			c.form.Set("for", "servers")
			c.form.Set("scope", "{servers: paris}")
			c.form.Set("was", "{servers: paris}")
		}
		_, body := ask(t, "POST", address+"/compose", c.form)
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %s in %s", name, want, mainOf(body))
			}
		}
	}
}

func TestARequestIsMadeLikeAnObjectThatIsThere(t *testing.T) {
	address := serve(t, webtest.Generous())
	form := posted("{images: paris & nantes}", "at", "paris nantes", "begin", "servers.server.create", "like", "old", "do", "fill")
	_, body := ask(t, "POST", address+"/compose", form)
	for _, want := range []string{`&#34;name&#34;: &#34;like old&#34;`, `(hidden)`, `value="/servers"`, `value="{servers: paris &amp; nantes}"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, mainOf(body))
		}
	}
	if strings.Contains(body, "geheim") || strings.Contains(body, `&#34;id&#34;: &#34;old`) {
		t.Error("it tells what nobody may see, or is the same object")
	}
	form.Set("like", "nope")
	if _, body := ask(t, "POST", address+"/compose", form); !strings.Contains(body, `role="alert"`) || !strings.Contains(body, "nope") {
		t.Errorf("like nothing: %s", mainOf(body))
	}
}

func TestChipsWriteTheScopeAndTypingSetsThem(t *testing.T) {
	address := serve(t, webtest.Generous())
	tb := open(t, "light", true)
	tb.do(chromedp.EmulateViewport(1360, 900), chromedp.Navigate(address+"/compose"))
	tb.until("live.dataset.live === 'live'")
	click := func(selector string) {
		t.Helper()
		get(tb, chromedp.Evaluate[bool]("document.querySelector('#builder "+selector+"').click() || true"))
	}
	click("input[value=nantes]")
	tb.until("document.getElementById('scope').value === '{images: nantes}'")
	click("input[value=paris]")
	click("input[value=spread]")
	tb.until("document.getElementById('scope').value === '{images: paris % nantes}' && document.querySelector('#explanation').innerText.includes('{images: paris % nantes}')")
	tb.picture("builder")
	get(tb, chromedp.Evaluate[bool]("(f => { f.focus(); f.value = 'images: toulouse ^ nantes'; return f.dispatchEvent(new Event('input', {bubbles: true})) })(document.getElementById('scope'))"))
	tb.until("document.querySelector('#builder input[value=one]').checked && document.querySelector('#builder input[value=toulouse]').checked && !document.querySelector('#builder input[value=paris]').checked")
	if v := get(tb, chromedp.Value(chromedp.CSS("#scope"))); v != "images: toulouse ^ nantes" {
		t.Errorf("what was typed has become %q", v)
	}
	click("input[value=paris]")
	tb.until("document.getElementById('scope').value === '{images: paris ^ nantes ^ toulouse}'")
	get(tb, chromedp.Evaluate[bool]("(f => { f.value = 'images: !paris'; return f.dispatchEvent(new Event('input', {bubbles: true})) })(document.getElementById('scope'))"))
	tb.until("document.getElementById('builder').innerText.includes('says more than this can')")
	tb.noComplaints("compose")
}

func TestWhatOnlyOneSiteHasIsListedAndShared(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	_, body := ask(t, "GET", address+"/objects?kind=images.image", nil)
	for _, want := range []string{"debian-12", "5f0c6a9e", "legacy", `value="nantes"`, "3 in all"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, mainOf(body))
		}
	}
	if _, body := ask(t, "GET", address+"/objects?kind=images.image&q=Debian", nil); strings.Contains(body, "legacy") {
		t.Error("a search leaves what it is not about")
	}
	share := func(pairs ...string) (status int, to, body string) {
		form := posted("", pairs...)
		form.Set("kind", "images.image")
		resp, body := ask(t, "POST", address+"/objects", form)
		return resp.StatusCode, resp.Header.Get("Location"), mainOf(body)
	}
	if status, _, body := share("pick", "legacy"); status != 400 || !strings.Contains(body, "nothing has happened") {
		t.Errorf("with nobody: %d", status)
	}
	if status, _, body := share("id", "nothing", "at", "nantes"); status != 409 || !strings.Contains(body, `value="nothing"`) || !strings.Contains(body, `role="alert"`) {
		t.Errorf("what is not there: %d", status)
	}
	if status, to, _ := share("pick", "legacy", "at", "nantes rennes"); status != 303 || to != "/resources/legacy?kind=image&service=images" {
		t.Errorf("one: %d %s", status, to)
	}
	if status, _, body := share("pick", "5f0c6a9e 77d0b1c4", "at", "*"); status != 200 || !strings.Contains(body, "2 resources made of them") || strings.Contains(body, "debian-12") {
		t.Errorf("two: %d %s", status, body)
	}
	if _, body := ask(t, "GET", address+"/resources?q=legacy", nil); !strings.Contains(body, "legacy") {
		t.Error("it is no resource")
	}
	site.SetFault(func(method string) error {
		if method == "Objects" {
			return &engine.Refusal{Status: 502, Type: "upstream", Detail: "the application does not list its images"}
		}
		return nil
	})
	if resp, body := ask(t, "GET", address+"/objects", nil); resp.StatusCode != 200 || !strings.Contains(body, "does not list its images") || !strings.Contains(body, `name="id"`) {
		t.Errorf("an application that lists nothing: %d", resp.StatusCode)
	}
}
