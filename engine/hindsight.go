package engine

import (
	"context"
	"fmt"
	"maps"
	"strings"
)

// Hindsight is what the first operations of a line count as having seen beside what they say. A site that was set back to a backup
// may issue operations before it hears what a lost run of its agent had settled. If the others have folded that away meanwhile, and
// dropped the documents, nobody could take in what has not seen it. So the site says that these operations come after it, as if it
// had issued them when it heard.
type Hindsight struct {
	// Upto is the last of the operations.
	Upto uint64 `json:"upto"`
	// Seen and Time are the least that they have.
	Seen map[Line]uint64 `json:"seen"`
	Time int64           `json:"time"`
}

// of returns the operation as it counts.
func (a Hindsight) of(o *Operation) *Operation {
	if o.Seq > a.Upto {
		return o
	}
	later := *o
	later.Seen = join(o.Seen, a.Seen)
	delete(later.Seen, o.Line())
	later.Time = max(o.Time, a.Time+int64(o.Seq))
	return &later
}

// heed takes in what a site says in hindsight of its lines, in the place of what it has said before, and reports whether that is
// something else.
func (h *History) heed(author SiteID, said map[Line]Hindsight) bool {
	own := func(name Line, _ Hindsight) bool { return strings.HasPrefix(string(name), string(author)+".") }
	is := maps.Clone(said)
	maps.DeleteFunc(is, func(name Line, a Hindsight) bool { return !own(name, a) })
	was := maps.Clone(h.hindsight)
	maps.DeleteFunc(was, func(name Line, a Hindsight) bool { return !own(name, a) })
	if maps.EqualFunc(was, is, func(a, b Hindsight) bool { return a.Upto == b.Upto && a.Time == b.Time && maps.Equal(a.Seen, b.Seen) }) {
		return false
	}
	others := maps.Clone(h.hindsight)
	maps.DeleteFunc(others, own)
	if others == nil {
		others = map[Line]Hindsight{}
	}
	maps.Copy(others, is)
	h.hindsight = others
	*h = *h.without(nil)
	return true
}

// hindsight returns what the operations of this site in the current epoch are to count as having seen that wait, because they have not
// seen what a checkpoint stands for: that, and what the lost run had settled; nil when there are none.
func (v *view) hindsight(lost *Lost) map[Line]Hindsight {
	h := v.history
	if h.base == nil || lost == nil {
		return nil
	}
	all := join(h.base.Seen, lost.Settled)
	for name, n := range all {
		all[name] = min(n, h.Last(name))
	}
	after := h.base.Time
	for _, o := range h.ordered {
		if o.Seq <= all[o.Line()] {
			after = max(after, o.Time)
		}
	}
	var said map[Line]Hindsight
	for name, l := range h.lines {
		w := l.next()
		if w == nil || w.Origin != v.self || h.sawBase(w) {
			continue
		}
		a := Hindsight{Seen: maps.Clone(all), Time: after}
		delete(a.Seen, name)
		for n := range l.waiting {
			a.Upto = max(a.Upto, n)
		}
		if said == nil {
			said = maps.Clone(v.replicas[v.self].Hindsight)
		}
		if said == nil {
			said = map[Line]Hindsight{}
		}
		said[name] = a
	}
	return said
}

// countAfter publishes that what this site has issued since it was restored comes after what the lost run had settled, where nobody could take
// it in otherwise. The caller holds r.mu, and r.view is loaded.
func (s *Site) countAfter(ctx context.Context, r *resource) error {
	v := r.view
	said := v.hindsight(v.replicas[s.cfg.Self].Lost)
	if said == nil {
		return nil
	}
	mine := v.replica(s.cfg.Self)
	mine.Hindsight = said
	if err := s.write(ctx, r, []Entry{v.replicaAs(mine)}, &Batch{}); err != nil {
		return fmt.Errorf("count what was issued after what a lost run had settled: %w", err)
	}
	return nil
}
