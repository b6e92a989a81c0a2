package front

import (
	"context"
	"log/slog"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/outbox"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/waiting"
)

// Site is the loop of this site, which owns its replicas. It is safe for concurrent use.
type Site interface {
	Self() engine.SiteID
	// Kind returns nil when the catalog has no such kind. Contained lists the kinds of what lies in containers of a kind.
	Kind(service engine.ServiceName, name engine.KindName) *engine.Kind
	Kinds() []*engine.Kind
	Contained(k *engine.Kind) []*engine.Kind
	// Lookup finds a replicated resource by its meta-identifier or this site's own; ErrNotFound when there is none, or no more.
	Lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error)
	Replicates(k *engine.Kind) bool
	// Containers returns what others and what this site call a container of things of a kind. Everywhere returns an identifier
	// with its container's meta-identifier in it; Here as this site's application knows it; Addressed what the application gets for
	// a target, or where that is empty the container that something is to be made in.
	Containers(ctx context.Context, k *engine.Kind, container string) (meta, local string)
	Everywhere(ctx context.Context, k *engine.Kind, id string) string
	Here(ctx context.Context, k *engine.Kind, id string) engine.LocalID
	Addressed(ctx context.Context, k *engine.Kind, target, within string) engine.LocalID
	// Writable returns a *engine.Refusal while nothing can be written.
	Writable() error
	// Commit makes b durable. ErrStorage: nothing of it has happened.
	Commit(ctx context.Context, b *engine.Batch) error
	Backoff(tries int) time.Duration
	// Met reports whether this site has been compared, since it was started, with all of some others, or need not be. SetBack
	// reports whether it has found that its disk was set back.
	Met(sites []engine.SiteID) bool
	SetBack() bool

	// Ask has a request run at a replica and returns once what the client gets is durable; ctx ends the waiting only. Decide does
	// what a person has decided. Tell hands an input to a replica. A nil about: the document is here, else ErrNotFound.
	Ask(ctx context.Context, id engine.DocumentID, about *engine.About, a *replica.Ask) (replica.Given, error)
	Decide(ctx context.Context, id engine.DocumentID, about *engine.About, d *replica.Decide) (engine.OperationID, error)
	Tell(ctx context.Context, id engine.DocumentID, about *engine.About, in replica.Input) error
	// Look lets f look at a replica; f does no I/O, keeps nothing of it and changes nothing. Await returns once done is true of it,
	// which is asked after each commit that concerns it, or when ctx ends. ErrNotFound.
	Look(ctx context.Context, id engine.DocumentID, f func(*replica.Replica)) error
	Await(ctx context.Context, id engine.DocumentID, done func(*replica.Replica) bool) error
	// Served takes in what an answer of the application to a request that is no resource's tells of its service.
	Served(k *engine.Kind, r engine.Reply, err error)
}

// Store is what front reads of the engine's store.
type Store interface {
	outbox.Store
	Record(ctx context.Context, id engine.DocumentID) (engine.Record, error)
	ResourceByID(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) (engine.ResourceRow, error)
	ResourceByDocument(ctx context.Context, id engine.DocumentID) (engine.ResourceRow, error)
	Names(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) ([]engine.DocumentID, error)
	SameName(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) ([]engine.DocumentID, error)
	Pending(ctx context.Context) ([]engine.DocumentID, error)
	Resources(ctx context.Context, f engine.ResourceFilter) (rows []engine.ResourceRow, next string, err error)
	Answer(ctx context.Context, key [32]byte) (engine.KeyedAnswer, error)
	Conflict(ctx context.Context, id engine.ConflictID) (engine.Conflict, error)
	Errands(ctx context.Context) ([]engine.Errand, error)
	NeedsBlob(ctx context.Context, h engine.BlobHash) (bool, error)
	ForgottenUntil(ctx context.Context) (time.Time, error)
}

// Documents names documents.
type Documents interface {
	Identify(about engine.About) ([]byte, engine.DocumentID, error)
	Decode(about []byte) (engine.About, engine.DocumentID, error)
}

// Members tells what people call sites.
type Members interface {
	Name(id engine.SiteID) engine.SiteName
}

// Network tells which sites can be reached, and how fast.
type Network interface {
	Status() map[engine.SiteID]engine.SiteStatus
}

// Rooms bound what is kept.
type Rooms = waiting.Rooms

// Config hands a Front everything it works with. All fields must be set, but those that have a default.
type Config struct {
	Site      Site
	Store     Store
	Documents Documents
	Blobs     engine.Blobs
	Spools    engine.Spools
	App       engine.Application
	Members   Members
	Log       *slog.Logger
	// Now is the wall clock, Clock the one that dates operations (Now), NewID makes a new UUID of version 7.
	Now   func() time.Time
	Clock func() time.Time
	NewID func() string
	// CallTimeout bounds one call to the application (30 s), RetryMin is the wait before the first new try (200 ms).
	CallTimeout, RetryMin time.Duration
	// Workers is how many kept requests of each service run at once, so that a service that hangs holds up no other; and how many
	// are handed to other sites at once (16).
	Workers int
	// Kept bounds the requests that are kept for sites that cannot be reached, or whose callers do not want to wait (DefaultRooms).
	Kept Rooms
	// Await, unless nil, is called by whoever is to wait for something, before it does; it returns when ready is true. It is for
	// simulations, which let others go on meanwhile.
	Await func(ready func() bool)
}

func (c Config) withDefaults() Config {
	if c.CallTimeout == 0 {
		c.CallTimeout = 30 * time.Second
	}
	if c.Clock == nil {
		c.Clock = c.Now
	}
	if c.RetryMin == 0 {
		c.RetryMin = 200 * time.Millisecond
	}
	if c.Workers == 0 {
		c.Workers = 16
	}
	return c
}
