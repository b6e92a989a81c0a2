package api_test

import (
	"errors"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestCheck(t *testing.T) {
	f := served.Start(t)
	row := served.Image("debian", engine.StateDegraded, time.Now())
	for id, st := range row.Sites {
		st.Drifted = true
		row.Sites[id] = st
	}
	f.Site.AddResource(row)
	v := f.Want(202, "POST", "/api/v1/resources/debian/check", "")
	if paris := v["sites"].(map[string]any)["paris"].(map[string]any); paris["drifted"] != true {
		t.Errorf("paris is %v", paris)
	}
	if got := f.Site.Checked(); len(got) != 1 {
		t.Errorf("looked at %v", got)
	}
	f.Problem(404, "not-found", "", "POST", "/api/v1/resources/none/check", "")
	f.Site.SetFault(func(method string) error {
		if method == "Check" {
			return errors.New("the disk is broken")
		}
		return nil
	})
	f.Problem(500, "internal", "", "POST", "/api/v1/resources/debian/check", "")
}
