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

// OnlyHere reports whether this site may be the only one that has the body of an operation which one that stays has still to settle.
func OnlyHere(v *view.View, has func(engine.BlobRef) bool) bool {
	members := v.Placement().Sites
	for _, o := range v.History.Living(merge.Any) {
		if o.Blob == nil || !has(*o.Blob) {
			continue
		}
		lacks := func(m engine.SiteID) bool { return !v.Settled(m, o) }
		had := func(m engine.SiteID) bool {
			return v.Settled(m, o) && v.Outcomes(m)[o.ID].State != engine.StateSuperseded
		}
		if slices.ContainsFunc(members, lacks) && !slices.ContainsFunc(members, had) {
			return true
		}
	}
	return false
}
