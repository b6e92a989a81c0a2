package engine

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Status is what a site says of itself about one resource. Only the newest counts; it is replaced and never history.
type Status struct {
	Document DocumentID `cbor:"1,keyasint"`
	// Number rises with each status of this site about this resource.
	Number uint64 `cbor:"2,keyasint"`
	// At is when it was made, by the site's own clock, in Unix microseconds.
	At int64 `cbor:"3,keyasint"`

	// Epoch is the one that the site writes in. Lines tells of those of its lines that it has written in it, or in the one before.
	Epoch uint64         `cbor:"4,keyasint,omitempty"`
	Lines map[Line]Wrote `cbor:"5,keyasint,omitempty"`
	// Whole says that the site has all that anybody has written in the epoch before; Over, that it has dropped that.
	Whole bool `cbor:"7,keyasint,omitempty"`
	Over  bool `cbor:"8,keyasint,omitempty"`
	// Sum tells what that epoch has (view.Sum), with Whole, or where another one has something else: it ends only where all have the same.
	Sum []byte `cbor:"26,keyasint,omitempty"`

	// Settled counts the operations that need nothing more there.
	Settled Vector `cbor:"10,keyasint,omitempty"`
	// Outcomes tell what became of operations that did not simply succeed: the newest MaxOutcomes of them.
	Outcomes map[OperationID]Outcome `cbor:"12,keyasint,omitempty"`

	// Object says that its application has an object of the resource, as far as the site knows. Bare: not all of its
	// content yet.
	Object bool `cbor:"13,keyasint,omitempty"`
	Bare   bool `cbor:"14,keyasint,omitempty"`
	// Shown is what the application showed once all of Settled was settled and nothing else was known; nil: not looked yet.
	Shown *Shown `cbor:"15,keyasint,omitempty"`
	// Summary is what a part of a cross resource showed last, for readers who cannot reach it.
	Summary json.RawMessage `cbor:"16,keyasint,omitempty"`

	// Waits are the reasons for which the site does not do now what is left to do.
	Waits []Wait `cbor:"17,keyasint,omitempty"`
	// Asked is when somebody asked here that all sites look at what their applications show.
	Asked int64 `cbor:"18,keyasint,omitempty"`
	// Repairs are when the object was made anew lately because it had vanished, Kept when somebody has kept what this site
	// shows; Contended says why that is done no more.
	Repairs   []int64 `cbor:"19,keyasint,omitempty"`
	Kept      []int64 `cbor:"20,keyasint,omitempty"`
	Contended string  `cbor:"21,keyasint,omitempty"`
	// Joined is the operation that added the site; empty for one of those that the resource began with.
	Joined OperationID `cbor:"22,keyasint,omitempty"`
	// Left is the last word of a site that was removed.
	Left *Left `cbor:"23,keyasint,omitempty"`
	// Holding is what the site holds under a name, in a document of collaboration ExactlyOne.
	Holding *Holding `cbor:"24,keyasint,omitempty"`
	// Rejoins says that the site joins anew: its disk was set back and it does not know yet what its lost run had done, or the others have
	// let go of what it had.
	Rejoins bool `cbor:"25,keyasint,omitempty"`
	// Ended is since when the application has no object of the resource any more because that has ended by itself; zero: it has not.
	Ended int64 `cbor:"27,keyasint,omitempty"`
}

const (
	// MaxStatus is the most bytes that an encoded status may have.
	MaxStatus = 64 << 10
	// MaxOutcomes is how many outcomes a status tells of.
	MaxOutcomes = 64
	// MaxDiffers bounds the paths at which a site says that its application differs.
	MaxDiffers = 8
	// sumLen is the length of Status.Sum.
	sumLen = 40
)

// Wrote is what a site has written in a line: how many changes in the epoch that it writes in, how many in the one before, and how many
// operations through all epochs.
type Wrote struct {
	Changes uint64 `cbor:"1,keyasint,omitempty"`
	Final   uint64 `cbor:"2,keyasint,omitempty"`
	Issued  uint64 `cbor:"3,keyasint,omitempty"`
}

