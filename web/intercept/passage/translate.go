package passage

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/request"
)

// PassTranslated takes a request about something that is not replicated to this site's application. What it refers to
// may be replicated: those identifiers are translated, in what is asked and in the answer. What the application does not
// have is read at one of the sites elsewhere, if they have it: this site need not know what they share.
func (h *Porter) PassTranslated(q *request.Request, elsewhere ...engine.SiteID) {
	p := &passage{h: h, q: q, path: cmp.Or(q.LocalPath, q.Path), query: q.Query, elsewhere: elsewhere}
	if q.Sites != nil {
		p.add = http.Header{"Skerry-Site": {h.Name(h.Membership.Self())}}
	}
	if h.localize(q, p) {
		p.run()
	}
}

// MaxTranslated is the most bytes of a body in which identifiers are translated on the way to the application. A longer
// one that is streamed passes as it is.
const MaxTranslated = 1 << 20

// localize translates the identifiers of a request to this site's own, and has its answer translated back. It does
// nothing for kinds whose identifiers are the same everywhere. It returns false when it has refused the request.
func (h *Porter) localize(q *request.Request, p *passage) bool {
	k := q.Match.Kind
	list := q.Match.Verb == glue.VerbList
	if !h.Client.Translates(k) && !(list && q.Aggregate != nil) {
		return true
	}
	if q.Match.Below {
		return true // not the representation
	}
	p.kind = k
	query, body, whole := q.Query, []byte(nil), false
	if q.Match.Type != "" {
		var err error
		if body, whole, err = q.ReadInline(MaxTranslated); err != nil {
			h.RefuseBody(q, err)
			return false
		}
	}
	mark := ""
	if query != "" {
		mark, query = "?", query[1:]
	}
	if q.Page { // it is this site's own
		return true
	}
	query, out, err := h.Client.Localize(q.Context(), k, q.Match.Within, q.Header, query, body)
	if err != nil {
		h.Refuse(q, http.StatusBadGateway, "upstream", "service %s could not be asked what its identifiers look like", h.Service)
		return false
	}
	p.query = mark + query
	if whole {
		q.SetBody(out)
	}
	return true
}

// Canonical gives a request that leaves this site the meta-identifiers in place of this site's own. Bodies of reads
// are left alone.
func (h *Porter) Canonical(q *request.Request) {
	if row, err := h.Shared.Lookup(q.Context(), q.Match.Kind, q.Match.Target); err == nil && q.Match.Target != string(row.ID) {
		if path, ok := glue.ExpandPath(q.Match.Path, string(row.ID)); ok {
			q.Path = path
		}
	}
	if q.Query != "" {
		query, _ := h.Client.Canonical(q.Context(), q.Match.Kind, q.Match.Within, q.Header, q.Query[1:], nil)
		q.Query = "?" + query
	}
}

// ReadReplica reads this site's replica.
func (h *Porter) ReadReplica(q *request.Request, row engine.ResourceRow) {
	self := h.Membership.Self()
	p := &passage{h: h, q: q, path: q.Path, query: q.Query, add: http.Header{
		"Skerry-Resource": {string(row.ID)},
		"Skerry-Site":     {h.Name(self)},
	}}
	if n := row.Sites[self].Pending; n > 0 {
		p.add["Skerry-Pending"] = []string{strconv.Itoa(n)}
	}
	if q.Match.Target != string(row.Local) {
		path, ok := glue.ExpandPath(q.Match.Path, string(row.Local))
		if !ok {
			h.Refuse(q, http.StatusBadGateway, "upstream", "the application's identifier %q cannot stand in a path", row.Local)
			return
		}
		p.path = path
	}
	if h.localize(q, p) {
		p.run()
	}
}
