package view

import (
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// Remnant is what a site that joins anew remembers of a resource, until it has.
type Remnant struct {
	// Issued are the operations of this site that the documents had which were dropped: those that nobody has heard of are issued again.
	Issued []Issued `cbor:"1,keyasint,omitempty"`
	// Local is what the object was called.
	Local engine.LocalID `cbor:"2,keyasint,omitempty"`
	// Settled is what was settled in what the disk was set back to.
	Settled engine.Vector `cbor:"3,keyasint,omitempty"`
	// Number is the highest of a status of this site's that is known of.
	Number uint64 `cbor:"4,keyasint,omitempty"`
	// Lost is the last status of the lost run that another site has; nil: none is known.
	Lost *engine.Status `cbor:"5,keyasint,omitempty"`
	// Late: no disk was set back, the others have let go of what was here. Left: this site had left; the object that it has kept is nobody's.
	Late bool `cbor:"6,keyasint,omitempty"`
	Left bool `cbor:"7,keyasint,omitempty"`
	// Made is how often the object was made anew, so that no key of a request is used a second time.
	Made uint64 `cbor:"8,keyasint,omitempty"`
	// Sent: a request of this site's for what others had done was open, or a person was asked what came of one.
	Sent bool `cbor:"9,keyasint,omitempty"`
	// Paths are those that operations had set here: what none of them sets any more goes.
	Paths []engine.Pointer `cbor:"10,keyasint,omitempty"`
	// Heard are the statuses of others that were here. They count for nothing here any more: each is for its own site, whose disk may be set back too.
	Heard []Heard `cbor:"11,keyasint,omitempty"`
	// Closed are the rows of operations that were dropped here, and of which something was left to do. They are not stored.
	Closed []engine.OperationRow `cbor:"-"`
}

// Issued is an operation, and the line that it is in.
type Issued struct {
	Operation engine.Operation `cbor:"1,keyasint"`
	Line      engine.Line      `cbor:"2,keyasint"`
}

// Unsure reports whether nobody knows of an operation whether it has run here.
func Unsure(v *View) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(v.Mine.Outcomes)), func(out engine.Outcome) bool { return out.State == engine.StateUncertain })
}

// Keep keeps the operations of this site that no checkpoint stands for.
func (left *Remnant) Keep(v *View) {
	for _, o := range v.History.Ordered() {
		if o.Origin == v.Self && !v.History.Base().Has(o) {
			left.Issued = append(left.Issued, Issued{Operation: *o, Line: o.Line})
		}
	}
}

// Heard is a status of another site, and its number.
type Heard struct {
	Number uint64              `cbor:"1,keyasint"`
	Signed engine.SignedStatus `cbor:"2,keyasint"`
}

// newest reports whether nothing later is known of the site.
func (h *Heard) newest(v *View) bool { return h.Number > v.newestOf(h.Signed.Site).Number }

// Hear keeps what is known of other sites' statuses, as far as it is the newest.
func (left *Remnant) Hear(v *View) {
	left.Heard = slices.DeleteFunc(left.Heard, func(h Heard) bool { return !h.newest(v) })
	for _, st := range v.SignedStatuses() {
		left.Heard = append(left.Heard, Heard{v.newestOf(st.Site).Number, st})
	}
}

// Of is what a site had said of itself before this one began to join anew, if nothing later is known; nil has nothing.
func (left *Remnant) Of(v *View, site engine.SiteID) (st engine.SignedStatus, ok bool) {
	if left == nil {
		return st, false
	}
	i := slices.IndexFunc(left.Heard, func(h Heard) bool { return h.Signed.Site == site && h.newest(v) })
	if i < 0 {
		return st, false
	}
	return left.Heard[i].Signed, true
}

// Outlived reports whether others have heard of an operation that this site has issued after what is remembered, and in an earlier run. Changes of
// the placement tell nothing: they wait for no request.
func (left *Remnant) Outlived(v *View) bool {
	later := engine.Vector{}
	for l, n := range v.History.Complete() {
		if l.Site() == v.Self && l != v.Line && n > left.Settled[l] {
			later[l] = n - left.Settled[l]
		}
	}
	for _, o := range v.History.Ordered() {
		if o.Place != nil && later[o.Line] > 0 && o.Number > left.Settled[o.Line] {
			later[o.Line]--
		}
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(later)), func(n uint64) bool { return n > 0 })
}

// Ran says what is known of whether an undeclared action has run here, by what the lost run had said that it had settled.
func (left *Remnant) Ran(o *engine.Operation, lost engine.Vector) string {
	switch {
	case o.In(lost):
		return "the disk of this site was set back: it ran here, and nobody knows whether the application still has it"
	case left.Late:
		return "this site was away for too long: it has not run here"
	}
	return "the disk of this site was set back: nobody knows whether it ran here"
}
