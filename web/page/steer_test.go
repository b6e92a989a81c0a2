package page_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest"
)

const frontend = "/resources/web-frontend?service=servers&kind=server"

// steer posts a form about the resource web-frontend.
func steer(t *testing.T, address, verb string, form url.Values) (status int, to, body string) {
	t.Helper()
	resp, body := ask(t, "POST", address+"/resources/web-frontend/"+verb+"?service=servers&kind=server", form)
	return resp.StatusCode, resp.Header.Get("Location"), mainOf(body)
}

func TestAPlacementIsEdited(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	ticked := func(body, name string) bool {
		return strings.Contains(body, `value="`+name+`" checked`)
	}
	_, body := ask(t, "GET", address+frontend, nil)
	if !ticked(body, "nantes") || ticked(body, "rennes") {
		t.Errorf("the editor does not show where it lives: %s", mainOf(body))
	}
	if status, to, _ := steer(t, address, "place", url.Values{"site": {"paris", "nantes", "rennes"}}); status != 303 || to != "/resources/web-frontend?kind=server&service=servers" {
		t.Errorf("place: %d %s", status, to)
	}
	if _, body := ask(t, "GET", address+frontend, nil); !ticked(body, "rennes") || ticked(body, "toulouse") {
		t.Errorf("it lives elsewhere: %s", mainOf(body))
	}
	if status, _, body := steer(t, address, "place", url.Values{}); status != 422 || !strings.Contains(body, "delete it instead") {
		t.Errorf("nowhere: %d", status)
	}
	site.SetFault(func(method string) error {
		if method == "Place" {
			return &engine.Refusal{Status: 409, Type: engine.ForceActions, Detail: "actions have run on it"}
		}
		return nil
	})
	status, _, body := steer(t, address, "place", url.Values{"site": {"paris"}})
	if status != 409 || !strings.Contains(body, "actions have run on it") || !strings.Contains(body, `name="force" value="actions"`) || ticked(body, "nantes") {
		t.Errorf("a warning that can be overridden: %d %s", status, body)
	}
}

// TestAResourceIsDividedFromItsPage and made one again; what each site would show is told before.
func TestAResourceIsDividedFromItsPage(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	for _, c := range []struct{ now, offers, shares, as string }{
		{"· replication", "Divide it over them", "that would be /count 2 at nantes, /count 2 at paris, /count 1 at toulouse", "spread"},
		{"· cross", "Make it one replicated resource again", "that would be /count 5 at nantes and paris", "copies"},
		{"· replication", "Divide it over them", "that would be /count 3 at nantes", "spread"},
	} {
		_, body := ask(t, "GET", address+frontend, nil)
		for _, want := range []string{c.now, c.offers, c.shares, `name="as" value="` + c.as + `"`} {
			if !strings.Contains(body, want) {
				t.Errorf("the page does not say %q: %s", want, mainOf(body))
			}
		}
		if status, _, body := steer(t, address, "place", url.Values{"site": {"paris", "nantes"}, "as": {c.as}}); status != 303 {
			t.Errorf("%s: %d %s", c.as, status, body)
		}
	}
	site.SetFault(func(method string) error {
		if method == "Shares" {
			return &engine.Refusal{Status: 422, Type: "scope-type", Detail: "it has content beside it; nothing has happened"}
		}
		return nil
	})
	if _, body := ask(t, "GET", address+frontend, nil); !strings.Contains(body, "it has content beside it") || strings.Contains(body, `name="as"`) {
		t.Errorf("it is offered what is refused: %s", mainOf(body))
	}
}