// Left is the last word of a site that was removed.
type Left struct {
	// By is the operation that removed it.
	By OperationID `cbor:"1,keyasint"`
	At int64       `cbor:"2,keyasint"`
}

// Shown is what an application showed of a resource when everything that its site knew of was settled there. It stands for
// that state alone: it goes as soon as another operation is settled.
type Shown struct {
	// Hash is a keyed digest of the canonical representation; empty when Unseen says why there is none.
	Hash string `cbor:"1,keyasint,omitempty"`
	// Unseen says why there is nothing to compare.
	Unseen Unseen `cbor:"2,keyasint,omitempty"`
	// Fold is a keyed digest of what the settled operations fold to. Sites that have settled the same have the same.
	Fold string `cbor:"3,keyasint"`
	// Differs are paths that the fold sets and at which the application shows something else, at most MaxDiffers of them.
	Differs []Pointer `cbor:"4,keyasint,omitempty"`
	// Apart says that some of them are of a divided field: this part of a cross resource shows something else than its
	// share, which Hash leaves out.
	Apart bool `cbor:"5,keyasint,omitempty"`
	// Was is the Hash that the application had shown before, in the same state, when all sites agreed on it: no operation
	// brought about what it shows now.
	Was string `cbor:"6,keyasint,omitempty"`
	// Since is when the application was first seen to show this, in Unix microseconds.
	Since int64 `cbor:"7,keyasint"`
	// Steady says that it showed the same again a while later. It is told only where sites differ.
	Steady bool `cbor:"8,keyasint,omitempty"`
	// Of tells which changes the operations are in. Vectors count alike what a member has written differently for different sites.
	Of uint64 `cbor:"9,keyasint,omitempty"`
}

// Unseen is why a Shown holds no hash.
type Unseen string

const (
	// UnseenGone: the application has no such object.
	UnseenGone Unseen = "gone"
	// UnseenOpaque: the representation is not JSON.
	UnseenOpaque Unseen = "opaque"
	// UnseenUnreadable: the application does not let the object be read.
	UnseenUnreadable Unseen = "unreadable"
)

// What is what is compared between sites.
func (s *Shown) What() string {
	if s.Unseen != "" {
		return string(s.Unseen)
	}
	return s.Hash
}

// Plain reports whether a status tells how far its site has come and nothing that somebody may have to do something about.
func (s *Status) Plain() bool {
	return len(s.Outcomes)+len(s.Waits) == 0 && s.Left == nil && s.Holding == nil && !s.Rejoins && s.Contended == "" && s.Asked == 0 && s.Ended == 0
}

// Wait is one reason for which a site does not do now what is left to do.
type Wait struct {
	Kind  WaitKind `cbor:"1,keyasint" json:"kind"`
	Since int64    `cbor:"2,keyasint" json:"since"`
	// Reason is for people.
	Reason string `cbor:"3,keyasint,omitempty" json:"reason,omitempty"`
	// Operation is the one that waits or is waited for; empty: all that are left.
	Operation OperationID `cbor:"4,keyasint,omitempty" json:"operation,omitempty"`
	// By is where somebody has asked for a pause.
	By SiteName `cbor:"5,keyasint,omitempty" json:"by,omitempty"`
}

// WaitKind says what a site waits for.
type WaitKind string

const (
	// WaitPaused: a person has told the site to leave its replica as it is.
	WaitPaused WaitKind = "paused"
	// WaitHeld: a deletion waits for a person to confirm it. WaitConfirmed: somebody has.
	WaitHeld      WaitKind = "held"
	WaitConfirmed WaitKind = "confirmed"
	// WaitDenied: the application does not let the agent in.
	WaitDenied WaitKind = "denied"
	// WaitMismatch: the sites have different rules for the kind.
	WaitMismatch WaitKind = "catalog-mismatch"
	// WaitAnswer: a request of a client there has had no certain answer. WaitPerson: a person is asked about it.
	WaitAnswer WaitKind = "answer"
	WaitPerson WaitKind = "person"
	// WaitName: the name, and with it the object, is another resource's there.
	WaitName WaitKind = "name"
	// WaitClock: an operation is from too far ahead of the site's clock.
	WaitClock WaitKind = "clock"
	// WaitReference: an operation refers to a resource that is not there yet.
	WaitReference WaitKind = "reference"
	// WaitDeleting: the application has accepted a deletion, and the object is still there, or nobody can see whether it is.
	WaitDeleting WaitKind = "deleting"
	// WaitAside: a defect of the agent's own has struck the resource there; it is set aside.
	WaitAside WaitKind = "aside"
)

