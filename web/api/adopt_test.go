package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestAdopt(t *testing.T) {
	f := served.Start(t)
	f.Site.SetObjects(engine.Object{Local: "legacy"}, engine.Object{Local: "of-old"})
	const at = "/api/v1/resources"
	body := func(id, scope string) string {
		return `{"service":"images","kind":"image","id":"` + id + `","scope":"` + scope + `"}`
	}
	v := f.Want(202, "POST", at, body("legacy", "paris & nantes"))
	sites := v["resource"].(map[string]any)["sites"].(map[string]any)
	if v["operation"] == "" || sites["paris"] == nil || sites["nantes"] == nil || len(sites) != 2 {
		t.Errorf("adopted %v", v)
	}
	if v := f.Want(202, "POST", at, body("of-old", "(nantes & toulouse) % paris"))["resource"].(map[string]any); v["collaboration"] != "cross" || len(v["sites"].(map[string]any)) != 3 {
		t.Errorf("spread %v", v)
	}
	f.Problem(404, "not-found", "has no image", "POST", at, body("other", "paris & nantes"))
	f.Problem(422, "scope-type", "is adopted at the site that has it", "POST", at, body("legacy", "nantes"))
	f.Problem(422, "scope-type", "is adopted at the site that has it", "POST", at, body("legacy", "nantes & toulouse"))
	f.Problem(422, "unknown-site", "lyno", "POST", at, body("legacy", "paris & lyno"))
	f.Problem(400, "scope-syntax", "expected", "POST", at, body("legacy", "paris &"))
	f.Problem(400, "bad-request", "give service, kind, id and scope", "POST", at, `{"id":"legacy"}`)
	f.Problem(400, "bad-request", "no kind", "POST", at, `{"service":"images","kind":"server","id":"legacy","scope":"paris & nantes"}`)
	f.Site.SetFault(func(method string) error {
		if method == "AdoptExisting" {
			return &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Detail: "does not show it"}
		}
		return nil
	})
	f.Problem(502, "upstream", "does not show it", "POST", at, body("legacy", "paris & nantes"))
}

func TestExplainTellsOfAnAdoption(t *testing.T) {
	f := served.Start(t)
	plan := func(method, scope string) string {
		v := f.Want(200, "POST", "/api/v1/scope/explain", `{"scope":"`+scope+`","service":"images","method":"`+method+`","path":"/images/unheard-of"}`)
		return v["plan"].(map[string]any)["summary"].(string)
	}
	if got := plan("PATCH", "paris & nantes"); !strings.Contains(got, "it becomes a resource of paris and nantes") {
		t.Errorf("a change with two sites: %s", got)
	}
	if got := plan("PATCH", "paris % nantes"); !strings.Contains(got, "it is spread over paris % nantes") {
		t.Errorf("a change with a cross: %s", got)
	}
	for _, got := range []string{plan("PATCH", "nantes % toulouse"), plan("PATCH", "nantes & toulouse"), plan("DELETE", "paris & nantes"), plan("PATCH", "paris")} {
		if strings.Contains(got, "becomes a resource") {
			t.Errorf("nothing is adopted by it: %s", got)
		}
	}
}
