package page_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/webtest"
)

func TestAViewFollowsTheEvents(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	tb := open(t, "light", true)
	tb.do(chromedp.Navigate(address + "/sites"))
	tb.until("live.dataset.live === 'live'")
	tb.do(chromedp.Click(chromedp.CSS("tbody details summary")))
	site.SetStatus(webtest.Rennes, engine.SiteStatus{Reachable: true, RTT: 33 * time.Millisecond, LastSeen: time.Now()})
	site.AddEvent("site.up", "rennes", `{}`)
	tb.until("document.querySelector('main').innerText.includes('33 ms')")
	if !get(tb, chromedp.Evaluate[bool]("document.querySelector('tbody details').open")) {
		t.Error("an update closes what was opened")
	}

	// Nothing moves while it is paused, and nothing is lost.
	tb.do(chromedp.Click(chromedp.CSS("#live-button")))
	tb.until("live.dataset.live === 'paused'")
	site.SetStatus(webtest.Rennes, engine.SiteStatus{Reachable: true, RTT: 44 * time.Millisecond, LastSeen: time.Now()})
	seen := "window.heard = 0; document.body.addEventListener('htmx:sse:before:message', () => window.heard++); true"
	get(tb, chromedp.Evaluate[bool](seen))
	site.AddEvent("site.up", "rennes", `{}`)
	tb.until("window.heard > 0")
	if get(tb, chromedp.Evaluate[bool]("document.querySelector('main').innerText.includes('44 ms')")) {
		t.Error("a paused view moves")
	}
	tb.do(chromedp.Click(chromedp.CSS("#live-button")))
	tb.until("document.querySelector('main').innerText.includes('44 ms')")
	tb.noComplaints("/sites")
}

func TestAViewSaysWhenItIsStaleAndCatchesUp(t *testing.T) {
	site := webtest.Generous()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	run := func(l net.Listener) (stop func()) {
		server, err := web.New(site.Config(address))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- server.Serve(ctx, l) }()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	stop := run(l)
	tb := open(t, "light", true)
	tb.do(chromedp.Navigate("http://" + address + "/sites"))
	tb.until("live.dataset.live === 'live'")
	stop()
	tb.until("live.dataset.live === 'stale'")
	site.SetStatus(webtest.Rennes, engine.SiteStatus{Reachable: true, RTT: 55 * time.Millisecond, LastSeen: time.Now()})
	site.AddEvent("site.up", "rennes", `{}`)
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	stop = run(l)
	defer stop()
	tb.until("live.dataset.live === 'live'")
	tb.until("document.querySelector('main').innerText.includes('55 ms')")
}

func TestTheScopeIsExplainedWhileItIsTyped(t *testing.T) {
	address := serve(t, webtest.Generous())
	tb := open(t, "dark", true)
	tb.do(chromedp.Navigate(address + "/compose"))
	tb.until("live.dataset.live === 'live'")
	tb.do(chromedp.SendKeys(chromedp.CSS("input[name=scope]"), "images: paris &"))
	tb.until("document.querySelector('#explanation').innerText.includes('expected a site')")
	tb.do(chromedp.SendKeys(chromedp.CSS("input[name=scope]"), " rennes"))
	tb.until("document.querySelector('#explanation .plan')")
	text := get(tb, chromedp.Text(chromedp.CSS("#explanation")))
	if !strings.Contains(text, "{images: paris & rennes}") || !strings.Contains(text, "rennes cannot be reached now") {
		t.Errorf("the explanation is %q", text)
	}
	if v := get(tb, chromedp.Value(chromedp.CSS("input[name=scope]"))); v != "images: paris & rennes" {
		t.Errorf("the field holds %q", v)
	}
	tb.noComplaints("/compose")
}

func TestHostileTextStaysText(t *testing.T) {
	const evil = `"><script>window.hacked=1</script><img src=x onerror=window.hacked=1>'` + "`" + `{{7*7}}</textarea></pre><svg onload=window.hacked=1>`
	site := webtest.Empty()
	site.AddMember(engine.SiteName(evil), engine.SiteID("id"+evil), engine.SiteStatus{LastSeen: time.Now().Add(-time.Hour)})
	now := time.Now()
	site.AddResource(engine.ResourceRow{
		ID: engine.ResourceID("javascript:" + evil), Service: "images", Kind: "image", Collaboration: evil, Local: engine.LocalID(evil),
		State: engine.StateDegraded, Reason: evil, CreatedAt: now, UpdatedAt: now,
		Sites: map[engine.SiteID]engine.ReplicaStatus{engine.SiteID("id" + evil): {Local: engine.LocalID(evil), State: engine.State(evil), Reason: evil}},
	})
	site.AddOperation(engine.OperationRow{
		ID: engine.OperationID("o" + evil), Resource: engine.ResourceID("javascript:" + evil), Type: engine.Type(evil), Service: "images", Kind: "image",
		Method: evil, Path: evil, Scope: evil, Origin: engine.SiteID("id" + evil), User: evil, IssuedAt: now, State: engine.StateRejected,
		Parents: []engine.OperationID{engine.OperationID(evil)}, Body: []byte(evil), Change: []byte(`{"set":{"/a":"</pre><script>window.hacked=1</script>"}}`),
		Sites: map[engine.SiteID]engine.OperationStatus{engine.SiteID("id" + evil): {State: engine.StateRejected, Error: evil, At: now}},
	})
	site.AddEvent("operation."+evil, evil, `{"a":"</td><script>window.hacked=1</script>"}`)
	address := serve(t, site)
	tb := open(t, "light", true)
	q := strings.NewReplacer("%", "%25", "&", "%26", "#", "%23", " ", "%20", `"`, "%22", "<", "%3C", ">", "%3E", "`", "%60", "{", "%7B", "}", "%7D", "/", "%2F", "'", "%27").Replace(evil)
	for _, path := range []string{
		"/", "/sites", "/resources", "/resources?q=" + q, "/resources/javascript:" + q, "/resources/javascript:" + q + "/differences",
		"/operations", "/operations/o" + q, "/events", "/resources/" + q,
		"/compose?service=images&method=POST&path=" + q + "&scope=" + q + "&body=" + q + "&content_type=" + q,
	} {
		tb.do(chromedp.Navigate(address + path))
		tb.until("live.dataset.live === 'live'")
		if get(tb, chromedp.Evaluate[bool]("'hacked' in window || document.querySelectorAll('main script, main img, main [onerror], main [onload]').length > 0")) {
			t.Errorf("%s runs or shows as markup what is data", path)
		}
		if !strings.Contains(get(tb, chromedp.Evaluate[string]("document.querySelector('main').innerText + [...document.querySelectorAll('input, textarea')].map(e => e.value).join()")), "<script>window.hacked=1") &&
			path != "/resources?q="+q {
			t.Errorf("%s does not show the text", path)
		}
		tb.noComplaints(path)
	}
}
