package flight

import "github.com/skerry/skerry/engine"

// Flights is what this site has sent, or may have sent, to its application, and that is not over.
type Flights struct {
	// Own is a client's request that has had no certain answer; Sent a request of this site's for an operation that has come
	// from another, likewise. Nil: there is none.
	Own, Sent *Flight
	// Doubts are operations that were sent without a certain answer, by themselves or in a correction. Resumed says that an
	// earlier process may have sent any that is not settled.
	Doubts  map[engine.OperationID]bool
	Resumed bool
	// Apart says that the application has refused several operations in one request: what is left goes one by one.
	Apart bool
}

// Interrupted says that what was going out may have reached the application, and why no answer will tell.
func (f *Flights) Interrupted(why string) {
	for _, one := range []*Flight{f.Own, f.Sent} {
		if one == nil {
			continue
		}
		one.Operation.Line, one.Operation.Origin, one.Operation.Epoch = one.Line, one.Line.Site(), one.Epoch
		if one.Stage == Declared {
			one.Stage, one.Why = Unknown, why
		}
	}
}

// Sends reports whether an operation is what this site has sent without a certain answer.
func (f *Flights) Sends(id engine.OperationID) bool {
	return f.Sent.Open() && f.Sent.Operation.ID == id
}

// OwnIs reports whether an operation is the client's request that is open here.
func (f *Flights) OwnIs(id engine.OperationID) bool { return f.Own.Open() && f.Own.Operation.ID == id }

// Settles reports whether it is still to be found out, without a person, what came of a client's request.
func (f *Flights) Settles() bool { return f.Own.Open() && f.Own.Stage != Asked }

// RanElsewhere takes in that the operation of a client's request, about which a person is asked here, has come from another site: it is that site's
// now, and what became of it here is found out as of any other. It reports whether it is so.
func (f *Flights) RanElsewhere(o *engine.Operation) bool {
	if o == nil || !f.OwnIs(o.ID) || f.Own.Stage != Asked || f.Sent != nil {
		return false
	}
	f.Sent = &Flight{Operation: *o, Line: o.Line, Epoch: o.Epoch, Stage: Unknown, Key: f.Own.Key, Since: f.Own.Since, Attempt: f.Own.Attempt, Why: f.Own.Why}
	f.Doubt(o)
	f.Own = nil
	return true
}

// Doubt remembers, before a request goes out, that the values of ops may reach the application.
func (f *Flights) Doubt(ops ...*engine.Operation) {
	for _, o := range ops {
		f.Doubts[o.ID] = true
	}
}

// Certain forgets that, since nothing of them has reached it.
func (f *Flights) Certain(ops ...*engine.Operation) {
	for _, o := range ops {
		delete(f.Doubts, o.ID)
	}
}

// Blobs are the large bodies that are needed beside those of operations: of a request that is in flight.
func (f *Flights) Blobs() []engine.BlobHash {
	var list []engine.BlobHash
	for _, one := range []*Flight{f.Own, f.Sent} {
		if one != nil && one.Operation.Blob != nil {
			list = append(list, one.Operation.Blob.Hash)
		}
	}
	return list
}
