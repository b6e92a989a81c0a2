package page

import (
	"fmt"
	"testing"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// TestACauseTakesWhatEachInItTakes: one answer to all of a cause is one that each of them takes.
func TestACauseTakesWhatEachInItTakes(t *testing.T) {
	of := func(list ...shape.Conflict) cause {
		for i := range list {
			list[i].Reason, list[i].Sites = "as it is", []string{"paris", "nantes"}
		}
		return cause{api.Cause{Items: list}}
	}
	drift := of(shape.Conflict{Actions: []string{"keep", "dismiss"}}, shape.Conflict{Actions: []string{"keep"}})
	uncertain := of(shape.Conflict{Actions: []string{"retry", "done", "drop"}}, shape.Conflict{Actions: []string{"drop", "retry"}})
	if got := fmt.Sprint(uncertain.Actions(), uncertain.Keeps(), drift.Actions(), drift.Keeps()); got != "[retry drop] [] [] [nantes paris]" {
		t.Errorf("they take %s", got)
	}
	if drift.Reason() != "as it is" {
		t.Errorf("what all have in common is %q", drift.Reason())
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
		some := cause{api.Cause{Items: g.Items[:tt.of]}}
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
