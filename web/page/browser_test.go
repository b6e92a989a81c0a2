package page_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/webtest"
)

// go test ./web/page -run Accessible -screenshots DIR leaves a picture of every view there, in light and dark, wide and small, with few sites
// and resources and with many: -resources says how many.
var (
	screenshots = flag.String("screenshots", "", "directory to leave pictures of the views in")
	resources   = flag.Int("resources", 100, "how many resources many are")
)

// crowdedSites is how many sites many are.
const crowdedSites = 50

// views are all of them, by the name of their picture.
var views = []struct{ name, path string }{
	{"overview", "/"},
	{"sites", "/sites"},
	{"site", "/sites/paris"},
	{"site-other", "/sites/nantes"},
	{"resources", "/resources"},
	{"resources-filtered", "/resources?state=converging&site=nantes"},
	{"resources-by-name", "/resources?order=name"},
	{"resources-none", "/resources?q=nothing-has-this-name"},
	{"resource", "/resources/web-frontend?service=servers&kind=server"},
	{"resource-cross", "/resources/fleet"},
	{"differences", "/resources/web-frontend/differences?service=servers&kind=server"},
	{"objects", "/objects"},
	{"names", "/names"},
	{"relations", "/relations"},
	{"relations-one", "/relations?resource=backbone"},
	{"operations", "/operations"},
	{"operation-rejected", "/operations/019aa3f0-6a00-7c31-9a5e-00a1b2c3d4e5"},
	{"operation-uncertain", "/operations/019aa3f0-7b11-7d42-8b6f-11b2c3d4e5f6"},
	{"operation-trying", "/operations/019aa3f0-8c22-7e53-9c70-22c3d4e5f607?site=toulouse"},
	{"operations-found", "/operations?q=quota+nantes"},
	{"conflicts", "/conflicts"},
	{"conflict", "/conflicts/e7130ba95c2f4d18"},
	{"conflict-drift", "/conflicts/c0a1d7a7e5510e42"},
	{"decisions", "/decisions"},
	{"decisions-chosen", "/decisions?at=e7130ba95c2f4d18"},
	{"compose", "/compose"},
	{"compose-by-hand", "/compose?service=images&method=POST&path=/images&scope=%7Bimages:+%21rennes%7D"},
	{"compose-plan", "/compose?service=servers&method=POST&path=/servers&scope=servers:+paris+%26+rennes&body=%7B%22image%22:%22nope%22%7D"},
	{"compose-wrong", "/compose?service=images&method=POST&path=/images&scope=%7Bimages:+paris+%26+,+nantes%7D"},
	{"events", "/events"},
	{"audit", "/audit"},
	{"authorities", "/authorities"},
	{"ways", "/ways"},
	{"ways-of-one", "/ways?site=rennes"},
	{"settings", "/settings"},
	{"deliveries", "/settings/hooks/" + webtest.Hook},
	{"missing", "/resources/nope"},
	{"history", "/history"},
	{"history-month", "/history?span=month"},
	{"cut", "/cuts/" + cutOf},
	{"bring-back", "/compose?back=019aa3ea-0018-7000-8000-00000c007000"},
}

// cutOf stands for the identifier of the cut that is over.
const cutOf = "CUT"

// serve starts a site's server and returns its address.
func serve(t *testing.T, s *webtest.Site) string {
	t.Helper()
	return serveAs(t, func(address string) (web.Config, error) { return s.Config(address), nil })
}

// serveAs starts a server whose configuration depends on its address, which it returns.
func serveAs(t *testing.T, config func(address string) (web.Config, error)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// patience bounds what would never come; a loaded machine may be slow.
const patience = 2 * time.Minute

// browser is one Chromium for all tests of the package.
var browser = sync.OnceValues(func() (context.Context, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.WSURLReadTimeout(patience), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1360, 900),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true), chromedp.Flag("no-pings", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE 127.0.77.1"),
	)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(ctx)
	closeBrowser = func() { end(); stop() }
	return ctx, chromedp.Do(ctx)
})

var closeBrowser = func() {}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	closeBrowser()
	os.Exit(code)
}

// tab is one page of the browser, with what went wrong in it.
type tab struct {
	t   *testing.T
	ctx context.Context
	mu  sync.Mutex
	bad []string // complaints of the console, the network and the policy
}

// watchPolicy makes violations of the content security policy visible in the console.
const watchPolicy = `document.addEventListener('securitypolicyviolation', e => console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI))`

