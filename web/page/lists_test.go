package page_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest"
)

// manySites is a site whose mesh has fifty more, and a resource at all of them that is in conflict at one.
func manySites() *webtest.Site {
	s := webtest.Empty()
	now := time.Now()
	at := map[engine.SiteID]engine.ReplicaStatus{s.Self(): {State: engine.StateConverged}}
	for i := range 50 {
		id := engine.SiteID(fmt.Sprintf("12D3KooWSite%02d", i))
		s.AddMember(engine.SiteName(fmt.Sprintf("site-%02d", i)), id, engine.SiteStatus{Reachable: true, LastSeen: now})
		at[id] = engine.ReplicaStatus{State: engine.StateConverged}
	}
	at["12D3KooWSite07"] = engine.ReplicaStatus{State: engine.StateConflict, Reason: "refused"}
	s.AddResource(engine.ResourceRow{ID: "wide", Label: "release notes", Service: "images", Kind: "image", Collaboration: engine.Replication,
		State: engine.StateConflict, Reason: "refused", CreatedAt: now, UpdatedAt: now, Sites: at})
	return s
}

func TestAListCountsWhatItsFiltersLeave(t *testing.T) {
	s := webtest.Empty()
	s.AddMember("nantes", webtest.Nantes, engine.SiteStatus{Reachable: true, LastSeen: time.Now()})
	for i := range 1234 {
		state, sites := engine.StateConverged, map[engine.SiteID]engine.ReplicaStatus{s.Self(): {State: engine.StateConverged}}
		if i%100 == 0 {
			state, sites[webtest.Nantes] = engine.StateDegraded, engine.ReplicaStatus{State: engine.StateDegraded}
		}
		s.AddResource(engine.ResourceRow{ID: engine.ResourceID(fmt.Sprintf("r-%d", i)), Service: "images", Kind: "image", State: state, Sites: sites,
			CreatedAt: time.Unix(int64(i), 0), UpdatedAt: time.Unix(int64(-i), 0)})
	}
	address := serve(t, s)
	for path, want := range map[string][]string{
		"/resources":                          {"50 of 1,234", "degraded <b>13</b>", "converged <b>1,221</b>", "nantes (13)", "paris (1,234)", "images.image (1,234)"},
		"/resources?state=degraded":           {"13 in all", "converged <b>1,221</b>", "nantes (13)", `aria-current="true"`},
		"/resources?site=nantes&order=oldest": {"13 in all", `aria-sort="ascending"`, "paris (1,234)"},
		"/resources?kind=images.image&q=r-12": {"45 in all", "/api/v1/resources?count=true&amp;kind=image&amp;q=r-12&amp;service=images"},
		"/operations":                         {"No operation yet"},
	} {
		_, body := ask(t, "GET", address+path, nil)
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%s lacks %q: %s", path, w, mainOf(body))
			}
		}
	}
	if resp, _ := ask(t, "GET", address+"/resources?order=size", nil); resp.StatusCode != 400 {
		t.Errorf("an order that there is not: %d", resp.StatusCode)
	}
}

// TestASiteSaysThroughWhatItIsReached: a relay or a hole in NATs, on the overview, in the list of sites and on its own page.
func TestASiteSaysThroughWhatItIsReached(t *testing.T) {
	s := webtest.Generous()
	address := serve(t, s)
	for _, way := range []engine.SiteStatus{{Reachable: true}, {Reachable: true, Relay: webtest.Toulouse}, {Reachable: true, Hole: true}} {
		s.SetStatus(webtest.Nantes, way)
		for _, path := range []string{"/", "/sites", "/sites/nantes"} {
			_, body := ask(t, "GET", address+path, nil)
			if strings.Contains(body, "through toulouse") != (way.Relay != "") || strings.Contains(body, "through a hole in NATs") != way.Hole {
				t.Errorf("%s, reached as %+v: %s", path, way, mainOf(body))
			}
		}
	}
}

