package gather

import (
	"testing"

	"github.com/skerry/skerry/engine"
)

func FuzzListing(f *testing.F) {
	f.Add("")
	f.Add((&listing{Path: "/x", Order: []engine.SiteID{"a"}, Next: map[engine.SiteID]string{"a": "a=b"}}).token())
	f.Fuzz(func(t *testing.T, token string) {
		l := listingOf(token)
		if l == nil {
			return
		}
		if again := listingOf(l.token()); again == nil || again.Path != l.Path || len(again.Next) != len(l.Next) {
			t.Fatalf("%q is %+v, and then %+v", token, l, again)
		}
	})
}
