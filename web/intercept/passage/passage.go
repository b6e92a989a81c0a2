package passage

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/door"
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
)

// passage takes one request to this site's application or to another site's agent, and its answer back, both
// streaming.
type passage struct {
	h *Porter
	q *request.Request
	// path and query are what is sent; they begin as the request's own.
	path, query string
	// sites are asked in this order, until one answers; nil is this site's application. What may not be sent twice goes
	// to the first alone.
	sites []engine.SiteID
	// candidates are all that may answer, those among them that cannot be reached too.
	candidates []engine.SiteID
	// elsewhere are asked when this site's application does not have what is read.
	elsewhere []engine.SiteID
	// race is set while other sites are asked for something that may be asked twice.
	race *race
	// served is the site that answered.
	served engine.SiteID
	// kind is set when the identifiers in the answer are to be translated.
	kind *engine.Kind
	// add is added to the answer.
	add http.Header
}

// Porter takes requests to where they run, and the answers back.
type Porter struct {
	*request.Front
	buffers bufferPool
}

// Pass takes a request to this site's application.
func (h *Porter) Pass(q *request.Request) {
	p := &passage{h: h, q: q, path: cmp.Or(q.LocalPath, q.Path), query: q.Query}
	switch {
	case q.Sites != nil:
		p.add = http.Header{"Skerry-Site": {h.Name(h.Membership.Self())}}
	case q.Match.Within == "": // a container is told of what has changed in it
		door.Pass(q.Context())
	}
	p.run()
}

// Forward takes a request to the nearest of the sites that can be reached, and a read on to the next when there is no
// answer (race.go).
func (h *Porter) Forward(q *request.Request, sites []engine.SiteID) {
	reachable := h.Nearest(sites)
	if len(reachable) == 0 && repeatable(q.Request) {
		reachable = h.Await(q.Context(), sites, time.Now().Add(request.Patience))
	}
	if len(reachable) == 0 {
		q.Certain = true
		h.Refuse(q, http.StatusServiceUnavailable, "unreachable",
			"%s cannot be reached now; nothing has happened, try again later", h.Names(sites))
		return
	}
	if q.ContentLength > h.Limits.Body {
		h.RefuseTooLarge(q, h.Limits.Body)
		return
	}
	if q.Body != nil && q.Body != http.NoBody {
		reachable = reachable[:1] // a body streams once
		q.Body = http.MaxBytesReader(q.W, q.Body, h.Limits.Body)
	}
	p := &passage{h: h, q: q, path: q.Path, query: q.Query, sites: reachable, candidates: sites}
	p.run()
}

func (p *passage) run() {
	// Without these the server would make up what the application did not say.
	p.q.W.Header()["Date"] = nil
	p.q.W.Header()["Content-Type"] = nil
	// An application may begin to answer before the request has ended; without this the server would first read all of it.
	_ = http.NewResponseController(p.q.W).EnableFullDuplex() // HTTP/1 only; others always do
	proxy := httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: p, ModifyResponse: p.modify, ErrorHandler: p.fail,
		BufferPool: &p.h.buffers, FlushInterval: flushAfter,
		ErrorLog: slog.NewLogLogger(p.h.Log.Handler(), slog.LevelDebug),
	}
	defer func() {
		if p.race != nil {
			p.race.end()
		}
	}()
	proxy.ServeHTTP(p.q.W, p.q.Request)
}

// flushAfter is how long a part of an answer of known length waits for more of it: as a rule the whole is there by then, and goes out with its
// head in one packet. ReverseProxy lets nothing wait whose end is not known.
const flushAfter = 2 * time.Millisecond

// rewrite makes the outgoing request: the incoming one without what is the agents'.
func (p *passage) rewrite(r *httputil.ProxyRequest) {
	in, out := r.In.Header, r.Out.Header
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := in[name]; ok { // ReverseProxy distrusts them; these are the agent's (request.Forwarded)
			out[name] = values
		}
	}
	glue.StripAgent(out)
	p.q.Strip(out)
	if key, ok := out["Idempotency-Key"]; ok {
		// Under this spelling net/http does not take the request for one that it may repeat by itself.
		delete(out, "Idempotency-Key")
		out["idempotency-key"] = key
	}
	if p.kind != nil {
		out.Del("Accept-Encoding")
		out.Del("Range")
		out.Del("If-Range")
	}
	r.Out.Host = r.In.Host
	if r.Out.Trailer = nil; p.q.From == "" {
		r.Out.Trailer = r.In.Trailer
		if r.Out.Trailer != nil {
			r.Out.Body = &trailed{ReadCloser: r.Out.Body, trailer: r.Out.Trailer, said: p.h.Client.Asserter(p.h.Service)}
		}
	}
	to := p.h.Upstream
	if p.sites != nil {
		to = &url.URL{Scheme: "http", Host: string(p.sites[0])}
		p.h.Speak(p.q, out)
	}
	r.Out.URL = glue.Target(to, p.path, strings.TrimPrefix(p.query, "?"))
	r.Out.URL.ForceQuery = p.query == "?"
}

