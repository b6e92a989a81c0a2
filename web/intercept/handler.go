package intercept

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/door"
	"github.com/skerry/skerry/web/intercept/carry"
	"github.com/skerry/skerry/web/intercept/gather"
	"github.com/skerry/skerry/web/intercept/passage"
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
	"github.com/skerry/skerry/web/meter"
	"github.com/skerry/skerry/web/traces"
	"github.com/skerry/skerry/web/typing"
)

// Site is what interception needs of the engine. It is safe for concurrent use.
type Site interface {
	request.Shared
	// Submit makes a request an operation and returns what the client gets. Its error may be an *engine.Refusal.
	Submit(ctx context.Context, r engine.Request) (engine.Answer, error)
	// Chosen returns the site at which what a name stands for is, where scopes had it at exactly one, empty when none is known;
	// and whether this site holds something under it.
	Chosen(ctx context.Context, k *engine.Kind, id string) (at engine.SiteID, here bool, err error)
	// Making waits until this site's application has the object of a resource, as long as it is being made here, and reports whether it has.
	Making(ctx context.Context, id engine.DocumentID) (made bool)
	// Reached waits until what a write has done is done here, or ctx ends: then it is an *engine.Refusal.
	Reached(ctx context.Context, a engine.After) error
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
	Network    request.Network
	// Peer carries requests to other sites; the host of their URL is a SiteID. It returns engine.ErrUnreachable when
	// it is certain that nothing was sent.
	Peer http.RoundTripper
	// Open opens a connection for such requests, unless the site has not been heard lately; nil: all go by Peer.
	Open func(ctx context.Context, site engine.SiteID) (net.Conn, error)
	// Types types the references of requests.
	Types *typing.Checker
	// Application and Services are what the catalog says, to check scopes.
	Application string
	Services    []engine.ServiceName
	// Accepts judges what other sites want to do here.
	Accepts func(engine.Wish) engine.Acceptance
	// Believes says who may say who makes a request.
	Believes Believes
	// Proxies are those whose word counts for whom they ask for.
	Proxies request.Proxies
	// Correlations remembers scopes for workflows; nil remembers none.
	Correlations *carry.Correlations
	// Discover asks the application for kinds that it has got, and reports whether there are any; nil: all are known.
	Discover func(ctx context.Context) bool
	// Check has all sites of a resource look at what their applications show of it; nil: nobody can.
	Check func(ctx context.Context, id engine.DocumentID) error
	// Meter counts what clients ask; nil: nobody does.
	Meter *meter.Meter
	// Tracer traces what clients and other agents ask; nil: nobody does.
	Tracer *traces.Tracer
	// API is where this site's REST API is, such as http://127.0.0.1:8701, for the addresses of operations.
	API    string
	Limits request.Limits
	Log    *slog.Logger
}

// Handler takes the requests for one service at one site. It is safe for concurrent use.
type Handler struct {
	*gather.Lists
	Site         Site
	Types        *typing.Checker
	Application  string
	Services     []engine.ServiceName
	Accepts      func(engine.Wish) engine.Acceptance
	Believes     Believes
	Proxies      request.Proxies
	Correlations *carry.Correlations
	Discover     func(ctx context.Context) bool
	Check        func(ctx context.Context, id engine.DocumentID) error
	Meter        *meter.Meter             // nil: nobody is told what clients ask
	Tracer       *traces.Tracer           // likewise
	carrier      glue.Carrier             // nil: clients have no ways of their own to say a scope
	asserter     glue.Asserter            // nil: the application believes no agent who asks
	refuser      glue.Refuser             // nil: refusals are problems
	lastOwn      atomic.Pointer[ownScope] // the last one that was this site: most clients write it in one way
	lastHeard    atomic.Pointer[heardScope]
	lastAway     atomic.Pointer[awayScope] // likewise the last one that was another
	Open         func(ctx context.Context, site engine.SiteID) (net.Conn, error)
	here         *door.Links
	ways         ways
}

// New returns the handler of a service's listener, for clients: what only agents say is not believed. Requests of other
// agents reach it through Peers.
func New(c Config) *Handler {
	f := request.NewFront(request.Front{Service: c.Service, Client: c.Client, Shared: c.Site, Membership: c.Membership, Network: c.Network, Peer: c.Peer, API: c.API,
		Limits: c.Limits, Log: c.Log.With("service", string(c.Service))})
	h := &Handler{Site: c.Site, Types: c.Types, Application: c.Application, Services: c.Services, Accepts: c.Accepts, Believes: c.Believes, Proxies: c.Proxies,
		Correlations: c.Correlations, Discover: c.Discover, Check: c.Check, Meter: c.Meter, Tracer: c.Tracer, refuser: c.Client.Refuser(c.Service)}
	h.Lists = &gather.Lists{Porter: &passage.Porter{Front: f}, Run: h.run}
	h.asserter, h.Open = c.Client.Asserter(c.Service), c.Open
	h.here = door.Application(func(ctx context.Context) (net.Conn, error) { return h.Client.Dial(ctx, h.Service) }, strings.TrimSuffix(h.Upstream.EscapedPath(), "/"))
	h.carrier, _ = f.Dialect.(glue.Carrier)
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.told(w, func(w http.ResponseWriter) { h.serve(w, r, "") })
}

// told has a client told what is refused as the application would.
func (h *Handler) told(w http.ResponseWriter, serve func(http.ResponseWriter)) {
	if h.refuser == nil {
		serve(w)
		return
	}
	told := &retold{ResponseWriter: w, refuser: h.refuser}
	serve(told)
	told.finish()
}

