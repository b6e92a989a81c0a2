package gather

import (
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/request"
)

// NameFree asks all parts of a container for what they hold, where a scope says sync, before a name is given inside: what this site
// knows of the others may be old. It returns false when it has refused the request.
func (h *Lists) NameFree(q *request.Request, row engine.ResourceRow) bool {
	if q.From != "" || q.Agreement != engine.AgreeSync {
		return true
	}
	body, whole, err := q.ReadInline(engine.MaxLooked)
	if err != nil {
		h.RefuseBody(q, err)
		return false
	}
	if !whole {
		return true // it will be refused
	}
	q.SetBody(body)
	k := q.Match.Kind
	_, own := k.Split(q.Match.Target)
	name := tree.NameIn(k, body, own)
	collection, ok := glue.ExpandPath(k.Collection, engine.Inside(q.Match.Within, ""))
	if name == "" || !ok {
		return true
	}
	ask := *q
	ask.SetBody(nil)
	ask.Request.Method = http.MethodGet
	ask.Header.Del("Content-Type")
	ask.Query, ask.Sites = "", slices.Concat(request.PartsOf(row)...)
	ask.Match, ask.Known = h.Router().Match(http.MethodGet, collection, ask.Header)
	ask.Path, ask.LocalPath = h.Client.Paths(q.Context(), ask.Match, collection)
	for l := begin(&ask); l != nil; {
		parts := h.ask(&ask, l)
		var silent []string
		for _, p := range parts {
			if !p.ok {
				silent = append(silent, h.Name(p.site))
			}
			for _, item := range p.items.Each {
				if tree.NameIn(k, item.Text, item.ID) == name && (own == "" || item.ID != own) {
					h.Refuse(q, http.StatusConflict, "name-taken", "%s %q exists already in %s %s, at %s; nothing has happened", k.Name, name, row.Kind, row.ID, h.Name(p.site))
					return false
				}
			}
		}
		if len(silent) > 0 {
			h.Refuse(q, http.StatusServiceUnavailable, "unreachable", "sync asks whether the name %q is free in all parts of %s %s, and %s gave no answer; nothing has happened",
				name, row.Kind, row.ID, strings.Join(silent, ", "))
			return false
		}
		l = l.after(parts)
	}
	return true
}
