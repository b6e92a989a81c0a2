package intercept

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/typing"
)

// Site is what interception needs of the engine. It is safe for concurrent use.
type Site interface {
	// Submit makes a request an operation and returns what the client gets. Its error may be an *engine.Refusal.
	Submit(ctx context.Context, r engine.Request) (engine.Answer, error)
	// Chosen returns the site at which what a name stands for is, where scopes had it at exactly one, empty when none is known;
	// and whether this site holds something under it.
	Chosen(ctx context.Context, k *engine.Kind, id string) (at engine.SiteID, here bool, err error)
	// Zones and Distances are what scopes may ask for, as world.Mesh has them.
	Zones() []engine.Zone
	Distances() func(a, b engine.SiteID) (time.Duration, bool)
	// Replicates reports whether any resource of a kind is replicated at this site.
	Replicates(k *engine.Kind) bool
	// Lookup finds a replicated resource by its meta-identifier or this site's own; ErrNotFound when there is none.
	Lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error)
	// Relying lists those that rely on a resource, as far as this site shares them.
	Relying(ctx context.Context, k *engine.Kind, id string, limit int) ([]engine.ResourceRow, error)
	// Holding lists those that lie inside a resource and are replicated, likewise.
	Holding(ctx context.Context, k *engine.Kind, id string, limit int) ([]engine.ResourceRow, error)
	// Contents returns what the parts of a container are known here to hold of a kind; ContentsChanged is told that a request for
	// some of it has passed.
	Contents(ctx context.Context, id engine.DocumentID, kind engine.KindName) ([]engine.Contained, error)
	ContentsChanged(id engine.DocumentID)
	// LastShown returns what the parts of a cross resource showed last, by site, as far as is known here.
	LastShown(ctx context.Context, id engine.DocumentID) (map[engine.SiteID]json.RawMessage, error)
}

// Network tells which sites can be reached, and how fast.
type Network interface {
	Status() map[engine.SiteID]engine.SiteStatus
}

// Limits bound what a handler takes. Zero fields stand for the defaults.
type Limits struct {
	// Body is the most bytes of a request that has a scope or concerns something replicated (5 GiB). Other requests
	// have no limit. What becomes an operation is bounded by engine.MaxInlineBody as well.
	Body int64
	// Reply is the most bytes of an answer whose identifiers are translated or that becomes part of an aggregated
	// list (32 MiB). Longer ones pass as they are, or count as missing.
	Reply int64
	// List bounds the wait for any site when the lists of several are aggregated (30 s).
	List time.Duration
	// Silence is how long one alternative of a scope may take to begin its answer to a read before the next is asked (5 s).
	Silence time.Duration
	// Grace is how long the other sites of an aggregated list have after the first has answered, beside twice the time
	// which that one took (900 ms).
	Grace time.Duration
	// Hedge is how long a site may take to begin its answer to a GET or HEAD before the next one is asked beside it (300 ms).
	Hedge time.Duration
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
	Config
	upstream *url.URL
	local    http.RoundTripper
	dialect  glue.Dialect  // nil: there is nothing beyond the catalog
	gatherer glue.Gatherer // nil: lists of several sites are made one by what the catalog says
	carrier  glue.Carrier  // nil: clients have no ways of their own to say a scope
	asserter glue.Asserter // nil: the application believes no agent who asks
	refuser  glue.Refuser  // nil: refusals are problems
	buffers  bufferPool
}