func TestADotForEachOfManySites(t *testing.T) {
	_, body := ask(t, "GET", serve(t, manySites())+"/resources", nil)
	for _, want := range []string{"<span>1 conflict</span>", "conflict: site-07\nconverged: paris, site-00", "release notes"} {
		if !strings.Contains(body, want) {
			t.Errorf("the list lacks %q: %s", want, mainOf(body))
		}
	}
}

func TestOneThingIsDoneWithManyResources(t *testing.T) {
	s := webtest.Generous()
	address := serve(t, s)
	pick := func(ids ...string) url.Values {
		form := url.Values{"list": {"state=converged"}}
		for _, id := range ids {
			form.Add("pick", url.Values{"service": {"images"}, "kind": {"image"}, "id": {id}}.Encode())
		}
		return form
	}
	for _, test := range []struct {
		do, site string
		ids      []string
		status   int
		want     []string
	}{
		{"check", "", []string{"arch-360", "ubuntu-359"}, 200, []string{"2 resources will be looked at", `name="list" value="state=converged"`}},
		{"pause", "paris", []string{"arch-360"}, 200, []string{"1 resource are left as they are at paris"}},
		{"resume", "paris", []string{"arch-360", "none-of-this"}, 200, []string{"1 resource go on at paris", "none-of-this: "}},
		{"add", "toulouse", []string{"ubuntu-359"}, 200, []string{"1 resource are to live at toulouse too"}},
		{"check", "", nil, 400, []string{"Nothing is selected"}},
		{"check", "", []string{"none-of-this"}, 409, []string{"none-of-this: "}},
		{"destroy", "", []string{"arch-360"}, 400, nil},
	} {
		form := pick(test.ids...)
		form.Set("do", test.do)
		form.Set("site", test.site)
		resp, body := ask(t, "POST", address+"/resources/selected", form)
		if resp.StatusCode != test.status {
			t.Errorf("%s %v: %d %s", test.do, test.ids, resp.StatusCode, mainOf(body))
		}
		for _, w := range test.want {
			if !strings.Contains(body, w) {
				t.Errorf("%s %v lacks %q: %s", test.do, test.ids, w, mainOf(body))
			}
		}
	}
	if got := len(s.Checked()); got != 2 {
		t.Errorf("%d resources were looked at, want 2", got)
	}
}

func TestWhatIsSelectedStaysAndViewsAreSaved(t *testing.T) {
	s := webtest.Generous()
	tb := open(t, "light", true)
	tb.do(chromedp.Navigate(serve(t, s) + "/resources?state=converged&order=name"))
	tb.until("document.getElementById('live').dataset.live === 'live'")
	height := get(tb, chromedp.Evaluate[float64]("document.querySelector('.dense tbody tr').getBoundingClientRect().height"))
	if height > 33 {
		t.Errorf("a row is %v pixels high", height)
	}
	tb.do(chromedp.Click(chromedp.CSS("tbody tr:nth-child(2) input[name=pick]")))
	tb.until("document.querySelector('[data-picked]').textContent === '1 selected'")
	tb.do(chromedp.Evaluate[chromedp.Void]("window.before = document.querySelector('main time').textContent; document.querySelector('tbody tr:nth-child(3) a').textContent = 'stale'"))
	s.AddEvent("site.up", "toulouse", `{}`)
	tb.until("document.querySelector('tbody tr:nth-child(3) a').textContent !== 'stale'") // the list was read again
	tb.until("document.querySelector('tbody tr:nth-child(2) input[name=pick]').checked")
	tb.do(chromedp.Click(chromedp.CSS("#views button")), chromedp.SendKeys(chromedp.CSS("#views input"), "by name"), chromedp.Click(chromedp.CSS("#views form button")))
	tb.until("document.querySelector('#views a').getAttribute('aria-current') === 'true'")
	tb.do(chromedp.Navigate(get(tb, chromedp.Evaluate[string]("location.origin")) + "/resources"))
	tb.do(chromedp.Click(chromedp.CSS("#views a")))
	tb.until("location.search === '?order=name&state=converged' && document.querySelector('#views button').textContent === 'Forget this view'")
	tb.do(chromedp.Click(chromedp.CSS("#views button")))
	tb.until("!document.querySelector('#views a')")
	tb.noComplaints("/resources")
}
