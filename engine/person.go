package engine

import "time"

// Pause says who has told a site to leave its replica of a resource as it is, when, and why.
type Pause struct {
	By     SiteName  `json:"by"` // the site where it was asked for
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

func (p *Pause) String() string {
	if p.Reason == "" {
		return "paused from " + string(p.By)
	}
	return "paused from " + string(p.By) + ": " + p.Reason
}

// Decider is who decides something: somebody, and the site where that was said.
type Decider struct {
	User string // empty where people need not say who they are
	Site SiteID
}

// GivenUp is what is told of an operation that a person has given up.
const GivenUp = "a person has given it up"

// MaxUser is the most bytes of a name that are kept of who has decided something.
const MaxUser = 256

// MaxReason is the most bytes that the reason of a pause may have.
const MaxReason = 500

// Attempt is one request that a site has sent to its application for an operation, and what came of it.
type Attempt struct {
	At     time.Time `json:"at"`
	Status int       `json:"status,omitempty"` // of the answer; 0: none came
	Error  string    `json:"error,omitempty"`
}

// Superseded is a value that a concurrent, later operation took the place of. It is kept to be shown.
type Superseded struct {
	Path  Pointer     `cbor:"1,keyasint"`
	Value []byte      `cbor:"2,keyasint,omitempty"` // JSON; nil: that the path is removed
	By    OperationID `cbor:"3,keyasint"`           // who had set it
	Over  OperationID `cbor:"4,keyasint"`           // who took its place
	Rule  string      `cbor:"5,keyasint"`           // by which rule, in words
}

// PlaceRequest asks for a change of where a resource lives.
type PlaceRequest struct {
	// Sites is the whole placement; nil: Add and Remove say what is different.
	Sites, Add, Remove []SiteID
	// Parts are the sites of each part from then on, one where it is to be replicated, in place of Sites, Add and Remove; nil: as before.
	Parts Parts
	// Forced says that added sites may lack what undeclared actions have done.
	Forced bool
	User   string
}

// AdoptRequest names an object of this site's application that is to become a resource.
type AdoptRequest struct {
	Kind *Kind
	ID   LocalID
	// Sites are those that it is to live at, beside this one.
	Sites []SiteID
	// Parts are those sites part by part where it is to be a cross resource, nil otherwise.
	Parts Parts
	User  string
	// Scope is the canonical scope that asks for it, empty without one.
	Scope string
	// Credentials are the caller's own for the application; nil: the agent's.
	Credentials *Credentials
}

// RestoreRequest asks for a value that was superseded to be set again.
type RestoreRequest struct {
	Path Pointer
	// From is the operation that had set it; empty where only one value was lost at Path.
	From        OperationID
	User        string
	Credentials *Credentials
}

// What a site is about to do for a resource, in the order in which a Preview lists it.
const (
	DoesDelete  = "delete"  // take it away from the application
	DoesCreate  = "create"  // make it
	DoesCorrect = "correct" // set the paths that differ
	DoesRun     = "run"     // send an operation as its caller sent it
	DoesWait    = "wait"    // a person has to say
	DoesSettle  = "settle"  // nothing at the application: its effect is there, or void
)

// Planned is the next step of one resource.
type Planned struct {
	Resource   ResourceID
	Service    ServiceName
	Kind       KindName
	Does       string
	Operations []OperationID // what the step settles
	// Set and Unset are the paths that a correction sets and removes.
	Set, Unset []Pointer
	// Waits says why it does not happen now; empty when nothing is in its way. Held says that it is a deletion which a person has to confirm.
	Waits string
	Held  bool
}

// Preview is what a site is about to do at its application.
type Preview struct {
	// Waiting counts the resources with something left to do, Examined those that Steps counts by what is done.
	Waiting, Examined int
	Steps             map[string]int
	// Held counts the deletions that wait to be confirmed. Ran are those that ran unasked before them, as far as their resources are shared; none
	// where that is not known any more.
	Held  int
	Ran   []OperationID
	Items []Planned
}

// Compacted is what has been folded away of a resource's history at one site: what it amounts to is kept, each by itself is
// not.
type Compacted struct {
	// Operations is how many they are; 0: none.
	Operations int
	// Until is when the newest of them was issued.
	Until time.Time
}

// DeletionLimits bound how many deletions of other sites, of those that were issued while this site was away, run here
// before a person has confirmed the rest. A zero field stands for the default named.
type DeletionLimits struct {
	// Late is how long after it was issued a deletion has to be heard of to count as issued while this site was away (1 m).
	Late time.Duration
	// Number and Share bound the late deletions of one Window (1 h): at most Number (100) of them run unconfirmed, and at most
	// Share (0.2) of the resources that this site replicates when the first of them comes, where that is more than ten.
	Number int
	Share  float64
	Window time.Duration
}
