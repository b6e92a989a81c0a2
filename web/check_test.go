package web_test

import (
	"errors"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func TestCheck(t *testing.T) {
	f := start(t)
	row := image("debian", engine.StateDegraded, time.Now())
	for id, st := range row.Sites {
		st.Drifted = true
		row.Sites[id] = st
	}
	f.site.AddResource(row)
	v := f.want(202, "POST", "/api/v1/resources/debian/check", "")
	if paris := v["sites"].(map[string]any)["paris"].(map[string]any); paris["drifted"] != true {
		t.Errorf("paris is %v", paris)
	}
	if got := f.site.Checked(); len(got) != 1 {
		t.Errorf("looked at %v", got)
	}
	f.problem(404, "not-found", "", "POST", "/api/v1/resources/none/check", "")
	f.site.SetFault(func(method string) error {
		if method == "Check" {
			return errors.New("the disk is broken")
		}
		return nil
	})
	f.problem(500, "internal", "", "POST", "/api/v1/resources/debian/check", "")
}
