package engine

import (
	"encoding/json"
	"time"
)

// Replica is what a site publishes about its own replica of a resource.
type Replica struct {
	Local LocalID `json:"local_id,omitempty"`
	// Made counts how often the object was made anew here, so that each time is a request of its own to the application.
	Made uint64 `json:"made,omitempty"`
	// Facts are those that the application's state follows from.
	Facts []Fact `json:"facts,omitempty"`
	// Settled counts, for each line, how many of its operations are settled here: those with a Seq up to it. Of lines that are
	// over in the epoch that this is written in all are.
	Settled map[Line]uint64 `json:"settled"`
	// Observed is what the application showed once all of Settled was settled and nothing else was known; nil: not looked
	// at yet.
	Observed *Observed `json:"observed,omitempty"`
	// Summary is what a part of a cross resource showed when this site looked last: for readers who cannot reach it.
	Summary json.RawMessage `json:"summary,omitempty"`
	// Asked is when somebody asked here that all sites look at what their applications show.
	Asked time.Time `json:"asked,omitzero"`
	// Repairs are when the object was made anew here lately because it had vanished; Contended says why that is done no more.
	Repairs []time.Time `json:"repairs,omitempty"`
	// Kept are when somebody has kept what this site shows lately.
	Kept      []time.Time `json:"kept,omitempty"`
	Contended string      `json:"contended,omitempty"`
	// At is when this was written, by the site's own clock.
	At time.Time `json:"at"`
	// Paused is set while the site leaves its replica as it is.
	Paused *Pause `json:"paused,omitempty"`
	// Waits is set while the site's application does not let its agent in: what is not settled there is paused.
	Waits *Waiting `json:"waits,omitempty"`
	// Open is a request of the site's clients that has had no certain answer there.
	Open *Open `json:"open,omitempty"`
	// Lost is what a lost run of the site's agent had published, until it is known what is left of that.
	Lost *Lost `json:"lost,omitempty"`
	// Behind is what lost runs had settled, from when that is known until all of it is settled again: others may have folded it away.
	Behind *Lost `json:"behind,omitempty"`
	// Held is a deletion that waits for a person; it goes when the deletion is settled.
	Held *Held `json:"held,omitempty"`
	// Joined is the operation by which the site was added, empty for one of those that the resource began with. Its replica
	// began with what that operation had seen.
	Joined OperationID `json:"joined,omitempty"`
	// Bare says that the content which belongs to the object has not been copied yet. Joined is not settled before it is.
	Bare bool `json:"bare,omitempty"`
	// Yields is since when another resource, created earlier, has this one's name here, and this one no object; zero: none has.
	Yields time.Time `json:"yields,omitzero"`
	// Left is the last word of a site that was removed.
	Left *Left `json:"left,omitempty"`
	// Final counts the changes that the site has made in the document of the epoch before this one. It makes no more there.
	Final uint64 `json:"final,omitempty"`
	// Whole says that the site has all that anybody has written there.
	Whole bool `json:"whole,omitempty"`
	// Over says that the site has dropped that document.
	Over bool `json:"over,omitempty"`
	// Hindsight says of lines of this site that their first operations count as having seen more than they say.
	Hindsight map[Line]Hindsight `json:"hindsight,omitempty"`

	epoch uint64 // that it is written in
}

// has reports whether the n-th operation of a line is settled.
func (r Replica) has(name Line, n uint64) bool { return n <= r.Settled[name] || name.over(r.epoch) }

// lost is what lost runs had settled and this one may not have, nil for nothing.
func (r Replica) lost() *Lost {
	if r.Lost != nil {
		return r.Lost
	}
	return r.Behind
}

// hasAll reports whether all that is counted here is settled.
func (r Replica) hasAll(settled map[Line]uint64) bool {
	for name, n := range settled {
		if !r.has(name, n) {
			return false
		}
	}
	return true
}

// caughtUp returns the replica as it stands once it may have settled again what lost runs had.
func (r Replica) caughtUp() Replica {
	if r.Behind != nil && r.hasAll(r.Behind.Settled) {
		r.Behind = nil
	}
	return r
}

// settled reports whether an operation is.
func (r *Replica) settled(o *Operation) bool {
	return o.Epoch+2 <= r.epoch || o.Seq <= r.Settled[o.Line()]
}

// settles is settled for asking about many operations, one after the other: those of one line follow each other mostly.
func (r Replica) settles() func(*Operation) bool {
	var name Line
	n, asked := uint64(0), false
	return func(o *Operation) bool {
		if line := o.Line(); !asked || line != name {
			name, n, asked = line, r.Settled[line], true
		}
		return o.Epoch+2 <= r.epoch || o.Seq <= n
	}
}

// Outcome is what a site publishes about an operation that did not simply succeed there.
type Outcome struct {
	State  State     `json:"state"` // rejected, superseded, uncertain, applied after all; pending: it waits, Error says for what
	Status int       `json:"status,omitempty"`
	At     time.Time `json:"at"`
	Error  string    `json:"error,omitempty"`
	// Blocks says that the operation is not settled: it waits for a person.
	Blocks bool `json:"blocks,omitempty"`
	// Carried says that its effect has come with content that was copied from another site: it is not to be run.
	Carried bool `json:"carried,omitempty"`
	// Again says that the operation was settled, and is to be applied once more: the object was made anew meanwhile, or a
	// person has asked for it.
	Again bool `json:"again,omitempty"`
	// First says of one to be applied again that a lost run may have applied it: it is sent under the key it had first, so that
	// a service that honours keys does not do it twice.
	First bool `json:"first,omitempty"`
	// Cause says which conflict it is where state and status do not tell.
	Cause ConflictKind `json:"cause,omitempty"`
	// Dropped says that a person has given it up at this site.
	Dropped bool `json:"dropped,omitempty"`
	// Adopt is the object that is to become the replica, for a create that waits.
	Adopt LocalID `json:"adopt,omitempty"`
	// Ran says that the operation has run and is not settled: what it has set beside what counts is to be corrected.
	Ran bool `json:"ran,omitempty"`
}

// beside reports whether a create, which is settled, tells of an object that a lost run had made beside the replica.
func (o Outcome) beside() bool { return o.Cause == ConflictExists && !o.Blocks }
