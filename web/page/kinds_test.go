package page_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
	"github.com/skerry/skerry/web/webtest"
)

// ofEachKind is a conflict of each kind, with the reasons and the actions that the engine gives it.
func ofEachKind() []engine.Conflict {
	retry, done, drop, adopt, keep, dismiss, accept := engine.ActionRetry, engine.ActionDone, engine.ActionDrop, engine.ActionAdopt, engine.ActionKeep, engine.ActionDismiss, engine.ActionAccept
	list := []engine.Conflict{
		{Kind: engine.ConflictExists, Type: engine.TypeCreate, Blocks: true, Reason: "an object of this name exists already", Actions: []engine.Action{adopt, retry, drop}},
		{Kind: engine.ConflictName, Type: engine.TypeCreate, Blocks: true, Reason: "another resource of this name was created earlier and has the object here", Actions: []engine.Action{drop}},
		{Kind: engine.ConflictRival, Type: engine.TypeCreate, Blocks: true, Actions: []engine.Action{retry, drop},
			Reason: "another image debian-301 has the object here, which rennes created for ada at 2026-01-02T15:04:05Z, later than this one: either this one gets the name and that object is deleted with all that is in it, or that object stays"},
		{Kind: engine.ConflictRefused, Type: engine.TypeMerge, Status: 422, Reason: "the application refused this change: it answered \"quota of 8 CPUs exceeded\" (422 Unprocessable Entity)", Actions: []engine.Action{retry, done, drop, keep, dismiss}},
		{Kind: engine.ConflictNotAccepted, Type: engine.TypeCreate, Blocks: true, Reason: "paris may not create images here: its rules accept them from rennes alone", Actions: []engine.Action{accept, drop}},
		{Kind: engine.ConflictDenied, Type: engine.TypeMerge, Blocks: true, Status: 403, Reason: "the application does not let the agent do this: it answered \"the agent's account may not change images\" (403 Forbidden)", Actions: []engine.Action{retry, drop}},
		{Kind: engine.ConflictUnseen, Type: engine.TypeDelete, Blocks: true, Reason: "2 servers are in it that whoever deleted it had not seen", Actions: []engine.Action{retry, drop}},
		{Kind: engine.ConflictContested, Type: engine.TypeMerge, Status: 412, Reason: "the application keeps finding that this change does not fit what is there: it answered 412 Precondition Failed", Actions: []engine.Action{retry, done, drop, keep, dismiss}},
		{Kind: engine.ConflictUncertain, Type: engine.TypeAction, Blocks: true, Reason: "nobody knows whether the action reboot ran: it closed the connection without an answer", Actions: []engine.Action{retry, done, drop}},
		{Kind: engine.ConflictUndeclared, Type: engine.TypeCreate, Blocks: true, Reason: "its object is gone, and what the action reboot did to it is not declared", Actions: []engine.Action{adopt, retry, drop}},
		{Kind: engine.ConflictDrift, Reason: "nantes shows another size than the others, and no operation did that", Actions: []engine.Action{keep, dismiss}},
		{Kind: engine.ConflictNameTaken, Actions: []engine.Action{dismiss},
			Reason: "server web was made at nantes while paris had one of that name already, since 2026-01-02 15:04:05 UTC: that one keeps the name; rename or delete the other, or let both be"},
		{Kind: engine.ConflictContention, Reason: "it was repaired 3 times within 10 min, and each time something changed it back", Actions: []engine.Action{keep, dismiss}},
		{Kind: engine.ConflictRejoined, Type: engine.TypeCreate, Blocks: true, Reason: "the disk of nantes was set back, and the application does not tell whether its lost run had made the object", Actions: []engine.Action{adopt, retry, drop}},
		{Kind: engine.ConflictAside, Blocks: true, Reason: "a defect of the agent: index out of range; nothing is done there until somebody says so", Actions: []engine.Action{retry}},
		{Kind: engine.ConflictForked, Reason: "nantes has signed two different changes under one number", Actions: []engine.Action{dismiss}},
		{Kind: engine.ConflictOrder, Type: engine.TypeMerge, Actions: []engine.Action{dismiss},
			Reason: "two orders of /tags were wanted at the same time that cannot both be, and all sites have the later one; what the other was is listed with what was lost, and can be restored"},
	}
	for i := range list {
		c := &list[i]
		c.ID, c.Resource, c.Service, c.KindName, c.Site = engine.ConflictID("of-"+string(c.Kind)), "debian-301", "images", "image", webtest.Nantes
		c.Sites, c.Since = []engine.SiteID{"12D3KooWparis", webtest.Nantes}, time.Now().Add(-5*time.Minute)
	}
	return list
}

// TestEachKindOfDecisionSaysWhatFollows reads what somebody sees who has to decide, and has not read the manual: what has happened, what each choice brings about,
// and no choice put forward that deletes or gives up something.
func TestEachKindOfDecisionSaysWhatFollows(t *testing.T) {
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	site := webtest.Generous()
	kinds := ofEachKind()
	if len(kinds) != len(shape.ConflictKinds) {
		t.Errorf("%d kinds of %d", len(kinds), len(shape.ConflictKinds))
	}
	for i := range kinds {
		kinds[i].Sites[0] = site.Self()
		site.AddConflict(kinds[i])
	}
	address := serve(t, site)
	tb := open(t, "light", true)
	follows := map[engine.ConflictKind]string{ // the outcome of one choice that is this kind's own
		engine.ConflictExists: "The object that is there becomes the replica of nantes", engine.ConflictName: "the object there stays the earlier one's",
		engine.ConflictRival: "What is in it is lost", engine.ConflictRefused: "Use it once the cause is gone", engine.ConflictNotAccepted: "though its rules do not accept it",
		engine.ConflictDenied: "once the account of the agent may do this", engine.ConflictUnseen: "lost with it", engine.ConflictContested: "counts as applied there",
		engine.ConflictUncertain: "If it has run, it happens twice", engine.ConflictUndeclared: "once the object is back", engine.ConflictDrift: "nobody is asked again unless",
		engine.ConflictNameTaken: "Both keep the name", engine.ConflictContention: "repaired no more", engine.ConflictRejoined: "it happens twice",
		engine.ConflictAside: "where it stopped", engine.ConflictForked: "revoke it", engine.ConflictOrder: "keep it. The other one stays",
	}
	for _, c := range kinds {
		path := "/decisions?at=" + string(c.ID)
		tb.do(chromedp.EmulateViewport(1360, 900), chromedp.Navigate(address+path))
		text := get(tb, chromedp.Text(chromedp.CSS(".side-card")))
		if !strings.Contains(text, follows[c.Kind]) || follows[c.Kind] == "" {
			t.Errorf("%s: nothing says %q: %s", c.Kind, follows[c.Kind], text)
		}
		if strings.Contains(text, "retry") {
			t.Errorf("%s: it names what the command line calls a choice: %s", c.Kind, text)
		}
		put := get(tb, chromedp.Evaluate[int]("document.querySelectorAll('.side-card button.main').length"))
		if careful := c.Kind == engine.ConflictRival || c.Kind == engine.ConflictUnseen || c.Kind == engine.ConflictName || c.Kind == engine.ConflictUncertain; careful && put > 0 {
			t.Errorf("%s: it puts a choice forward, and nothing speaks for it", c.Kind)
		}
		tb.picture("decide-" + string(c.Kind))
		tb.accessible(string(axe), path)
		tb.scheme("light")
	}
}
