package page_test

import (
	"context"
	"fmt"
	"net"
	"os"
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
	// Nobody else takes the port of this address between the two servers: what dials gets its own from 127.0.0.1.
	l, err := net.Listen("tcp", "127.0.77.1:0")
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
	tb.do(chromedp.SendKeys(chromedp.CSS("#scope"), "images: paris &"))
	tb.until("document.querySelector('#explanation').innerText.includes('expected a site')")
	tb.do(chromedp.SendKeys(chromedp.CSS("#scope"), " rennes"))
	tb.until("document.querySelector('#explanation .plan')")
	text := get(tb, chromedp.Text(chromedp.CSS("#explanation")))
	if !strings.Contains(text, "{images: paris & rennes}") || !strings.Contains(text, "rennes cannot be reached now") {
		t.Errorf("the explanation is %q", text)
	}
	if v := get(tb, chromedp.Value(chromedp.CSS("#scope"))); v != "images: paris & rennes" {
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

func TestNamesAreCompletedInTheScope(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	tb := open(t, "light", true)
	tb.do(chromedp.Navigate(address + "/compose"))
	tb.until("document.getElementById('scope').getAttribute('role') === 'combobox'")
	tb.do(chromedp.SendKeys(chromedp.CSS("#scope"), "ima"))
	tb.until("!document.getElementById('words').hidden")
	tb.key("Enter")
	tb.until("document.getElementById('scope').value === 'images:'")
	tb.do(chromedp.KeyEvent(" paris & na"))
	tb.until("!document.getElementById('words').hidden")
	if shown := get(tb, chromedp.Text(chromedp.CSS("#words"))); !strings.Contains(shown, "nantes") || strings.Contains(shown, "toulouse") {
		t.Errorf("it offers %q", shown)
	}
	tb.key("Tab")
	if scope := get(tb, chromedp.Evaluate[string]("document.getElementById('scope').value")); scope != "images: paris & nantes" {
		t.Errorf("the scope has become %q", scope)
	}
	tb.until("document.getElementById('words').hidden && document.querySelector('#explanation .plan')")
	tb.noComplaints("compose")
}

func TestTheKeyboardLeadsThroughTheDashboard(t *testing.T) {
	address := serve(t, webtest.Generous())
	tb := open(t, "light", true)
	press := func(keys string) { tb.do(chromedp.KeyEvent(keys)) }
	at := func(path string) {
		tb.t.Helper()
		tb.until("location.pathname === '" + path + "' && document.getElementById('keys-button')?.hidden === false")
	}
	tb.do(chromedp.Navigate(address + "/"))
	at("/")
	// At once: two keys count as one word only when they come one soon after the other.
	get(tb, chromedp.Evaluate[bool]("['g', 'r'].map(key => document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}))).length > 0"))
	at("/resources")
	press("j")
	press("j")
	if row := get(tb, chromedp.Evaluate[int]("[...document.querySelectorAll('tbody th a')].indexOf(document.activeElement)")); row != 1 {
		t.Errorf("after two times j the focus is in row %d", row)
	}
	tb.key("/")
	if name := get(tb, chromedp.Evaluate[string]("document.activeElement.name")); name != "q" {
		t.Errorf("/ leads to %q", name)
	}
	press("gc?") // in a field they are letters
	if text := get(tb, chromedp.Evaluate[string]("document.activeElement.value")); text != "gc?" {
		t.Errorf("the field has %q", text)
	}
	get(tb, chromedp.Evaluate[int]("document.activeElement.blur(), 0"))
	press("?")
	tb.until("document.getElementById('keys').open")
	tb.do(chromedp.Click(chromedp.CSS("#keys-on")), chromedp.Click(chromedp.CSS("#keys button")))
	press("?")
	press("g")
	press("s")
	if get(tb, chromedp.Evaluate[bool]("document.getElementById('keys').open || location.pathname !== '/resources'")) {
		t.Error("keys do something though they are turned off")
	}
	tb.noComplaints("keys")
}

// key presses one key where the focus is. What chromedp sends types its character also where a script has prevented that.
func (tb *tab) key(name string) {
	tb.t.Helper()
	get(tb, chromedp.Evaluate[bool](fmt.Sprintf("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: %q, bubbles: true, cancelable: true}))", name)))
}

// TestFindAndDo finds a resource by name from any view, and does something with it, by keys alone.
func TestFindAndDo(t *testing.T) {
	site := webtest.Generous()
	site.AddResource(engine.ResourceRow{ID: "the-only-one", Service: "networks", Kind: "network", Collaboration: engine.ExactlyOne, State: engine.StateConverged,
		Sites: map[engine.SiteID]engine.ReplicaStatus{site.Self(): {State: engine.StateConverged}}, CreatedAt: site.Clock(), UpdatedAt: site.Clock()})
	address := serve(t, site)
	tb := open(t, "light", true)
	tb.do(chromedp.EmulateViewport(1360, 900), chromedp.Navigate(address+"/events"))
	tb.until("document.getElementById('live').dataset.live === 'live'")
	key := func(key string, ctrl bool) {
		t.Helper()
		get(tb, chromedp.Evaluate[bool](fmt.Sprintf("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: %q, ctrlKey: %t, bubbles: true, cancelable: true})) || true", key, ctrl)))
	}
	key("k", true)
	tb.until("document.querySelectorAll('#palette-list li').length > 12") // views and sites
	find := func(text string) {
		t.Helper()
		get(tb, chromedp.Evaluate[bool](fmt.Sprintf("(f => { f.value = %q; return f.dispatchEvent(new Event('input', {bubbles: true})) })(document.getElementById('palette-text'))", text)))
	}
	find("the-on") // a name that exactly one site is to hold
	tb.until("document.querySelectorAll('#palette-list li').length === 1 && document.querySelector('#palette-list li').textContent === 'the-only-one networks.network, held by paris'")
	find("backb")
	tb.until("document.querySelectorAll('#palette-list li').length === 3 && document.querySelector('#palette-list li').textContent.includes('backbone networks.network')")
	tb.picture("palette")
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	tb.accessible(string(axe), "the palette")
	key("ArrowDown", false)
	key("ArrowDown", false)
	key("Enter", false)
	tb.until("location.pathname === '/resources/backbone'")
	if n := site.Checked(); len(n) != 1 {
		t.Errorf("checked: %v", n)
	}
	tb.noComplaints("the palette")
}

// TestAPhoneHasAFoldedMenu: the menu opens when it is wanted, and the site that one is at stays on the screen.
func TestAPhoneHasAFoldedMenu(t *testing.T) {
	address := serve(t, webtest.Generous())
	tb := open(t, "light", true)
	tb.do(chromedp.EmulateViewport(390, 844), chromedp.Navigate(address+"/history"))
	tb.until("document.getElementById('live').dataset.live === 'live' && !document.getElementById('menu').open")
	get(tb, chromedp.Evaluate[bool]("(scrollTo(0, document.body.scrollHeight), true)"))
	if !get(tb, chromedp.Evaluate[bool]("document.querySelector('.brand').getBoundingClientRect().bottom < 80 && document.querySelector('.brand').getBoundingClientRect().top >= 0")) {
		t.Error("the site has left the screen")
	}
	tb.picture("phone-folded")
	tb.do(chromedp.EmulateViewport(1360, 900))
	tb.until("document.getElementById('menu').open")
	tb.noComplaints("the menu")
}

// TestTheTimelineMovesWhileAnOperationIsPending: its axis reaches to now, and the stream's pulse alone has it drawn anew. What has come to an end
// moves no more.
func TestTheTimelineMovesWhileAnOperationIsPending(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	tb := open(t, "light", true)
	axis := "document.querySelector('svg.lanes').textContent"
	tb.do(chromedp.Navigate(address + "/operations/019aa3f0-8c22-7e53-9c70-22c3d4e5f607"))
	tb.until("live.dataset.live === 'live'")
	was := get(tb, chromedp.Evaluate[string](axis))
	tb.until(axis + " !== " + fmt.Sprintf("%q", was))
	for path, moves := range map[string]bool{"/operations/019aa3f0-8c22-7e53-9c70-22c3d4e5f607": true, "/operations/019aa3f0-7b11-7d42-8b6f-11b2c3d4e5f6": false} {
		if _, body := ask(t, "GET", address+path, nil); strings.Contains(body, "alive from:#live") != moves {
			t.Errorf("%s moves: %t", path, !moves)
		}
	}
	tb.noComplaints("a pending operation")
}

// TestATabThatComesBackIsStale until the server has spoken again.
func TestATabThatComesBackIsStale(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	tb := open(t, "light", true)
	tb.do(chromedp.Navigate(address + "/events"))
	tb.until("document.getElementById('live').dataset.live === 'live'")
	if state := get(tb, chromedp.Evaluate[string]("document.dispatchEvent(new Event('visibilitychange')), document.getElementById('live').dataset.live")); state != "stale" {
		t.Errorf("it says %q", state)
	}
	site.AddEvent("site.up", "rennes", "{}")
	tb.until("document.getElementById('live').dataset.live === 'live'")
}

func TestWhateverHasHappenedIsOneNews(t *testing.T) {
	site := webtest.Empty()
	server, err := web.New(site.Config("127.0.0.1:8700"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 3000 { // more than the log gives at once
		site.AddEvent("site.up", "toulouse", `{}`)
	}
	var told []uint64
	err = server.API().FollowNewest(ctx, 1, time.Hour, func(newest uint64) error {
		if told = append(told, newest); len(told) == 2 {
			cancel()
			return nil
		}
		for range 3000 { // while its view is made again
			site.AddEvent("site.up", "toulouse", `{}`)
		}
		return nil
	})
	if err != nil || len(told) != 2 || told[0] < 3000 || told[1] != told[0]+3000 {
		t.Errorf("told %v, %v: want the newest entry each time", told, err)
	}
}
