package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// DeletionLimits bound how many deletions of other sites, of those that were issued while this site was away, run here
// before a person has confirmed the rest. A zero field stands for the default named.
type DeletionLimits struct {
	// Late is how long after it was issued a deletion has to be heard of to count as issued while this site was away (1 m).
	Late time.Duration
	// Number and Share bound the late deletions of one Window (1 h): at most Number (100) of them run unconfirmed, and at most
	// Share (0.2) of the resources that this site replicates when the first of them comes, where that is more than ten.
	Number int
	Share  float64
	Window time.Duration
}

func (l *DeletionLimits) setDefaults() {
	l.Late = orDefault(l.Late, time.Minute)
	l.Number = orDefault(l.Number, 100)
	l.Share = orDefault(l.Share, 0.2)
	l.Window = orDefault(l.Window, time.Hour)
}

// shareFloor is what Share does not bound.
const shareFloor = 10

// bound is how many late deletions run unconfirmed at a site with this many resources.
func (l DeletionLimits) bound(resources int) int {
	return min(l.Number, max(shareFloor, int(l.Share*float64(resources))))
}

// Held is part of what a site publishes of its replica: a deletion that waits for a person.
type Held struct {
	Operation OperationID `json:"operation"`
	At        time.Time   `json:"at"`
	// Confirmed is where somebody said that it is to run; empty while it waits.
	Confirmed SiteName `json:"confirmed,omitempty"`
}

// waits reports whether a deletion is held that nobody has confirmed.
func (h *Held) waits() bool { return h != nil && h.Confirmed == "" }

// deletions decides which late deletions may run. It is safe for concurrent use.
type deletions struct {
	limits DeletionLimits
	mu     sync.Mutex
	// let are the deletions that may run: those heard of in time, and the late ones that were let pass. What is older than
	// a day is forgotten.
	let map[OperationID]time.Time
	// ran is when the late ones of this window were let pass, bound how many may.
	ran   []time.Time
	bound int
	held  map[DocumentID]bool
}

// keepLet is how long a deletion that may run is remembered.
const keepLet = 24 * time.Hour

func newDeletions(l DeletionLimits) *deletions {
	l.setDefaults()
	return &deletions{limits: l, let: map[OperationID]time.Time{}, held: map[DocumentID]bool{}}
}

// heard takes note of a deletion that came from another site, after it was issued by late.
func (d *deletions) heard(o *Operation, late time.Duration, now time.Time) {
	if late > d.limits.Late {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.let[o.ID] = now
}

// admit reports whether a deletion may run. Count gives the number of resources here; it is asked once in a window.
func (d *deletions) admit(o *Operation, now time.Time, count func() (int, error)) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.let[o.ID]; ok {
		return true, nil
	}
	if len(d.held) > 0 {
		return false, nil
	}
	d.ran = slices.DeleteFunc(d.ran, func(at time.Time) bool { return now.Sub(at) > d.limits.Window })
	if len(d.ran) == 0 {
		n, err := count()
		if err != nil {
			return false, err
		}
		d.bound = d.limits.bound(n)
		maps.DeleteFunc(d.let, func(_ OperationID, at time.Time) bool { return now.Sub(at) > keepLet })
	}
	if len(d.ran) >= d.bound {
		return false, nil
	}
	d.ran = append(d.ran, now)
	d.let[o.ID] = now
	return true, nil
}

// hold takes note of a deletion that waits; first says that it is the only one.
func (d *deletions) hold(id DocumentID) (first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	first = len(d.held) == 0
	d.held[id] = true
	return first
}

// release ends what hold began. Once nothing is held, deletions are counted anew.
func (d *deletions) release(id DocumentID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.held[id] {
		return
	}
	delete(d.held, id)
	if len(d.held) == 0 {
		d.ran = nil
	}
}

// waiting lists the documents whose deletion waits, sorted.
func (d *deletions) waiting() []DocumentID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.held))
}