// New returns the handler of a service's listener, for clients: what only agents say is not believed. Requests of other
// agents reach it through Peers.
func New(c Config) *Handler {
	if c.Limits.Body == 0 {
		c.Limits.Body = 5 << 30
	}
	if c.Limits.Reply == 0 {
		c.Limits.Reply = 32 << 20
	}
	if c.Limits.List == 0 {
		c.Limits.List = 30 * time.Second
	}
	if c.Limits.Silence == 0 {
		c.Limits.Silence = 5 * time.Second
	}
	if c.Limits.Grace == 0 {
		c.Limits.Grace = 900 * time.Millisecond
	}
	if c.Limits.Hedge == 0 {
		c.Limits.Hedge = hedgeAfter
	}
	h := &Handler{Config: c}
	h.upstream, h.local = c.Client.Upstream(c.Service)
	h.dialect = c.Client.Dialect(c.Service)
	h.refuser = c.Client.Refuser(c.Service)
	h.gatherer, _ = h.dialect.(glue.Gatherer)
	h.asserter, _ = h.dialect.(glue.Asserter)
	h.carrier, _ = h.dialect.(glue.Carrier)
	h.Log = c.Log.With("service", string(c.Service))
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

func (h *Handler) router() *glue.Router { return h.Client.Router(h.Service) }

// request is one request on its way, with what has been found out about it.
type request struct {
	*http.Request
	w http.ResponseWriter
	// path is the escaped path without the scope's prefix, query the raw query with its question mark, if any.
	path, query string
	// localPath is the path as this site's application knows it, where containers have another identifier here; empty otherwise.
	localPath string
	carried
	// from is the site whose agent sent it, empty for a client. Via, operation, user, aggregate and content are told by
	// agents only.
	from      engine.SiteID
	via       []engine.SiteID
	operation engine.OperationID
	again     bool // it may have come before
	user      string
	// aggregate are the sites of the list that a part is asked for of; page says that this goes on with one.
	aggregate []engine.SiteID
	page      bool
	content   bool
	gather    bool // a part of a list or a watch is asked for
	oneItem   bool // a list or a watch is of one cross item, at all of its parts
	// match is what it is about; known says whether the path belongs to a kind at all.
	match glue.Match
	known bool
	// choice is where the scope sends it, without sites when there is none; choices are all alternatives of the scope when
	// there are several. Scope is its canonical form.
	choice
	choices []choice
	scope   string
	// container is the cross resource that it lies in, nil for none.
	container *engine.ResourceRow
	// ids are its correlation ids; inherited says that the scope was remembered under one of them.
	ids       []string
	inherited bool
	// written says that the scope is from the body.
	written bool
	// certain is set when no answer came and it is certain that no application was asked.
	certain bool
	// parsed is the scope as a tree, nil without one and for what agents ask; warnings are for the answer.
	parsed   *scope.Scope
	warnings []string
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
	q.carry()
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

// aggregated reports whether the answers of several sites can be made one.
func (q *request) aggregated() bool {
	return q.known && q.match.Verb == glue.VerbList && q.Method == http.MethodGet
}

// target returns the path and the query of a request as they were sent. The query keeps its question mark.
func target(r *http.Request) (path, query string) {
	uri := r.RequestURI
	if !strings.HasPrefix(uri, "/") { // absolute form, or a request made in this process
		uri = r.URL.RequestURI()
	}
	if i := strings.IndexByte(uri, '?'); i >= 0 {
		return uri[:i], uri[i:]
	}
	return uri, ""
}

// here reports whether the request runs at this site only.
func (h *Handler) here(q *request) bool {
	return q.sites == nil || (len(q.sites) == 1 && q.sites[0] == h.Membership.Self())
}

// raw passes a request on that the catalog says nothing about.
func (h *Handler) raw(q *request) {
	switch {
	case h.here(q), glue.Safe(q.Method) && slices.Contains(q.sites, h.Membership.Self()):
		h.pass(q)
	case len(q.sites) == 1 || glue.Safe(q.Method):
		h.forward(q, q.sites)
	default:
		h.refuse(q, http.StatusUnprocessableEntity, "scope-type",
			"the catalog has no kind for %s %s, so that it cannot be kept equal at several sites\nhelp: name one site in the scope, or describe the kind in the catalog", q.Method, q.path)
	}
}

// bufferPool implements httputil.BufferPool.
type bufferPool struct{ pool sync.Pool }

func (p *bufferPool) Get() []byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 32<<10)
}

func (p *bufferPool) Put(b []byte) { p.pool.Put(&b) }

// readInline reads a body of at most limit bytes. Whole is false when there is more: then the request's body begins
// again with what was read.
func (q *request) readInline(limit int64) (body []byte, whole bool, err error) {
	if q.Body == nil || q.Body == http.NoBody {
		return nil, true, nil
	}
	if q.ContentLength > limit {
		return nil, false, nil
	}
	body, err = io.ReadAll(io.LimitReader(q.Body, limit+1))
	if err != nil {
		return nil, false, err
	}
	if int64(len(body)) > limit {
		q.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(string(body)), q.Body), q.Body}
		return nil, false, nil
	}
	return body, true, nil
}

// notFound reports whether err says that nothing replicated has been found; other errors are for the client.
func notFound(err error) bool { return errors.Is(err, engine.ErrNotFound) }
