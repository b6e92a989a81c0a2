package engine

import (
	"encoding/json"
	"slices"
	"time"
)

// State of a resource or, at one site, of an operation.
type State string

const (
	// States of a resource.
	StateConverged  State = "converged"
	StateConverging State = "converging"
	StateDegraded   State = "degraded"
	StateConflict   State = "conflict"
	StateDeleted    State = "deleted"
	// StateDeleting: an application has accepted the deletion, and the object is not known to be gone.
	StateDeleting State = "deleting"
	// StateUnknown is the state of what was converged when it was heard of last, while nobody can know whether it still is: a site that
	// has it cannot be reached, or has not been compared with since it could. It is told of when asked (SiteStatus.Silent), never kept.
	StateUnknown State = "unknown"
	// StateLeaving is the state of a replica whose site was removed and has not left yet.
	StateLeaving State = "leaving"
	// StateLeft is what a former site says of a resource that it does not share any more.
	StateLeft State = "left"

	// States of an operation at one site.
	StatePending    State = "pending"
	StateApplied    State = "applied"
	StateRejected   State = "rejected"
	StateSuperseded State = "superseded"
	StateUncertain  State = "uncertain"
	// StatePaused: it is not tried there for now: the replica is paused, or the application does not let the agent in.
	StatePaused State = "paused"
	// StateHeld: it is a deletion that waits to be confirmed.
	StateHeld State = "held"
)

// Rank orders the states of a resource, or those of an operation, by how much there is to do about them.
func (s State) Rank() int {
	switch s {
	case StateConverging, StateDeleting, StateApplied:
		return 1
	case StateDegraded, StatePending:
		return 2
	case StateConflict, StatePaused:
		return 3
	case StateHeld:
		return 4
	case StateRejected:
		return 5
	case StateUncertain:
		return 6
	}
	return 0
}

// Worse returns that of two states about which there is more to do; of equal ones the first.
func (s State) Worse(t State) State {
	if t.Rank() > s.Rank() {
		return t
	}
	return s
}

// Past reports whether a resource in this state is no more, as far as this site is concerned. Lists leave it out unless
// they are asked for that state.
func (s State) Past() bool { return s == StateDeleted || s == StateLeft }

// ResourceRow is the index entry of a resource: what lists show and what requests are looked up by.
type ResourceRow struct {
	Document      DocumentID
	ID            ResourceID
	Service       ServiceName
	Kind          KindName
	Collaboration Collaboration
	// Label is what people call it; empty when nothing says so.
	Label string
	// Local is this site's identifier of it; empty when it has no replica here (yet). Of one that was deleted it is the last one: what
	// refers to it shows that identifier as long as nobody changes it, and no other site would know what it stands for.
	Local LocalID
	State State
	// Reason says for people why the state is what it is; empty when there is nothing to say.
	Reason    string
	CreatedAt time.Time
	UpdatedAt time.Time
	Sites     map[SiteID]ReplicaStatus
	// Relations are its references to other resources; of one that is no more only those to what was destroyed along with it.
	Relations []Relation
	// Pending says that this site has something left to do for it.
	Pending bool
}

// GoneAt reports whether the site had the resource, or never needed it, and has it no more: it was deleted there.
func (r *ResourceRow) GoneAt(s SiteID) bool {
	st := r.Sites[s]
	return st.Local == "" && st.Applied > 0 && !st.Unmade
}

// ReplicaStatus is what is known here of one site's replica.
type ReplicaStatus struct {
	Local   LocalID `json:"local_id,omitempty"`
	State   State   `json:"state"`
	Applied int     `json:"applied"`
	Pending int     `json:"pending"`
	Reason  string  `json:"reason,omitempty"`
	Paused  *Pause  `json:"paused,omitempty"`
	// Unmade says that the application has no object, though it is to have one.
	Unmade bool `json:"unmade,omitempty"`
	Held   bool `json:"held,omitempty"` // a deletion waits there to be confirmed
	// Drifted says that its application shows something else than the others, or than it did, and that no operation
	// brought that about. Mismatch says that two agents fold the same operations differently.
	Drifted  bool `json:"drifted,omitempty"`
	Mismatch bool `json:"mismatch,omitempty"`
	// Part is the number, from 1, of the part of a cross resource that the site holds; 0 of a replicated one. Share are the
	// values that it is to show of what is divided.
	Part  int                         `json:"part,omitempty"`
	Share map[Pointer]json.RawMessage `json:"share,omitempty"`
}

// OperationRow is the index entry of an operation.
type OperationRow struct {
	ID       OperationID
	Document DocumentID // empty for an operation that waits in the outbox
	Resource ResourceID
	Type     Type
	Service  ServiceName
	Kind     KindName
	Method   string
	Path     string
	Scope    string
	Origin   SiteID
	User     string
	IssuedAt time.Time
	Parents  []OperationID
	State    State // the state at the site that is farthest from applied
	Sites    map[SiteID]OperationStatus
	// Change and Body tell what it does; sensitive fields are left out.
	Change json.RawMessage
	Body   []byte
	// Blob is what stands in the place of a large Body, nil otherwise. NeedsBlob says that some site may still need it, as far
	// as is known here.
	Blob      *BlobRef
	NeedsBlob bool
}

