package gather

import (
	"errors"
	"net/http"
	"strings"

	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/passage"
	"github.com/skerry/skerry/web/intercept/request"
)

// errEndless: the answer to a list is a stream that goes on without end.
var errEndless = errors.New("the answer is a stream of events")

// Watches reports whether the answer to a request goes on without end, and is of more than one site: a list of what happens, as its
// media type or the catalog says. What is read of one item is of one replica, wherever that is.
func (h *Lists) Watches(q *request.Request) bool {
	if !q.Known || q.Match.Verb != glue.VerbList || !glue.Safe(q.Method) {
		return false
	}
	for _, accepted := range strings.Split(strings.Join(q.Header.Values("Accept"), ","), ",") {
		if passage.Endless(accepted) {
			return true
		}
	}
	return passage.Watching(q.Query, h.Client.Watch(q.Match.Kind))
}

// RefuseWatch refuses what Watches tells of.
func (h *Lists) RefuseWatch(q *request.Request) {
	h.Refuse(q, http.StatusNotImplemented, "watch",
		"what happens to each %s at %s cannot be told in one stream\nhelp: watch one site after the other, each with a scope of its own", q.Match.Kind.Name, h.Names(q.Sites))
}
