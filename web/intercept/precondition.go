package intercept

import (
	"io"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/request"
)

// A client that has read a list of several sites, or follows them, knows its items by versions that tell whose they are. What it changes on
// the condition that such a version still holds is changed if it does at the site where the request runs first: that site's version of now is
// put in its place, unless the item is newer there. A condition of a delete is of one site alone, as that of a change below an item is; what
// is deleted, or changed so, at several is looked at first, and sent without it.

// conditional checks and translates the condition of a request. It reports true when it has refused the request.
func (h *Handler) conditional(q *request.Request) bool {
	if h.Gatherer == nil || !q.Known || q.Match.Target == "" || !q.Match.Canonical {
		return false
	}
	body, whole, err := q.ReadInline(engine.MaxLooked)
	if err != nil {
		h.RefuseBody(q, err)
		return true
	}
	if !whole {
		return false
	}
	if len(body) > 0 {
		q.SetBody(body)
	}
	c, ok := h.Gatherer.Condition(q.Method, q.Header, body, string(h.Membership.Self()))
	if !ok {
		return false
	}
	row, err := h.Site.Lookup(q.Context(), q.Match.Kind, q.Match.Target)
	if err != nil && !request.NotFound(err) {
		h.RefuseError(q, err)
		return true
	}
	replicated := err == nil
	if replicated && row.Local == "" || !replicated && q.Sites != nil && !slices.Contains(q.Sites, h.Membership.Self()) {
		return false // it runs elsewhere, and is checked there
	}
	everywhere := replicated && (q.Method == http.MethodDelete || q.Match.Below)
	if !c.Several && !everywhere {
		return false
	}
	shown, ok := h.shownHere(q)
	if !ok {
		return false // the application says what is wrong
	}
	if why := c.Broken(shown); why != "" {
		h.Refuse(q, http.StatusConflict, "condition", "at %s %s %s %s\nhelp: read it again, and send the change with what it is now", h.Name(h.Membership.Self()), q.Match.Kind.Name, q.Match.Target, why)
		return true
	}
	q.SetBody(c.Now(shown, everywhere))
	if c.ContentType != "" {
		q.Header.Set("Content-Type", c.ContentType)
	}
	return false
}

// shownHere reads what this site's application shows of an item, with the caller's own credentials.
func (h *Handler) shownHere(q *request.Request) ([]byte, bool) {
	path, ok := glue.ExpandPath(q.Match.Kind.Item, q.Match.Target)
	if !ok {
		return nil, false
	}
	header := q.Credentials().Header
	header.Set("Accept", h.Dialect.Accept())
	r := (&http.Request{Method: http.MethodGet, URL: glue.Target(h.Upstream, path, ""), Header: header, Host: q.Host}).WithContext(q.Context())
	resp, err := h.Local.RoundTrip(r)
	if err != nil {
		return nil, false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, engine.MaxLooked+1))
	return body, err == nil && resp.StatusCode == http.StatusOK && len(body) <= engine.MaxLooked
}
