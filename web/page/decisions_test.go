package page

import (
	"fmt"
	"testing"

	"github.com/skerry/skerry/web/shape"
)

// TestDecisionsStandByCause: what one thing has brought about at one site is one group, the worst first, and takes what each in it takes.
func TestDecisionsStandByCause(t *testing.T) {
	conflict := func(id, about, site string, actions ...string) shape.Conflict {
		return shape.Conflict{ID: id, About: about, Site: site, Service: "images", Kind: "image", Reason: "as it is", Actions: actions, Sites: []string{"paris", "nantes"}}
	}
	groups := causes([]shape.Conflict{
		conflict("1", "drift", "nantes", "keep", "dismiss"), conflict("2", "uncertain", "paris", "retry", "done", "drop"),
		conflict("3", "drift", "nantes", "keep"), conflict("4", "uncertain", "paris", "drop", "retry"),
	})
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
	m.Holder, m.Holders, m.Site = "paris", []string{"nantes", "paris"}, "nantes"
	if list := keeping(m, nil); len(list) != 2 || list[0].Follows != "nantes keeps the name, and the object of paris is deleted" || list[0].Likely {
		t.Errorf("the name can be kept: %+v", list)
	}
}
