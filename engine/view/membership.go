package view

import (
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// Membership is who belongs to a resource, or has ever done so. Nobody can tell what a site had accepted before it heard that it was
// removed: who has ever belonged to the placement may write the document.
type Membership struct {
	history  *merge.History
	placed   *merge.Placement       // nil: to be folded anew
	writers  map[engine.SiteID]bool // who belongs to the placement or has ever done so
	expected map[engine.SiteID]bool // writers of whom nothing is known but that an operation which is held back adds them
	overdue  map[engine.SiteID]bool // removed sites that nothing waits for any more
}

func (m *Membership) begin(history *merge.History, placement []engine.SiteID) {
	m.history, m.writers, m.expected, m.overdue = history, map[engine.SiteID]bool{}, map[engine.SiteID]bool{}, map[engine.SiteID]bool{}
	m.let(placement...)
}

// let has sites write.
func (m *Membership) let(sites ...engine.SiteID) {
	for _, s := range sites {
		m.writers[s] = true
	}
}

// expect has sites write whom an operation adds that is here, though it may build on what is still to come.
func (m *Membership) expect(p *engine.PlacementChange) {
	for _, s := range p.Add {
		if !m.writers[s] {
			m.writers[s], m.expected[s] = true, true
		}
	}
}

// place takes in that a placement operation counts.
func (m *Membership) place(p *engine.PlacementChange) {
	for _, s := range p.Add {
		delete(m.expected, s)
	}
	m.placed = nil
}

// Recount takes in that the history consists of other operations than before.
func (m *Membership) Recount() {
	m.placed = nil
	for _, o := range m.history.Ordered() {
		if o.Place != nil {
			m.place(o.Place)
		}
	}
}

// Placement is where the resource lives.
func (m *Membership) Placement() *merge.Placement {
	if m.placed == nil {
		p := m.history.Placement()
		m.placed = &p
	}
	return m.placed
}

// Holds reports whether a site belongs to the placement.
func (m *Membership) Holds(s engine.SiteID) bool { return m.Placement().Has(s) }

// Writes reports whether a site may write the document.
func (m *Membership) Writes(s engine.SiteID) bool { return m.writers[s] }

// Writers lists who may write the document, sorted.
func (m *Membership) Writers() []engine.SiteID { return slices.Sorted(maps.Keys(m.writers)) }

// settled reports whether nobody but the members has ever belonged to the placement.
func (m *Membership) settled() bool { return len(m.writers) == len(m.Placement().Sites) }

// Overdue reports whether a site was removed so long ago that nothing waits for it any more.
func (m *Membership) Overdue(s engine.SiteID) bool { return m.overdue[s] }
