package api_test

import (
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestWays(t *testing.T) {
	f := served.Serve(t, webtest.Generous())
	v := f.Want(200, "GET", "/api/v1/ways?site=paris", "")
	items := v["items"].([]any)
	first := items[0].(map[string]any)
	if len(items) != 3 || first["state"] != "apart" || first["a"] != "paris" || first["b"] != "rennes" {
		t.Fatalf("of paris it tells %v", items)
	}
	if cause := first["causes"].([]any)[0].(map[string]any); cause["code"] != "stopped" || len(first["tries"].([]any)) != 2 {
		t.Errorf("of rennes it tells %v", first)
	}
	if items := f.Want(200, "GET", "/api/v1/ways", "")["items"].([]any); len(items) != 6 {
		t.Errorf("%d pairs of 4 sites", len(items))
	}
	// Sites that are reached are asked, and it is told that these do not answer.
	if asked := v["asked"].([]any); len(asked) != 2 || asked[0].(map[string]any)["site"] != "nantes" || asked[0].(map[string]any)["error"] == "" {
		t.Errorf("asked were %v", asked)
	}
	own := f.Want(200, "GET", "/api/v1/ways/own", "")
	if own["site"] != "paris" || len(own["ways"].([]any)) != 3 || len(own["announced"].([]any)) != 1 {
		t.Errorf("its own ways are %v", own)
	}
	f.Problem(422, "unknown-site", "lyno", "GET", "/api/v1/ways?site=lyno", "")
	for i := range 100 {
		f.Site.AddMember(engine.SiteName(fmt.Sprint("s", i)), engine.SiteID(fmt.Sprint("key", i)), engine.SiteStatus{})
	}
	f.Problem(422, "too-many", "?site=", "GET", "/api/v1/ways", "")
}