// RoundTrip implements http.RoundTripper.
func (p *passage) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case p.sites == nil:
		resp, err := p.h.Local.RoundTrip(r)
		if err == nil && len(p.elsewhere) > 0 && peer.Absent(resp) && repeatable(r) {
			return p.lookElsewhere(r, resp), nil
		}
		return resp, err
	case repeatable(r):
		p.race = newRace(p, r)
		return p.race.run()
	}
	p.served = p.sites[0]
	return p.h.Peer.RoundTrip(peer.Addressed(r, p.served))
}

// lookElsewhere asks other sites for what this one's application does not have, and returns its answer when they have it
// neither.
func (p *passage) lookElsewhere(r *http.Request, here *http.Response) *http.Response {
	p.h.Canonical(p.q)
	out := r.Clone(r.Context())
	p.h.Speak(p.q, out.Header)
	out.URL = glue.Target(&url.URL{Scheme: "http", Host: string(p.elsewhere[0])}, p.q.Path, strings.TrimPrefix(p.q.Query, "?"))
	p.sites, p.candidates = p.elsewhere, p.elsewhere
	p.race = newRace(p, out)
	there, err := p.race.run()
	if err == nil && !peer.AgentFailed(there) && !peer.Absent(there) {
		here.Body.Close()
		p.add = nil
		return there
	}
	if err == nil {
		there.Body.Close()
	}
	p.sites = nil
	return here
}

// modify makes the answer what the client gets.
func (p *passage) modify(r *http.Response) error {
	if p.sites == nil {
		for name := range r.Header {
			if strings.HasPrefix(name, "Skerry-") {
				delete(r.Header, name) // only agents say these
			}
		}
		if p.kind != nil {
			if err := p.present(r); err != nil {
				return err
			}
		}
	} else if r.Header.Get("Skerry-Site") == "" {
		r.Header.Set("Skerry-Site", p.h.Name(p.served))
	}
	for name, values := range p.add {
		r.Header[name] = values
	}
	p.q.Warn(r.Header)
	if p.q.Prefix != "" {
		for _, name := range []string{"Location", "Content-Location"} {
			if value := r.Header.Get(name); value != "" {
				r.Header.Set(name, p.q.Prefixed(value, p.q.Host, p.h.Upstream.Host))
			}
		}
	}
	return nil
}

// present translates the identifiers in an answer of this site's application.
func (p *passage) present(r *http.Response) error {
	if r.Request.Method == http.MethodHead {
		r.Header.Del("Content-Length") // a GET answers with another one
		return nil
	}
	if r.StatusCode < 200 || r.StatusCode > 299 || Endless(r.Header.Get("Content-Type")) || Watching(p.q.Query, p.h.Client.Watch(p.kind)) {
		return nil
	}
	body := &bytes.Buffer{}
	if r.Body != nil && (r.ContentLength < 0 || r.ContentLength <= p.h.Limits.Reply) {
		_, err := body.ReadFrom(io.LimitReader(r.Body, p.h.Limits.Reply+1))
		if err != nil {
			return err
		}
	}
	if int64(body.Len()) > p.h.Limits.Reply || r.ContentLength > p.h.Limits.Reply {
		p.h.Log.WarnContext(p.q.Context(), "an answer is too long to translate the identifiers in it", "path", p.q.Path)
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(body, r.Body), r.Body}
		return nil
	}
	r.Body.Close()
	out := body.Bytes()
	if p.q.Match.Verb == glue.VerbList {
		out = p.presentList(r.Header, out)
	} else {
		reply, err := p.h.Client.Present(r.Request.Context(), p.kind, engine.Reply{Status: r.StatusCode, Header: r.Header, Body: out, Within: p.q.Match.Within})
		if err != nil {
			return err
		}
		out, r.Header = reply.Body, reply.Header
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(out)), int64(len(out))
	if r.StatusCode != http.StatusNoContent {
		r.Header.Set("Content-Length", strconv.Itoa(len(out)))
	}
	return nil
}

