package gather

import (
	"encoding/json"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/request"
)

// divided is something cross in a list or a watch of several sites, whose parts are read as one by the catalog's rules.
type divided struct {
	// item is what site n shows, which the client is told of with what all parts show together; shown is what each site shows.
	item  glue.GatheredItem
	n     int
	at    place
	shown map[int]json.RawMessage
	// untold says that something has changed before its item was known here.
	untold bool
}

// divides reports whether the parts of something cross are read as one by rules of their own.
func (g *gathering) divides() bool { return len(g.kind.Divide)+len(g.kind.Aggregate) > 0 }

// divided reports whether this is so for something that is there.
func (g *gathering) divided(p place) bool { return p.Cross && g.divides() }

// whole is the item with what all of its parts show together: for one whose sites have shown nothing counts what it was to show last.
func (g *gathering) whole(d *divided) glue.GatheredItem {
	objects := []json.RawMessage{d.item.Object}
	have := map[int]bool{d.at.part(d.n): true}
	for _, n := range d.at.At {
		if part := d.at.part(n); !have[part] && d.shown[n] != nil {
			have[part] = true
			objects = append(objects, d.shown[n])
		}
	}
	objects = append(objects, g.lastShown(d, have)...)
	whole, ok := tree.Whole(g.kind, 0, objects)
	if !ok {
		return d.item
	}
	return d.item.Showing(g.kind, whole)
}

// lastShown is what is known here of the parts that are not had, as far as this site holds one itself.
func (g *gathering) lastShown(d *divided, have map[int]bool) []json.RawMessage {
	missing := false
	for _, n := range d.at.At {
		missing = missing || !have[d.at.part(n)]
	}
	if !missing {
		return nil
	}
	row, err := g.h.Shared.Lookup(g.q.Context(), g.kind, identified(g.kind, d.item))
	if err != nil {
		return nil
	}
	known, err := g.h.Shared.LastShown(g.q.Context(), row.Document)
	if err != nil {
		return nil
	}
	var objects []json.RawMessage
	for _, n := range d.at.At {
		part := d.at.part(n)
		if have[part] || n < 0 || n >= len(g.order) {
			continue
		}
		object := known[g.order[n]]
		if object == nil {
			object = tree.Representation(row.Sites[g.order[n]].Share)
		}
		have[part] = true
		objects = append(objects, object)
	}
	return objects
}

// OfOneItem sends a list, or a watch, of one cross item to all of its parts: read by itself that is one as well.
func (h *Lists) OfOneItem(q *request.Request, k *engine.Kind) {
	if q.Sites != nil || q.From != "" || !q.Known || len(k.Divide)+len(k.Aggregate) == 0 {
		return
	}
	name := h.Gatherer.Asks(q.Query, q.Header).Name
	if name == "" {
		return
	}
	if k.Within != "" {
		name = engine.Inside(q.Match.Within, name)
	}
	row, err := h.Shared.Lookup(q.Context(), k, name)
	if err == nil && row.Collaboration == engine.Cross && row.Local != "" && row.Sites[h.Membership.Self()].Part > 0 {
		q.Sites, q.OneItem = slices.Concat(request.PartsOf(row)...), true
	}
}

// part is the one that site n holds, or has a replica of.
func (p place) part(n int) int {
	for i, m := range p.At {
		if m == n && i < len(p.Parts) {
			return p.Parts[i]
		}
	}
	return -1 - n // an agent that does not tell: each holds its own
}

// seePart takes in what one site shows of something in a watch.
func (m *merging) seePart(site int, item glue.GatheredItem, at place) *divided {
	d := m.parts[nameOf(item)]
	if d == nil {
		d = &divided{n: -1, shown: map[int]json.RawMessage{}}
		m.parts[nameOf(item)] = d
	}
	d.shown[site] = item.Object
	if m.teller(site, at) == site {
		d.item, d.n, d.at = item, site, at
	}
	return d
}

// tellWhole gives the client what all parts show together, once the part is known that tells which object it is.
func (m *merging) tellWhole(d *divided, there bool) bool {
	if d.untold = d.n < 0 || m.form == nil; d.untold {
		return true
	}
	return m.write(m.form.Event(m.whole(d).Text(m.version(), m.where(d.n, d.at)), m.version(), there))
}

// partGone takes in that a part is there no more, and reports whether the client need not hear of that: what becomes of the whole is told by
// the site that tells of it.
func (m *merging) partGone(f followed, e glue.GatheredEvent) bool {
	d := m.parts[nameOf(e.GatheredItem)]
	if d == nil || !e.Gone {
		return false
	}
	if d.n >= 0 && d.n != f.site {
		delete(d.shown, f.site)
		return true
	}
	delete(m.parts, nameOf(e.GatheredItem))
	if len(f.event.Place.At) == 0 { // nothing is known of the resource any more
		f.event.Place = d.at
	}
	return false
}
