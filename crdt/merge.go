package crdt

import (
	"errors"
	"fmt"

	"github.com/skerry/skerry/engine"
)

// arrival is a change from outside on its way into a document.
type arrival struct {
	engine.SignedChange
	hash   hash
	change *change
}

// merger takes changes into a document in the order that their dependencies ask for.
type merger struct {
	document *document
	writes   func(engine.SiteID) bool
	ready    []arrival
	// waiting are the changes that wait for one that is not here, by that one.
	waiting map[hash][]arrival
	// refused is the first reason for which a change was refused, and how many were.
	refused  error
	refusals int

	rows    []engine.ChangeRow
	touched []slot
}

// merge applies what passes the gate. The error is ErrRefused, ErrMissing or both, wrapped, as
// engine.Documents.Merge says; or another one, after which the document is not to be used any more.
func (d *document) merge(changes []engine.SignedChange, writes func(engine.SiteID) bool) ([]engine.ChangeRow, []engine.Entry, error) {
	m := &merger{document: d, writes: writes, waiting: map[hash][]arrival{}}
	for _, c := range changes {
		h, err := hashOf(c.Bytes)
		if err != nil {
			m.refuse(arrival{SignedChange: c}, err)
			continue
		}
		m.ready = append(m.ready, arrival{SignedChange: c, hash: h})
		for len(m.ready) > 0 {
			next := m.ready[0]
			m.ready = m.ready[1:]
			if err := m.take(next); err != nil {
				return nil, nil, err
			}
		}
	}
	seen := map[slot]bool{}
	var entries []engine.Entry
	for _, s := range m.touched {
		if !seen[s] {
			seen[s] = true
			entries = append(entries, d.history.entry(s))
		}
	}
	return m.rows, entries, m.verdict()
}

// take applies one change, refuses it or lets it wait. What it returns is an error of the core.
func (m *merger) take(a arrival) error {
	d := m.document
	if _, ok := d.history.index[a.hash]; ok {
		return nil
	}
	if a.change == nil {
		c, err := decodeChange(a.Bytes)
		if err != nil {
			m.refuse(a, err)
			return nil
		}
		a.change = c
	}
	var missing *missingError
	err := d.history.check(a.change, a.Author)
	if errors.As(err, &missing) {
		m.waiting[missing.dep] = append(m.waiting[missing.dep], a)
		return nil
	}
	if err == nil && !m.writes(a.Author) {
		err = errors.New("its author has no part in the document")
	}
	if err == nil {
		err = verify(a.SignedChange, a.hash)
	}
	if err != nil {
		m.refuse(a, err)
		return nil
	}
	before := make([]opID, len(a.change.puts))
	for i, p := range a.change.puts {
		before[i] = d.history.winner(slot{p.object, p.key})
	}
	row := d.row(a.change, a.SignedChange, a.hash)
	if err := d.apply(a.change, row); err != nil {
		return err
	}
	m.rows = append(m.rows, row)
	for i, p := range a.change.puts {
		if s := (slot{p.object, p.key}); d.history.winner(s) != before[i] {
			m.touched = append(m.touched, s)
		}
	}
	m.ready = append(m.ready, m.waiting[a.hash]...)
	delete(m.waiting, a.hash)
	return nil
}

// refuse notes the reason, and refuses what builds on the change along with it: no honest site has it either.
func (m *merger) refuse(a arrival, why error) {
	if m.refused == nil {
		m.refused = fmt.Errorf("change %x of %.60q: %w", a.hash[:4], a.Author, why)
	}
	m.refusals++
	if a.change == nil {
		return
	}
	waiting := m.waiting[a.hash]
	delete(m.waiting, a.hash)
	for _, w := range waiting {
		m.refuse(w, errors.New("builds on a refused change"))
	}
}

func (m *merger) verdict() error {
	var errs []error
	if m.refused != nil {
		errs = append(errs, fmt.Errorf("%w: %d changes: %w", engine.ErrRefused, m.refusals, m.refused))
	}
	if len(m.waiting) > 0 {
		n := 0
		var dep hash
		for d, w := range m.waiting {
			n, dep = n+len(w), d
		}
		errs = append(errs, fmt.Errorf("%w: %d changes, for example %x", engine.ErrMissing, n, dep[:4]))
	}
	return errors.Join(errs...)
}
