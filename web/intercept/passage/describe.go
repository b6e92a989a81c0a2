package passage

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/request"
)

// Describe finds out what is to be known of a page of this site's own list where it becomes part of one of several sites, and returns
// the query of the next page. Goes: it goes on with one that has begun.
func (h *Porter) Describe(ctx context.Context, q *request.Request, header http.Header, body []byte, items []glue.Item, order []engine.SiteID, goes bool) (next string, paged bool) {
	k := q.Match.Kind
	h.mark(ctx, k, items)
	next, err := h.Client.Next(k, header, body, strings.TrimPrefix(q.Query, "?"), q.Host)
	if err != nil {
		h.Log.WarnContext(ctx, "where a list goes on", "path", q.Path, "err", err)
	}
	if paged = goes || next != "" || h.Client.Numbered(k); paged {
		h.homes(ctx, k, q.Match.Within, items, order)
	}
	return next, paged
}

// homes tells which site of a list in pages lists each of the items that this site's application shows: the first that has a replica.
func (h *Porter) homes(ctx context.Context, k *engine.Kind, within string, items []glue.Item, order []engine.SiteID) {
	for i := range items {
		id := items[i].ID
		if !items[i].Replicated {
			continue
		}
		if k.Within != "" {
			id = engine.Inside(within, id)
		}
		row, err := h.Shared.Lookup(ctx, k, id)
		if err != nil {
			continue
		}
		items[i].Home = 1 + slices.IndexFunc(order, func(id engine.SiteID) bool {
			st, has := row.Sites[id]
			return has && st.Local != "" && st.State != engine.StateLeaving
		})
	}
}

// mark tells which items of this site's list are parts of cross resources, where the catalog says how parts are read as one.
func (h *Porter) mark(ctx context.Context, k *engine.Kind, items []glue.Item) {
	if len(k.Divide)+len(k.Aggregate) == 0 {
		return
	}
	for i := range items {
		if !items[i].Replicated {
			continue
		}
		if row, err := h.Shared.Lookup(ctx, k, items[i].ID); err == nil {
			items[i].Part = row.Sites[h.Membership.Self()].Part
		}
	}
}