func open(t *testing.T, scheme string, javaScript bool) *tab {
	t.Helper()
	b, err := browser()
	if err != nil {
		t.Fatalf("start chromium (Debian's package chromium is needed): %v", err)
	}
	ctx, cancel := chromedp.NewContext(b)
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 5*patience) // for all of a test
	t.Cleanup(stop)
	tb := &tab{t: t, ctx: ctx}
	tb.do() // opens it
	if err := chromedp.Listen(ctx, tb.hear); err != nil {
		t.Fatal(err)
	}
	tb.scheme(scheme)
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !javaScript}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watchPolicy}); err != nil {
		t.Fatal(err)
	}
	return tb
}

// scheme changes between light and dark.
func (tb *tab) scheme(s string) {
	tb.t.Helper()
	if _, err := chromedp.Call(tb.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s}},
	}); err != nil {
		tb.t.Fatal(err)
	}
}

// hear keeps what the browser complains about.
func (tb *tab) hear(ev any) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			var words []string
			for _, a := range e.Args {
				words = append(words, string(a.Value)+a.Description)
			}
			tb.bad = append(tb.bad, "console: "+strings.Join(words, " "))
		}
	case *runtime.EventExceptionThrown:
		tb.bad = append(tb.bad, "exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		// An answer of 4xx is what some of the tests ask for.
		if (e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning) && !strings.Contains(e.Entry.Text, "status of 4") {
			tb.bad = append(tb.bad, "log: "+e.Entry.Text)
		}
	}
}

func (tb *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb.ctx, steps...); err != nil {
		tb.t.Fatalf("browser: %v; complaints: %q", err, tb.complaints())
	}
}

// get runs an action that has a result.
func get[T any](tb *tab, a chromedp.Action[T]) T {
	tb.t.Helper()
	v, err := chromedp.Run(tb.ctx, a)
	if err != nil {
		tb.t.Fatalf("browser: %v; complaints: %q", err, tb.complaints())
	}
	return v
}

func (tb *tab) complaints() []string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return append([]string{}, tb.bad...)
}

func (tb *tab) noComplaints(where string) {
	tb.t.Helper()
	for _, c := range tb.complaints() {
		tb.t.Errorf("%s: %s", where, c)
	}
	tb.mu.Lock()
	tb.bad = nil
	tb.mu.Unlock()
}

// until polls a JavaScript condition.
func (tb *tab) until(condition string) {
	tb.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		is, err := chromedp.Run(tb.ctx, chromedp.Evaluate[bool]("Boolean("+condition+")"))
		if err == nil && is {
			return
		}
		if tb.ctx.Err() != nil || time.Now().After(deadline) { // an error is a page that is just going away
			tb.t.Fatalf("never: %s (%v)\n%s\ncomplaints: %q", condition, err, get(tb, chromedp.Evaluate[string]("document.body.innerText")), tb.complaints())
		}
	}
}

func (tb *tab) picture(name string) {
	if *screenshots == "" {
		return
	}
	// A browser draws no picture of all of a long page.
	size := get(tb, chromedp.Evaluate[[]float64](`[document.documentElement.clientWidth, Math.min(document.documentElement.scrollHeight, 6000)]`))
	beyond := true
	shot, err := chromedp.Call(tb.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: &beyond, Clip: &page.Viewport{Width: size[0], Height: size[1], Scale: 1},
	})
	if err != nil {
		tb.t.Fatal(err)
	}
	png := shot.Data
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), png, 0o644); err != nil {
		tb.t.Fatal(err)
	}
}

func TestEveryViewIsAccessibleAndFitsAndKeepsThePolicy(t *testing.T) {
	everyView(t, webtest.Generous(), "", func(string) bool { return true })
}

// grow are the views that have more in them where there are many sites and resources.
var grow = []string{"overview", "sites", "site", "resources", "objects", "operations", "conflicts", "decisions", "compose", "history"}

func TestViewsOfManyAreAccessibleAndFit(t *testing.T) {
	site := webtest.Generous()
	site.Crowd(crowdedSites-len(site.Members()), *resources)
	everyView(t, site, "-many", func(name string) bool { return *screenshots != "" || slices.Contains(grow, name) })
}

