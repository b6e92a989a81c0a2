package intercept

import (
	"net/http"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/request"
)

// An object may say its scope itself. That counts in a request that makes the object, or that makes it say another scope: it stays in the
// object and is like all else in it, so that whoever sends an object back that they have read asks for nothing. What an agent asks of its
// own application never comes here, so that no scope goes round.

// writes takes in the scope that the body of a request says, where nothing else says one. It returns false when it has refused the request.
func (h *Handler) writes(q *request.Request) bool {
	if h.carrier == nil || q.From != "" || q.Text != "" {
		return true
	}
	switch q.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
	default:
		return true
	}
	body, whole, err := q.ReadInline(min(h.Limits.Body, engine.MaxLooked))
	if err != nil {
		h.RefuseBody(q, err)
		return false
	}
	if !whole {
		return true
	}
	if len(body) > 0 {
		q.SetBody(body)
	}
	q.Text = h.carrier.WrittenScope(q.Header, body)
	q.Written = q.Text != ""
	return true
}

// rewrites reports whether the scope that a body says is not that of the object already. What is below an object says nothing.
func (h *Handler) rewrites(q *request.Request) bool {
	switch {
	case !q.Known:
		return q.Method == http.MethodPost // what makes something of an unknown kind is refused, as with any scope
	case q.Match.Below:
		return false
	case q.Match.Target == "" || !q.Match.Canonical:
		return true
	}
	shown, ok := h.shownHere(q)
	return !ok || h.carrier.WrittenScope(http.Header{"Content-Type": {"application/json"}}, shown) != strings.TrimSpace(q.Text)
}
