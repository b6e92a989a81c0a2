package web_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/auth"
)

// TestViewsOfferWhatMayBeDone reads the forms of the views: each leads to a route that whoever sees it may use.
func TestViewsOfferWhatMayBeDone(t *testing.T) {
	f := startSecured(t)
	form := regexp.MustCompile(`<form[^>]* method="post"[^>]*>`)
	action := regexp.MustCompile(` action="([^"?]*)`)
	need := func(path string) auth.Role {
		for _, r := range f.server.Routes() {
			pattern := regexp.MustCompile(`:[a-z]+`).ReplaceAllString(regexp.QuoteMeta(r.Path), `[^/]+`)
			if r.Method == "POST" && regexp.MustCompile("^"+pattern+"$").MatchString(path) {
				role, _ := web.Need(r.Method, r.Path)
				return role
			}
		}
		t.Errorf("a form leads to %s, which is nowhere", path)
		return auth.Admin
	}
	offered := map[auth.Role]int{}
	for role := auth.Viewer; role <= auth.Admin; role++ {
		cookie := f.session(role.String())
		for _, view := range []string{"/", "/sites", "/sites/nantes", "/ways", "/resources", "/resources/web-frontend?service=servers&kind=server", "/relations", "/operations",
			"/operations/019aa3f0-6a00-7c31-9a5e-00a1b2c3d4e5", "/operations/019aa3f0-7b11-7d42-8b6f-11b2c3d4e5f6", "/conflicts", "/events", "/compose", "/settings"} {
			resp, body := f.do("GET", view, "", "Cookie", cookie, "Accept", "text/html")
			if resp.StatusCode != 200 {
				t.Errorf("%s as %s: %d", view, role, resp.StatusCode)
			}
			for _, tag := range form.FindAllString(body, -1) {
				target := action.FindStringSubmatch(tag)
				if target == nil {
					t.Errorf("%s: no action in %s", view, tag)
					continue
				}
				if target[1] == "/compose" && strings.Contains(body, `formmethod="get"`) && !strings.Contains(body, `value="send"`) {
					continue // its one button checks, with a GET
				}
				if offered[role]++; need(target[1]) > role {
					t.Errorf("%s offers %s to a %s, who may not", view, target[1], role)
				}
			}
		}
	}
	if offered[auth.Viewer] >= offered[auth.Operator] || offered[auth.Operator] >= offered[auth.Admin] {
		t.Errorf("forms by role: %v", offered)
	}
}