func TestAReplicaIsPausedResumedKeptAndChecked(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	if status, _, _ := steer(t, address, "pause", url.Values{"site": {"paris"}, "reason": {"new disks"}}); status != 303 {
		t.Errorf("pause: %d", status)
	}
	if _, body := ask(t, "GET", address+frontend, nil); !strings.Contains(body, "paused from paris: new disks") {
		t.Errorf("it does not say that it is paused: %s", mainOf(body))
	}
	if status, _, _ := steer(t, address, "resume", url.Values{"site": {"paris"}}); status != 303 {
		t.Errorf("resume: %d", status)
	}
	if _, body := ask(t, "GET", address+frontend, nil); strings.Contains(body, "new disks") {
		t.Error("it is paused still")
	}
	if status, _, body := steer(t, address, "pause", url.Values{"site": {"rennes"}}); status != 422 || !strings.Contains(body, "no replica at rennes") {
		t.Errorf("pause where it is not: %d", status)
	}
	if status, _, _ := steer(t, address, "keep", url.Values{"site": {"nantes"}}); status != 303 {
		t.Errorf("keep: %d", status)
	}
	if status, _, _ := steer(t, address, "check", nil); status != 303 || len(site.Checked()) != 1 {
		t.Errorf("check: %d, %v", status, site.Checked())
	}
}

func TestAResourceTellsItsHistoryAndItsParts(t *testing.T) {
	address := serve(t, webtest.Generous())
	_, body := ask(t, "GET", address+frontend, nil)
	for _, want := range []string{"<b>grace</b>", "changed it", "/cpus = 12", "nantes: rejected", "answered 422", "What came before is not listed"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, mainOf(body))
		}
	}
	if strings.Contains(body, "hunter2") {
		t.Error("the history tells a sensitive field")
	}
	_, body = ask(t, "GET", address+"/resources/fleet", nil)
	for _, want := range []string{"21 in all, divided over 4 sites", "toulouse 12", "paused from paris: moving racks"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, mainOf(body))
		}
	}
	if _, body := ask(t, "GET", address+"/resources/old-1", nil); !strings.Contains(body, `href="/sites/paris">What paris is about to do`) {
		t.Errorf("a held deletion leads nowhere: %s", mainOf(body))
	}
}

func TestASiteShowsWhatItIsAboutToDo(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	_, body := ask(t, "GET", address+"/sites/paris", nil)
	for _, want := range []string{"5 deletions came in while it was away, more than it carries out unasked: 2 have run", "and 3 wait",
		"ann at nantes deleted 5 while paris was away: 2 have run, 3 wait", "gone-2", "old-3", "Bring back what is chosen", "Delete what is chosen at paris", "take it away", "it cannot be reached (connection refused)", "Try now"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, mainOf(body))
		}
	}
	if resp, _ := ask(t, "POST", address+"/sites/paris/resume", url.Values{"service": {"networks"}}); resp.StatusCode != 303 || resp.Header.Get("Location") != "/sites/paris" {
		t.Errorf("resume: %d", resp.StatusCode)
	}
	if _, body := ask(t, "GET", address+"/sites/paris", nil); strings.Contains(body, "it cannot be reached (connection refused)") {
		t.Error("the queue fails still")
	}
	if resp, body := ask(t, "POST", address+"/sites/paris/resume", url.Values{"service": {"nope"}}); resp.StatusCode != 422 || !strings.Contains(body, "no service") {
		t.Errorf("resume what is not there: %d", resp.StatusCode)
	}
	for _, verb := range []string{"confirm", "reject"} {
		if resp, body := ask(t, "POST", address+"/sites/paris/"+verb, nil); resp.StatusCode != 400 || !strings.Contains(body, "nothing was chosen") {
			t.Errorf("%s nothing: %d", verb, resp.StatusCode)
		}
	}
	if resp, _ := ask(t, "POST", address+"/sites/paris/reject", url.Values{"operation": {"o-old-1"}}); resp.StatusCode != 303 {
		t.Errorf("reject: %d", resp.StatusCode)
	}
	if resp, body := ask(t, "POST", address+"/sites/paris/reject", url.Values{"operation": {"o-old-2", "o-old-1", "o-gone-1"}}); resp.StatusCode != 409 || !strings.Contains(body, "1 were brought back, 2 were not") {
		t.Errorf("reject what cannot be: %d %s", resp.StatusCode, mainOf(body))
	}
	if _, body := ask(t, "GET", address+"/decisions", nil); !strings.Contains(body, "paris holds ") || !strings.Contains(body, "old-3") {
		t.Errorf("the inbox is without what paris holds: %s", mainOf(body))
	}
	if resp, _ := ask(t, "POST", address+"/sites/paris/confirm", url.Values{"operation": {"o-old-3"}}); resp.StatusCode != 303 {
		t.Errorf("confirm: %d", resp.StatusCode)
	}
	if _, body := ask(t, "GET", address+"/sites/paris", nil); !strings.Contains(body, "Nothing: everything that it has heard of") {
		t.Errorf("deletions are held still: %s", mainOf(body))
	}
	if _, body := ask(t, "GET", address+"/sites/rennes", nil); !strings.Contains(body, "Nobody can tell now: rennes cannot be reached") {
		t.Errorf("a site that cannot be reached: %s", mainOf(body))
	}
	site.SetBulletin(webtest.Nantes, &engine.Bulletin{At: time.Now().UnixMicro(), Failing: []engine.FailingService{{Service: "images", State: engine.QueueFailing}}})
	if _, body := ask(t, "GET", address+"/sites/nantes", nil); !strings.Contains(body, "as nantes has told") || strings.Contains(body, "None is known to be in trouble") {
		t.Errorf("a site that has told of a service that fails: %s", mainOf(body))
	}
	if resp, _ := ask(t, "GET", address+"/sites/lyno", nil); resp.StatusCode != 404 {
		t.Errorf("no such site: %d", resp.StatusCode)
	}
}

