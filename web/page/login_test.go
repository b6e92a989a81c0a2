package page_test

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/webtest"
)

// TestTheLoginIsAccessibleAndWorksWithoutJavaScript logs in after a mistake, with a browser that runs no script and one that does.
func TestTheLoginIsAccessibleAndWorksWithoutJavaScript(t *testing.T) {
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	address := serveAs(t, func(address string) (web.Config, error) {
		return webtest.Generous().ConfigWithAccounts(t.TempDir(), address)
	})
	for _, javaScript := range []bool{true, false} {
		tb := open(t, "light", javaScript)
		tb.do(chromedp.Navigate(address + "/operations?state=pending"))
		check := func(what string) {
			if javaScript {
				tb.accessible(string(axe), what)
			}
			tb.picture("login-" + strings.ReplaceAll(what, " ", "-"))
		}
		check("who has not logged in")
		tb.do(
			chromedp.SendKeys(chromedp.CSS("input[name=name]"), "viewer"), chromedp.SendKeys(chromedp.CSS("input[name=password]"), "no such horse"),
			chromedp.Click(chromedp.CSS("button.main")), chromedp.WaitVisible(chromedp.CSS(".banner.bad")),
		)
		check("who has mistyped")
		tb.do(
			chromedp.SendKeys(chromedp.CSS("input[name=password]"), webtest.Password("viewer")),
			chromedp.Click(chromedp.CSS("button.main")), chromedp.WaitVisible(chromedp.CSS("main table")),
		)
		if at := get(tb, chromedp.Location()); at != address+"/operations?state=pending" {
			t.Errorf("who logs in gets to %s", at)
		}
		tb.do(chromedp.Click(chromedp.CSS(".who button")), chromedp.WaitVisible(chromedp.CSS("input[name=password]")))
		tb.noComplaints("the login")
	}
}