// Waits returns the wait of a kind, nil for none.
func (s *Status) Wait(kind WaitKind) *Wait {
	for i := range s.Waits {
		if s.Waits[i].Kind == kind {
			return &s.Waits[i]
		}
	}
	return nil
}

// Outcome is what became at one site of an operation that did not simply succeed there.
type Outcome struct {
	// State is rejected, superseded, uncertain, applied (after all) or pending (it waits, or is to be applied once more).
	State  State  `cbor:"1,keyasint"`
	Status int    `cbor:"2,keyasint,omitempty"` // of the application's answer
	At     int64  `cbor:"3,keyasint"`
	Error  string `cbor:"4,keyasint,omitempty"`
	// Blocks says that the operation is not settled: it waits for a person.
	Blocks bool `cbor:"5,keyasint,omitempty"`
	// Carried says that its effect has come with content that was copied from another site: it is not to be run.
	Carried bool `cbor:"6,keyasint,omitempty"`
	// Again says that the operation was settled, and is to be applied once more.
	Again bool `cbor:"7,keyasint,omitempty"`
	// Cause says which conflict it is where state and status do not tell.
	Cause ConflictKind `cbor:"8,keyasint,omitempty"`
	// Dropped says that a person has given it up at this site.
	Dropped bool `cbor:"9,keyasint,omitempty"`
	// Adopt is the object that is to become the replica, for a create that waits.
	Adopt LocalID `cbor:"10,keyasint,omitempty"`
	// Ran says that the operation has run and is not settled: what it has set beside what counts is to be corrected.
	Ran bool `cbor:"11,keyasint,omitempty"`
	// Let says that a person has let the operation in that the rules of the site do not accept.
	Let bool `cbor:"12,keyasint,omitempty"`
}

// Holding is what one site holds under a name.
type Holding struct {
	Operation OperationID `cbor:"1,keyasint" json:"operation"` // that created it
	Local     LocalID     `cbor:"2,keyasint" json:"local_id"`
	User      string      `cbor:"3,keyasint,omitempty" json:"user,omitempty"`
	// At is when it was created, in Unix microseconds, and later than all its site knew to hold the name.
	At int64 `cbor:"4,keyasint" json:"at"`
	// Gone says that it was deleted since.
	Gone bool `cbor:"5,keyasint,omitempty" json:"gone,omitempty"`
}

// Validate checks what a status from another site must fulfil. The error wraps ErrRefused.
func (s *Status) Validate() error {
	if err := s.validate(); err != nil {
		return fmt.Errorf("status: %w: %w", ErrRefused, err)
	}
	return nil
}

func (s *Status) validate() error {
	switch {
	case !s.Document.Valid():
		return errors.New("no document")
	case s.Number == 0:
		return errors.New("no number")
	case len(s.Sum) != 0 && len(s.Sum) != sumLen:
		return fmt.Errorf("a sum of %d bytes", len(s.Sum))
	case len(s.Outcomes) > MaxOutcomes:
		return fmt.Errorf("%d outcomes", len(s.Outcomes))
	case s.Shown != nil && len(s.Shown.Differs) > MaxDiffers:
		return fmt.Errorf("%d paths that differ", len(s.Shown.Differs))
	case s.Summary != nil && !json.Valid(s.Summary):
		return errors.New("a summary that is not JSON")
	}
	for l, n := range s.Settled {
		if !l.Valid() || n == 0 {
			return errors.New("a vector that counts nothing")
		}
	}
	for l := range s.Lines {
		if !l.Valid() {
			return errors.New("a line that is none")
		}
	}
	for id := range s.Outcomes {
		if !id.Valid() {
			return errors.New("an outcome of nothing")
		}
	}
	return nil
}

// Valid reports whether id is 64 lower-case hex digits.
func (id DocumentID) Valid() bool {
	if len(id) != 64 {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
