package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/audit"
	"github.com/skerry/skerry/web/auth"
	"github.com/skerry/skerry/web/chronicle"
	"github.com/skerry/skerry/web/hooks"
	"github.com/skerry/skerry/web/typing"
	"github.com/skerry/skerry/web/world"
)

// Store is what the API reads of the site's store. See engine.Store for what each method promises.
type Store interface {
	Resources(ctx context.Context, f engine.ResourceFilter) (rows []engine.ResourceRow, next string, err error)
	ResourceByLocal(ctx context.Context, s engine.ServiceName, k engine.KindName, id engine.LocalID) (engine.ResourceRow, error)
	ResourceByDocument(ctx context.Context, id engine.DocumentID) (engine.ResourceRow, error)
	Operation(ctx context.Context, id engine.OperationID) (engine.OperationRow, error)
	Operations(ctx context.Context, f engine.OperationFilter) (rows []engine.OperationRow, next string, err error)
	ForgottenUntil(ctx context.Context) (time.Time, error)
	Events(ctx context.Context, after uint64, limit int) ([]engine.Event, error)
	Conflict(ctx context.Context, id engine.ConflictID) (engine.Conflict, error)
	Conflicts(ctx context.Context, f engine.ConflictFilter) (list []engine.Conflict, next string, err error)
}

// Counter counts without listing. Deleted resources are counted under their state. An operation counts under the
// state that its row has.
type Counter interface {
	CountResources(ctx context.Context) (map[engine.State]int, error)
	// CountConverged counts those that were converged when they were heard of last, and are at one of some sites.
	CountConverged(ctx context.Context, at []engine.SiteID) (int, error)
	// TallyResources counts those whose identifiers or names have a text, each as it was heard of last; empty: all.
	TallyResources(ctx context.Context, text string) ([]engine.ResourceTally, error)
	CountOperations(ctx context.Context) (map[engine.State]int, error)
	// TallyOperations counts likewise those that a filter leaves, its state, order and page apart.
	TallyOperations(ctx context.Context, f engine.OperationFilter) (map[engine.State]int, error)
	// CountConflicts counts those that wait for a person.
	CountConflicts(ctx context.Context) (map[engine.Cause]engine.CauseTally, error)
	// CountHeld counts deletions by the site that holds them and the one that has issued them.
	CountHeld(ctx context.Context) (map[[2]engine.SiteID]int, error)
}

// Mesh is the membership as people see and change it. Errors may be *engine.Refusal.
type Mesh interface {
	world.Mesh
	// Invite makes an invitation durable before it returns. The secret is told here only. The certificates that it gives are good for
	// term; zero: without an end.
	Invite(ctx context.Context, expires time.Duration, uses int, term time.Duration) (engine.Invitation, []byte, error)
	Invitations() []engine.Invitation
	// SetZone makes a zone or gives it other sites; DeleteZone returns engine.ErrNotFound when there is none of that name.
	SetZone(ctx context.Context, name engine.ZoneName, sites []engine.SiteID) error
	DeleteZone(ctx context.Context, name engine.ZoneName) error
	// RemoveSite takes a site out of the mesh for good; engine.ErrNotFound when it is no member.
	RemoveSite(ctx context.Context, id engine.SiteID) error
	// RevokeSite takes a site out of the mesh whose key is not trusted any more: nobody talks to it from then on.
	RevokeSite(ctx context.Context, id engine.SiteID) error
	// Certify gives a site a certificate until then: it lets one in whose key is known, or gives it another name, or lets it be a member
	// for longer. An empty name leaves it the one that it has; the zero time has no end.
	Certify(ctx context.Context, site engine.SiteID, name engine.SiteName, until time.Time) error
	// Authorities are the keys that may say who belongs to the mesh, by rank.
	Authorities() []engine.SiteID
	// Order carries something out as an authority; engine.ErrNotFound when there is no such site, zone or authority. Request returns the
	// text of a request that another authority signs it, whose key is kept off line; Apply takes in its answer, and returns how many
	// records that were.
	Order(ctx context.Context, o engine.Order) error
	Request(by engine.SiteID, o engine.Order) (string, error)
	Apply(ctx context.Context, answer string) (int, error)
	// Revoke returns engine.ErrNotFound for an invitation that is not this mesh's.
	Revoke(ctx context.Context, id string) error
}

