package page

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// TestWhatAnAnswerComesToIsSaidSiteBySite: who is kept does not change, nor does who shows the same already.
func TestWhatAnAnswerComesToIsSaidSiteBySite(t *testing.T) {
	sides := shape.Comparison{Sites: map[string]shape.View{"nantes": {}, "paris": {}, "toulouse": {}, "rennes": {Error: "cannot be reached"}},
		Differences: []shape.Difference{{Path: "/state", Values: map[string]any{"nantes": "deprecated", "paris": "active", "toulouse": "deprecated"}}, {Path: "/size", Values: map[string]any{"paris": 3}}}}
	for site, want := range map[string]string{
		"nantes":   `[{paris  [{/state "active" "deprecated"} {/size 3 absent}]} {rennes does not answer now; it changes when it does []}]`,
		"paris":    `[{nantes  [{/state "deprecated" "active"} {/size absent 3}]} {rennes does not answer now; it changes when it does []} {toulouse  [{/state "deprecated" "active"} {/size absent 3}]}]`,
		"toulouse": `[{paris  [{/state "active" "deprecated"} {/size 3 absent}]} {rennes does not answer now; it changes when it does []}]`,
	} {
		if got := fmt.Sprint(kept(sides, site)); got != want {
			t.Errorf("%s is kept:\n%s\nwant\n%s", site, got, want)
		}
	}
	one := siteChange{Site: "paris", Fields: []fieldChange{{"/state", `"active"`, `"deprecated"`}}}
	two := siteChange{Site: "rennes", Fields: []fieldChange{{"/state", `absent`, `"deprecated"`}}}
	for want, m := range map[string]planned{
		`Everyone goes back to "deprecated": 2 sites change.`:                                                 {Action: "keep", Site: "nantes", Items: []plannedItem{{Changes: []siteChange{one, two}}, {Changes: []siteChange{one}}}},
		"Everyone shows what nantes shows: paris changes.":                                                    {Action: "keep", Site: "nantes", Items: []plannedItem{{Changes: kept(sides, "nantes")[:1]}}},
		"Everyone shows what nantes shows: nobody changes.":                                                   {Action: "keep", Site: "nantes", Items: []plannedItem{{}}},
		"None of them waits for a decision any more.":                                                         {Action: "keep"},
		"nantes may differ: nothing is sent anywhere, and nobody is asked again unless it happens once more.": {Action: "dismiss", Items: []plannedItem{{Conflict: shape.Conflict{Site: "nantes"}}}},
	} {
		if got := m.Headline(); got != want {
			t.Errorf("it comes to %q, not %q", got, want)
		}
	}
	again := answered(api.ConflictDetail{Conflict: shape.Conflict{Site: "nantes"}, Differences: []shape.FieldConflict{{Path: "/size", Here: json.RawMessage("1"), Wanted: json.RawMessage("3")}, {Path: "/tag", Wanted: json.RawMessage(`"x"`)}}}, "retry")
	if got := fmt.Sprint(again.Fields); got != `[{/size 1 3} {/tag absent "x"}]` {
		t.Errorf("sent again it changes %s", got)
	}
}
