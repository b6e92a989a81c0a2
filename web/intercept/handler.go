package intercept

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/typing"
)

// Site is what interception needs of the engine. It is safe for concurrent use.
type Site interface {
	Shared
	// Submit makes a request an operation and returns what the client gets. Its error may be an *engine.Refusal.
	Submit(ctx context.Context, r engine.Request) (engine.Answer, error)
	// Chosen returns the site at which what a name stands for is, where scopes had it at exactly one, empty when none is known;
	// and whether this site holds something under it.
	Chosen(ctx context.Context, k *engine.Kind, id string) (at engine.SiteID, here bool, err error)
	// Zones and Distances are what scopes may ask for, as world.Mesh has them.
	Zones() []engine.Zone
	Distances() func(a, b engine.SiteID) (time.Duration, bool)
	// Relying lists those that rely on a resource, as far as this site shares them.
	Relying(ctx context.Context, k *engine.Kind, id string, limit int) ([]engine.ResourceRow, error)
	// Holding lists those that lie inside a resource and are replicated, likewise.
	Holding(ctx context.Context, k *engine.Kind, id string, limit int) ([]engine.ResourceRow, error)
	// ContentsChanged is told that a request for some of what a container holds has passed.
	ContentsChanged(id engine.DocumentID)
}

// Config is what a Handler is made of. All fields but Limits and Correlations must be set.
type Config struct {
	Service    engine.ServiceName
	Client     *glue.Client // must have an upstream for Service
	Site       Site
	Membership engine.Membership
	Network    Network
	// Peer carries requests to other sites; the host of their URL is a SiteID. It returns engine.ErrUnreachable when
	// it is certain that nothing was sent.
	Peer http.RoundTripper
	// Types types the references of requests.
	Types *typing.Checker
	// Application and Services are what the catalog says, to check scopes.
	Application string
	Services    []engine.ServiceName
	// Believes says who may say who makes a request.
	Believes Believes
	// Correlations remembers scopes for workflows; nil remembers none.
	Correlations *Correlations
	// Discover asks the application for kinds that it has got, and reports whether there are any; nil: all are known.
	Discover func(ctx context.Context) bool
	// API is where this site's REST API is, such as http://127.0.0.1:8701, for the addresses of operations.
	API    string
	Limits Limits
	Log    *slog.Logger
}

// Handler takes the requests for one service at one site. It is safe for concurrent use.
type Handler struct {
	*lists
	Site         Site
	Types        *typing.Checker
	Application  string
	Services     []engine.ServiceName
	Believes     Believes
	Correlations *Correlations
	Discover     func(ctx context.Context) bool
	carrier      glue.Carrier  // nil: clients have no ways of their own to say a scope
	asserter     glue.Asserter // nil: the application believes no agent who asks
	refuser      glue.Refuser  // nil: refusals are problems
}

// New returns the handler of a service's listener, for clients: what only agents say is not believed. Requests of other
// agents reach it through Peers.
func New(c Config) *Handler {
	f := newFront(front{Service: c.Service, Client: c.Client, Shared: c.Site, Membership: c.Membership, Network: c.Network, Peer: c.Peer, API: c.API,
		Limits: c.Limits, Log: c.Log.With("service", string(c.Service))})
	h := &Handler{Site: c.Site, Types: c.Types, Application: c.Application, Services: c.Services, Believes: c.Believes,
		Correlations: c.Correlations, Discover: c.Discover, refuser: c.Client.Refuser(c.Service)}
	h.lists = &lists{porter: &porter{front: f}, run: h.run}
	h.asserter, _ = f.dialect.(glue.Asserter)
	h.carrier, _ = f.dialect.(glue.Carrier)
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.refuser == nil {
		h.serve(w, r, "")
		return
	}
	told := &retold{ResponseWriter: w, refuser: h.refuser}
	h.serve(told, r, "")
	told.finish()
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, from engine.SiteID) {
	q := &request{Request: r, w: w, from: from}
	if r.Method == http.MethodConnect {
		h.refuse(q, http.StatusMethodNotAllowed, "method", "this is no forward proxy: address the service itself")
		return
	}
	if !h.identify(q) {
		return
	}
	q.path, q.query = target(r)
	q.carried, q.path = take(q.Header, q.path)
	if h.carrier != nil {
		if text := h.carrier.TakeScope(q.Header); q.text == "" {
			q.text = text
		}
	}
	q.ids = h.Correlations.ids(r.Header)
	if from != "" && !h.hear(q) || from == "" && !(h.inherit(q) && h.writes(q)) {
		return
	}
	q.match, q.known = h.router().Match(r.Method, q.path, r.Header)
	if !q.known && h.Discover != nil && (q.text != "" || q.from != "") && h.Discover(r.Context()) {
		q.match, q.known = h.router().Match(r.Method, q.path, r.Header)
	}
	if q.known && q.match.Within != "" {
		q.path, q.localPath = h.Client.Paths(r.Context(), q.match, q.path)
	}
	if q.written && !h.rewrites(q) {
		q.text = ""
	}
	if q.gather {
		h.givePart(q)
		return
	}
	if q.sites == nil && q.text != "" && !h.place(q) {
		return
	}
	leave, ok := h.follow(q)
	if !ok {
		return
	}
	defer leave()
	if h.dialect != nil && h.speaks(q) {
		return
	}
	if len(q.choices) > 0 {
		h.choose(q)
		return
	}
	h.run(q)
}

// run takes a request to where its choice says.
func (h *Handler) run(q *request) {
	if q.known && q.match.Verb == glue.VerbOther && q.Method == http.MethodDelete {
		h.deleteAll(q)
		return
	}
	if q.exactlyOne && q.match.Within != "" && glue.Safe(q.Method) && h.withContainer(q) {
		return
	}
	if q.match.Within != "" && h.inside(q) {
		return
	}
	kind, listed := h.collection(q)
	if listed {
		h.ofOneItem(q, kind)
	}
	switch {
	case q.operation != "" && (!q.known || q.match.Type == ""):
		h.refuse(q, http.StatusUnprocessableEntity, "catalog-mismatch", "the catalog of %s has no kind for %s %s; give all sites the same catalog", h.name(h.Membership.Self()), q.Method, q.path)
	case q.content && q.known && q.match.Target != "":
		h.content(q)
	case len(q.sites) > 1 && listed:
		h.gather(q, kind)
	case len(q.sites) > 1 && h.watches(q):
		h.refuseWatch(q)
	case q.agreement != engine.AgreeOne && len(q.sites) > 1 && glue.Safe(q.Method) && !q.aggregated():
		h.readAgreed(q)
	case !q.known || q.match.Verb == glue.VerbOther:
		h.raw(q)
	case q.aggregated():
		h.list(q)
	case q.match.Verb == glue.VerbRead:
		h.read(q)
	case q.match.Verb == glue.VerbList:
		h.raw(q)
	default:
		h.write(q)
	}
}
