package view

import "github.com/skerry/skerry/engine"

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
	// Sent: a request of this site's for what others had done was open.
	Sent bool `cbor:"9,keyasint,omitempty"`
	// Paths are those that operations had set here: what none of them sets any more goes.
	Paths []engine.Pointer `cbor:"10,keyasint,omitempty"`
	// Closed are the rows of operations that were dropped here, and of which something was left to do. They are not stored.
	Closed []engine.OperationRow `cbor:"-"`
}

// Issued is an operation, and the line that it is in.
type Issued struct {
	Operation engine.Operation `cbor:"1,keyasint"`
	Line      engine.Line      `cbor:"2,keyasint"`
}
