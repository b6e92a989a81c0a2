package p2p

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
)

// errBusy: the member makes a comparison with this site already.
var errBusy = errors.New("the other site compares already")

// compare finds out what this site and the member have differently, and has both get it. It reports whether they have now what
// the other had.
func (l *link) compare(ctx context.Context) (whole bool, err error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	opening, opened := context.WithTimeout(network.WithNoDial(ctx, "compare"), openTimeout)
	s, err := l.n.host.NewStream(opening, l.pid, compareProtocol)
	opened()
	if err != nil {
		return false, fmt.Errorf("compare: %w", err)
	}
	ok := false
	defer end(s, &ok)
	c := newSession(l, s, true)
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()

	mine := l.n.exchange.Fingerprints(l.site, engine.Range{}.Parts())
	open := &message{Step: stepOpen, Mesh: appendSum(nil, l.n.exchange.MeshFingerprint()), Sums: []sums{{Parts: appendSums(nil, mine)}}}
	l.n.counters.asked.Add(1)
	if err := c.write(open); err != nil {
		return false, fmt.Errorf("compare: %w", err)
	}
	deeper, release, err := c.read(ctx)
	if err != nil {
		return false, fmt.Errorf("compare: %w", err)
	}
	release()
	switch deeper.Step {
	case stepBusy:
		ok = true
		return false, errBusy
	case stepDeeper:
	default:
		return false, fmt.Errorf("compare: %w: step %d out of turn", engine.ErrRefused, deeper.Step)
	}
	whole, err = c.run(ctx, func(ctx context.Context) error { return c.list(ctx, deeper) })
	if err != nil {
		return false, fmt.Errorf("compare: %w", err)
	}
	ok = true
	l.n.counters.reconciled.Add(1)
	l.n.counters.begun.Add(1)
	l.n.counters.comparing.Add(uint64(time.Since(began)))
	return whole, nil
}

func appendSums(b []byte, all []engine.Fingerprint) []byte {
	for _, f := range all {
		b = appendSum(b, f)
	}
	return b
}

// list tells what is here in the ranges that differ, and the mesh records if they do.
func (c *session) list(ctx context.Context, deeper *message) error {
	if !deeper.Last {
		if err := c.records(); err != nil {
			return err
		}
	}
	m := &message{Step: stepDigests}
	size := 0
	add := func(r engine.Range, digests []engine.Digest) error {
		items := make([]byte, 0, len(digests)*itemLen)
		for _, d := range digests {
			i := idOf(d.Document)
			items = appendSum(append(items, i[:]...), d.Digest)
		}
		if size += len(items) + 16; size > frameBytes && len(m.Lists) > 0 {
			c.n.counters.asked.Add(1)
			if err := c.write(m); err != nil {
				return err
			}
			m, size = &message{Step: stepDigests}, len(items)
		}
		m.Lists = append(m.Lists, list{r, items})
		return nil
	}
	for _, theirs := range deeper.Sums {
		if err := c.listRange(ctx, theirs, add); err != nil {
			return err
		}
	}
	m.Last = true
	c.n.counters.asked.Add(1)
	return c.write(m)
}

// listRange adds what is here in those parts of a range that differ; in all of it when most of them do.
func (c *session) listRange(ctx context.Context, theirs sums, add func(engine.Range, []engine.Digest) error) error {
	parts := theirs.Range.Parts()
	var differ []engine.Range
	for i, f := range c.n.exchange.Fingerprints(c.l.site, parts) {
		if !bytes.Equal(appendSum(nil, f), theirs.Parts[i*sumLen:][:sumLen]) {
			differ = append(differ, parts[i])
		}
	}
	if len(differ) > engine.Ranges/2 {
		digests, err := c.n.exchange.Digests(ctx, c.l.site, theirs.Range)
		if err != nil {
			return fmt.Errorf("digests of %v: %w", theirs.Range, err)
		}
		if len(digests) <= frameBytes/itemLen {
			return add(theirs.Range, digests)
		}
	}
	for _, r := range differ {
		digests, err := c.n.exchange.Digests(ctx, c.l.site, r)
		if err != nil {
			return fmt.Errorf("digests of %v: %w", r, err)
		}
		if err := add(r, digests); err != nil {
			return err
		}
	}
	return nil
}

