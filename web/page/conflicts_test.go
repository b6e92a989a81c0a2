package page_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest"
)

const (
	uncertain = "e7130ba95c2f4d18" // at this site
	drifted   = "c0a1d7a7e5510e42" // at nantes
)

func TestConflictsAreListedWorstFirst(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	_, body := ask(t, "GET", address+"/conflicts", nil)
	var kinds []string
	for _, m := range regexp.MustCompile(`aria-label="Conflicts: ([a-z-]+)"`).FindAllStringSubmatch(body, -1) {
		kinds = append(kinds, m[1])
	}
	if got := strings.Join(kinds, " "); got != "uncertain name refused drift" {
		t.Errorf("the kinds come as %q", got)
	}
	if _, body := ask(t, "GET", address+"/conflicts?resource=backbone&service=networks&kind=network", nil); !strings.Contains(body, "/conflicts/5f1d0c93a2b4e876") || strings.Contains(body, uncertain) {
		t.Errorf("the filter shows %s", body)
	}
	if _, body := ask(t, "GET", address+"/conflicts?accepted=true", nil); !strings.Contains(body, "Nothing matches") {
		t.Errorf("nothing was accepted, and it shows %s", body)
	}
	for range 21 {
		site.AddConflict(engine.Conflict{ID: "more", Kind: engine.ConflictDrift, Service: "images", KindName: "image", Site: webtest.Nantes})
	}
	if _, body := ask(t, "GET", address+"/conflicts", nil); !strings.Contains(body, `href="/conflicts?about=drift"`) {
		t.Error("nothing leads to the rest of one kind")
	}
	for path, status := range map[string]int{"/conflicts?about=nope": 400, "/conflicts?resource=nope": 404, "/conflicts?cursor=x&about=drift": 400, "/conflicts/nope": 404} {
		if resp, _ := ask(t, "GET", address+path, nil); resp.StatusCode != status {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

func TestAConflictTellsWhoWroteWhat(t *testing.T) {
	address := serve(t, webtest.Generous())
	_, body := ask(t, "GET", address+"/conflicts/"+uncertain, nil)
	for _, want := range []string{"/cpus", "<code>4</code>", "<code>8</code>", "<code>12</code>", "by grace at paris", "never sent again unasked",
		`name="action" value="retry"`, `name="action" value="done"`, `name="action" value="drop"`, `name="from" value="gone"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, mainOf(body))
		}
	}
	if strings.Contains(body, `value="adopt"`) {
		t.Error("it offers what the API would refuse")
	}
	if strings.Contains(body, `class="main" name="action"`) {
		t.Error("it recommends something, though nothing speaks for it")
	}
	for _, path := range []string{"/resources/web-frontend?service=servers&kind=server", "/operations/019aa3f0-7b11-7d42-8b6f-11b2c3d4e5f6"} {
		if _, body := ask(t, "GET", address+path, nil); !strings.Contains(body, "/conflicts/"+uncertain) {
			t.Errorf("%s does not lead to the conflict", path)
		}
	}
	if _, body := ask(t, "GET", address+"/", nil); !strings.Contains(body, `href="/decisions?at=`+uncertain+`"`) {
		t.Errorf("the overview does not lead to where it is decided: %s", mainOf(body))
	}
	if _, body := ask(t, "GET", address+"/", nil); !strings.Contains(body, "image nixos-361</a> waits for rennes.") {
		t.Errorf("the overview does not tell the oldest operation that waits: %s", mainOf(body))
	}
}

func TestAConflictIsDecided(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	decide := func(id string, pairs ...string) (int, string, string) {
		form := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		resp, body := ask(t, "POST", address+"/conflicts/"+id, form)
		return resp.StatusCode, resp.Header.Get("Location"), body
	}
	if status, _, body := decide(uncertain, "action", "adopt"); status != 422 || !strings.Contains(body, `role="alert"`) || !strings.Contains(body, "Send it again") {
		t.Errorf("what cannot be decided: %d %s", status, body)
	}
	if status, to, _ := decide(uncertain, "action", "done"); status != 303 || to != "/resources/web-frontend?kind=server&service=servers" {
		t.Errorf("done: %d, on to %s", status, to)
	}
	if status, _, _ := decide(uncertain, "action", "done"); status != 404 {
		t.Errorf("once more: %d", status)
	}
	if status, _, _ := decide(drifted, "action", "keep", "site", "paris"); status != 303 {
		t.Errorf("keep: %d", status)
	}
	if status, _, _ := decide(drifted, "action", "keep", "site", "lyno"); status != 422 {
		t.Errorf("keep nobody: %d", status)
	}
	status, to, _ := decide(drifted, "action", "dismiss")
	if status != 303 || to != "/decisions?decided="+drifted {
		t.Errorf("dismiss: %d, on to %s", status, to)
	}
	if _, body := ask(t, "GET", address+to, nil); !strings.Contains(body, "may differ at nantes") || !strings.Contains(body, `value="reopen">Undo`) {
		t.Errorf("it cannot be taken back at once: %s", mainOf(body))
	}
	if _, body := ask(t, "GET", address+"/conflicts?accepted=true", nil); !strings.Contains(body, "decided at paris: dismiss") {
		t.Errorf("what was dismissed is not listed: %s", body)
	}
	about := "/resources/debian-301?service=images&kind=image"
	if _, body := ask(t, "GET", address+about, nil); !strings.Contains(body, "at paris: ") || !strings.Contains(body, "Undo: Ask again") {
		t.Errorf("the history is without the decision: %s", mainOf(body))
	}
	if resp, _ := ask(t, "POST", address+"/decisions", url.Values{"id": {drifted}, "action": {"reopen"}}); resp.StatusCode != 303 {
		t.Errorf("ask again: %d", resp.StatusCode)
	}
	if _, body := ask(t, "GET", address+"/decisions", nil); !strings.Contains(body, drifted) {
		t.Error("nobody is asked again")
	}
}

// TestWhatACreateMayHaveMade is named, and what shows all that was asked for is taken with one button.
func TestWhatACreateMayHaveMade(t *testing.T) {
	site := webtest.Generous()
	site.AddConflict(engine.Conflict{ID: "made", Kind: engine.ConflictUncertain, Service: "images", KindName: "image", Site: site.Self(), Operation: "made", Type: engine.TypeCreate, Blocks: true,
		Actions: []engine.Action{engine.ActionRetry, engine.ActionAdopt, engine.ActionDrop}})
	site.SetCandidates("made", engine.Candidate{Local: "img-7", Label: "debian", Agrees: 3, Of: 3}, engine.Candidate{Local: "img-8", Label: "debian-2", Agrees: 1, Of: 3})
	address := serve(t, site)
	for _, path := range []string{"/conflicts/made", "/decisions?at=made"} {
		_, body := ask(t, "GET", address+path, nil)
		for _, want := range []string{"seems to have run", "img-7", "debian-2", "shows 1 of the 3 fields", `<button class="main" name="action" value="adopt">It made this one`} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %s in %s", path, want, mainOf(body))
			}
		}
	}
}

// TestAdoptingListsWhatItOverwrites: nobody adopts an object before the page has said what of it is lost; where only its site knows the object's
// identifier, that is asked for first.
func TestAdoptingListsWhatItOverwrites(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	site.AddConflict(engine.Conflict{ID: "there", Kind: engine.ConflictExists, Resource: "web-frontend", Service: "servers", KindName: "server", Site: site.Self(), Blocks: true,
		Type: engine.TypeCreate, Reason: "an object is there", Actions: []engine.Action{engine.ActionAdopt, engine.ActionRetry, engine.ActionDrop}})
	for _, path := range []string{"/conflicts/there?local_id=srv-7", "/decisions?at=there&local_id=srv-7"} {
		_, body := ask(t, "GET", address+path, nil)
		for _, want := range []string{"It changes 2 fields of the object:", "/labels/tier", "becomes", `name="local_id" value="srv-7"`, `name="action" value="adopt"`} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %s in %s", path, want, mainOf(body))
			}
		}
	}
	site.SetFault(func(method string) error {
		if method == "PreviewConflict" {
			return &engine.Refusal{Status: 422, Type: "settle", Detail: "say which object to look at"}
		}
		return nil
	})
	for _, path := range []string{"/conflicts/there", "/conflicts/there?local_id=nothing"} {
		if _, body := ask(t, "GET", address+path, nil); !strings.Contains(body, "List what it overwrites") || strings.Contains(body, `value="adopt"`) {
			t.Errorf("%s: an object that nobody has seen can be adopted: %s", path, mainOf(body))
		}
	}
}

func TestALostValueIsRestored(t *testing.T) {
	address := serve(t, webtest.Generous())
	restore := address + "/resources/web-frontend/restore?service=servers&kind=server"
	if resp, _ := ask(t, "POST", restore, url.Values{"path": {"/name"}, "from": {"gone"}}); resp.StatusCode != 303 || resp.Header.Get("Location") != "/resources/web-frontend?kind=server&service=servers" {
		t.Errorf("restore: %d", resp.StatusCode)
	}
	if resp, body := ask(t, "POST", restore, url.Values{"path": {"/refused"}}); resp.StatusCode != 409 || !strings.Contains(body, "no such size") {
		t.Errorf("what the application refuses: %d %s", resp.StatusCode, body)
	}
	if resp, _ := ask(t, "POST", address+"/resources/nope/restore", nil); resp.StatusCode != 404 {
		t.Errorf("of nothing: %d", resp.StatusCode)
	}
}

// mainOf is a view without its frame.
func mainOf(body string) string {
	_, rest, _ := strings.Cut(body, "<main")
	return rest
}

// TestWhatAnAnswerDoesIsShownBeforeItIsDone for all that were chosen at once, and nothing happens until then.
func TestWhatAnAnswerDoesIsShownBeforeItIsDone(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	plan := func(action string, ids ...string) (int, string) {
		resp, body := ask(t, "POST", address+"/decisions/plan", url.Values{"id": ids, "action": {action}})
		return resp.StatusCode, mainOf(body)
	}
	status, body := plan("keep paris", drifted, uncertain)
	if status != 200 || !strings.Contains(body, `name="action" value="keep paris">Do it for all 2`) || !strings.Contains(body, `name="id" value="`+drifted+`"`) {
		t.Errorf("keep: %d %s", status, body)
	}
	// Of many sites one is chosen from a list.
	if resp, body := ask(t, "POST", address+"/decisions/plan", url.Values{"id": {drifted}, "action": {"keep"}, "keep": {"paris"}}); resp.StatusCode != 200 || !strings.Contains(body, `value="keep paris">Do it</button>`) {
		t.Errorf("keep one of a list: %d %s", resp.StatusCode, mainOf(body))
	}
	if status, body := plan("dismiss", drifted); status != 200 || !strings.Contains(body, "nantes may differ: nothing is sent anywhere") || !strings.Contains(body, ">Do it</button>") {
		t.Errorf("dismiss: %d %s", status, body)
	}
	if status, body := plan("dismiss", "gone"); status != 200 || !strings.Contains(body, "None of them waits for a decision any more") || strings.Contains(body, "Do it") {
		t.Errorf("what is decided already: %d %s", status, body)
	}
	if status, body := plan("keep paris"); status != 400 || !strings.Contains(body, "nothing was chosen") {
		t.Errorf("nothing chosen: %d", status)
	}
	if _, body := ask(t, "GET", address+"/decisions", nil); !strings.Contains(body, drifted) {
		t.Error("it has been decided already")
	}
}
