package peer

import (
	"testing"

	"github.com/skerry/skerry/glue"
)

// FuzzAnswer reads what another site's agent says in the headers of its part of a list. What was read is read again as it was written.
func FuzzAnswer(f *testing.F) {
	f.Add("BQ", "3:1,7:2", "QmParis, QmNantes")
	f.Add("////", "99999999:1,-1:3,2:-4,1:99999999999999999999", ",")
	f.Add("=", ":", "")
	f.Fuzz(func(t *testing.T, bits, numbers, sites string) {
		part := func(i *glue.Item) *int { return &i.Part }
		items, again := make([]glue.Item, 11), make([]glue.Item, 11)
		DecodeReplicated(bits, items)
		DecodeNumbers(numbers, items, part)
		DecodeReplicated(EncodeReplicated(items), again)
		DecodeNumbers(EncodeNumbers(items, part), again, part)
		for i := range items {
			if items[i].Replicated != again[i].Replicated || items[i].Part != again[i].Part {
				t.Errorf("item %d: %+v, and then %+v", i, items[i], again[i])
			}
		}
		if list := SiteList(sites); JoinSites(SiteList(JoinSites(list))) != JoinSites(list) {
			t.Errorf("%q is read as %q", sites, list)
		}
	})
}
