package outbox

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/waiting"
)

// ToOthers is the lane of what waits for other sites; what this site is to run waits in that of its service.
const ToOthers waiting.Lane = " others"

// Site is the loop of this site, as far as what is kept needs it. It is safe for concurrent use.
type Site interface {
	Self() engine.SiteID
	// Kind returns nil when the catalog has no such kind.
	Kind(service engine.ServiceName, name engine.KindName) *engine.Kind
	// Commit makes b durable. ErrStorage: nothing of it has happened.
	Commit(ctx context.Context, b *engine.Batch) error
}

// Store is what the outbox reads of the engine's store.
type Store interface {
	Operation(ctx context.Context, id engine.OperationID) (engine.OperationRow, error)
	Outbox(ctx context.Context) ([]engine.Kept, error)
	Kept(ctx context.Context, id engine.OperationID) (engine.Kept, error)
}

// Members tells what people call sites.
type Members interface {
	Name(id engine.SiteID) engine.SiteName
}

// Network tells which sites can be reached, and how fast.
type Network interface {
	Status() map[engine.SiteID]engine.SiteStatus
}

// Large is the large body of a request, which can be made to be read more than once. Copies of the request share it.
type Large interface {
	engine.Body
	Spool(in engine.Spools) (engine.Spool, error)
}

// Config hands an Outbox what it works with. All fields must be set, but Await.
type Config struct {
	Site    Site
	Store   Store
	Keys    *keys.Keys
	Spools  engine.Spools
	Members Members
	Log     *slog.Logger
	Now     func() time.Time
	// Clock dates what is asked, as operations are dated: it is Now, corrected by the clocks of other sites.
	Clock func() time.Time
	// CallTimeout bounds one call to an application, RetryMin is the wait before the first new try.
	CallTimeout, RetryMin time.Duration
	// Kept bounds what is kept.
	Kept waiting.Rooms
	// Run runs a request here that was accepted before it had run.
	Run func(ctx context.Context, r engine.Request) (engine.Answer, error)
	// Queue has Deliver called for a kept request once its time has come.
	Queue func(id engine.OperationID, in waiting.Lane, delay time.Duration)
	// Await, unless nil, is called by whoever is to wait for something, before it does; it returns when ready is true. It is for
	// simulations.
	Await func(ready func() bool)
}

// Accepted answers that an operation is durable, at the site that says so.
func Accepted(id engine.OperationID, by engine.SiteID) engine.Answer {
	return engine.Answer{Status: http.StatusAccepted, Operation: id, Site: by, Header: http.Header{"Location": {"/api/v1/operations/" + string(id)}}}
}
