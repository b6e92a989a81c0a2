package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// ConflictID identifies a conflict at every site: it follows from what the conflict is about.
type ConflictID string

// ConflictKind says what the rules could not settle.
type ConflictKind string

const (
	// ConflictExists: a create met an object that no replicated resource owns.
	ConflictExists ConflictKind = "exists"
	// ConflictName: two resources were given one name, and the one that was created earlier has it.
	ConflictName ConflictKind = "name"
	// ConflictRival: a create met the living object of a resource of its name that was created later, or that of one that was deleted, and of which a
	// person is asked something.
	ConflictRival ConflictKind = "rival"
	// ConflictRefused: the application refused what another site's application took.
	ConflictRefused ConflictKind = "refused"
	// ConflictNotAccepted: the site does not let the one that issued it do this there. It is not sent.
	ConflictNotAccepted ConflictKind = "not-accepted"
	// ConflictDenied: the application does not let the agent do it (403). It is tried again slowly.
	ConflictDenied ConflictKind = "denied"
	// ConflictUnseen: a deletion would take along what lies inside and who has deleted it had not seen. It is not sent.
	ConflictUnseen ConflictKind = "unseen"
	// ConflictContested: the application twice found that the request did not fit what is there (409, 412).
	ConflictContested ConflictKind = "contested"
	// ConflictUncertain: it is not known whether the application has done it.
	ConflictUncertain ConflictKind = "uncertain"
	// ConflictUndeclared: the object is gone and cannot be made anew, because an action has run on it of which the catalog does not say what it sets.
	ConflictUndeclared ConflictKind = "undeclared"
	// ConflictDrift: the application shows something else than the others, or has lost the object, and no operation did that.
	ConflictDrift ConflictKind = "drift"
	// ConflictNameTaken: something inside a container that is spread over sites has a name that another part has given as well, and earlier.
	ConflictNameTaken ConflictKind = "name-taken"
	// ConflictContention: it was repaired a few times, and that did not last.
	ConflictContention ConflictKind = "contention"
	// ConflictRejoined: the site's disk was set back, and what its lost run had done to the object cannot be known.
	ConflictRejoined ConflictKind = "rejoined"
	// ConflictAside: a defect of the agent's own has struck the resource; it is set aside.
	ConflictAside ConflictKind = "aside"
	// ConflictForked: the site has signed two different changes under one number. What it has written in that line from there on counts at no
	// site; the conflict tells people so, and names it.
	ConflictForked ConflictKind = "forked"
	// ConflictOrder: concurrent operations want two orders of an array that cannot both be. The later one counts, at every site.
	ConflictOrder ConflictKind = "order"
)

// Action is what a person can decide about a conflict.
type Action string

const (
	// ActionRetry sends it to the application again, or what is left of it to do.
	ActionRetry Action = "retry"
	// ActionAccept lets in what the rules of the site do not accept, this once. Only a person at that site may.
	ActionAccept Action = "accept"
	// ActionDone says that the application has it.
	ActionDone Action = "done"
	// ActionDrop gives it up at its site, which differs from the others then.
	ActionDrop Action = "drop"
	// ActionAdopt makes the object that is there the replica, and brings it to what the other sites show.
	ActionAdopt Action = "adopt"
	// ActionKeep makes what the application of the site that is told shows what all sites show.
	ActionKeep Action = "keep"
	// ActionDismiss accepts that the site differs, and can be said at any site that has the resource.
	ActionDismiss Action = "dismiss"
	// ActionReopen takes that back: people are asked again. It can be said at any of these sites as well.
	ActionReopen Action = "reopen"
	// ActionConfirm lets a deletion run that is held. ActionReject has its site keep the object.
	ActionConfirm Action = "confirm"
	ActionReject  Action = "reject"
)

// Conflict is something about one resource at one site that waits for a person. It is derived, and never the only place where something is known.
type Conflict struct {
	ID   ConflictID   `json:"id"`
	Kind ConflictKind `json:"kind"`
	// Document is empty for a request of this site that makes something, or is for it alone.
	Document  DocumentID  `json:"document,omitempty"`
	Resource  ResourceID  `json:"resource,omitempty"`
	Service   ServiceName `json:"service"`
	KindName  KindName    `json:"kind_name"`
	Site      SiteID      `json:"site"`
	Operation OperationID `json:"operation"`
	Type      Type        `json:"type"`
	Status    int         `json:"status,omitempty"` // of the application's answer
	Since     time.Time   `json:"since"`
	Reason    string      `json:"reason"`
	// Sites are those that the resource is shared between, which may know of it and decide about it; none for a request of this site's.
	Sites []SiteID `json:"sites,omitempty"`
	// Holder is, of a name that was to be at one site and is at two, the site whose it is.
	Holder SiteID `json:"holder,omitempty"`
	// Twins are, where it is about what lies inside a container, the two things of one name: first the one that keeps it.
	Twins []Twin `json:"twins,omitempty"`
	// Blocks says that later operations wait for it at its site.
	Blocks  bool     `json:"blocks,omitempty"`
	Actions []Action `json:"actions"`
	// Accepted is set once somebody has decided that the site may differ.
	Accepted *Decision `json:"accepted,omitempty"`
}

// Cause is what several conflicts have in common: one thing that has gone wrong with what is of one kind at one site.
type Cause struct {
	About   ConflictKind
	Site    SiteID
	Service ServiceName
	Kind    KindName
}

// Cause is what c has in common with others.
func (c *Conflict) Cause() Cause { return Cause{c.Kind, c.Site, c.Service, c.KindName} }

// CauseTally is how many conflicts of one cause there are, and the newest of them.
type CauseTally struct {
	Number int
	Newest ConflictID
}

// Twin is one of two things inside a container that have one name.
type Twin struct {
	Site SiteID   `json:"site"`
	Kind KindName `json:"kind"`
	// Local is what its site's application calls it, the container apart.
	Local string `json:"local_id"`
	Name  string `json:"name"`
}

// FieldDifference is one field of a resource that a conflict is about. Nil: there is no such field.
type FieldDifference struct {
	Path Pointer
	// Base is what whoever issued the operation saw, Here what the application of the conflict's site shows, Wanted what all
	// known operations amount to: what resolving the conflict without giving up would bring about.
	Base, Here, Wanted json.RawMessage
}

// Candidate is an object of an application that may be what a create has made.
type Candidate struct {
	Local LocalID
	Label string // what people call it; empty where nothing says so
	// Agrees is how many of the fields that the create sets have that value there, Of is how many those are that can be compared.
	Agrees, Of int
}

// Object is something that an application has, as its lists tell.
type Object struct {
	Local LocalID
	Label string // what people call it; empty where nothing says so
}

// Open reports whether the conflict still waits for a person.
func (c *Conflict) Open() bool { return c.Accepted == nil }

// State is what the conflict makes of its resource.
func (c *Conflict) State() State {
	switch c.Kind {
	case ConflictExists, ConflictName, ConflictRival, ConflictUnseen, ConflictNameTaken, ConflictContested, ConflictUndeclared, ConflictContention, ConflictRejoined,
		ConflictOrder:
	case ConflictRefused:
		if !c.Blocks || c.Type == TypePlace {
			return StateDegraded
		}
	default:
		return StateDegraded
	}
	return StateConflict
}

// ConflictOf names a conflict: the same at all sites, and another one for each thing that can be decided by itself.
func ConflictOf(parts ...string) ConflictID {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return ConflictID(hex.EncodeToString(sum[:8]))
}
