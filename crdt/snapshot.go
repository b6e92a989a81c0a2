package crdt

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/skerry/skerry/engine"
)

// A snapshot is what this site keeps beside the stored changes of a document, so as not to replay them all when it opens
// the document again. It never leaves the site, and nothing is lost with it: the changes are the truth. It is
//
//	a byte     snapshotFormat
//	32 bytes   SHA-256 hash over that byte and all that follows
//	32 bytes   the hash of the first change, which names the document
//	bytes      what the core saves, with their length before them
//	the rest   the history as appendTo writes it
//
// Values stand in it twice: in the core's part, which is compressed but slow to open, and in the history, which would take
// several times as long to load if it were compressed as well.
//
// The checksum comes before anything else: the core may abort the process for bytes that are not its own.
const (
	// snapshotFormat counts the forms that snapshots have had, the core's included: raise it along with the core.
	snapshotFormat = 1
	snapshotHeader = 1 + sha256.Size
	// snapshotEvery is how many changes there are from one snapshot to the next.
	snapshotEvery = 100
)

// sealSnapshot puts the header before the rest of a snapshot.
func sealSnapshot(format byte, rest []byte) []byte {
	sum := checksum(format, rest)
	return slices.Concat([]byte{format}, sum[:], rest)
}

func checksum(format byte, rest []byte) [sha256.Size]byte {
	d := sha256.New()
	d.Write([]byte{format})
	d.Write(rest)
	return [sha256.Size]byte(d.Sum(nil))
}

// snapshot returns the document as it stands. Its core is awake.
func (d *document) snapshot() []byte {
	first := d.history.names()[0]
	rest := appendString(first[:], string(d.core.Save()))
	return sealSnapshot(snapshotFormat, d.history.appendTo(rest))
}

// restore makes of a document that has its first change alone what a snapshot says. The core sleeps after that. When it
// fails, the document is not to be used.
func (d *document) restore(b []byte) error {
	switch {
	case len(b) < snapshotHeader:
		return errTruncated
	case b[0] != snapshotFormat:
		return fmt.Errorf("format %d", b[0])
	case checksum(b[0], b[snapshotHeader:]) != [sha256.Size]byte(b[1:snapshotHeader]):
		return errors.New("wrong checksum")
	}
	r := &reader{b: b[snapshotHeader:]}
	first := d.history.names()[0]
	if !bytes.Equal(r.take(sha256.Size), first[:]) {
		return errors.New("it is of another document")
	}
	core := r.take(r.uint())
	if r.err != nil {
		return r.err
	}
	// A copy, so that the values do not keep the core's part in memory.
	if err := d.history.replay(slices.Clone(r.b)); err != nil {
		return err
	}
	d.core, d.asleep, d.kept = nil, core, len(d.history.changes)
	return nil
}

// names returns the hash of each change.
func (h *history) names() []hash {
	out := make([]hash, len(h.changes))
	for name, at := range h.index {
		out[at] = name
	}
	return out
}

// version tells which changes there are, apart from the first.
func (h *history) version() engine.Version {
	v := engine.Version{}
	for a, t := range h.actors {
		if a != firstActor {
			v[a.String()] = t.seq
		}
	}
	return v
}

// appendTo appends all changes but the first, in the order of their coming: what add needs to know of them. Values that
// are not live any more are left out, dependencies and actors are numbers, and of a key only what differs from the one
// before by the same actor is written.
func (h *history) appendTo(b []byte) []byte {
	type placed struct {
		slot
		cellPut
	}
	puts := make([][]placed, len(h.changes))
	for s, k := range h.cells {
		for _, p := range k.puts {
			puts[p.change] = append(puts[p.change], placed{s, p})
		}
	}
	names := h.names()
	actors := map[actor]uint64{}
	var keys []string
	for i, n := range h.changes[1:] {
		i++
		slices.SortFunc(puts[i], func(a, b placed) int { return cmp.Compare(a.op.counter, b.op.counter) })
		b = append(b, names[i][:]...)
		author := puts[i][0].op.actor
		number, ok := actors[author]
		if !ok {
			number = uint64(len(actors))
			actors[author] = number
			keys = append(keys, "")
		}
		b = appendUint(b, number)
		if !ok {
			b = append(b, author[:]...)
		}
		b = appendUint(b, puts[i][0].op.counter)
		b = appendUint(b, uint64(len(n.deps)))
		for _, d := range n.deps {
			b = appendUint(b, uint64(d))
		}
		b = appendUint(b, uint64(len(puts[i])))
		for _, p := range puts[i] {
			b = appendUint(b, p.object)
			same := shared(keys[number], p.key)
			b = appendUint(b, uint64(same))
			b = appendString(b, p.key[same:])
			keys[number] = p.key
			b = appendUint(b, uint64(len(p.preds)))
			for _, pred := range p.preds {
				b = appendUint(b, actors[pred.actor])
				b = appendUint(b, pred.counter)
			}
			b = appendString(b, string(p.value))
		}
	}
	return b
}

// shared returns how many bytes a and b have in common at their beginning.
func shared(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// replay adds to a history of the first change alone what appendTo has written. The values alias b. It takes nothing
// that would lead outside of the history, but does not check it any further: the checksum vouches for the rest.
func (h *history) replay(b []byte) error {
	names := h.names()
	var actors []actor
	var seqs []uint64
	var keys []string
	r := &reader{b: b}
	// pick takes the number of one of n things.
	pick := func(n int) uint64 {
		v := r.uint()
		if v >= uint64(n) {
			r.fail(errors.New("a number of something that is not there"))
			return 0
		}
		return v
	}
	for len(r.b) > 0 {
		name := hash(pad(r.take(32), 32))
		number := pick(len(actors) + 1)
		if number == uint64(len(actors)) {
			actors = append(actors, actor(pad(r.take(16), 16)))
			seqs, keys = append(seqs, 0), append(keys, "")
		}
		seqs[number]++
		c := &change{actor: actors[number], seq: seqs[number], startOp: r.uint()}
		for range pick(maxDeps + 1) {
			c.deps = append(c.deps, names[pick(len(names))])
		}
		c.puts = make([]put, pick(maxOps+1))
		for i := range c.puts {
			p := put{object: pick(len(h.maps) + 1)}
			same := pick(len(keys[number]) + 1)
			p.key = keys[number][:same] + string(r.take(r.uint()))
			keys[number] = p.key
			for range pick(maxOps + 1) {
				p.preds = append(p.preds, opID{actor: actors[pick(len(actors))], counter: r.uint()})
			}
			p.value = r.take(r.uint())
			if p.object == 0 {
				r.fail(errors.New("a value in no map"))
			}
			c.puts[i] = p
		}
		if len(c.puts) == 0 {
			r.fail(errors.New("a change of nothing"))
		}
		if r.err != nil {
			return r.err
		}
		h.add(c, name)
		names = append(names, name)
	}
	return r.err
}
