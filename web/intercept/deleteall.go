package intercept

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// deleteAll takes a DELETE on a collection. What is replicated becomes one operation per item; what only this site has, its application
// deletes by the request as it is. The catalog says whether the application has such a request, and that it deletes what a GET with
// the same query lists.
func (h *Handler) deleteAll(q *request) {
	m := q.match
	if q.sites == nil && m.Within != "" {
		row, ok, err := h.containerOf(q)
		if err != nil {
			h.refuseError(q, err)
			return
		}
		if ok {
			for _, part := range partsOf(row) {
				q.sites = append(q.sites, part...)
			}
			defer h.Site.ContentsChanged(row.Document)
		}
	}
	declared := h.Client.DeletesCollection(m.Kind)
	switch {
	case len(q.sites) > 1 && !declared, h.here(q) && !declared && h.Site.Replicates(m.Kind):
		h.refuse(q, http.StatusUnprocessableEntity, "scope-type",
			"a DELETE of all of %s may be of what is kept equal between sites, and the catalog does not say that the application has such a request; nothing has happened\nhelp: delete them one by one, or say list: {…, deletes: true} in the catalog, if a DELETE deletes what a GET lists", q.path)
	case len(q.sites) > 1:
		h.deleteAtEach(q)
	case !h.here(q):
		h.forward(q, q.sites)
	case !h.Site.Replicates(m.Kind):
		h.pass(q)
	case !m.Canonical:
		h.refuse(q, http.StatusBadRequest, "path", "servers differ in what %s means, and it may be of replicated resources\nhelp: write the path plainly", q.path)
	default:
		h.deleteHere(q)
	}
}

// deleteHere deletes what this site's application lists: what is replicated one by one, and what is left as it was asked for. It stops
// at what cannot be deleted.
func (h *Handler) deleteHere(q *request) {
	deleted, others := map[string]bool{}, false
	for more := true; more; { // what was made meanwhile is deleted along
		items, err := h.Client.Listed(q.Context(), q.match.Kind, q.match.Within, strings.TrimPrefix(q.query, "?"), q.credentials())
		if err != nil {
			why := "the list of " + q.path + " could not be read, so that it is not known what to delete"
			if errors.Is(err, glue.ErrNoList) {
				why = fmt.Sprintf("what the application answers to a GET on %s is %v", q.path, err)
			}
			h.Log.Warn("list what is to be deleted", "path", q.path, "err", err)
			h.refuse(q, http.StatusBadGateway, "upstream", "%s; nothing has happened", why)
			return
		}
		more, others = false, false
		for _, item := range items {
			switch {
			case !item.Replicated:
				others = true
			case !deleted[item.ID]:
				more, deleted[item.ID] = true, true
				if !h.deleteItem(q, item.ID, len(deleted)-1) {
					return
				}
			}
		}
	}
	if others {
		h.pass(q)
		return
	}
	q.w.Header().Set("Skerry-Site", h.name(h.Membership.Self()))
	q.w.WriteHeader(http.StatusNoContent)
}

// deleteItem deletes one item as if its client had asked for that. It returns false when that was refused, and the client has
// been told.
func (h *Handler) deleteItem(q *request, id string, before int) bool {
	if q.match.Within != "" {
		id = engine.Inside(q.match.Within, id)
	}
	path, ok := glue.ExpandPath(q.match.Kind.Item, id)
	if !ok {
		h.refuse(q, http.StatusBadGateway, "upstream", "the identifier %q cannot stand in a path; %d were deleted before", id, before)
		return false
	}
	try := *q
	try.setBody(nil)
	for _, name := range []string{"Idempotency-Key", "Content-Type"} {
		try.Header.Del(name)
	}
	try.path, try.query = path, ""
	try.match, try.known = h.router().Match(http.MethodDelete, path, try.Header)
	if try.match.Within != "" {
		try.path, try.localPath = h.Client.Paths(q.Context(), try.match, path)
	}
	t := newTrial(q.w, func(*trial) bool { return false })
	try.w = t
	h.run(&try)
	if gone := t.status == http.StatusNotFound || t.status == http.StatusGone; gone || t.status >= 200 && t.status < 300 {
		return true
	}
	t.Header().Add("Warning", "299 - "+quoted(fmt.Sprintf("%d of %s were deleted before %s was refused", before, q.path, id)))
	if !t.replay() {
		h.refuse(q, http.StatusBadGateway, "upstream", "%s was refused with status %d; %d were deleted before", id, t.status, before)
	}
	return false
}

// deleteAtEach has every site of the scope delete what it lists, one after the other. Before anything happens all must be reachable.
func (h *Handler) deleteAtEach(q *request) {
	self := h.Membership.Self()
	status := h.Network.Status()
	for _, id := range q.sites {
		if id != self && !status[id].Reachable {
			h.refuse(q, http.StatusServiceUnavailable, "unreachable", "%s cannot be reached now; nothing has happened, try again later", h.name(id))
			return
		}
	}
	body, whole, err := q.readInline(engine.MaxInlineBody)
	switch {
	case err != nil:
		h.refuseBody(q, err)
		return
	case !whole:
		h.refuseTooLarge(q, engine.MaxInlineBody)
		return
	}
	var last *trial
	var done []string
	for _, id := range q.sites {
		try := *q
		try.setBody(body)
		try.sites, try.parts, try.agreement = []engine.SiteID{id}, nil, engine.AgreeOne
		last = newTrial(q.w, func(*trial) bool { return false })
		if try.w = last; id == self {
			h.deleteAll(&try)
		} else {
			h.forward(&try, try.sites)
		}
		if last.status == 0 || last.status >= 300 {
			if len(done) > 0 {
				last.Header().Add("Warning", "299 - "+quoted("they were deleted at "+strings.Join(done, ", ")+" before"))
			}
			break
		}
		done = append(done, h.name(id))
		last.Header().Set("Skerry-Site", strings.Join(done, ", "))
	}
	if !last.replay() {
		h.refuse(q, http.StatusBadGateway, "upstream", "%s gave an answer that could not be passed on; deleted at %s", h.name(q.sites[len(done)]), strings.Join(done, ", "))
	}
}
