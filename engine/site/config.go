package site

import (
	"context"
	"log/slog"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/service"
)

// Config hands a Site everything it works with. All fields must be set, but those of Limits, Accept and Unknown.
type Config struct {
	Self  engine.SiteID
	Kinds []*engine.Kind
	// Unknown is told of a kind that another site's document has and this site's catalog lacks; nil: nobody is.
	Unknown   func(engine.ServiceName, engine.KindName)
	Documents engine.Documents
	Statuses  Statuses
	Store     engine.Store
	Blobs     engine.Blobs
	App       engine.Application
	Catalog   engine.Catalog
	Members   Members
	// Accept says what other sites may do here; nil: whatever the catalog describes.
	Accept Accept
	Log    *slog.Logger
	// Now is the wall clock, NewID makes a new UUID of version 7, Random returns a number of at least 0 and less than 1.
	Now func() time.Time
	// Clock is the site's clock, by which it dates what it does: the machine's, corrected by those of other sites. Nil: Now.
	Clock  func() time.Time
	NewID  func() string
	Random func() float64
	Limits Limits
	// Inline has calls to the application done by Step, one after the other, in place of goroutines of their own. It is for
	// simulations.
	Inline bool
	// Await, unless nil, is called by whoever is to wait for something, before it does; it returns when ready is true. It is for
	// simulations, which let others go on meanwhile.
	Await func(ready func() bool)
}

// Accept is what the site's configuration lets other sites do here. It is safe for concurrent use.
type Accept interface {
	Accepts(w engine.Wish) engine.Acceptance
	// Restricts reports whether anything that a site does may not be accepted.
	Restricts(site engine.SiteID) bool
	// Checkpoint reports, as an error, why none of a resource is taken from a site.
	Checkpoint(from engine.SiteID, of engine.About) error
}

// Statuses signs and checks batches of statuses. It is safe for concurrent use.
type Statuses interface {
	// SignStatuses signs encoded statuses of this site, 1 to engine.MaxBatch of them, as one batch.
	SignStatuses(statuses [][]byte) engine.StatusBatch
	// OpenBatch checks a batch and returns its statuses, each as it is stored and passed on. VerifyStatus checks such a one.
	// Errors wrap engine.ErrRefused.
	OpenBatch(b engine.StatusBatch) ([]engine.SignedStatus, error)
	VerifyStatus(s engine.SignedStatus) error
}

// Members is what the loop asks of the mesh. It is safe for concurrent use.
type Members interface {
	// Run names this run of the agent.
	Run() string
	// IsMember reports whether a site is a member, WasAdmitted whether it is one or was.
	IsMember(id engine.SiteID) bool
	WasAdmitted(id engine.SiteID) bool
	Name(id engine.SiteID) engine.SiteName
	// Mismatch says which of some sites have other rules for a kind than others; empty: none has.
	Mismatch(service engine.ServiceName, kind engine.KindName, sites []engine.SiteID) string
	// Take takes in records of a letter, which was sent to some sites, and passes on what is news.
	Take(ctx context.Context, from engine.SiteID, records []engine.SignedRecord, sent []engine.SiteID) error
	Fingerprint() engine.Fingerprint
	Records() []engine.SignedRecord
	// Distances tells how long a round trip between two sites takes, as far as that is known.
	Distances() func(a, b engine.SiteID) (time.Duration, bool)
	// Writable returns a *engine.Refusal while this site must not write: another agent runs under its key.
	Writable() error
	// SetQueues tells all members which services of this site's application do not let its agent in.
	SetQueues(ctx context.Context, queues map[engine.ServiceName]engine.QueueStatus) error
	// Rejoins tells all members that the disk of this site was set back.
	Rejoins(ctx context.Context) error
}

// Limits are the times and numbers that a site goes by. A zero field stands for the default named.
type Limits struct {
	// CallTimeout bounds one call to the application for an operation (30 s).
	CallTimeout time.Duration
	// RetryMin and RetryMax bound the wait between tries (200 ms, 30 s).
	RetryMin, RetryMax time.Duration
	// LookAfter is how long after the last operation the site looks at what its application shows of a resource (250 ms),
	// LookEvery how often it looks at every resource besides (1 h).
	LookAfter, LookEvery time.Duration
	// CompareWithin is how long what an earlier process has left open waits for a comparison with another site (10 s).
	CompareWithin time.Duration
	// LeaveWithin is how long the others wait for a site that was removed to say that it has left (7 days).
	LeaveWithin time.Duration
	// ClockSkew is how far ahead of this site's clock an operation of another site may be before it waits (1 h).
	ClockSkew time.Duration
	// Workers is how many resources of each service send requests at once (16). Cache is how many stay in memory (1024), and a
	// quarter more while many wait for their turn.
	Workers, Cache int
	// History is how many operations of a resource are kept one by one once every site has settled them (256), Epoch how many
	// a document takes before the resource goes on in another one (256).
	History, Epoch int
	// Shared is up to how many resources this site shares with another one before it takes in no more that that one places here (250,000).
	Shared int
	// MaxBlob is the most bytes of a body that this site takes in (5 GiB), Bodies what those of another site's operations may take here (20 GiB).
	MaxBlob   int64
	Bodies    int64
	Deletions engine.DeletionLimits
	// KeepOperations is how long the row of an operation stays that is settled at all sites (30 days), MaxOperations how many
	// such rows there are at most (1,000,000).
	KeepOperations time.Duration
	MaxOperations  int
}

func (l Limits) withDefaults() Limits {
	orDefault(&l.CallTimeout, 30*time.Second)
	orDefault(&l.RetryMin, 200*time.Millisecond)
	orDefault(&l.RetryMax, 30*time.Second)
	orDefault(&l.LookAfter, 250*time.Millisecond)
	orDefault(&l.LookEvery, time.Hour)
	orDefault(&l.CompareWithin, 10*time.Second)
	orDefault(&l.LeaveWithin, 7*24*time.Hour)
	orDefault(&l.ClockSkew, time.Hour)
	orDefault(&l.Workers, 16)
	orDefault(&l.Cache, 1024)
	orDefault(&l.History, 256)
	orDefault(&l.Epoch, 256)
	orDefault(&l.Shared, 250_000)
	orDefault(&l.MaxBlob, 5<<30)
	orDefault(&l.Bodies, 20<<30)
	orDefault(&l.KeepOperations, 30*24*time.Hour)
	orDefault(&l.MaxOperations, 1_000_000)
	return l
}

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func (l Limits) replica() replica.Limits {
	return replica.Limits{LookAfter: l.LookAfter, LookEvery: l.LookEvery, RetryMin: l.RetryMin, CallTimeout: l.CallTimeout,
		LeaveWithin: l.LeaveWithin, History: l.History, Epoch: l.Epoch, MaxBlob: l.MaxBlob}
}

func (l Limits) backoff() service.Backoff { return service.Backoff{Min: l.RetryMin, Max: l.RetryMax} }
