package issue

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestDivides: what divides a resource that paris and nantes replicate, what says nothing of that, and what is refused.
func TestDivides(t *testing.T) {
	contains, holds := *boxes, *boxes
	contains.Contains, holds.Content = true, []engine.Content{{Read: "/boxes/{id}/file"}}
	both, all := []engine.SiteID{"nantes", "paris"}, []engine.SiteID{"lyon", "nantes", "paris"}
	parts, three := engine.Parts{{"paris"}, {"nantes"}}, engine.Parts{{"paris"}, {"nantes"}, {"lyon"}}
	for name, c := range map[string]struct {
		kind  *engine.Kind
		place engine.PlaceRequest
		ask   *engine.Request
		want  string
	}{
		"a scope that says all":         {boxes, engine.PlaceRequest{Parts: parts}, nil, "[[paris] [nantes]] +[nantes paris] -[]"},
		"with a site more":              {boxes, engine.PlaceRequest{Parts: three}, nil, "[[paris] [nantes] [lyon]] +[lyon nantes paris] -[]"},
		"and one less":                  {boxes, engine.PlaceRequest{Parts: engine.Parts{{"paris"}, {"lyon"}}}, nil, "[[paris] [lyon]] +[lyon paris] -[nantes]"},
		"it is replicated already":      {boxes, engine.PlaceRequest{Parts: engine.Parts{both}}, nil, "nothing"},
		"replicated at others":          {boxes, engine.PlaceRequest{Parts: engine.Parts{{"paris", "lyon"}}}, nil, "[] +[lyon] -[nantes]"},
		"a container":                   {&contains, engine.PlaceRequest{Parts: parts}, nil, "scope-type"},
		"content beside it":             {&holds, engine.PlaceRequest{Parts: parts}, nil, "scope-type"},
		"a request of all sites":        {boxes, engine.PlaceRequest{}, &engine.Request{Placement: both, Parts: parts}, "nothing"},
		"a request that adds one":       {boxes, engine.PlaceRequest{}, &engine.Request{Placement: all, Parts: three}, "scope-type"},
		"a request of some":             {boxes, engine.PlaceRequest{}, &engine.Request{Placement: []engine.SiteID{"paris", "lyon"}, Parts: engine.Parts{{"paris"}, {"lyon"}}}, "scope-type"},
		"a request of some that are it": {boxes, engine.PlaceRequest{}, &engine.Request{Placement: both[:1], Parts: parts}, "nothing"},
		"a request with the same sign":  {boxes, engine.PlaceRequest{}, &engine.Request{Placement: all}, "[] +[lyon] -[]"},
	} {
		v := boxOf()
		v.Kind = c.kind
		var change *engine.PlacementChange
		var err error
		if c.ask != nil {
			c.ask.Method = http.MethodPatch
			var adds []engine.SiteID
			if adds, err = Growth(v, c.ask); len(adds) > 0 {
				change = &engine.PlacementChange{Add: adds}
			}
		} else {
			change, err = Change(v, c.place)
		}
		got := "nothing"
		var refusal *engine.Refusal
		if errors.As(err, &refusal) {
			got = refusal.Type
		} else if change != nil {
			got = fmt.Sprintf("%v +%v -%v", change.Parts, change.Add, change.Remove)
			o := Placing("o", change, "")
			o.Number = 1
			if err := o.Validate(); err != nil || (o.Method == engine.MethodDivide) != (change.Parts != nil) {
				t.Errorf("%s: it is %+v, %v", name, o, err)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s (%v), want %s", name, got, err, c.want)
		}
	}
}
