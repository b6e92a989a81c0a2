package api_test

import (
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestDistances(t *testing.T) {
	f := served.Serve(t, webtest.Generous())
	told := map[string]map[string]any{}
	for _, v := range f.Want(200, "GET", "/api/v1/distances", "")["items"].([]any) {
		d := v.(map[string]any)
		told[fmt.Sprint(d["from"], "-", d["to"])] = d
	}
	if len(told) != 6 {
		t.Errorf("%d pairs of 4 sites: %v", len(told), told)
	}
	if d := told["paris-nantes"]; d["measured_by"] != "paris" || d["rtt_ms"] != 8.42 || d["at"] == nil {
		t.Errorf("what is measured: %v", d)
	}
	if d := told["nantes-toulouse"]; d["measured_by"] != "" || d["rtt_ms"].(float64) < 15 {
		t.Errorf("what is estimated: %v", d)
	}
	if items := f.Want(200, "GET", "/api/v1/distances?site=nantes", "")["items"].([]any); len(items) != 3 || items[0].(map[string]any)["from"] != "nantes" {
		t.Errorf("from one site: %v", items)
	}
	f.Problem(422, "unknown-site", "lyno", "GET", "/api/v1/distances?site=lyno", "")
	for i := range 100 {
		f.Site.AddMember(engine.SiteName(fmt.Sprint("s", i)), engine.SiteID(fmt.Sprint("key", i)), engine.SiteStatus{})
	}
	f.Problem(422, "too-many", "?site=", "GET", "/api/v1/distances", "")
}