// Network tells the way to the other sites, and rehearses a cut.
type Network interface {
	Status() map[engine.SiteID]engine.SiteStatus
	// Ways tells the same in full, with what was tried in vain; it takes longer.
	Ways() map[engine.SiteID]engine.Way
	// Announced are the addresses of the configuration at which others are to reach this site.
	Announced() []string
	// Correction is what this machine's clock has to be set forward by to show what the middle one of those that are heard shows.
	Correction() time.Duration
	SetIsolated(bool)
	Isolated() bool
}

// Operator settles rejected and uncertain operations, watches what goes to the application, and carries out what a site
// asks of this one.
// Errors may be *engine.Refusal; engine.ErrNotFound when there is no such operation or document here.
type Operator interface {
	Pause(ctx context.Context, id engine.DocumentID, by engine.SiteID, reason string) error
	Resume(ctx context.Context, id engine.DocumentID) error
	// Queues tells how requests to each service of this site's application get on; ResumeQueue tries one again, or all when
	// service is empty. engine.ErrNotFound: there is no such service.
	Queues() map[engine.ServiceName]engine.QueueStatus
	ResumeQueue(service engine.ServiceName) error
	// Shared tells what this site shares with each other one.
	Shared() map[engine.SiteID]engine.Shared
	// NextTry is when this site goes on with an operation that waits here; zero: it does not by itself.
	NextTry(o engine.OperationRow) time.Time
	// Preview tells what this site is about to do, and Confirm lets the deletions run that it holds: of resources that it
	// shares with the site with, or by.
	Preview(ctx context.Context, with engine.SiteID, limit int) (engine.Preview, error)
	Confirm(ctx context.Context, by engine.Decider, only []engine.OperationID) (int, error)
	// Reject has this site keep the object of a deletion that is held, and makes a resource of it again.
	Reject(ctx context.Context, deletion engine.OperationID, by engine.Decider) (engine.ResourceID, error)
	// Place changes where a resource lives; the identifier is empty when it lives there already.
	Place(ctx context.Context, id engine.DocumentID, q engine.PlaceRequest) (engine.OperationID, error)
	// Shares are what the parts that q says would have of what is divided.
	Shares(ctx context.Context, id engine.DocumentID, q engine.PlaceRequest) ([]map[engine.Pointer]json.RawMessage, error)
	// AdoptExisting makes a resource of an object that this site's application has. engine.ErrNotFound: it has none.
	AdoptExisting(ctx context.Context, q engine.AdoptRequest) (engine.ResourceID, engine.OperationID, error)
	// Objects lists what this site's application has of a kind and nobody replicates, whole unless there is more than was looked at; Object
	// returns what it shows of one. engine.ErrNotFound: there is none.
	Objects(ctx context.Context, service engine.ServiceName, kind engine.KindName) (list []engine.Object, whole bool, err error)
	Object(ctx context.Context, service engine.ServiceName, kind engine.KindName, id string) ([]byte, error)
	// Keep makes what this site's application shows what all sites show.
	Keep(ctx context.Context, id engine.DocumentID, by engine.Decider, force bool) (engine.OperationID, error)
	// Restore sets a value again that Superseded lists.
	Restore(ctx context.Context, id engine.DocumentID, q engine.RestoreRequest) (engine.Answer, error)
	// Check has all sites look at what their applications show.
	Check(ctx context.Context, id engine.DocumentID) error
	// Chosen returns the site at which what a name stands for is, where scopes had it at exactly one; empty when none is known.
	Chosen(ctx context.Context, k *engine.Kind, id string) (at engine.SiteID, here bool, err error)
	// Superseded lists the values that concurrent, later operations took the place of.
	Superseded(ctx context.Context, id engine.DocumentID) ([]engine.Superseded, error)
	// Compacted tells what was folded away of a resource's history here.
	Compacted(ctx context.Context, id engine.DocumentID) (engine.Compacted, error)
	// PreviewConflict and Resolve are for conflicts of this site; Resolve dismisses those of others too.
	PreviewConflict(ctx context.Context, id engine.ConflictID, local engine.LocalID) ([]engine.FieldDifference, error)
	Resolve(ctx context.Context, id engine.ConflictID, action engine.Action, local engine.LocalID, by engine.Decider) error
	// Candidates are objects of this site's application that may be what a create has made. Decided is what people have decided about a
	// resource, newest first.
	Candidates(ctx context.Context, id engine.ConflictID) ([]engine.Candidate, error)
	Decided(ctx context.Context, id engine.DocumentID) ([]engine.Decision, error)
	// Decisions are those of Retry, Done and Drop that can be taken now, what is most likely wanted first.
	Decisions(ctx context.Context, id engine.OperationID) ([]engine.Action, error)
	Retry(ctx context.Context, id engine.OperationID, by engine.Decider) error
	Done(ctx context.Context, id engine.OperationID, by engine.Decider) error
	Drop(ctx context.Context, id engine.OperationID, by engine.Decider) error
}

