package service

import (
	"maps"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
)

// shareFloor is what a Share does not bound.
const shareFloor = 10

// keepLet is how long at least a deletion that may run is remembered.
const keepLet = 24 * time.Hour

// Deletions decides which deletions of other sites may run that were issued while this site was away. Past the limits they
// are held until a person confirms them.
type Deletions struct {
	limits engine.DeletionLimits
	// let are the deletions that may run: those heard of in time, and the late ones that were let pass. Before are those of
	// the time before turned; what is older is forgotten.
	let, before map[engine.OperationID]bool
	turned      time.Time
	// ran are the late ones of this window that were let pass, bound how many may.
	ran   []passed
	bound int
	held  map[engine.DocumentID]bool
}

// passed is a late deletion that was let pass.
type passed struct {
	id engine.OperationID
	at time.Time
}

// NewDeletions returns the decisions of a site that has heard of nothing yet.
func NewDeletions(l engine.DeletionLimits) *Deletions {
	if l.Late <= 0 {
		l.Late = time.Minute
	}
	if l.Number <= 0 {
		l.Number = 100
	}
	if l.Share <= 0 {
		l.Share = 0.2
	}
	if l.Window <= 0 {
		l.Window = time.Hour
	}
	return &Deletions{limits: l, let: map[engine.OperationID]bool{}, held: map[engine.DocumentID]bool{}}
}

// Heard takes note of a deletion that came from another site, so long after it was issued there. The clocks of both may be
// apart: the caller knows how far.
func (d *Deletions) Heard(o engine.OperationID, late time.Duration, now time.Time) {
	if late <= d.limits.Late {
		d.remember(o, now)
	}
}

func (d *Deletions) remember(o engine.OperationID, now time.Time) {
	if now.Sub(d.turned) > keepLet {
		d.let, d.before, d.turned = map[engine.OperationID]bool{}, d.let, now
	}
	d.let[o] = true
}

// Admit reports whether a deletion may run at a site that has so many resources.
func (d *Deletions) Admit(o engine.OperationID, resources int, now time.Time) bool {
	switch {
	case d.let[o] || d.before[o]:
		return true
	case len(d.held) > 0:
		return false
	}
	d.ran = slices.DeleteFunc(d.ran, func(p passed) bool { return now.Sub(p.at) > d.limits.Window })
	if len(d.ran) == 0 {
		d.bound = min(d.limits.Number, max(shareFloor, int(d.limits.Share*float64(resources))))
	}
	if len(d.ran) >= d.bound {
		return false
	}
	d.ran = append(d.ran, passed{o, now})
	d.remember(o, now)
	return true
}

// Hold takes note of a resource whose deletion waits; first says that it is the only one.
func (d *Deletions) Hold(id engine.DocumentID) (first bool) {
	first = len(d.held) == 0
	d.held[id] = true
	return first
}

// Release ends what Hold began. Once nothing is held, deletions are counted anew.
func (d *Deletions) Release(id engine.DocumentID) {
	if !d.held[id] {
		return
	}
	if delete(d.held, id); len(d.held) == 0 {
		d.ran = nil
	}
}

// Held lists the resources whose deletion waits, sorted, and the late deletions that were let pass before the first of them, as they came. Those are
// none where nobody knows any more, since the agent began anew.
func (d *Deletions) Held() (waiting []engine.DocumentID, ran []engine.OperationID) {
	if len(d.held) > 0 {
		for _, p := range d.ran {
			ran = append(ran, p.id)
		}
	}
	return slices.Sorted(maps.Keys(d.held)), ran
}