// nameOf is the name of the site that a request is from, empty for a client's.
func (h *Handler) nameOf(from engine.SiteID) string {
	if from == "" {
		return ""
	}
	return h.Name(from)
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, from engine.SiteID) {
	var asked *traces.Asked
	if h.Tracer != nil {
		r, asked = h.asked(r, from)
	}
	q := &request.Request{Request: r, W: w, From: from, Bodies: h.Limits.Bodies}
	if from == "" {
		q.Proposed, q.Began = asked.Operation(""), asked.Began()
	}
	if from != "" {
		q.Bodies = h.Limits.PeerBodies
	}
	defer q.Release()
	if from == "" && h.Meter != nil || asked != nil {
		t := &told{ResponseWriter: w, since: time.Now()}
		q.W = t
		defer func() { h.tell(q, t, asked) }()
	}
	if r.Method == http.MethodConnect {
		h.Refuse(q, http.StatusMethodNotAllowed, "method", "this is no forward proxy: address the service itself")
		return
	}
	request.KeepHTTP(r.Header)
	q.Client = request.Forwarded(r, h.Proxies, engine.SiteName(h.nameOf(from)))
	if !h.identify(q) {
		return
	}
	q.Path, q.Query = request.Target(r)
	q.Carried, q.Path = carry.Take(q.Header, q.Path)
	if h.carrier != nil {
		if text := h.carrier.TakeScope(q.Header); q.Text == "" {
			q.Text = text
		}
	}
	if !h.comesAfter(q) {
		return
	}
	q.IDs = h.Correlations.IDs(r.Header, q.Shown())
	if from != "" && !h.hear(q) || from == "" && !(h.inherit(q) && h.writes(q)) {
		return
	}
	q.Match, q.Known = h.Router().Match(r.Method, q.Path, r.Header)
	if !q.Known && h.Discover != nil && (q.Text != "" || q.From != "") && h.Discover(r.Context()) {
		q.Match, q.Known = h.Router().Match(r.Method, q.Path, r.Header)
	}
	if from != "" && !h.admits(q) {
		return
	}
	if q.Known && q.Match.Within != "" {
		q.Path, q.LocalPath = h.Client.Paths(r.Context(), q.Match, q.Path)
	}
	if q.Written && !h.rewrites(q) {
		q.Text = ""
	}
	if q.Gather {
		h.GivePart(q)
		return
	}
	if q.Sites == nil && q.Text != "" && !h.place(q) {
		return
	}
	leave, ok := h.follow(q)
	if !ok {
		return
	}
	defer leave()
	if h.Dialect != nil && h.speaks(q) {
		return
	}
	if len(q.Choices) > 0 {
		h.choose(q)
		return
	}
	h.run(q)
}

// asked begins to trace a request.
func (h *Handler) asked(r *http.Request, from engine.SiteID) (*http.Request, *traces.Asked) {
	if from == "" {
		return h.Tracer.Ask(r, h.Service, "", "")
	}
	return h.Tracer.Ask(r, h.Service, h.nameOf(from), engine.OperationID(r.Header.Get(peer.HeaderOperation)))
}

// tell tells of a request that has been answered.
func (h *Handler) tell(q *request.Request, t *told, asked *traces.Asked) {
	asked.End(t.status, t.Header())
	if q.From != "" {
		return
	}
	length, err := strconv.ParseInt(t.Header().Get("Content-Length"), 10, 64)
	if err != nil {
		length = -1
	}
	from, _ := netip.ParseAddrPort(q.RemoteAddr)
	h.Meter.Tell(meter.Request{At: time.Now(), Service: h.Service, Client: from.Addr().Unmap(), Scope: q.Text, Method: q.Method, Path: q.URL.EscapedPath(),
		Proto: q.Proto, Status: t.status, Length: length, Took: t.took, Trace: asked.Trace()})
}

// run takes a request to where its choice says.
func (h *Handler) run(q *request.Request) {
	if q.Known && q.Match.Verb == glue.VerbOther && q.Method == http.MethodDelete {
		h.deleteAll(q)
		return
	}
	if q.ExactlyOne && q.Match.Within != "" && glue.Safe(q.Method) && h.withContainer(q) {
		return
	}
	if q.Match.Within != "" && h.inside(q) {
		return
	}
	kind, listed := h.Collection(q)
	if listed {
		h.OfOneItem(q, kind)
	}
	switch {
	case q.Operation != "" && q.Match.Type == "":
		h.Refuse(q, http.StatusUnprocessableEntity, "catalog-mismatch", "%s sees in %s %s nothing that is to be kept equal; give all sites the same catalog", h.Name(h.Membership.Self()), q.Method, q.Path)
	case q.Content && q.Known && q.Match.Target != "":
		h.content(q)
	case len(q.Sites) > 1 && listed:
		h.Gather(q, kind)
	case len(q.Sites) > 1 && h.Watches(q):
		h.RefuseWatch(q)
	case q.Agreement != engine.AgreeOne && len(q.Sites) > 1 && glue.Safe(q.Method) && !q.Aggregated():
		h.ReadAgreed(q)
	case !q.Known || q.Match.Verb == glue.VerbOther:
		h.below(q)
	case q.Aggregated():
		h.List(q)
	case q.Match.Verb == glue.VerbRead:
		h.read(q)
	case q.Match.Verb == glue.VerbList:
		h.Raw(q)
	default:
		h.write(q)
	}
}
