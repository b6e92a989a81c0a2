package page

import (
	"fmt"
	"slices"
	"testing"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

func TestOfEachSortOfWorriesTheForemostAreShown(t *testing.T) {
	s := api.Summary{}
	for i := range 20 {
		s.Worries = append(s.Worries, api.Worry{About: "resource", State: "conflict", ID: fmt.Sprint(i)})
	}
	for i := range 6 {
		s.Worries = append(s.Worries, api.Worry{About: "resource", State: "degraded", ID: fmt.Sprint(i)})
	}
	s.Worries = append(s.Worries, api.Worry{About: "operation", State: "paused"}, api.Worry{About: "operation", State: "paused"})
	for range 7 {
		s.Worries = append(s.Worries, api.Worry{About: "site", State: "unreachable"})
	}
	var got []string
	for _, sort := range bySort(s) {
		got = append(got, fmt.Sprintf("%s %d, %q at %s", sort.State, len(sort.Items), sort.More, sort.Address))
	}
	want := []string{`conflict 5, "More resources" at /resources?state=conflict`, `degraded 5, "More resources" at /resources?state=degraded`,
		`paused 2, "" at `, `unreachable 5, "2 more sites" at /sites`}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

func TestWhatADecisionIsAboutIsSaidOnce(t *testing.T) {
	o := shape.Operation{Type: "action", State: "uncertain", Sites: map[string]shape.Outcome{"paris": {State: "uncertain"}, "nantes": {State: "uncertain"}}}
	if got := troubleBeside(nil, o, "paris", true); !got.Here || !slices.Equal(got.Elsewhere, []string{"nantes"}) {
		t.Errorf("without decisions: %+v", got)
	}
	if got := troubleBeside([]shape.Conflict{{Site: "paris"}}, o, "paris", true); got.Here || !slices.Equal(got.Elsewhere, []string{"nantes"}) {
		t.Errorf("beside a decision about paris: %+v", got)
	}
}
