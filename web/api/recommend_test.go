package api

import (
	"fmt"
	"testing"

	"github.com/skerry/skerry/web/shape"
)

// TestTheEvidenceRecommends: where an application shows all that an uncertain request would have set, sending it again is not what comes first; where
// it does not, or nobody could look, or what is shown tells nothing of the request, nothing is changed.
func TestTheEvidenceRecommends(t *testing.T) {
	for _, c := range []struct {
		about, typ, notCompared string
		differences             []shape.FieldConflict
		want                    string
	}{
		{"uncertain", "merge", "", []shape.FieldConflict{}, "[done retry drop]"},
		{"uncertain", "merge", "", []shape.FieldConflict{{Path: "/name"}}, "[retry done drop]"},
		{"uncertain", "merge", "it does not answer", nil, "[retry done drop]"},
		{"uncertain", "action", "", []shape.FieldConflict{}, "[retry done drop]"},
		{"refused", "merge", "", []shape.FieldConflict{}, "[retry done drop]"},
	} {
		v := ConflictDetail{Conflict: shape.Conflict{About: c.about, Type: c.typ, Site: "nantes", Actions: []string{"retry", "done", "drop"}},
			Differences: c.differences, NotCompared: c.notCompared}
		v.recommend()
		if got := fmt.Sprint(v.Actions); got != c.want || (v.Evidence != "") != (c.want == "[done retry drop]") {
			t.Errorf("%+v: %s, %q", c, got, v.Evidence)
		}
	}
}