func TestASiteIsTakenOutOnlyByItsName(t *testing.T) {
	address := serve(t, webtest.Generous())
	if resp, body := ask(t, "POST", address+"/sites/rennes/retire", url.Values{"name": {"nantes"}}); resp.StatusCode != 400 || !strings.Contains(body, "Nothing has happened") {
		t.Errorf("by another name: %d", resp.StatusCode)
	}
	if _, body := ask(t, "GET", address+"/sites/rennes", nil); !strings.Contains(body, "every placement drops it") || strings.Contains(body, "taken out of the mesh for good") {
		t.Errorf("it does not say what follows: %s", mainOf(body))
	}
	if resp, _ := ask(t, "POST", address+"/sites/rennes/retire", url.Values{"name": {"rennes"}}); resp.StatusCode != 303 {
		t.Errorf("by its name: %d", resp.StatusCode)
	}
	if _, body := ask(t, "GET", address+"/sites/rennes", nil); !strings.Contains(body, "taken out of the mesh for good") {
		t.Errorf("it does not say that it was removed: %s", mainOf(body))
	}
	if _, body := ask(t, "GET", address+"/sites/rennes", nil); !strings.Contains(body, "Its connections end at once") || strings.Contains(body, "Retire rennes") ||
		!strings.Contains(body, "Let in by") || !strings.Contains(body, "paris · without an end") {
		t.Errorf("it does not say what revoking it means, or who has let it in: %s", mainOf(body))
	}
	if resp, _ := ask(t, "POST", address+"/sites/rennes/revoke", url.Values{"name": {"renne"}}); resp.StatusCode != 400 {
		t.Errorf("revoked by another name: %d", resp.StatusCode)
	}
	if resp, _ := ask(t, "POST", address+"/sites/rennes/revoke", url.Values{"name": {"rennes"}}); resp.StatusCode != 303 {
		t.Errorf("revoked by its name: %d", resp.StatusCode)
	}
	if _, body := ask(t, "GET", address+"/sites/rennes", nil); !strings.Contains(body, "Its key was revoked") || strings.Contains(body, "Revoke rennes") {
		t.Errorf("it does not say that its key was revoked: %s", mainOf(body))
	}
}
