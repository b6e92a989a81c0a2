package page_test

import (
	"strings"
	"testing"

	"github.com/skerry/skerry/web/webtest"
)

// TestSitesThatToldNothingAreNamedTogether: fifty of them are not fifty banners.
func TestSitesThatToldNothingAreNamedTogether(t *testing.T) {
	site := webtest.Generous()
	site.Crowd(10, 0)
	_, body := ask(t, "GET", serve(t, site)+"/ways", nil)
	if n := strings.Count(body, "not told what"); n != 1 || !strings.Contains(body, "have not told what they have tried: ") {
		t.Errorf("it is said %d times: %s", n, mainOf(body))
	}
	if _, body := ask(t, "GET", serve(t, site)+"/ways?site=rennes", nil); !strings.Contains(body, "not told what") {
		t.Errorf("of one it is not said: %s", mainOf(body))
	}
}