// hearDeletion takes note of when a deletion of another site came. Its clock may be wrong: what is known of that counts.
func (s *Site) hearDeletion(o *Operation) {
	if o.Type != TypeDelete || o.Origin == s.cfg.Self {
		return
	}
	now := s.cfg.Now()
	ahead := s.network.Status()[o.Origin].Ahead
	s.deletions.heard(o, now.Add(ahead).Sub(time.UnixMicro(o.Time)), now)
}

// holdDeletion reports whether a step has to wait for a person, because it is one late deletion too many, and publishes
// that. The caller holds r.mu.
func (s *Site) holdDeletion(ctx context.Context, r *resource, v *view, step Step) (bool, error) {
	if !deletes(v, step) {
		return false, nil
	}
	o := step.Operations[0]
	entry := v.withSettled(v.local(), s.cfg.Now())
	if h := entry.Held; h != nil && h.Operation == o.ID {
		if h.waits() {
			s.deletions.hold(r.id)
		}
		return h.waits(), nil
	}
	ok, err := s.deletions.admit(o, s.cfg.Now(), func() (int, error) {
		counts, err := s.cfg.Store.CountResources(ctx)
		if err != nil {
			return 0, fmt.Errorf("bound deletions: %w", err)
		}
		n := 0
		for state, c := range counts {
			if !state.Past() {
				n += c
			}
		}
		return n, nil
	})
	if ok || err != nil {
		return false, err
	}
	b := &Batch{}
	if s.deletions.hold(r.id) {
		s.cfg.Log.Warn("deletions that were issued while this site was away are held until they are confirmed",
			"resource", string(v.about.Key), "operation", string(o.ID), "peer", string(o.Origin))
		b.Events = append(b.Events, s.event("site.held", string(s.name(s.cfg.Self)), map[string]any{
			"site": s.name(s.cfg.Self), "resource": v.about.Key, "operation": o.ID, "origin": s.name(o.Origin)}))
	}
	entry.Held = &Held{Operation: o.ID, At: s.cfg.Now()}
	if err := s.write(ctx, r, []Entry{v.replicaAs(entry)}, b); err != nil {
		s.deletions.release(r.id)
		return false, err
	}
	return true, nil
}

// deletes reports whether a step takes an object away from this site's application because another site has deleted it.
func deletes(v *view, step Step) bool {
	return step.Kind == StepRun && step.Operations[0].Type == TypeDelete && step.Operations[0].Origin != v.self && v.local() != ""
}

// unconfirmed is what people read of a deletion that is held at a site.
func unconfirmed(at SiteName) string {
	return fmt.Sprintf("deleted while %s was away, together with many others: it waits for \"skerry sites confirm %s\"", at, at)
}

// Confirm lets the deletions run that are held here, as far as the site by shares their resources, and returns how many.
func (s *Site) Confirm(ctx context.Context, by SiteID) (int, error) {
	n := 0
	for _, id := range s.deletions.waiting() {
		ok, err := s.confirm(ctx, id, by)
		if err != nil {
			return n, fmt.Errorf("confirm deletions: %w", err)
		}
		if ok {
			n++
		}
	}
	return n, nil
}

func (s *Site) confirm(ctx context.Context, id DocumentID, by SiteID) (bool, error) {
	r, v, unlock, err := s.locked(ctx, id)
	defer unlock()
	if err != nil {
		return false, err
	}
	entry := v.withSettled(v.local(), s.cfg.Now())
	if p := v.part(by); !entry.Held.waits() || p != partMember && p != partLeaving {
		return false, nil
	}
	entry.Held = &Held{Operation: entry.Held.Operation, At: entry.Held.At, Confirmed: s.name(by)}
	if err := s.write(ctx, r, []Entry{v.replicaAs(entry)}, &Batch{}); err != nil {
		return false, err
	}
	s.deletions.release(id)
	s.queue.add(job{document: id}, 0)
	return true, nil
}
