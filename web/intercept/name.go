package intercept

import (
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/glue"
)

// nameFree asks all parts of a container for what they hold, where a scope says sync, before a name is given inside: what this site
// knows of the others may be old. It returns false when it has refused the request.
func (h *lists) nameFree(q *request, row engine.ResourceRow) bool {
	if q.from != "" || q.agreement != engine.AgreeSync {
		return true
	}
	body, whole, err := q.readInline(engine.MaxLooked)
	if err != nil {
		h.refuseBody(q, err)
		return false
	}
	if !whole {
		return true // it will be refused
	}
	q.setBody(body)
	k := q.match.Kind
	_, own := k.Split(q.match.Target)
	name := tree.NameIn(k, body, own)
	collection, ok := glue.ExpandPath(k.Collection, engine.Inside(q.match.Within, ""))
	if name == "" || !ok {
		return true
	}
	ask := *q
	ask.setBody(nil)
	ask.Request.Method = http.MethodGet
	ask.Header.Del("Content-Type")
	ask.query, ask.sites = "", slices.Concat(partsOf(row)...)
	ask.match, ask.known = h.router().Match(http.MethodGet, collection, ask.Header)
	ask.path, ask.localPath = h.Client.Paths(q.Context(), ask.match, collection)
	for l := begin(&ask); l != nil; {
		parts := h.ask(&ask, l)
		var silent []string
		for _, p := range parts {
			if !p.ok {
				silent = append(silent, h.name(p.site))
			}
			for _, item := range p.items.Each {
				if tree.NameIn(k, item.Text, item.ID) == name && (own == "" || item.ID != own) {
					h.refuse(q, http.StatusConflict, "name-taken", "%s %q exists already in %s %s, at %s; nothing has happened", k.Name, name, row.Kind, row.ID, h.name(p.site))
					return false
				}
			}
		}
		if len(silent) > 0 {
			h.refuse(q, http.StatusServiceUnavailable, "unreachable", "sync asks whether the name %q is free in all parts of %s %s, and %s gave no answer; nothing has happened",
				name, row.Kind, row.ID, strings.Join(silent, ", "))
			return false
		}
		l = l.after(parts)
	}
	return true
}