// Waiter blocks until the event log has an entry after the given one, and returns what is there, oldest first.
type Waiter interface {
	WaitEvents(ctx context.Context, after uint64) ([]engine.Event, error)
}

// Service is one service of the application at this site.
type Service struct {
	Name engine.ServiceName
	// Kinds are those that it has now.
	Kinds func() []*engine.Kind
	// Handler is the interception handler that clients of the service reach, called in process.
	Handler http.Handler
	// URL is where its listener is, Glue what speaks its API.
	URL, Glue string
	// Certificates says that clients' certificates come to the service.
	Certificates bool
	// ServerName is a name that the listener's certificate has now, empty for none but its address; nil: the listener has no certificate.
	ServerName func() string
}

// Config is what the API is handed. Every field is needed, but those that have a default.
type Config struct {
	Application string // the catalog's name for the application
	Catalog     string // digest of this site's catalog
	Version     string // of the agent
	Dashboard   string // where people find this site's page, as others are told
	// Configuration is what the agent runs with, without secrets, as administrators see it; JSON has to have a form for it.
	Configuration any
	// LogLevel is from which level on Log is written; nil: that cannot be changed.
	LogLevel *slog.LevelVar
	Services []Service

	Store    Store
	Counter  Counter
	Mesh     Mesh
	Network  Network
	Operator Operator
	Waiter   Waiter
	// Peer carries calls to the agents of other sites: the URL's host is a SiteID. Its error wraps
	// engine.ErrUnreachable when it is certain that the other site has got nothing.
	Peer http.RoundTripper
	// Types types the references of requests.
	Types *typing.Checker
	// Referring lists the objects of this site's application that refer to a resource, with the credentials given; an error
	// says what could not be read, and what could is returned beside it.
	Referring func(ctx context.Context, t engine.Target, credentials *engine.Credentials) ([]glue.Referrer, error)
	// Made lists likewise what this site's application has made along with a resource and destroys along with it.
	Made func(ctx context.Context, t engine.Target, credentials *engine.Credentials) ([]glue.Referrer, error)
	// Accepts judges what other sites want to do here.
	Accepts func(engine.Wish) engine.Acceptance
	// Reaches reports whether other sites pass requests for a path on that belongs to no kind.
	Reaches func(service engine.ServiceName, method, path string) bool
	// Token makes the text that a new site's configuration needs.
	Token func(i engine.Invitation, secret []byte) string
	// Ready returns why the site does not serve yet or any more; nil when it does.
	Ready func() error

	// Auth tells who makes a request and keeps tokens; what a route needs is the server's to check.
	Auth *auth.Guard
	// Audit is the audit trail; the server writes it.
	Audit *audit.Log
	// Hooks push events; Run runs them.
	Hooks *hooks.Desk
	// Chronicle is what the site remembers of its last day and month; Run goes on with it.
	Chronicle *chronicle.Chronicle

	// Streams bound how many streams of events are open, in all and for one viewer (128 and 32).
	Streams, ViewerStreams int

	// Registry gets the API's metrics and is what /metrics shows.
	Registry *prometheus.Registry
	Log      *slog.Logger
	Now      func() time.Time
}

