package gather

import (
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/request"
)

// fromIndex gives a part of a list that did not come what is known of it here.
func (h *Lists) fromIndex(q *request.Request, p *part) {
	if q.Container == nil {
		return
	}
	all, err := h.Shared.Contents(q.Context(), q.Container.Document, q.Match.Kind.Name)
	if err != nil {
		h.Log.WarnContext(q.Context(), "contents of a container", "resource", q.Container.ID, "err", err)
		return
	}
	for _, i := range all {
		if i.Site != p.site || i.Summary == nil {
			continue
		}
		item := glue.Item{Text: i.Summary, ID: i.Local}
		if i.Resource != "" {
			_, own := q.Match.Kind.Split(string(i.Resource))
			item.ID, item.Replicated = own, true
		}
		p.items.Each = append(p.items.Each, item)
	}
	p.indexed = true
}
