package request

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// Shared is what this site shares with others, as answering requests takes it. It is safe for concurrent use.
type Shared interface {
	// Replicates reports whether any resource of a kind is replicated at this site.
	Replicates(k *engine.Kind) bool
	// Lookup finds a replicated resource by its meta-identifier or this site's own; ErrNotFound when there is none.
	Lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error)
	// Known is Lookup that finds what was deleted as well, as long as it is in the index.
	Known(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error)
	// Contents returns what the parts of a container are known here to hold of a kind.
	Contents(ctx context.Context, id engine.DocumentID, kind engine.KindName) ([]engine.Contained, error)
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
	// Bodies bounds the memory that bodies of clients take, PeerBodies that of requests of other agents (64 MiB each).
	Bodies, PeerBodies *Bodies
}

// Front is where the requests for one service come in at one site, and what is known there of who may answer them. It is safe for
// concurrent use.
type Front struct {
	Service    engine.ServiceName
	Client     *glue.Client // has an upstream for Service
	Shared     Shared
	Membership engine.Membership
	Network    Network
	// Peer carries requests to other sites; the host of their URL is a SiteID. It returns engine.ErrUnreachable when it is certain
	// that nothing was sent.
	Peer http.RoundTripper
	// API is where this site's REST API is.
	API    string
	Limits Limits
	Log    *slog.Logger

	// The rest is filled in by NewFront. Upstream is where this site's application is, Local what its requests go over.
	Upstream *url.URL
	Local    http.RoundTripper
	Dialect  glue.Dialect  // nil: there is nothing beyond the catalog
	Gatherer glue.Gatherer // nil: lists of several sites are made one by what the catalog says
}

// NewFront returns f with what follows from its Client, and with the defaults of its Limits.
func NewFront(f Front) *Front {
	f.Limits.fill()
	f.Upstream, f.Local = f.Client.Upstream(f.Service)
	f.Dialect = f.Client.Dialect(f.Service)
	f.Gatherer, _ = f.Dialect.(glue.Gatherer)
	return &f
}

func (l *Limits) fill() {
	l.Body = cmp.Or(l.Body, 5<<30)
	l.Reply = cmp.Or(l.Reply, 32<<20)
	if l.Bodies == nil {
		l.Bodies = NewBodies(64<<20, time.Minute)
	}
	if l.PeerBodies == nil {
		l.PeerBodies = NewBodies(64<<20, time.Minute)
	}
	l.List = cmp.Or(l.List, 30*time.Second)
	l.Silence = cmp.Or(l.Silence, 5*time.Second)
	l.Grace = cmp.Or(l.Grace, 900*time.Millisecond)
	// A site that has just been cut off counts as reachable until a ping goes missing, and nobody is to wait for that.
	l.Hedge = cmp.Or(l.Hedge, 300*time.Millisecond)
}

// Router is the catalog's of the service.
func (h *Front) Router() *glue.Router { return h.Client.Router(h.Service) }

// Here reports whether the request runs at this site only.
func (h *Front) Here(q *Request) bool {
	return q.Sites == nil || (len(q.Sites) == 1 && q.Sites[0] == h.Membership.Self())
}

// NotFound reports whether err says that nothing replicated has been found; other errors are for the client.
func NotFound(err error) bool { return errors.Is(err, engine.ErrNotFound) }