// records sends the records of the mesh.
func (c *session) records() error {
	letter, size := &engine.Letter{}, 0
	for _, r := range c.n.exchange.MeshRecords() {
		if size += len(r.Record) + 128; size > frameBytes && len(letter.Records) > 0 {
			if err := c.write(&message{Step: stepRecords, Letter: letter}); err != nil {
				return err
			}
			letter, size = &engine.Letter{}, len(r.Record)+128
		}
		letter.Records = append(letter.Records, r)
	}
	return c.write(&message{Step: stepRecords, Letter: letter})
}

// serveCompare is the other side of compare.
func (n *Network) serveCompare(ctx context.Context, l *link, s network.Stream) {
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	ok := false
	defer end(s, &ok)
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	c := newSession(l, s, false)
	open, release, err := c.read(ctx)
	if err == nil {
		release()
		if open.Step != stepOpen {
			err = fmt.Errorf("%w: it begins with step %d", engine.ErrRefused, open.Step)
		}
	}
	if err != nil {
		n.compared(l, err)
		return
	}
	if !l.serveComparison() {
		ok = c.write(&message{Step: stepBusy}) == nil
		return
	}
	defer l.comparisonServed()
	select {
	case n.served <- struct{}{}:
		defer func() { <-n.served }()
	case <-ctx.Done():
		return
	case <-time.After(stall):
		return
	}
	began := time.Now()
	whole, err := c.serve(ctx, open)
	ok = err == nil
	n.compared(l, err)
	if ok {
		n.counters.reconciled.Add(1)
	}
	if l.agree.ended(time.Now(), began, whole && ok); whole && ok {
		l.allCompared()
	}
}

// serve answers the opening and exchanges what differs.
func (c *session) serve(ctx context.Context, open *message) (whole bool, err error) {
	deeper := &message{Step: stepDeeper, Last: bytes.Equal(open.Mesh, appendSum(nil, c.n.exchange.MeshFingerprint()))}
	ranges := engine.Range{}.Parts()
	for i, f := range c.n.exchange.Fingerprints(c.l.site, ranges) {
		if !bytes.Equal(appendSum(nil, f), open.Sums[0].Parts[i*sumLen:][:sumLen]) {
			parts := c.n.exchange.Fingerprints(c.l.site, ranges[i].Parts())
			deeper.Sums = append(deeper.Sums, sums{ranges[i], appendSums(nil, parts)})
		}
	}
	if err := c.write(deeper); err != nil {
		return false, err
	}
	if deeper.Last {
		return c.run(ctx, nil)
	}
	return c.run(ctx, func(context.Context) error { return c.records() })
}

// differ answers a message of digests: it tells which documents are others here, or more, and pulls those that are there.
func (c *session) differ(ctx context.Context, m *message) error {
	var pull []id
	var tell []byte
	for _, l := range m.Lists {
		mine, err := c.n.exchange.Digests(ctx, c.l.site, l.Range)
		if err != nil {
			return fmt.Errorf("digests of %v: %w", l.Range, err)
		}
		there, here := differences(l.Items, mine)
		pull = append(pull, there...)
		for _, d := range here {
			tell = append(tell, d[:]...)
		}
	}
	c.pulls.add(pull, m.Last)
	for len(tell) > frameBytes/idLen*idLen {
		part := tell[:frameBytes/idLen*idLen]
		if err := c.write(&message{Step: stepDiffer, IDs: part}); err != nil {
			return err
		}
		tell = tell[len(part):]
	}
	return c.write(&message{Step: stepDiffer, IDs: tell, Last: m.Last})
}

// differences compares the checked items of a list with what is here in the same range. It returns what the other site has and
// what this site has of documents that differ.
func differences(theirs []byte, mine []engine.Digest) (there, here []id) {
	for len(theirs) > 0 || len(mine) > 0 {
		order := -1 // of what is here to what is there
		var a, b id
		if len(theirs) > 0 {
			b, order = id(theirs), 1
		}
		if len(mine) > 0 {
			if a = idOf(mine[0].Document); len(theirs) == 0 {
				order = -1
			} else {
				order = bytes.Compare(a[:], b[:])
			}
		}
		if order == 0 && !bytes.Equal(appendSum(nil, mine[0].Digest), theirs[idLen:itemLen]) {
			there, here = append(there, b), append(here, a)
		}
		if order < 0 {
			here = append(here, a)
		} else if order > 0 {
			there = append(there, b)
		}
		if order <= 0 {
			mine = mine[1:]
		}
		if order >= 0 {
			theirs = theirs[itemLen:]
		}
	}
	return there, here
}
