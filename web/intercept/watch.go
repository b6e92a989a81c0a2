package intercept

import (
	"errors"
	"net/http"
	"strings"

	"github.com/skerry/skerry/glue"
)

// errEndless: the answer to a list is a stream that goes on without end.
var errEndless = errors.New("the answer is a stream of events")

// watches reports whether the answer to a request goes on without end, and is of more than one site: a list of what happens, as its
// media type or the catalog says. What is read of one item is of one replica, wherever that is.
func (h *lists) watches(q *request) bool {
	if !q.known || q.match.Verb != glue.VerbList || !glue.Safe(q.Method) {
		return false
	}
	for _, accepted := range strings.Split(strings.Join(q.Header.Values("Accept"), ","), ",") {
		if endless(accepted) {
			return true
		}
	}
	return watching(q.query, h.Client.Watch(q.match.Kind))
}

func (h *lists) refuseWatch(q *request) {
	h.refuse(q, http.StatusNotImplemented, "watch",
		"what happens to each %s at %s cannot be told in one stream\nhelp: watch one site after the other, each with a scope of its own", q.match.Kind.Name, h.names(q.sites))
}
