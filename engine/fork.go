package engine

import "cmp"

// A Fork is that a site has signed two different changes of one line under one number: one of them, or both, tell others something else than
// what it has told before. No honest site does that, since each run writes a line of its own. From that number on the line counts at no site,
// whatever was heard first, nor does it in later epochs; everything else stands. What was in an epoch that was over before stays.
type Fork struct {
	Line Line `cbor:"1,keyasint"`
	// Epoch and Number are those of the first change that does not count.
	Epoch  uint64 `cbor:"2,keyasint,omitempty"`
	Number uint64 `cbor:"3,keyasint"`
	// At is when this site has heard of it, in Unix microseconds.
	At int64 `cbor:"5,keyasint,omitempty"`
}

// Voids reports whether a change of the line does not count.
func (f *Fork) Voids(epoch, number uint64) bool {
	return epoch > f.Epoch || epoch == f.Epoch && number >= f.Number
}

// Before reports whether f is earlier than other: of two forks of one line the earlier counts.
func (f *Fork) Before(other *Fork) bool {
	return f.Epoch < other.Epoch || f.Epoch == other.Epoch && f.Number < other.Number
}

// MaxForks is how many forked lines of one site are kept in a resource. Of a site that has forked so many nothing counts there, in any line, from
// the epoch of the last of them on.
const MaxForks = 8

// Forks are those of the lines of one resource: of a line the earliest, of a site MaxForks at most. What they amount to does not depend on the
// order in which they came.
type Forks map[Line]Fork

// All returns the epoch from which nothing of a site counts, in any line, if it has forked so many.
func (all Forks) All(s SiteID) (from uint64, is bool) {
	n := 0
	for l, f := range all {
		if l.Site() == s {
			n++
			from = max(from, f.Epoch)
		}
	}
	return from, n >= MaxForks
}

// Ends reports whether not all of a line counts.
func (all Forks) Ends(l Line) bool {
	if _, is := all[l]; is || len(all) == 0 {
		return is
	}
	_, is := all.All(l.Site())
	return is
}

// Voids reports whether a change of a line does not count.
func (all Forks) Voids(l Line, epoch, number uint64) bool {
	if len(all) == 0 {
		return false
	}
	if f, is := all[l]; is && f.Voids(epoch, number) {
		return true
	}
	from, is := all.All(l.Site())
	return is && epoch >= from
}

// News reports whether a fork voids something that was not void.
func (all Forks) News(f *Fork) bool {
	if known, is := all[f.Line]; is && !f.Before(&known) {
		return false
	}
	from, is := all.All(f.Line.Site())
	return !is || f.Epoch < from
}

// Put takes in a fork that is news. It returns the line whose fork goes for it, its own or one of the latest of its site; empty: none has to.
func (all Forks) Put(f Fork) (gone Line) {
	if _, is := all[f.Line]; is {
		gone = f.Line
	}
	all[f.Line] = f
	n, last := 0, f
	for l, other := range all {
		if l.Site() != f.Line.Site() {
			continue
		}
		n++
		if cmp.Or(cmp.Compare(other.Epoch, last.Epoch), cmp.Compare(l, last.Line)) > 0 {
			last = other
		}
	}
	if n <= MaxForks {
		return gone
	}
	delete(all, last.Line)
	return last.Line
}

// ProvenFork is a fork with what proves it: two signed changes that cannot both be of one line. The second one has the number of the first, or
// the next one and follows another. They travel as changes do, and are checked as changes are.
type ProvenFork struct {
	Fork
	Document DocumentID
	Proof    [2]SignedChange
	// Instead is the line whose fork goes for it, which may be its own; empty: none does.
	Instead Line
	// All is the epoch from which nothing of its site counts, in any line; nil: there is none.
	All *uint64
}

// Forks reports whether two changes of one document prove that their line is forked, at the number of c: both have it, or the other one has
// the next and follows another change than c.
func (c *Change) Forks(other *Change) bool {
	return c.Line == other.Line && c.Epoch == other.Epoch &&
		(other.Number == c.Number && other.Hash != c.Hash || other.Number == c.Number+1 && other.Previous != c.Hash)
}
