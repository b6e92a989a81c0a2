package intercept

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// passTranslated takes a request about something that is not replicated to this site's application. What it refers to
// may be replicated: those identifiers are translated, in what is asked and in the answer. What the application does not
// have is read at one of the sites elsewhere, if they have it: this site need not know what they share.
func (h *porter) passTranslated(q *request, elsewhere ...engine.SiteID) {
	p := &passage{h: h, q: q, path: cmp.Or(q.localPath, q.path), query: q.query, elsewhere: elsewhere}
	if q.sites != nil {
		p.add = http.Header{"Skerry-Site": {h.name(h.Membership.Self())}}
	}
	if h.localize(q, p) {
		p.run()
	}
}

// maxTranslated is the most bytes of a body in which identifiers are translated on the way to the application. A longer
// one that is streamed passes as it is.
const maxTranslated = 1 << 20

// localize translates the identifiers of a request to this site's own, and has its answer translated back. It does
// nothing for kinds whose identifiers are the same everywhere. It returns false when it has refused the request.
func (h *porter) localize(q *request, p *passage) bool {
	k := q.match.Kind
	list := q.match.Verb == glue.VerbList
	if !h.Client.Translates(k) && !(list && q.aggregate != nil) {
		return true
	}
	if q.match.Below {
		return true // not the representation
	}
	p.kind = k
	query, body, whole := q.query, []byte(nil), false
	if q.match.Type != "" {
		var err error
		if body, whole, err = q.readInline(maxTranslated); err != nil {
			h.refuseBody(q, err)
			return false
		}
	}
	mark := ""
	if query != "" {
		mark, query = "?", query[1:]
	}
	if q.page { // it is this site's own
		return true
	}
	query, out, err := h.Client.Localize(q.Context(), k, q.match.Within, q.Header, query, body)
	if err != nil {
		h.refuse(q, http.StatusBadGateway, "upstream", "service %s could not be asked what its identifiers look like", h.Service)
		return false
	}
	p.query = mark + query
	if whole {
		q.setBody(out)
	}
	return true
}

// canonical gives a request that leaves this site the meta-identifiers in place of this site's own. Bodies of reads
// are left alone.
func (h *porter) canonical(q *request) {
	if row, err := h.Shared.Lookup(q.Context(), q.match.Kind, q.match.Target); err == nil && q.match.Target != string(row.ID) {
		if path, ok := glue.ExpandPath(q.match.Path, string(row.ID)); ok {
			q.path = path
		}
	}
	if q.query != "" {
		query, _ := h.Client.Canonical(q.Context(), q.match.Kind, q.match.Within, q.Header, q.query[1:], nil)
		q.query = "?" + query
	}
}

// readReplica reads this site's replica.
func (h *porter) readReplica(q *request, row engine.ResourceRow) {
	self := h.Membership.Self()
	p := &passage{h: h, q: q, path: q.path, query: q.query, add: http.Header{
		"Skerry-Resource": {string(row.ID)},
		"Skerry-Site":     {h.name(self)},
	}}
	if n := row.Sites[self].Pending; n > 0 {
		p.add["Skerry-Pending"] = []string{strconv.Itoa(n)}
	}
	if q.match.Target != string(row.Local) {
		path, ok := glue.ExpandPath(q.match.Path, string(row.Local))
		if !ok {
			h.refuse(q, http.StatusBadGateway, "upstream", "the application's identifier %q cannot stand in a path", row.Local)
			return
		}
		p.path = path
	}
	if h.localize(q, p) {
		p.run()
	}
}