// Bounds on what one client can take.
const (
	replicaWait  = 3 * time.Second    // for one site's answer to a comparison
	replicaBytes = 1 << 20            // of one site's answer
	issueWait    = 60 * time.Second   // for the answer to an issued request
	answerBytes  = 1 << 20            // of the answer to an issued request
	bodyBytes    = engine.MaxCallBody // of a JSON body sent to the API
)

// API answers the calls. It is safe for concurrent use.
type API struct {
	Config
	metrics  *metrics
	streams  *streams
	stopping chan struct{} // closed when Run ends
	stop     sync.Once
}

// New checks the configuration and registers the metrics.
func New(c Config) (*API, error) {
	var missing []error
	for name, absent := range map[string]bool{
		"Store": c.Store == nil, "Counter": c.Counter == nil, "Mesh": c.Mesh == nil, "Network": c.Network == nil,
		"Operator": c.Operator == nil, "Waiter": c.Waiter == nil, "Peer": c.Peer == nil, "Token": c.Token == nil, "Referring": c.Referring == nil, "Made": c.Made == nil, "Types": c.Types == nil, "Ready": c.Ready == nil,
		"Auth": c.Auth == nil, "Audit": c.Audit == nil, "Hooks": c.Hooks == nil, "Chronicle": c.Chronicle == nil, "Registry": c.Registry == nil, "Log": c.Log == nil, "Now": c.Now == nil,
	} {
		if absent {
			missing = append(missing, fmt.Errorf("%s is missing", name))
		}
	}
	if len(missing) > 0 {
		slices.SortFunc(missing, func(x, y error) int { return strings.Compare(x.Error(), y.Error()) })
		return nil, fmt.Errorf("configure the API: %w", errors.Join(missing...))
	}
	a := &API{Config: c, streams: &streams{all: cmp.Or(c.Streams, 128), viewer: cmp.Or(c.ViewerStreams, 32), of: map[string]int{}}, stopping: make(chan struct{})}
	a.metrics = newMetrics(a)
	if err := a.metrics.register(c.Registry); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return a, nil
}

// Run counts events for the metrics, pushes them to hooks and goes on with the chronicle until ctx ends, and then ends all open event streams, so that the server can be
// shut down after it.
func (a *API) Run(ctx context.Context) error {
	defer a.stop.Do(func() { close(a.stopping) })
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.metrics.follow(ctx) })
	g.Go(func() error { return a.Hooks.Run(ctx, eventSource{a}) })
	g.Go(func() error { return a.Chronicle.Run(ctx, chronicled{a}) })
	return g.Wait()
}

// Stopping is closed when the site is about to stop: whoever holds a connection open ends it then.
func (a *API) Stopping() <-chan struct{} { return a.stopping }

// SelfName is the name of this site.
func (a *API) SelfName() string { return a.names().Of(a.Mesh.Self()) }

// SiteName is the name of a member.
func (a *API) SiteName(id engine.SiteID) string { return a.names().Of(id) }

// service returns nil for a name that the catalog does not have.
func (a *API) service(name engine.ServiceName) *Service {
	for i := range a.Services {
		if a.Services[i].Name == name {
			return &a.Services[i]
		}
	}
	return nil
}

// kind returns nil when the catalog has no such kind.
func (a *API) kind(service engine.ServiceName, name engine.KindName) *engine.Kind {
	s := a.service(service)
	if s == nil {
		return nil
	}
	for _, k := range s.Kinds() {
		if k.Name == name {
			return k
		}
	}
	return nil
}
