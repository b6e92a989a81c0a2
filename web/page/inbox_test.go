package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest"
)

// TestTheInboxCountsAll: a headline says how many there are, however few of them are shown, and a cause whose decisions are all older than
// those is there too.
func TestTheInboxCountsAll(t *testing.T) {
	site := webtest.Generous()
	add := func(n int, kind engine.ConflictKind) {
		for i := range n {
			site.AddConflict(engine.Conflict{ID: engine.ConflictID(fmt.Sprintf("%s-%d", kind, i)), Kind: kind, Service: "images", KindName: "image", Site: webtest.Nantes,
				Actions: []engine.Action{engine.ActionDismiss}})
		}
	}
	site.AddConflict(engine.Conflict{ID: "stranger", Kind: engine.ConflictAside, Service: "images", KindName: "image", Site: "stranger"})
	add(25, engine.ConflictRejoined)
	add(1200, engine.ConflictContested)
	_, body := ask(t, "GET", serve(t, site)+"/decisions", nil)
	for _, want := range []string{"A change of 1,200 images did not fit at nantes", "The newest 500 of 1,200 are here", "What was done to 25 images before nantes was set back is not known",
		"The newest 20 of 25 are here", "A defect of the agent has struck an image at stranger"} {
		if !strings.Contains(body, want) {
			t.Errorf("the inbox does not say %q", want)
		}
	}
	if n := strings.Count(body, `value="contested-`); n != 500 {
		t.Errorf("%d of the cause can be chosen", n)
	}
	_, body = ask(t, "GET", serve(t, site)+"/", nil)
	for _, headline := range []string{"A change of 1,200 images did not fit at nantes", "paris holds 3 deletions of nantes"} {
		if n := strings.Count(body, "<b>"+headline+"</b>"); n != 1 {
			t.Errorf("the overview says %q %d times", headline, n)
		}
	}
}
