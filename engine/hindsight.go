package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Hindsight is what the first operations of a line count as having seen beside what they say. A site that was set back to a backup
// may issue operations before it hears what a lost run of its agent had settled. If the others have folded that away meanwhile, and
// dropped the documents, nobody could take in what has not seen it. So the site says that these operations come after it, as if it
// had issued them when it heard. What a lost run has issued in one epoch may build on what it had issued in the one before, in another
// document, of which nobody has heard: once that epoch is over everywhere, the site says where what they build on ends. Whatever has seen
// one of them, of whichever site, counts as having seen all of that as well: else it would have seen less than what it has seen.
//
// A site may have lost several runs, which did not know of each other. Of what such a run has issued the first operations may be in the
// checkpoints of others, and the rest is heard of only now, beside what another run has issued.
type Hindsight struct {
	// After is the last operation before them, Upto the last of them.
	After uint64 `json:"after,omitempty"`
	Upto  uint64 `json:"upto"`
	// Seen and Time are the least that they have.
	Seen map[Line]uint64 `json:"seen"`
	Time int64           `json:"time"`
	// Ends are lines of the epoch before that end where these say: nobody has what they have seen beyond.
	Ends map[Line]uint64 `json:"ends,omitempty"`
}

// about reports whether an operation of the line counts as having seen more.
func (a Hindsight) about(o *Operation) bool { return o.Seq > a.After && o.Seq <= a.Upto }

// counted returns an operation as it counts. What is said in hindsight of it, or of something that it has seen, comes before it. Times say
// so, too: those of what comes after the same thing follow from how much it has seen, and whatever has seen something has seen more than that.
func (h *History) counted(o *Operation) *Operation {
	if len(h.hindsight) == 0 {
		return o
	}
	later, own := *o, o.Line()
	later.Seen = maps.Clone(o.Seen)
	if later.Seen == nil {
		later.Seen = map[Line]uint64{}
	}
	reached := func(name Line, a Hindsight) bool { return name == own && o.Seq > a.After || later.Seen[name] > a.After }
	for again := true; again; {
		again = false
		for name, a := range h.hindsight {
			for seen, n := range a.Seen {
				if seen != own && !seen.over(o.Epoch) && later.Seen[seen] < n && reached(name, a) {
					later.Seen[seen], again = n, true
				}
			}
		}
	}
	if a := h.hindsight[own]; a.about(o) {
		for name, n := range a.Ends {
			if later.Seen[name] = min(later.Seen[name], n); later.Seen[name] == 0 {
				delete(later.Seen, name)
			}
		}
	}
	for name, a := range h.hindsight {
		if !reached(name, a) {
			continue
		}
		depth := o.Seq
		for seen, n := range later.Seen {
			if seen.epoch() >= name.epoch() {
				depth += n
			}
		}
		later.Time = max(later.Time, a.Time+int64(depth))
	}
	if later.Time == o.Time && maps.Equal(later.Seen, o.Seen) {
		return o
	}
	later.hindsight = true
	return &later
}

func (a Hindsight) equal(b Hindsight) bool {
	return a.After == b.After && a.Upto == b.Upto && a.Time == b.Time && maps.Equal(a.Seen, b.Seen) && maps.Equal(a.Ends, b.Ends)
}