// everyView looks at each view that is wanted, in light and dark, wide and small.
func everyView(t *testing.T, site *webtest.Site, suffix string, wanted func(name string) bool) {
	t.Helper()
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	address := serve(t, site)
	tb := open(t, "light", true)
	for _, v := range views {
		if !wanted(v.name) {
			continue
		}
		v.path = strings.Replace(v.path, cutOf, webtest.CutOf(site), 1)
		tb.do(chromedp.EmulateViewport(1360, 900), chromedp.Navigate(address+v.path))
		tb.until("document.getElementById('live').dataset.live === 'live'")
		if v.name == "resource" {
			tb.until("document.querySelector('#comparison table')")
		}
		tb.noComplaints(v.path)
		get(tb, chromedp.Evaluate[int](string(axe)+";0"))
		if over := get(tb, chromedp.Evaluate[int]("document.documentElement.scrollWidth - window.innerWidth")); over > 0 {
			t.Errorf("%s is %d pixels too wide", v.path, over)
		}
		for _, scheme := range []string{"light", "dark"} {
			tb.scheme(scheme)
			tb.picture(v.name + suffix + "-" + scheme)
			if wrong := tb.axe(); wrong != "" {
				t.Errorf("%s, %s: %s", v.path, scheme, wrong)
			}
		}
		tb.do(chromedp.EmulateViewport(390, 844))
		if over := get(tb, chromedp.Evaluate[int]("document.documentElement.scrollWidth - window.innerWidth")); over > 0 {
			t.Errorf("%s is %d pixels too wide on a small screen", v.path, over)
		}
		for _, scheme := range []string{"dark", "light"} {
			tb.scheme(scheme)
			tb.picture(v.name + suffix + "-small-" + scheme)
		}
	}
}

func TestEmptyViewsTeach(t *testing.T) {
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	address := serve(t, webtest.Empty())
	tb := open(t, "light", true)
	for path, want := range map[string]string{
		"/": "This is the only site of the mesh", "/resources": "-H 'Scope: images: *'", "/operations": "when its scope names several sites",
		"/events": "curl -N",
	} {
		tb.do(chromedp.Navigate(address + path))
		if text := get(tb, chromedp.Text(chromedp.CSS("main"))); !strings.Contains(text, want) {
			t.Errorf("%s says %q", path, text)
		}
		tb.accessible(string(axe), path)
	}
	for _, path := range []string{"/sites", "/sites/paris", "/conflicts", "/relations", "/compose"} {
		tb.do(chromedp.Navigate(address + path))
		tb.accessible(string(axe), path)
	}
}

func TestLongListsAreAccessible(t *testing.T) {
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	site := webtest.Generous()
	now := time.Now()
	for i := range 500 {
		id := engine.ResourceID(fmt.Sprintf("many-%d", i))
		at := map[engine.SiteID]engine.ReplicaStatus{site.Self(): {State: engine.StateConflict, Reason: "refused"}, webtest.Nantes: {State: engine.StateConverged}}
		site.AddResource(engine.ResourceRow{ID: id, Service: "images", Kind: "image", Collaboration: engine.Replication, State: engine.StateConflict,
			Reason: "refused", CreatedAt: now, UpdatedAt: now, Sites: at})
		site.AddOperation(engine.OperationRow{ID: engine.OperationID("op-" + string(id)), Resource: id, Type: engine.TypeMerge, Service: "images", Kind: "image",
			Method: "PATCH", Path: "/images/{id}", Origin: site.Self(), IssuedAt: now, State: engine.StateRejected,
			Sites: map[engine.SiteID]engine.OperationStatus{site.Self(): {State: engine.StateRejected, Status: 422, At: now, Error: "refused"}}})
		site.AddConflict(engine.Conflict{ID: engine.ConflictID("c-" + string(id)), Kind: engine.ConflictRefused, Resource: id, Service: "images", KindName: "image",
			Site: site.Self(), Type: engine.TypeMerge, Since: now, Reason: "refused", Actions: []engine.Action{engine.ActionRetry}})
	}
	address := serve(t, site)
	tb := open(t, "light", true)
	for _, path := range []string{"/", "/sites/paris", "/resources", "/operations", "/conflicts", "/conflicts?about=refused"} {
		tb.do(chromedp.Navigate(address + path))
		tb.accessible(string(axe), path)
	}
}

// accessible checks the view that is shown in light and dark.
func (tb *tab) accessible(axe, path string) {
	tb.t.Helper()
	get(tb, chromedp.Evaluate[int](axe+";0"))
	for _, scheme := range []string{"light", "dark"} {
		tb.scheme(scheme)
		if wrong := tb.axe(); wrong != "" {
			tb.t.Errorf("%s, %s: %s", path, scheme, wrong)
		}
	}
	tb.noComplaints(path)
}

// axe returns what axe-core finds wrong with the view, empty when nothing.
func (tb *tab) axe() string {
	tb.t.Helper()
	result := get(tb, chromedp.Evaluate[string](`axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.map(
		v => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + ' ' + n.failureSummary.slice(0, 300)).join(' | '))))`,
		chromedp.EvalAwaitPromise))
	var found []string
	if err := json.Unmarshal([]byte(result), &found); err != nil {
		tb.t.Fatal(err)
	}
	return strings.Join(found, "\n")
}
