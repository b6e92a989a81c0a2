package intercept

import (
	"context"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/request"
)

// deepest is how many segments below an item are looked at for the item that they belong to.
const deepest = 2

// below passes a request on that the catalog says nothing about. What changes something below a replica may change that, or end it, as an eviction
// does a pod: it is looked at then, and not called the same as elsewhere until the next look that comes by itself.
func (h *Handler) below(q *request.Request) {
	id, below := h.replicaAbove(q.Method, q.Path)
	h.Raw(q)
	if !below || h.Check == nil {
		return
	}
	if err := h.Check(context.WithoutCancel(q.Context()), id); err != nil && !request.NotFound(err) {
		h.Log.Warn("what a request may have changed is not looked at", "method", q.Method, "path", q.Path, "err", err)
	}
}

// replicaAbove finds the replicated resource to whose item a path goes on, where the request may change what is compared of it.
func (h *Handler) replicaAbove(method, path string) (id engine.DocumentID, ok bool) {
	if glue.Safe(method) {
		return "", false
	}
	for range deepest {
		cut := strings.LastIndexByte(path, '/')
		if cut <= 0 {
			return "", false
		}
		rest := path[cut:]
		path = path[:cut]
		m, known := h.Router().Match("GET", path, nil)
		if !known || m.Verb != glue.VerbRead || m.Target == "" {
			continue
		}
		if !h.Site.Replicates(m.Kind) || m.Kind.Ignored(engine.Pointer(rest)) {
			return "", false
		}
		row, err := h.Site.Lookup(context.Background(), m.Kind, m.Target)
		return row.Document, err == nil
	}
	return "", false
}