// Heed takes in what a site says in hindsight of its lines, in the place of what it has said before, and reports whether that is
// something else.
func (h *History) Heed(author SiteID, said map[Line]Hindsight) bool {
	own := func(name Line, _ Hindsight) bool { return strings.HasPrefix(string(name), string(author)+".") }
	is := maps.Clone(said)
	maps.DeleteFunc(is, func(name Line, a Hindsight) bool { return !own(name, a) })
	was := maps.Clone(h.hindsight)
	maps.DeleteFunc(was, func(name Line, a Hindsight) bool { return !own(name, a) })
	if maps.EqualFunc(was, is, Hindsight.equal) {
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

// endedBy tells of the other sites that have dropped an epoch which one they write in since.
func (v *view) endedBy() map[SiteID]uint64 {
	ended := map[SiteID]uint64{}
	for site, r := range v.replicas {
		if r.Over && site != v.self {
			ended[site] = r.epoch
		}
	}
	return ended
}

// endedSince reports whether another site has dropped an epoch since the backup: its checkpoint may stand for all that the lost run had settled.
func (v *view) endedSince(lost *Lost) bool {
	for site, epoch := range v.endedBy() {
		if lost.Ended[site] < epoch {
			return true
		}
	}
	return false
}

// hindsight returns what operations of this site in the current epoch are to count as having seen that somebody could not take in
// otherwise, because they have not seen what a checkpoint stands for, here or elsewhere: that, and what the lost run had settled; nil when
// there are none.
func (v *view) hindsight() map[Line]Hindsight {
	h, lost, over := v.history, v.replicas[v.self].lost(), v.overBefore()
	elsewhere := lost != nil && v.endedSince(lost)
	if !elsewhere && (h.base == nil || lost == nil && over == 0) {
		return nil
	}
	all := map[Line]uint64{}
	if h.base != nil {
		all = maps.Clone(h.base.Seen)
	}
	if lost != nil {
		settled := maps.Clone(lost.Settled)
		maps.DeleteFunc(settled, func(name Line, _ uint64) bool { return len(v.replicas[v.self].Hindsight[name].Ends) > 0 }) // nobody had taken these in
		all = join(all, settled)
	}
	all, after := h.known(all)
	sawAll := func(o *Operation) bool {
		for name, n := range all {
			if !o.saw(name, n) {
				return false
			}
		}
		return true
	}
	var said map[Line]Hindsight
	say := func(name Line, a Hindsight) {
		if said == nil {
			said = maps.Clone(v.replicas[v.self].Hindsight)
		}
		if said == nil {
			said = map[Line]Hindsight{}
		}
		said[name] = a
	}
	if elsewhere {
		if name, a, ok := v.unheard(lost.Settled, all, after); ok {
			say(name, a)
			return said
		}
	}
	for name, l := range h.lines {
		was, later := v.replicas[v.self].Hindsight[name], false
		a := Hindsight{After: was.After, Seen: join(all, was.Seen), Time: max(after, was.Time), Ends: maps.Clone(was.Ends)}
		if was.Upto == 0 {
			a.After = h.seenOf(name, all)
		}
		w := l.next()
		if h.base != nil && w != nil && w.Origin == v.self {
			for n, w := range l.waiting {
				a.Upto = max(a.Upto, n)
				a.Ends = h.ends(w, over, a.Ends)
			}
			if len(a.Ends) > 0 { // they come after whatever the checkpoints of others may stand for
				settled, until := h.known(without(v.replicas[v.self].Settled, name.epoch()))
				a.Seen, a.Time = join(a.Seen, settled), max(a.Time, until)
			}
			later = !h.follows(w) || len(a.Ends) > 0
		}
		delete(a.Seen, name)
		for _, o := range l.ops {
			if elsewhere && o.Origin == v.self && o.Seq > lost.Settled[name] && !sawAll(o) { // the lost run had not issued it
				a.Upto, later = max(a.Upto, o.Seq), true
			}
		}
		if !later || a.equal(was) {
			continue
		}
		say(name, a)
	}
	return said
}

// unheard returns what is to be said of a line of a lost run from the first operation on that no other site has settled, nor anything
// that has seen it, where it has not seen what another lost run had issued and another site has settled, or what a lost run had settled of what
// others have issued: who has dropped the epoch before may have folded that along with it. It counts as having seen all, but of the other lost
// runs only what others have settled: so no two that have not seen each other count as if both had.
func (v *view) unheard(lost, all map[Line]uint64, after int64) (Line, Hindsight, bool) {
	h, number, heard := v.history, v.current().number, map[Line]uint64{}
	for site, r := range v.replicas {
		for name, n := range r.Settled {
			if site != v.self {
				heard[name] = max(heard[name], min(n, h.Last(name)))
			}
		}
	}
	own := func(name Line) bool {
		return name.epoch() == number && strings.HasPrefix(string(name), string(v.self)+".")
	}
	for _, name := range slices.Sorted(maps.Keys(h.lines)) {
		l, next := h.lines[name], max(heard[name], h.lines[name].base)+1
		if !own(name) || next > min(l.last(), lost[name]) {
			continue
		}
		first := l.at(next)
		if slices.ContainsFunc(h.ordered, func(o *Operation) bool {
			return o.Line() != name && o.saw(name, first.Seq) && (!own(o.Line()) || o.Seq <= heard[o.Line()])
		}) {
			continue
		}
		a, was, beside := Hindsight{After: first.Seq - 1, Upto: l.last(), Seen: maps.Clone(all), Time: after}, v.replicas[v.self].Hindsight[name], false
		for other := range h.lines {
			if own(other) {
				a.Seen[other] = min(a.Seen[other], heard[other])
				beside = beside || other != name && !first.saw(other, heard[other])
			} else {
				beside = beside || !first.saw(other, a.Seen[other])
			}
		}
		maps.DeleteFunc(a.Seen, func(other Line, n uint64) bool { return n == 0 || other == name })
		if beside && was.Upto == 0 {
			return name, a, true
		}
	}
	return "", Hindsight{}, false
}

// seenOf returns how many operations of a line the checkpoint stands for, or something that is in a vector has seen: these cannot count as
// having seen that.
func (h *History) seenOf(name Line, vector map[Line]uint64) uint64 {
	n := h.lines[name].base
	for _, o := range h.ordered {
		if o.Line() != name && o.Seq <= vector[o.Line()] {
			n = max(n, o.Seen[name])
		}
	}
	return n
}

// known returns what of a vector is complete here, and the newest time of that.
func (h *History) known(vector map[Line]uint64) (known map[Line]uint64, until int64) {
	known = maps.Clone(vector)
	for name, n := range known {
		known[name] = min(n, h.Last(name))
	}
	if h.base != nil {
		until = h.base.Time
	}
	for _, o := range h.ordered {
		if o.Seq <= known[o.Line()] {
			until = max(until, o.Time)
		}
	}
	return known, until
}

// overBefore is the epoch before which all are over everywhere, as far as this site knows: nobody has anything of these that is not here.
// What has removed this site may be what keeps the one before the current from ending. All that the others have of that is here once they
// write there no more and have all of it.
func (v *view) overBefore() uint64 {
	unfinished := func(m SiteID) bool { return m != v.self && (!v.writesIn(m, v.current()) || !v.replicas[m].Whole) }
	switch {
	case len(v.epochs) > 1 && v.part(v.self) == partLeaving && v.whole() && !slices.ContainsFunc(v.members(), unfinished):
		return v.current().number
	case len(v.epochs) > 1 || v.overEverywhere(): // no next one is opened before
		return v.epochs[0].number
	}
	return 0
}

// ends adds to ends where lines of epochs before over end of which w has seen more than is known.
func (h *History) ends(w *Operation, over uint64, ends map[Line]uint64) map[Line]uint64 {
	for name, n := range w.Seen {
		if last := h.Last(name); name.epoch() < over && last < n {
			if ends == nil {
				ends = map[Line]uint64{}
			}
			ends[name] = last
		}
	}
	return ends
}

// countAfter publishes that what this site has issued since it was restored, or a lost run had, comes after what that had settled, where
// nobody could take it in otherwise. What the lost run has issued is looked for then. The caller holds r.mu, and r.view is loaded.
func (s *Site) countAfter(ctx context.Context, r *resource) error {
	v := r.view
	said := v.hindsight()
	if said == nil {
		return nil
	}
	mine := v.replica(s.cfg.Self)
	mine.Hindsight = said
	if mine.Lost == nil {
		mine.Lost = &Lost{Local: mine.Local, Ended: v.endedBy(), Progress: Progress{Epoch: v.current().number}}
		s.twin.looks(v)
		s.queue.add(job{document: r.id}, 0)
	}
	lost := *mine.Lost
	lost.Settled = maps.Clone(lost.Settled)
	if lost.Settled == nil {
		lost.Settled = map[Line]uint64{}
	}
	for name, a := range said { // their origin had settled them
		lost.Settled[name] = max(lost.Settled[name], a.Upto)
	}
	mine.Lost = &lost
	if err := s.write(ctx, r, []Entry{v.replicaAs(mine)}, &Batch{}); err != nil {
		return fmt.Errorf("count what was issued after what a lost run had settled: %w", err)
	}
	return s.countAfter(ctx, r) // what has been issued since may come after that
}
