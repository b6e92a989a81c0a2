package intercept

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/passage"
	"github.com/skerry/skerry/web/intercept/request"
	"github.com/skerry/skerry/web/problem"
	"github.com/skerry/skerry/web/typing"
	"github.com/skerry/skerry/web/world"
)

// typed types the references of a request that changes what several sites or another site have, before anything of it is
// forwarded. It returns false when it has refused the request. A reliance without a replica where the request runs is told in
// a Warning (RFC 9111, section 5.5).
func (h *Handler) typed(q *request.Request) bool {
	m := q.Match
	sets := m.Type == engine.TypeCreate || m.Type == engine.TypeReplace || m.Type == engine.TypeMerge || m.Type == engine.TypePatch
	if q.From != "" || !sets || m.Below || len(m.Kind.Refs) == 0 {
		return true
	}
	if _, streamed := q.Body.(*untouchedBody); streamed {
		return true // another alternative may need it
	}
	sites := slices.Clone(q.Sites)
	for _, c := range q.Choices {
		sites = append(sites, c.Sites...)
	}
	slices.Sort(sites)
	sites = slices.Compact(sites)
	var stands []engine.Relation // what it refers to already, where the request adds sites
	if m.Target != "" {
		row, err := h.Site.Lookup(q.Context(), m.Kind, m.Target)
		if err != nil && !request.NotFound(err) {
			h.RefuseError(q, err)
			return false
		}
		if err == nil && slices.ContainsFunc(sites, func(id engine.SiteID) bool { _, has := row.Sites[id]; return !has }) {
			stands = row.Relations
		}
		for id, st := range row.Sites {
			if st.State != engine.StateLeaving && !slices.Contains(sites, id) {
				sites = append(sites, id)
			}
		}
	}
	if len(sites) == 0 && q.Parsed == nil {
		return true // it is local: the application's own affair
	}
	if len(sites) == 0 {
		sites = []engine.SiteID{h.Membership.Self()}
	}
	body, whole, err := q.ReadInline(passage.MaxTranslated)
	if err != nil {
		h.RefuseBody(q, err)
		return false
	}
	if !whole {
		return true // too long to become an operation; what passes is streamed
	}
	if q.Body != nil && q.Body != http.NoBody {
		q.Body = io.NopCloser(bytes.NewReader(body))
	}
	_, canonical := h.Client.Canonical(q.Context(), m.Kind, m.Within, q.Header, "", body)
	if media, _, _ := mime.ParseMediaType(q.Header.Get("Content-Type")); glue.IsJSONPatch(media) {
		canonical = tree.Patched(canonical)
	}
	if q.Parsed == nil {
		q.Parsed = &scope.Scope{}
	}
	relations := tree.RelationsOf(m.Kind, m.Within, canonical)
	for _, s := range stands {
		if !slices.ContainsFunc(relations, func(r engine.Relation) bool { return r.At == s.At }) {
			relations = append(relations, s)
		}
	}
	r := typing.Request{Kind: m.Kind, Method: q.Method, Path: q.Path, Creates: m.Type == engine.TypeCreate, Relations: relations, Sites: sites,
		Scope: q.Parsed, Bound: h.bound(q.Parsed), Header: q.Credentials().Header}
	result, err := h.Types.Check(q.Context(), r)
	switch {
	case err != nil:
		h.RefuseError(q, err)
		return false
	case len(result.Problems) > 0:
		details := make([]string, len(result.Problems))
		for i, p := range result.Problems {
			details[i] = p.Detail
		}
		h.Answered(q)
		problem.Write(q.W, http.StatusUnprocessableEntity, scope.TypeError, strings.Join(details, "\n"),
			map[string]any{"position": result.Problems[0].Position, "errors": result.Problems})
		return false
	case len(result.Unreachable) > 0:
		h.Refuse(q, http.StatusServiceUnavailable, "unreachable",
			"whether what %s %s refers to can be used where it runs cannot be told: %s cannot be asked now; nothing has happened, try again later",
			q.Method, q.Path, strings.Join(result.Unreachable, ", "))
		return false
	}
	for _, w := range result.Lacking {
		q.Warnings = append(q.Warnings, `299 - `+request.Quoted(w))
	}
	return true
}

// bound returns which sites a scope binds a service to, in all of its alternatives.
func (h *Handler) bound(s *scope.Scope) func(engine.ServiceName) []engine.SiteID {
	known, ids := world.Of(surroundings{h.Membership, h.Site}, h.Application, h.Services, string(h.Service))
	return func(service engine.ServiceName) []engine.SiteID {
		var sites []engine.SiteID
		for _, name := range s.SitesOf(string(service), known) {
			sites = append(sites, ids[name])
		}
		return sites
	}
}

// boundRefs returns which sites the scope binds those services to whose resources the request's kind refers to. What another
// agent has passed on carries the scope as text.
func (h *Handler) boundRefs(q *request.Request) map[engine.ServiceName][]engine.SiteID {
	s := q.Parsed
	if s == nil && q.Scope != "" {
		s, _ = scope.Parse(q.Scope)
	}
	if s == nil || len(s.Bindings) == 0 {
		return nil
	}
	bound, of := map[engine.ServiceName][]engine.SiteID{}, h.bound(s)
	for _, r := range q.Match.Kind.Refs {
		if sites := of(r.Service); len(sites) > 0 {
			bound[r.Service] = sites
		}
	}
	return bound
}
