package desk

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestOrders(t *testing.T) {
	ctx := t.Context()
	place := func(q engine.PlaceRequest) func(b *bench) error {
		return func(b *bench) error { _, err := b.Place(ctx, "doc", q); return err }
	}
	sites := func(ids ...engine.SiteID) []engine.SiteID { return ids }
	for name, test := range map[string]struct {
		order func(b *bench) error
		want  string // what is decided, or what is refused
	}{
		"place":                  {place(engine.PlaceRequest{Sites: sites("paris", "nantes"), User: "ann"}), "doc: place ann[paris nantes] [] []"},
		"place at a stranger":    {place(engine.PlaceRequest{Sites: sites("paris", "rome")}), "unknown-site: site rome is no member of the mesh"},
		"add one that has left":  {place(engine.PlaceRequest{Add: sites("lille")}), "unknown-site: site lille is no member of the mesh"},
		"remove one that has":    {place(engine.PlaceRequest{Remove: sites("lille")}), "doc: place[] [] [lille]"},
		"remove a stranger":      {place(engine.PlaceRequest{Remove: sites("rome")}), "unknown-site: site rome is no member of the mesh"},
		"pause":                  {func(b *bench) error { return b.Pause(ctx, "doc", "nantes", "repairs") }, "doc: pause paused from the site nantes: repairs"},
		"pause without a reason": {func(b *bench) error { return b.Pause(ctx, "doc", "paris", "") }, "doc: pause paused from the site paris"},
		"pause with a novel": {func(b *bench) error { return b.Pause(ctx, "doc", "paris", strings.Repeat("x", engine.MaxReason+1)) },
			"bad-request: a reason has at most 500 bytes"},
		"resume":        {func(b *bench) error { return b.Resume(ctx, "doc") }, "doc: pause"},
		"check":         {func(b *bench) error { return b.Check(ctx, "doc") }, "doc: check"},
		"keep":          {func(b *bench) error { _, err := b.Keep(ctx, "doc", engine.Decider{User: "ann"}, false); return err }, "doc: keep ann"},
		"keep by force": {func(b *bench) error { _, err := b.Keep(ctx, "doc", engine.Decider{}, true); return err }, "doc: keep by force"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.add("doc", boxes, nil)
			err := test.order(b)
			got := slices.Clone(b.site.decided)
			if err != nil {
				got = append(got, err.Error())
			}
			if !slices.Equal(got, []string{test.want}) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	b := newBench(t)
	for name, err := range map[string]error{"pause": b.Pause(ctx, "x", "paris", ""), "resume": b.Resume(ctx, "x"), "check": b.Check(ctx, "x"), "place": place(engine.PlaceRequest{})(b)} {
		if !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s what is not here: %v", name, err)
		}
	}
}
