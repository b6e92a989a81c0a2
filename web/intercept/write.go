package intercept

import (
	"io"
	"net/http"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// write takes a request that changes something: to this site's application when only that is concerned, else to the
// engine as an operation.
func (h *Handler) write(q *request) {
	m := q.match
	replicated, err := h.replicated(q, &m)
	if err != nil {
		h.refuseError(q, err)
		return
	}
	if !m.Canonical && (replicated || len(q.sites) > 1) || !replicated && h.otherReplicated(q) {
		h.refuse(q, http.StatusBadRequest, "path",
			"servers differ in what %s means, and it may be a replicated resource\nhelp: write the path plainly, without dot segments, doubled slashes and escaped slashes", q.path)
		return
	}
	if !m.Canonical {
		h.raw(q)
		return
	}
	if h.keeps(q, replicated) || !h.typed(q) {
		return
	}
	if q.operation == "" && !replicated && h.here(q) && len(q.choices) == 0 && !createsInside(q) {
		if m.Type != engine.TypeDelete || !h.chosenHere(q) {
			h.passTranslated(q)
			return
		}
		q.sites = []engine.SiteID{h.Membership.Self()}
	}
	// What may have to be looked into is held in memory; the rest streams.
	inside := int64(engine.MaxInlineBody)
	looked := m.Looked(q.Header)
	if looked {
		inside = engine.MaxLooked
	}
	body, whole, err := q.readInline(min(h.Limits.Body, inside))
	switch {
	case err != nil:
		h.refuseBody(q, err)
	case whole:
		h.submit(q, body, nil)
	case looked || inside > h.Limits.Body || q.ContentLength > h.Limits.Body:
		h.refuseTooLarge(q, min(h.Limits.Body, inside))
	default:
		h.submit(q, nil, &streamed{http.MaxBytesReader(q.w, q.Body, h.Limits.Body), q.ContentLength})
	}
}

// streamed is a large body as it comes in: it can be read once.
type streamed struct {
	body io.Reader
	size int64 // -1: not told
}

func (s *streamed) Open() (io.ReadCloser, error) { return io.NopCloser(s.body), nil }
func (s *streamed) Size() int64                  { return s.size }

// replicated reports whether the target of a request is replicated here.
func (h *Handler) replicated(q *request, m *glue.Match) (bool, error) {
	if m.Target == "" {
		return false, nil
	}
	_, err := h.Site.Lookup(q.Context(), m.Kind, m.Target)
	if notFound(err) {
		return false, nil
	}
	return err == nil, err
}

// otherReplicated reports whether the path, read with its escaped slashes as slashes, names something replicated.
func (h *Handler) otherReplicated(q *request) bool {
	if q.match.Other == nil {
		return false
	}
	yes, err := h.replicated(q, q.match.Other)
	return yes || err != nil
}

// submit makes the request an operation. It has one of the two bodies, or none.
func (h *Handler) submit(q *request, body []byte, large engine.Body) {
	m := q.match
	query := strings.TrimPrefix(q.query, "?")
	query, body = h.Client.Canonical(q.Context(), m.Kind, m.Within, q.Header, query, body)
	r := engine.Request{
		Operation: q.operation, Kind: m.Kind, Type: m.Type, Method: q.Method, Path: m.Path, Target: m.Target, Within: m.Within,
		Query: query, Header: contentHeaders(q.Header), Body: body, Large: large, Placement: q.sites, Parts: q.parts, Scope: q.scope,
		User: q.who(), Alternatives: alternatives(q), Agreement: q.agreement, ExactlyOne: q.exactlyOne,
		Async: q.from == "" && prefersAsync(q.Header), Wait: wait(q.Header),
		Forced:         forces(q.Header, engine.ForceActions),
		ForcedReliance: forces(q.Header, engine.ForceReliedOn), Caller: q.caller(), Credentials: q.credentials(), Via: q.via, Again: q.again,
	}
	if q.from == "" {
		r.Key = q.Header.Get("Idempotency-Key")
	}
	r.Bound = h.boundRefs(q)
	answer, err := h.Site.Submit(q.Context(), r)
	if err != nil {
		h.refuseError(q, err)
		return
	}
	if h.dialect != nil && q.from == "" && answer.Status == http.StatusAccepted && len(answer.Body) == 0 && answer.Content == nil {
		h.accepted(q, &answer, r)
	}
	if applied := applied(r, answer); applied != "" {
		q.w.Header().Set("Preference-Applied", applied)
	}
	h.answer(q, answer)
}
