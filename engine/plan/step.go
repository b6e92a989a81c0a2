package plan

import (
	"encoding/json"

	"github.com/skerry/skerry/engine"
)

// StepKind is what a site does next for one resource.
type StepKind string

const (
	// StepNothing: everything known is settled here.
	StepNothing StepKind = "nothing"
	// StepRun sends an operation as its caller sent it, identifiers apart.
	StepRun StepKind = "run"
	// StepCorrect sends the difference between what the application shows and what it is to show, in one request.
	StepCorrect StepKind = "correct"
	// StepMake makes the object anew from the fold: the application has none, though everything that counts for it says that
	// it exists.
	StepMake StepKind = "make"
	// StepSkip settles operations without a request: something concurrent or later has made them void.
	StepSkip StepKind = "skip"
	// StepVacuous settles operations whose effect is there already.
	StepVacuous StepKind = "vacuous"
	// StepRefuse settles operations as refused: a person has decided that this site has no replica.
	StepRefuse StepKind = "refuse"
	// StepHold waits for a person: an operation before is uncertain, the replica could not be made, or its name is another's.
	StepHold StepKind = "hold"
)

// Step is one thing to do. Operations are what it settles when it is done, in order; Run sends the first.
type Step struct {
	Kind       StepKind
	Operations []*engine.Operation
	// Correction is the difference to send, for StepCorrect.
	Correction *engine.Edit
	// Only are all the paths that there are to be, where StepCorrect makes good what one site shows; nil: what nobody has set
	// stays.
	Only map[engine.Pointer]json.RawMessage
	// Doubted are paths that StepCorrect removes only where the application shows one of these values: what may never have been sent has set them,
	// and nothing that counts. What an application has there by itself stays.
	Doubted map[engine.Pointer][]json.RawMessage
	// Void says that the operations of StepCorrect count for nothing: it takes back what they may have left.
	Void bool
	// Late says that StepRun sends an action that also sets what counts otherwise, because something else has set it. When it
	// has run, that is to be recorded, so that Standing.Ran tells it, and Next corrects what it has set.
	Late bool
	// Make is the create to send, for StepMake: the newest living one, with the fold as its body and its Edit. It is the
	// caller's.
	Make *engine.Operation
	// Again lists the settled operations that the step leaves to be applied once more: on top of a new object, or because what
	// has taken their place does not count any more.
	Again []*engine.Operation
	// Voided lists settled operations that have turned out to be void: deletes that something concurrent with them has
	// reversed, and what had put opaque bytes into an object that was made anew.
	Voided []*engine.Operation
	// Reason says why StepHold holds where no operation's own outcome does; empty otherwise.
	Reason HoldReason
}

// HoldReason is why nothing can be done without a person.
type HoldReason string

const (
	// HoldUndeclared: the object is to be made anew, and an action has run on it of which the catalog does not say what it
	// sets. The first of the step's operations is the create that was to be sent, the second the action.
	HoldUndeclared HoldReason = "undeclared-action"
	// HoldMixed: a delete has ended one of several creates, whose opaque effects are still there, and taking the object away
	// would lose those of an action that counts. The first of the step's operations is the delete, the second the action.
	HoldMixed HoldReason = "mixed-effects"
)

// Makes reports whether the step makes an object.
func (s Step) Makes() bool {
	return s.Kind == StepMake || s.Kind == StepRun && s.Operations[0].Type == engine.TypeCreate
}

// For returns the site whose operation the step does first; self where it is for none.
func (s Step) For(self engine.SiteID) engine.SiteID {
	if len(s.Operations) == 0 {
		return self
	}
	return s.Operations[0].Origin
}

// Sends returns the operation that the step sends as its caller sent it; nil when it does not.
func (s Step) Sends() *engine.Operation {
	switch s.Kind {
	case StepRun:
		return s.Operations[0]
	case StepMake:
		return s.Make
	}
	return nil
}

func hold(reason HoldReason, ops ...*engine.Operation) Step {
	return Step{Kind: StepHold, Operations: ops, Reason: reason}
}
