package intercept

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/passage"
	"github.com/skerry/skerry/web/intercept/request"
)

// deleteAll takes a DELETE on a collection. What is replicated becomes one operation per item; what only this site has, its application
// deletes by the request as it is. The catalog says whether the application has such a request, and that it deletes what a GET with
// the same query lists.
func (h *Handler) deleteAll(q *request.Request) {
	m := q.Match
	if q.Sites == nil && m.Within != "" {
		row, ok, err := h.containerOf(q)
		if err != nil {
			h.RefuseError(q, err)
			return
		}
		if ok {
			for _, part := range request.PartsOf(row) {
				q.Sites = append(q.Sites, part...)
			}
			defer h.Site.ContentsChanged(row.Document)
		}
	}
	declared := h.Client.DeletesCollection(m.Kind)
	switch {
	case len(q.Sites) > 1 && !declared, h.Here(q) && !declared && h.Site.Replicates(m.Kind):
		h.Refuse(q, http.StatusUnprocessableEntity, "scope-type",
			"a DELETE of all of %s may be of what is kept equal between sites, and the catalog does not say that the application has such a request; nothing has happened\nhelp: delete them one by one, or say list: {…, deletes: true} in the catalog, if a DELETE deletes what a GET lists", q.Path)
	case len(q.Sites) > 1:
		h.deleteAtEach(q)
	case !h.Here(q):
		h.Forward(q, q.Sites)
	case !h.Site.Replicates(m.Kind):
		h.Pass(q)
	case !m.Canonical:
		h.Refuse(q, http.StatusBadRequest, "path", "servers differ in what %s means, and it may be of replicated resources\nhelp: write the path plainly", q.Path)
	default:
		h.deleteHere(q)
	}
}

// deleteHere deletes what this site's application lists: what is replicated one by one, and what is left as it was asked for. It stops
// at what cannot be deleted.
func (h *Handler) deleteHere(q *request.Request) {
	deleted, others := map[string]bool{}, false
	for more := true; more; { // what was made meanwhile is deleted along
		items, err := h.Client.Listed(q.Context(), q.Match.Kind, q.Match.Within, strings.TrimPrefix(q.Query, "?"), q.Credentials())
		if err != nil {
			why := "the list of " + q.Path + " could not be read, so that it is not known what to delete"
			if errors.Is(err, glue.ErrNoList) {
				why = fmt.Sprintf("what the application answers to a GET on %s is %v", q.Path, err)
			}
			h.Log.WarnContext(q.Context(), "list what is to be deleted", "path", q.Path, "err", err)
			h.Refuse(q, http.StatusBadGateway, "upstream", "%s; nothing has happened", why)
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
		h.Pass(q)
		return
	}
	q.W.Header().Set("Skerry-Site", h.Name(h.Membership.Self()))
	q.W.WriteHeader(http.StatusNoContent)
}

// deleteItem deletes one item as if its client had asked for that. It returns false when that was refused, and the client has
// been told.
func (h *Handler) deleteItem(q *request.Request, id string, before int) bool {
	if q.Match.Within != "" {
		id = engine.Inside(q.Match.Within, id)
	}
	path, ok := glue.ExpandPath(q.Match.Kind.Item, id)
	if !ok {
		h.Refuse(q, http.StatusBadGateway, "upstream", "the identifier %q cannot stand in a path; %d were deleted before", id, before)
		return false
	}
	try := *q
	try.SetBody(nil)
	for _, name := range []string{"Idempotency-Key", "Content-Type"} {
		try.Header.Del(name)
	}
	try.Path, try.Query = path, ""
	try.Match, try.Known = h.Router().Match(http.MethodDelete, path, try.Header)
	if try.Match.Within != "" {
		try.Path, try.LocalPath = h.Client.Paths(q.Context(), try.Match, path)
	}
	t := passage.NewTrial(q.W, func(*passage.Trial) bool { return false })
	try.W = t
	h.run(&try)
	if gone := t.Status == http.StatusNotFound || t.Status == http.StatusGone; gone || t.Status >= 200 && t.Status < 300 {
		return true
	}
	t.Header().Add("Warning", "299 - "+request.Quoted(fmt.Sprintf("%d of %s were deleted before %s was refused", before, q.Path, id)))
	if !t.Replay() {
		h.Refuse(q, http.StatusBadGateway, "upstream", "%s was refused with status %d; %d were deleted before", id, t.Status, before)
	}
	return false
}

// deleteAtEach has every site of the scope delete what it lists, one after the other. Before anything happens all must be reachable.
func (h *Handler) deleteAtEach(q *request.Request) {
	self := h.Membership.Self()
	status := h.Network.Status()
	for _, id := range q.Sites {
		if id != self && !status[id].Reachable {
			h.Refuse(q, http.StatusServiceUnavailable, "unreachable", "%s cannot be reached now; nothing has happened, try again later", h.Name(id))
			return
		}
	}
	body, whole, err := q.ReadInline(engine.MaxInlineBody)
	switch {
	case err != nil:
		h.RefuseBody(q, err)
		return
	case !whole:
		h.RefuseTooLarge(q, engine.MaxInlineBody)
		return
	}
	var last *passage.Trial
	var done []string
	for _, id := range q.Sites {
		try := *q
		try.SetBody(body)
		try.Sites, try.Parts, try.Agreement = []engine.SiteID{id}, nil, engine.AgreeOne
		last = passage.NewTrial(q.W, func(*passage.Trial) bool { return false })
		if try.W = last; id == self {
			h.deleteAll(&try)
		} else {
			h.Forward(&try, try.Sites)
		}
		if last.Status == 0 || last.Status >= 300 {
			if len(done) > 0 {
				last.Header().Add("Warning", "299 - "+request.Quoted("they were deleted at "+strings.Join(done, ", ")+" before"))
			}
			break
		}
		done = append(done, h.Name(id))
		last.Header().Set("Skerry-Site", strings.Join(done, ", "))
	}
	if !last.Replay() {
		h.Refuse(q, http.StatusBadGateway, "upstream", "%s gave an answer that could not be passed on; deleted at %s", h.Name(q.Sites[len(done)]), strings.Join(done, ", "))
	}
}