// presentList translates a list and tells another agent which of its items are replicated.
func (p *passage) presentList(header http.Header, body []byte) []byte {
	list, err := p.h.Client.ParseItems(p.q.Context(), p.kind, p.q.Match.Within, body)
	if err != nil {
		return body // whatever it is, it is the application's answer
	}
	if q := p.q; q.Aggregate != nil {
		next, paged := p.h.Describe(q.Context(), q, header, body, list.Each, q.Aggregate, q.Page)
		header.Set(peer.HeaderReplicated, peer.EncodeReplicated(list.Each))
		set := func(name, value string) {
			if value != "" {
				header.Set(name, value)
			}
		}
		set(peer.HeaderParts, peer.EncodeNumbers(list.Each, func(i *glue.Item) *int { return &i.Part }))
		if paged {
			set(peer.HeaderHomes, peer.EncodeNumbers(list.Each, func(i *glue.Item) *int { return &i.Home }))
			set(peer.HeaderNext, next)
		}
	}
	return list.Join(list.Each)
}

// fail answers when no answer came.
func (p *passage) fail(_ http.ResponseWriter, r *http.Request, err error) {
	h, q := p.h, p.q
	var tooLarge *http.MaxBytesError
	q.Certain = glue.Unreachable(err)
	switch {
	case r.Context().Err() != nil: // the client has gone, or had set itself a limit
		h.Refuse(q, http.StatusGatewayTimeout, "upstream", "no answer came in time")
		return
	case errors.As(err, &tooLarge):
		h.RefuseTooLarge(q, tooLarge.Limit)
	case p.sites != nil && errors.Is(err, engine.ErrUnreachable):
		h.Refuse(q, http.StatusServiceUnavailable, "unreachable", "%s cannot be reached now; nothing has happened, try again later", h.Names(p.candidates))
	case p.sites != nil:
		h.Refuse(q, http.StatusBadGateway, "upstream", "the connection to %s broke before an answer came", h.Name(p.served))
	default:
		h.NoAnswer(q, err)
		return
	}
	h.Log.WarnContext(q.Context(), "no answer", "method", q.Method, "path", q.Path, "peer", p.served, "err", err)
}

// NoAnswer tells a client that this site's application has given none.
func (h *Porter) NoAnswer(q *request.Request, err error) {
	var slow net.Error
	here := h.Name(h.Membership.Self()) // its client may be at another one
	switch {
	case glue.Unreachable(err):
		h.Refuse(q, http.StatusBadGateway, "upstream", "service %s at %s cannot be reached", h.Service, here)
	case errors.As(err, &slow) && slow.Timeout():
		h.Refuse(q, http.StatusGatewayTimeout, "upstream", "service %s at %s did not answer in time", h.Service, here)
	default:
		h.Refuse(q, http.StatusBadGateway, "upstream", "service %s at %s gave no valid answer", h.Service, here)
	}
	h.Log.WarnContext(q.Context(), "no answer", "method", q.Method, "path", q.Path, "err", err)
}

// Raw passes a request on that the catalog says nothing about.
func (h *Porter) Raw(q *request.Request) {
	elsewhere := !h.Here(q) && !slices.Contains(q.Sites, h.Membership.Self())
	switch {
	case elsewhere && !q.Known && !h.Client.Reaches(h.Service, q.Method, q.Path):
		h.Refuse(q, http.StatusUnprocessableEntity, "scope-type",
			"the catalog has no kind for %s %s, and other sites serve what it describes and nothing else\nhelp: leave the service out of the scope, or describe the kind, or the path, in the catalog", q.Method, q.Path)
	case h.Here(q), glue.Safe(q.Method) && slices.Contains(q.Sites, h.Membership.Self()):
		h.Pass(q)
	case len(q.Sites) == 1 || glue.Safe(q.Method):
		h.Forward(q, q.Sites)
	default:
		h.Refuse(q, http.StatusUnprocessableEntity, "scope-type",
			"the catalog has no kind for %s %s, so that it cannot be kept equal at several sites\nhelp: name one site in the scope, or describe the kind in the catalog", q.Method, q.Path)
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
