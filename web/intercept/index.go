package intercept

import "github.com/skerry/skerry/glue"

// fromIndex gives a part of a list that did not come what is known of it here.
func (h *lists) fromIndex(q *request, p *part) {
	if q.container == nil {
		return
	}
	all, err := h.Shared.Contents(q.Context(), q.container.Document, q.match.Kind.Name)
	if err != nil {
		h.Log.Warn("contents of a container", "resource", q.container.ID, "err", err)
		return
	}
	for _, i := range all {
		if i.Site != p.site || i.Summary == nil {
			continue
		}
		item := glue.Item{Text: i.Summary, ID: i.Local}
		if i.Resource != "" {
			_, own := q.match.Kind.Split(string(i.Resource))
			item.ID, item.Replicated = own, true
		}
		p.items.Each = append(p.items.Each, item)
	}
	p.indexed = true
}
