package compact

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/view"
)

// NeedsBlob reports whether some site may still need the body of an operation, as far as is known here: it has not settled it, or
// has refused it and a person may have it tried again.
func NeedsBlob(v *view.View, o *engine.Operation) bool {
	if o.Blob == nil {
		return false
	}
	lives := slices.Contains(v.History.Living(merge.Any), o)
	for _, site := range v.Correspondents() {
		out := v.Outcomes(site)[o.ID]
		refused := (out.State == engine.StateRejected || out.State == engine.StateUncertain) && !out.Dropped && (out.Blocks || !v.History.Base().Has(o))
		if !v.Settled(site, o) || lives && refused {
			return true
		}
	}
	return false
}
