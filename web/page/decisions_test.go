package page

import (
	"fmt"
	"testing"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// TestDecisionsStandByCause: what one thing has brought about at one site is one group, the worst first, and takes what each in it takes.
func TestDecisionsStandByCause(t *testing.T) {
	conflict := func(id, about, site string, actions ...string) shape.Conflict {
		return shape.Conflict{ID: id, About: about, Site: site, Service: "images", Kind: "image", Reason: "as it is", Actions: actions, Sites: []string{"paris", "nantes"}}
	}
	list := []shape.Conflict{
		conflict("1", "drift", "nantes", "keep", "dismiss"), conflict("2", "uncertain", "paris", "retry", "done", "drop"),
		conflict("3", "drift", "nantes", "keep"), conflict("4", "uncertain", "paris", "drop", "retry"),
	}
	groups := causes(list, map[api.Cause]int{api.CauseOf(list[0]): 2, api.CauseOf(list[1]): 2})
	if len(groups) != 2 || groups[0].Headline() != "Nobody knows whether a request for 2 images ran at paris" || groups[1].Headline() != "nantes shows something else of 2 images" {
		t.Fatalf("the causes are %+v", groups)
	}
	if got := fmt.Sprint(groups[0].Actions(), groups[0].Keeps(), groups[1].Actions(), groups[1].Keeps()); got != "[retry drop] [] [] [nantes paris]" {
		t.Errorf("they take %s", got)
	}
	if groups[1].Reason() != "as it is" {
		t.Errorf("what all have in common is %q", groups[1].Reason())
	}
}

// TestALargeCauseIsFolded but for its first decisions and those up to the one that is looked at; nothing is left out.
func TestALargeCauseIsFolded(t *testing.T) {
	var g cause
	for i := range 30 {
		g.Items = append(g.Items, shape.Conflict{ID: fmt.Sprint(i)})
	}
	at := func(id string) *conflictModel {
		m := &conflictModel{}
		m.ID = id
		return m
	}
	for _, tt := range []struct {
		of     int
		chosen *conflictModel
		open   int
	}{{30, nil, 8}, {9, nil, 9}, {10, nil, 8}, {30, at("3"), 8}, {30, at("20"), 21}, {30, at("another"), 8}, {1, nil, 1}} {
		some := cause{Items: g.Items[:tt.of]}
		if first, more := some.Split(tt.chosen); len(first) != tt.open || len(first)+len(more) != tt.of {
			t.Errorf("of %d, %d stand open and %d are folded", tt.of, len(first), len(more))
		}
	}
}

// TestWhatIsKeptSaysWhoChanges: sites that show the same are one choice, which says which others change.
func TestWhatIsKeptSaysWhoChanges(t *testing.T) {
	m := &conflictModel{Holders: []string{"nantes", "paris", "toulouse"}}
	sides := &shape.Comparison{Sites: map[string]shape.View{"nantes": {}, "paris": {}, "toulouse": {}},
		Differences: []shape.Difference{{Path: "/name", Values: map[string]any{"nantes": "by hand", "paris": "debian", "toulouse": "debian"}}}}
	list := keeping(m, sides)
	if len(list) != 2 || list[0].Likely || !list[1].Likely ||
		list[0].Follows != "Everyone shows what nantes shows, and paris and toulouse change" {
		t.Errorf("it can be kept: %+v", list)
	}
	m.Holders = append(m.Holders, "lyon")
	sides.Sites["lyon"] = shape.View{Error: "the application answered 503"}
	if list := keeping(m, sides); len(list) != 2 || list[1].Follows != "Everyone shows what paris and toulouse show, and nantes changes; lyon does not answer now, and changes when it does" {
		t.Errorf("with a site that does not answer it can be kept: %+v", list)
	}
	if groups := fmt.Sprint(alike(*sides)); groups != "[[nantes] [paris toulouse] [lyon]]" {
		t.Errorf("side by side stand %s", groups)
	}
	m.Holder, m.Holders, m.Site = "paris", []string{"nantes", "paris"}, "nantes"
	if list := keeping(m, nil); len(list) != 2 || list[0].Follows != "nantes keeps the name, and the object of paris is deleted" || list[0].Likely {
		t.Errorf("the name can be kept: %+v", list)
	}
}
