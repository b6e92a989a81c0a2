package desk

import (
	"context"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// Site is the loop of the site, as far as people have to do with it. It is safe for concurrent use.
type Site interface {
	Self() engine.SiteID
	// Kind returns nil where this site's catalog has no such kind.
	Kind(service engine.ServiceName, name engine.KindName) *engine.Kind
	// Here returns an identifier that clients have chosen as this site's application knows it.
	Here(ctx context.Context, k *engine.Kind, id string) engine.LocalID
	// Decide, Ask and Look return engine.ErrNotFound where a document is not here and about is nil. What Decide and Ask have done
	// is durable when they return. What Look calls keeps nothing of the replica, does no I/O and changes nothing.
	Decide(ctx context.Context, id engine.DocumentID, about *engine.About, d *replica.Decide) (engine.OperationID, error)
	Ask(ctx context.Context, id engine.DocumentID, about *engine.About, a *replica.Ask) (replica.Given, error)
	Look(ctx context.Context, id engine.DocumentID, f func(*replica.Replica)) error
	// Present completes what a client gets.
	Present(ctx context.Context, k *engine.Kind, g replica.Given) (engine.Answer, error)
	// Queues tells how requests to each service get on, Held lists the documents whose deletion waits to be
	// confirmed, and the deletions that ran before the first of them, none when that is not known.
	Queues() map[engine.ServiceName]engine.QueueStatus
	Held() (waiting []engine.DocumentID, ran []engine.OperationID)
}

// Requests are those of this site's clients that no document tells of: for this site alone, or such as make something, without a
// certain answer yet; and those that are kept for sites which cannot be reached. All methods return engine.ErrNotFound for an
// operation that is none of them, and engine.ErrSettled for one that does not wait for a person.
type Requests interface {
	Retry(ctx context.Context, id engine.OperationID) error
	Done(ctx context.Context, id engine.OperationID) error
	Drop(ctx context.Context, id engine.OperationID) error
	// Made says that a create has run, and which object it has made. Otherwise it may return a *engine.Refusal.
	Made(ctx context.Context, id engine.OperationID, local engine.LocalID) error
	// Decisions are those of the three that can be taken now, what is most likely wanted first.
	Decisions(ctx context.Context, id engine.OperationID) ([]engine.Action, error)
	// NextTry is when one is tried next; zero: it is not by itself, or it is none of them.
	NextTry(id engine.OperationID) time.Time
}

// Store is what the desk reads of the site's store. See engine.Store for what each method promises.
type Store interface {
	Operation(ctx context.Context, id engine.OperationID) (engine.OperationRow, error)
	Conflict(ctx context.Context, id engine.ConflictID) (engine.Conflict, error)
	Pending(ctx context.Context) ([]engine.DocumentID, error)
	KnownLocally(ctx context.Context, service engine.ServiceName, kind engine.KindName, ids []engine.LocalID) (map[engine.LocalID]bool, error)
}

// Members knows the sites of the mesh.
type Members interface {
	Name(id engine.SiteID) engine.SiteName
	IsMember(id engine.SiteID) bool
	// WasAdmitted reports whether a site is or ever was a member.
	WasAdmitted(id engine.SiteID) bool
}

// Config hands a Desk what it works with. All fields must be set, but those that have a default.
type Config struct {
	Site     Site
	Requests Requests
	Store    Store
	Members  Members
	App      engine.Application
	// Now is the wall clock, NewID makes a new UUID of version 7.
	Now   func() time.Time
	NewID func() string
	// CallTimeout bounds one read of the application (30 s).
	CallTimeout time.Duration
}

// Desk is what people ask of one site. It is safe for concurrent use and keeps nothing.
type Desk struct{ cfg Config }

// New returns the desk of a site.
func New(cfg Config) *Desk {
	if cfg.CallTimeout == 0 {
		cfg.CallTimeout = 30 * time.Second
	}
	return &Desk{cfg}
}

func (d *Desk) self() engine.SiteID { return d.cfg.Site.Self() }

// decide has a replica do what a person has decided.
func (d *Desk) decide(ctx context.Context, id engine.DocumentID, what *replica.Decide) (engine.OperationID, error) {
	return d.cfg.Site.Decide(ctx, id, nil, what)
}
