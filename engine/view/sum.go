package view

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/skerry/skerry/engine"
)

// An epoch ends where all have the same in it, and stays as it was then. Whoever ends it does so on the others' word. So who has given that keeps
// the epoch as it is, and takes nothing more in, neither a change nor a fork, until another one has told that it will never have just that: what is
// in an epoch only grows, by changes and by forks, so who has something in it that is not here has gone another way for good.

const (
	// forkWeight is more than all changes weigh that a line can have, siteWeight more than all forks of a site.
	forkWeight, siteWeight = 1 << 40, 1 << 44
	weightLen              = 8
)

// Sum tells what the epoch before the current one has: how much it weighs, which grows with each change and each fork, and a digest.
func Sum(v *View) []byte {
	e := v.Epochs[0]
	digest, weight := e.digest, uint64(0)
	for l, tip := range e.Lines {
		if !v.Voids(l, e.Number, forkWeight) {
			weight += tip.Number
		}
	}
	var all []engine.SiteID
	for l, f := range v.Forks {
		switch from, whole := v.All(l.Site()); {
		case whole && from <= e.Number:
			if !slices.Contains(all, l.Site()) {
				all = append(all, l.Site())
				weight += siteWeight
				digest.Add(engine.FingerprintOf("forks", []byte(l.Site())))
			}
		case f.Epoch <= e.Number:
			number := f.Number
			if f.Epoch < e.Number {
				number = 0
			}
			weight += forkWeight - number
			digest.Add(engine.FingerprintOf("fork", []byte(l), engine.Number(number)))
		}
	}
	sum := binary.BigEndian.AppendUint64(nil, weight)
	return append(sum, digest.Bytes()...)
}

// beyond reports whether who has told a sum has something that is not in mine: as much and not the same, or more.
func beyond(told, mine []byte) bool {
	if len(told) < weightLen {
		return false
	}
	c := bytes.Compare(told[:weightLen], mine[:weightLen])
	return c > 0 || c == 0 && !bytes.Equal(told, mine)
}

// toldSum is what this site tells of the epoch before the current one: with its word, and where it has something else there than somebody who has
// given it; nil: nothing. A sum without a word is no reason to tell one: two sites would each begin and end to tell theirs over the other's, for ever.
func toldSum(v *View) []byte {
	if len(v.Epochs) < 2 {
		return nil
	}
	mine := Sum(v)
	if v.Me.Whole || slices.ContainsFunc(v.Correspondents(), func(m engine.SiteID) bool {
		return m != v.Self && v.At(m).Epoch == v.Current().Number && v.At(m).Whole && v.At(m).Sum != nil && beyond(mine, v.At(m).Sum)
	}) {
		return mine
	}
	return nil
}

// Keeps reports whether this site keeps the epoch before the current one as it is: it has given its word, and nobody is known who has something
// else there. What a site says about its own line, or of a line that it has forked itself, is worth nothing.
func Keeps(v *View, but engine.SiteID) bool {
	return len(v.Epochs) > 1 && v.Mine.Word == v.Current().Number && !other(v, but, beyond)
}

// KeepsOut reports whether a change of the epoch before the current one that proves no fork is not to be taken in. Where nobody has forked a line it
// may be of a lost run: then who has told of anything else there has not ended it either.
func KeepsOut(v *View, author engine.SiteID) bool {
	if len(v.Forks) > 0 {
		return Keeps(v, author)
	}
	return len(v.Epochs) > 1 && v.Whole() && !other(v, author, func(told, mine []byte) bool { return told != nil && !bytes.Equal(told, mine) })
}

// other reports whether a member that is to be believed has told of something else in the epoch before the current one.
func other(v *View, but engine.SiteID, differs func(told, mine []byte) bool) bool {
	mine := Sum(v)
	return slices.ContainsFunc(v.Correspondents(), func(m engine.SiteID) bool {
		return m != v.Self && m != but && !v.Forker(m) && v.At(m).Epoch == v.Current().Number && differs(v.At(m).Sum, mine)
	})
}

// Agreed reports whether all members have given their word on the epoch before the current one, and have in it what is here. The word of one that
// has forked a line is not asked for.
func Agreed(v *View) bool {
	mine := Sum(v)
	return !slices.ContainsFunc(v.Correspondents(), func(m engine.SiteID) bool {
		st := v.At(m)
		return m != v.Self && (!v.Reached(st) || !st.Whole || !st.Over && st.Epoch == v.Current().Number && !v.Forker(m) && !bytes.Equal(st.Sum, mine))
	})
}