// Settled reports whether nothing more becomes of the operation by itself, at any site.
func (r *OperationRow) Settled() bool {
	open := func(s State) bool {
		return !slices.Contains([]State{StateApplied, StateSuperseded, StateRejected, StateLeft}, s)
	}
	for _, at := range r.Sites {
		if open(at.State) {
			return false
		}
	}
	return !open(r.State) && !r.NeedsBlob
}

// OperationStatus is what is known here of an operation at one site.
type OperationStatus struct {
	State    State     `json:"state"`
	Status   int       `json:"status,omitempty"` // of the application's answer
	At       time.Time `json:"at,omitzero"`
	Attempts int       `json:"attempts,omitempty"`
	Error    string    `json:"error,omitempty"`
	// Tries are the last of the attempts, oldest first, where one was not enough. Only this site's own are known.
	Tries []Attempt `json:"tries,omitempty"`
	// Fetched is how many bytes of its body are here while it waits for the rest. Likewise.
	Fetched int64 `json:"fetched,omitempty"`
	// As says with whose rights the application is asked for it: that of the agent or of the user. Likewise; empty for what ran first there.
	As As `json:"as,omitempty"`
}

// Errand is a request that is in flight at this site's application, or may be, and belongs to no resource: it makes one, or is
// for this site alone. It is durable before the request goes out and ends in the batch that records what came of it.
type Errand struct {
	Operation OperationID
	// Data is the engine's own encoding. It may hold credentials: the store seals it.
	Data []byte
	// Blob is the body of the request where that is not in Data, else empty.
	Blob BlobHash
	At   time.Time
}

// Kept is a request that no involved site could be reached for, or that was accepted before it ran. Data may hold
// credentials: the store seals it.
type Kept struct {
	Operation OperationID
	Data      []byte
	KeptAt    time.Time
}

// KeyedAnswer is the first answer to a request with an Idempotency-Key. Without an Answer, what was kept under the key goes.
type KeyedAnswer struct {
	// Key is a digest over caller, service, method, path and the key itself; BodyHash one over the body.
	Key      [32]byte
	BodyHash [32]byte
	Answer   []byte
	At       time.Time
}

// Event is one entry of the event log. Seq is given by the store, from 1, rising.
type Event struct {
	Seq     uint64
	Type    string // operation.accepted, .applied, .rejected, .converged, resource.*, conflict.*, site.up, .known, .down, queue.*
	Subject string
	Time    time.Time
	Data    json.RawMessage
}

// ResourceFilter selects resources; zero fields select all. Cursor is what the previous page returned as next.
type ResourceFilter struct {
	ID ResourceID
	// Names selects, in place of resources, the names that exactly one of their sites is to hold. Their sites are those that hold them.
	Names   bool
	Service ServiceName
	Kind    KindName
	Site    SiteID
	State   State
	Query   string // part of the identifier or of a local identifier
	// RefersTo selects those that refer to it; Relying, beside it, only those that rely on it.
	RefersTo Target
	Relying  bool
	// Related selects those that refer to anything.
	Related bool
	// Silent are the sites of which nothing is known now. With StateUnknown they select what is converged but for them, with
	// StateConverged they leave that out.
	Silent []SiteID
	// Order is how the list is ordered. A cursor is good for the order that it was made in.
	Order  ResourceOrder
	Limit  int // 0: 100; at most 1000
	Cursor string
}

// ResourceOrder is how a list of resources is ordered; empty: the newest comes first.
type ResourceOrder string

// The orders of a list of resources beside the newest first.
const (
	OrderOldest  ResourceOrder = "oldest"
	OrderName    ResourceOrder = "name"    // by what people call them, else by identifier, in any case
	OrderChanged ResourceOrder = "changed" // what has changed last comes first
)

// ResourceTally is how many resources of one kind are at the same sites in the same state, as each was heard of last.
type ResourceTally struct {
	State   State
	Service ServiceName
	Kind    KindName
	Sites   []SiteID // sorted
	Number  int
}

// SearchWord is looked for, in any case, in what an operation shows: its identifier, request, type, kind, scope, user and errors,
// and the identifiers and the label of its resource.
type SearchWord struct {
	Text string
	// Sites are those whose name has it: what ran first or is to run there is found as well.
	Sites []SiteID
}

// OperationFilter selects operations likewise.
type OperationFilter struct {
	Resource ResourceID
	Document DocumentID
	State    State
	Site     SiteID
	Begins   string       // what their identifiers begin with
	Words    []SearchWord // all of them are to be found
	// From and Before are when it was issued: at the first of them or later, and before the other.
	From, Before time.Time
	Limit        int
	Cursor       string
	Oldest       bool // the oldest come first instead; a cursor is good for that order alone
}

// ConflictFilter selects conflicts; zero fields select all. Those that are accepted are left out unless Accepted asks for
// them instead. Cursor is what the previous page returned as next.
type ConflictFilter struct {
	Document DocumentID
	Service  ServiceName
	Kind     ConflictKind
	Site     SiteID
	Accepted bool
	Limit    int // 0: 100; at most 1000
	Cursor   string
}
