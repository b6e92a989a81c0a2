package merge

import (
	"bytes"
	"slices"

	"github.com/skerry/skerry/engine"
)

// A site that was set back may have a client's request done a second time that its lost run had seen to, before it has met anybody: it issues the
// operation once more, or hands the request to another site than its lost run did. The operation is then in two lines. It counts once, where it
// comes first in the order; the other places are copies, which count for nothing. What has seen one of them has seen the operation, and where one is
// settled, it is.

// same reports whether two operations of one identifier are one: their site has given it twice, or two sites have been asked for the same.
func same(a, b *engine.Operation) bool {
	return a.Origin == b.Origin || a.Type == b.Type && a.Place == nil && a.Method == b.Method && a.Path == b.Path && a.Query == b.Query &&
		bytes.Equal(a.Body, b.Body) && a.BlobHash() == b.BlobHash()
}

// copied finds out whether o is an operation that is known already, in another line. It reports whether o is a copy. Of what a checkpoint keeps it
// says so itself: bodies may be gone.
func (k *known) copied(o *engine.Operation) bool {
	told := o.Copy && k.base.Has(o)
	o.Copy, o.Copies = false, nil
	first := k.byID[o.ID]
	switch {
	case first == nil || first == o || first.Line == o.Line || !told && !same(first, o):
		return false
	case engine.Compare(first, o) < 0:
		o.Copy, first.Copies = true, append(slices.Clip(first.Copies), o)
		return true
	}
	o.Copies = append(slices.Clip(first.Copies), first)
	first.Copy, first.Copies = true, nil
	other := func(p *engine.Operation) bool { return p == first }
	k.creates, k.deletes = slices.DeleteFunc(k.creates, other), slices.DeleteFunc(k.deletes, other)
	k.twice = true
	return false
}

// Copied lists the operations of which copies are known, in order.
func (k *known) Copied() []*engine.Operation {
	if !k.twice {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(k.ordered), func(o *engine.Operation) bool { return len(o.Copies) == 0 })
}

// apart takes out of what a checkpoint may stand for the operations of which it would not stand for all copies. It reports whether there
// were any.
func (k *known) apart(cut engine.Vector) bool {
	for _, o := range k.Copied() {
		all := append(slices.Clip(o.Copies), o)
		within := func(p *engine.Operation) bool { return cut.Has(p.Line, p.Number) }
		if slices.ContainsFunc(all, k.base.Has) || !slices.ContainsFunc(all, within) || !slices.ContainsFunc(all, func(p *engine.Operation) bool { return !within(p) }) {
			continue
		}
		for _, p := range all {
			cut[p.Line] = min(cut[p.Line], p.Number-1)
		}
		return true
	}
	return false
}

// copiesOf lists the copies of what a checkpoint keeps.
func copiesOf(kept []*engine.Operation) (copies []*engine.Operation) {
	for _, o := range kept {
		copies = append(copies, o.Copies...)
	}
	return copies
}
