package builder_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/web/builder"
)

var names = []string{"paris", "nantes", "rennes", "west", "*"}

func TestAChoiceIsWhatItsScopeSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := builder.Choice{
			Shape: rapid.SampledFrom(builder.Shapes).Draw(t, "shape"),
			Sites: rapid.SliceOfDistinct(rapid.SampledFrom(names[:4]), rapid.ID[string]).Draw(t, "sites"),
			From:  map[string]string{},
		}
		if c.Shape == builder.Copies && len(c.Sites) > 0 {
			c.Wait = rapid.SampledFrom([]string{"", "quorum", "sync"}).Draw(t, "wait")
			if rapid.Bool().Draw(t, "every") {
				c.Sites = []string{builder.Every}
			}
		}
		if len(c.Sites) < 2 { // of one site, and of none, all shapes say the same
			c.Shape = builder.Copies
		}
		if rapid.Bool().Draw(t, "from") {
			c.From["servers"] = rapid.SampledFrom(names[:3]).Draw(t, "of servers")
		}
		text := c.Scope("images", nil)
		if got, ok := builder.Read(text, "images", names); !ok || !got.Same(c) {
			t.Fatalf("%+v is %s, which is read as %+v, %v", c, text, got, ok)
		}
	})
}

func TestWhatIsWrittenIsSaidAsAChoice(t *testing.T) {
	for text, want := range map[string]builder.Choice{
		"":                                     {Shape: builder.Copies},
		"images: nantes&&paris":                {Shape: builder.Copies, Sites: []string{"paris", "nantes"}},
		"paris % west":                         {Shape: builder.Spread, Sites: []string{"paris", "west"}},
		"{images: quorum(paris & nantes)}":     {Shape: builder.Copies, Sites: []string{"paris", "nantes"}, Wait: "quorum"},
		"{servers: nantes}":                    {Shape: builder.Copies, From: map[string]string{"servers": "nantes"}},
		"{images: *, servers: paris & rennes}": {Shape: builder.Copies, Sites: []string{"*"}},
	} {
		if got, ok := builder.Read(text, "images", names); !ok || !got.Same(want) {
			t.Errorf("%q is said as %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"images: paris &", "images: !paris", "images: around(paris, 5ms)", "images: paris ; nantes", "images: lyon",
		"images: (paris & nantes) % rennes", "images: paris & *", "images: sync(paris % nantes)", "images: paris & paris"} {
		if got, ok := builder.Read(text, "images", names); ok {
			t.Errorf("%q is said as %+v", text, got)
		}
	}
}

func TestWhatNoChoiceIsAboutStays(t *testing.T) {
	read, ok := builder.Read("{images: paris, servers: paris & rennes}", "images", names)
	if !ok {
		t.Fatal("it is not read")
	}
	next := builder.Choice{Shape: builder.One, Sites: []string{"paris", "nantes"}}.With(read)
	if got := next.Scope("images", nil); got != "{images: paris ^ nantes, servers: paris & rennes}" {
		t.Errorf("it is written as %s", got)
	}
	if got := next.Scope("servers", nil); got != "{servers: paris ^ nantes}" {
		t.Errorf("for the other service it is written as %s", got)
	}
}

func TestEverySiteOfAShapeThatTakesThemOneByOneIsNamed(t *testing.T) {
	all := []string{"paris", "nantes", "rennes"}
	for shape, want := range map[builder.Shape]string{builder.Copies: "{images: *}", builder.Spread: "{images: paris % nantes % rennes}", builder.First: "{images: paris | nantes | rennes}"} {
		c := builder.Choice{Shape: shape, Sites: []string{builder.Every, "paris"}}
		got := c.Scope("images", all)
		if _, err := scope.Parse(got); err != nil || got != want {
			t.Errorf("%s: %s, %v", shape, got, err)
		}
	}
}
