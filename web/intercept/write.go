package intercept

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
)

// write takes a request that changes something: to this site's application when only that is concerned, else to the
// engine as an operation.
func (h *Handler) write(q *request.Request) {
	m := q.Match
	replicated, err := h.replicated(q, &m)
	if err != nil {
		h.RefuseError(q, err)
		return
	}
	if !m.Canonical && (replicated || len(q.Sites) > 1) || !replicated && h.otherReplicated(q) {
		h.Refuse(q, http.StatusBadRequest, "path",
			"servers differ in what %s means, and it may be a replicated resource\nhelp: write the path plainly, without dot segments, doubled slashes, escaped slashes and semicolons", q.Path)
		return
	}
	if !m.Canonical {
		h.Raw(q)
		return
	}
	if h.keeps(q, replicated) || !h.typed(q) {
		return
	}
	if q.Operation == "" && !replicated && h.Here(q) && len(q.Choices) == 0 && !createsInside(q) {
		if m.Type != engine.TypeDelete || !h.chosenHere(q) {
			if h.goesAlong(q) {
				return
			}
			h.madeAgain(q)
			h.PassTranslated(q)
			return
		}
		q.Sites = []engine.SiteID{h.Membership.Self()}
	}
	// What may have to be looked into is held in memory; the rest streams.
	inside := int64(engine.MaxInlineBody)
	looked := m.Looked(q.Header)
	if looked {
		inside = engine.MaxLooked
	}
	body, whole, err := q.ReadInline(min(h.Limits.Body, inside))
	switch {
	case err != nil:
		h.RefuseBody(q, err)
	case whole:
		h.submit(q, body, nil)
	case looked || inside > h.Limits.Body || q.ContentLength > h.Limits.Body:
		h.RefuseTooLarge(q, min(h.Limits.Body, inside))
	default:
		h.submit(q, nil, &streamed{http.MaxBytesReader(q.W, q.Coming(), h.Limits.Body), q.ContentLength})
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
func (h *Handler) replicated(q *request.Request, m *glue.Match) (bool, error) {
	if m.Target == "" {
		return false, nil
	}
	_, err := h.Site.Lookup(q.Context(), m.Kind, m.Target)
	if request.NotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// otherReplicated reports whether the path, read in another way, names something replicated.
func (h *Handler) otherReplicated(q *request.Request) bool {
	for m := q.Match.Other; m != nil; m = m.Other {
		if yes, err := h.replicated(q, m); yes || err != nil {
			return true
		}
	}
	return false
}

// runsHere reports whether a request may run first at this site.
func (h *Handler) runsHere(r *engine.Request) bool {
	self := h.Membership.Self()
	return r.Placement == nil || slices.Contains(r.Placement, self) ||
		slices.ContainsFunc(r.Alternatives, func(a engine.Alternative) bool { return slices.Contains(a.Placement, self) })
}

// submit makes the request an operation. It has one of the two bodies, or none.
func (h *Handler) submit(q *request.Request, body []byte, large engine.Body) {
	m := q.Match
	if h.Dialect != nil && q.From == "" {
		h.warns(q, h.Dialect.Leaves(m.Kind, body))
	}
	query := strings.TrimPrefix(q.Query, "?")
	if q.From == "" {
		body = m.Enveloped(q.Header, body)
	}
	query, body = h.Client.Canonical(q.Context(), m.Kind, m.Within, q.Header, query, body)
	r := engine.Request{
		Operation: q.Operation, Proposed: q.Proposed, Kind: m.Kind, Type: m.Type, Method: q.Method, Path: m.Path, Target: m.Target, Within: m.Within,
		Query: query, Header: request.Carried(m.Kind, q.Header), Body: body, Large: large, Placement: q.Sites, Parts: q.Parts, Scope: q.Scope,
		User: q.Who(), Alternatives: alternatives(q), Agreement: q.Agreement, ExactlyOne: q.ExactlyOne,
		Async: q.From == "" && prefersAsync(q.Header), Wait: wait(q.Header),
		Forced:         peer.Forces(q.Header, engine.ForceActions),
		ForcedReliance: peer.Forces(q.Header, engine.ForceReliedOn), Caller: q.Caller(), Anonymous: q.Shown() == "", Credentials: q.Credentials(), Via: q.Via, Again: q.Again, Since: q.Since,
		After: q.After,
	}
	if q.From == "" {
		r.Key = q.Header.Get("Idempotency-Key")
	}
	r.Bound = h.boundRefs(q)
	if h.runsHere(&r) {
		var err error
		if r.Asker, err = h.Client.Asker(q.Context(), h.Service, r.Credentials.Header); err != nil {
			h.Log.WarnContext(q.Context(), "nobody knows who asks, so what other sites do with the rights of users waits there", "err", err)
		}
	}
	if r.Asker != nil && r.User == "" {
		r.User = r.Asker.User
	}
	answer, err := h.Site.Submit(q.Context(), r)
	if h.absent(q, answer, err) {
		return
	}
	if err != nil {
		h.RefuseError(q, err)
		return
	}
	if h.Dialect != nil && q.From == "" && answer.Status == http.StatusAccepted && len(answer.Body) == 0 && answer.Content == nil {
		h.accepted(q, &answer, r)
	}
	if applied := applied(r, answer); applied != "" {
		q.W.Header().Set("Preference-Applied", applied)
	}
	h.Answer(q, answer)
}
