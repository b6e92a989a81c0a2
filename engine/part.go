package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// part is what a site has to do with a resource, as far as is known here.
type part int

const (
	partNone    part = iota // nothing, and it never had
	partMember              // it belongs to the placement
	partLeaving             // it was removed, and has not said that it has left
	partFormer              // it has left
)

// Left is the last word of a site that was removed.
type Left struct {
	// By is the operation that removed it.
	By OperationID `json:"by"`
	// Sites are those that it goes on showing the document to, as it is with this entry: the members that it knew.
	Sites []SiteID `json:"sites"`
}

// placement is where the resource lives.
func (v *view) placement() Placement {
	if v.placed == nil {
		p := v.history.Placement()
		v.placed = &p
	}
	return *v.placed
}

func (v *view) part(s SiteID) part {
	switch {
	case v.placement().Has(s):
		return partMember
	case !v.writers[s]:
		return partNone
	case v.replicas[s].Left != nil:
		return partFormer
	}
	return partLeaving
}

// with lists the sites that have one of these parts, sorted.
func (v *view) with(parts ...part) []SiteID {
	var ids []SiteID
	for s := range v.writers {
		if slices.Contains(parts, v.part(s)) {
			ids = append(ids, s)
		}
	}
	slices.Sort(ids)
	return ids
}

// correspondents are the sites that changes of the document are for.
func (v *view) correspondents() []SiteID {
	return slices.DeleteFunc(v.with(partMember, partLeaving), v.overdue)
}

// learn takes in who may write the document, from entries in any order: an operation counts once its author may write. It
// reports whether somebody is new among them.
func (v *view) learn(entries []Entry) bool {
	known := len(v.writers)
	for again := true; again; {
		again = false
		for _, e := range entries {
			author, _, _ := strings.Cut(e.Key, "/")
			if e.Map != MapOperations || !v.writers[SiteID(author)] || !bytes.Contains(e.Value, []byte(`"place"`)) {
				continue
			}
			o, err := DecodeOperation(e.Key, e.Value)
			if err != nil || o.Place == nil || o.Place.Validate() != nil {
				continue
			}
			for _, s := range o.Place.Add {
				again = again || !v.writers[s]
				v.writers[s] = true
			}
		}
	}
	return len(v.writers) > known
}

// replica is the replica of a site as it stands. That of an added site begins with what was settled where it was added. What
// a former site has said before it left counts for nothing once it belongs to the placement again.
func (v *view) replica(s SiteID) Replica {
	p, r := v.placement(), v.replicas[s]
	began := r.Left == nil && (r.Joined != "" || slices.Contains(v.about.Placement, s))
	if !p.Has(s) || began {
		return r
	}
	from := p.Added[s]
	if from == nil && r.Left != nil { // its removal has turned out to be void
		from = v.history.Get(r.Left.By)
	}
	if s != v.self || from == nil {
		return Replica{Made: r.Made, Hindsight: r.Hindsight} // it has not begun, as far as is known here
	}
	return Replica{Made: r.Made, Hindsight: r.Hindsight, Settled: from.before(), epoch: from.Epoch, Joined: from.ID, Bare: len(v.kind.Content) > 0}
}

// brings reports whether what undeclared actions have done comes to a site that was added by this operation in another way
// than by the actions, or somebody has accepted that it does not.
func (v *view) brings(joined OperationID) bool {
	o := v.history.Get(joined)
	return o != nil && (len(v.kind.Content) > 0 || o.Place != nil && o.Place.Forced)
}

// mayDoWithout reports whether somebody has accepted that this site, which was added, begins without the large body of an earlier
// operation where nobody has that any more.
func (v *view) mayDoWithout(o *Operation) bool {
	by := v.history.Get(v.replica(v.self).Joined)
	return o.Blob != nil && len(v.kind.Content) == 0 && by != nil && by.Place != nil && by.Place.Forced && v.history.Before(o, by)
}

// leavingStatus describes the replica of a site that was removed and has not left.
func (v *view) leavingStatus(s SiteID) ReplicaStatus {
	st := ReplicaStatus{Local: v.replica(s).Local, State: StateLeaving, Paused: v.replica(s).Paused,
		Reason: "it was removed, and what it has accepted is still to come"}
	by := v.placement().Removed[s]
	for _, o := range v.history.ordered {
		if v.settled(s, o) {
			st.Applied++
		} else if by != nil && Compare(o, by) <= 0 {
			st.Pending++
		}
	}
	switch {
	case st.Paused != nil:
		st.Reason = "it was removed, and leaves its replica as it is: " + st.Paused.String()
	case v.overdue(s):
		st.Reason = "it was removed long ago and has not said that it has left: nothing waits for it any more"
	case s == v.self:
		st.Reason = cmp.Or(v.lastError(), "it was removed, and has something left to apply")
	}
	return st
}

// hasLeft reports whether a site has left. Another that has left as well may lack what that site's removal has seen, and hears no more
// of it: it takes the last word for what it says.
func (v *view) hasLeft(s SiteID) bool {
	if v.part(s) == partFormer {
		return true
	}
	left := v.replicas[s].Left
	return left != nil && v.part(v.self) == partFormer && v.history.Get(left.By) == nil
}

// lastBetween returns the site whose last entry is also the last that flows between this site and another; empty when
// neither has left. Of two that have left, each while it knew the other as a member, it is the first by its identifier.
func (v *view) lastBetween(other SiteID) SiteID {
	leftTo := func(s, to SiteID) bool {
		return v.hasLeft(s) && slices.Contains(v.replicas[s].Left.Sites, to)
	}
	mine, theirs := leftTo(v.self, other), leftTo(other, v.self)
	switch {
	case mine && theirs:
		return min(v.self, other)
	case mine:
		return v.self
	case theirs:
		return other
	}
	return ""
}

// leftAfter reports whether last, the site whose last entry is between this one and another, is this one and has written it in a later epoch
// than that of a number. It may have heard more of the earlier one since it last wrote there, from a site that was set back since: of
// that it shows all.
func (v *view) leftAfter(last SiteID, number uint64) bool {
	return last == v.self && v.replicas[last].epoch > number
}

// listens reports whether a site that has left takes in what another one sends of an epoch: only the last word of one that has
// left as well, so that both know which of their last entries stands between them. One that had begun to write in the next
// epoch has a last entry in both documents, and that in the later one may come first. What this site has written itself in a later epoch, in a
// run that is lost, it takes in as well: to those who know that, what it said last when it left is not its last word.
func (v *view) listens(from SiteID, e Envelope, number uint64) bool {
	own := func(c SignedChange) bool { return c.Author == v.self }
	return v.part(v.self) != partFormer || e.Joins || e.Left && (v.part(from) != partFormer || v.replicas[from].epoch > number) ||
		e.Leaves && number > v.current().number && slices.ContainsFunc(e.Changes, own)
}

// shownTo says to whom this site shows the document, and what. Between a site that has left and one that it knew as a member
// it is, at both ends, the document as it was with the last entry of the one that has left: nothing flows any more.
func (s *Site) shownTo(ctx context.Context, v *view, e *epoch) (DocumentRow, error) {
	row := DocumentRow{ID: e.id, About: e.raw}
	mine := v.part(v.self)
	for _, site := range slices.Sorted(maps.Keys(v.writers)) {
		if heads, ok := v.between[e.id][site]; ok && !v.shownAll(site) {
			row.showFormer(site, heads)
			continue
		}
		if last := v.lastBetween(site); last != "" {
			heads, err := s.lastWord(ctx, v, e, last)
			if v.leftAfter(last, e.number) { // it has all there is of it here
				heads, err = s.cfg.Documents.Heads(ctx, e.id)
			}
			if errors.Is(err, ErrNotFound) {
				continue // it had left before this epoch
			}
			if err != nil {
				return row, err
			}
			row.showFormer(site, heads)
			continue
		}
		if mine == partFormer || mine == partNone {
			continue
		}
		switch v.part(site) {
		case partMember:
			row.Sites = append(row.Sites, site)
		case partLeaving:
			row.Leaving = append(row.Leaving, site)
		}
	}
	return row, nil
}

// lastWord returns the digest of the document as it was with the last entry of a site that has left.
func (s *Site) lastWord(ctx context.Context, v *view, e *epoch, of SiteID) ([32]byte, error) {
	key := string(of) + "/" + string(e.id)
	if heads, ok := v.lastWords[key]; ok {
		return heads, nil
	}
	heads, _, err := s.cfg.Documents.WrittenAt(ctx, e.id, MapReplicas, string(of))
	if err != nil {
		return heads, fmt.Errorf("last entry of %s: %w", of, err)
	}
	v.lastWords[key] = heads
	return heads, nil
}

// showLess adds to b that documents of epochs that are over are not shown any more between this site and one of which neither has
// left any more, so that whoever had has dropped them, or which is in the mesh no more. Who has left has documents of two epochs at most.
func (s *Site) showLess(ctx context.Context, v *view, b *Batch) error {
	newest := map[SiteID]uint64{}
	for number, to := range v.shownStill {
		for _, site := range to {
			newest[site] = max(newest[site], number)
		}
	}
	for number, to := range v.shownStill {
		still := slices.DeleteFunc(slices.Clone(to), func(site SiteID) bool {
			return v.lastBetween(site) == "" && !v.hasLeft(site) || number+1 < newest[site] || s.isGone(site)
		})
		if len(still) == len(to) {
			continue
		}
		e, err := s.epochOf(v.about, number)
		if err != nil {
			return err
		}
		if v.shownStill[number] = still; len(still) == 0 {
			delete(v.shownStill, number)
		}
		row, err := s.rowOf(ctx, e.id, b)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("show epoch %d of %s to fewer sites: %w", number, v.about.Key, err)
		}
		row.Former = maps.Clone(row.Former)
		maps.DeleteFunc(row.Former, func(site SiteID, _ [32]byte) bool { return !slices.Contains(still, site) })
		b.Documents = slices.DeleteFunc(b.Documents, func(d DocumentRow) bool { return d.ID == e.id })
		if len(row.Former) == 0 && e.id != v.document {
			b.Dropped = append(b.Dropped, e.id)
		} else {
			b.Documents = append(b.Documents, row)
		}
	}
	return nil
}

// rowOf is the row of a document as b leaves it.
func (s *Site) rowOf(ctx context.Context, id DocumentID, b *Batch) (DocumentRow, error) {
	for _, row := range slices.Backward(b.Documents) {
		if row.ID == id {
			return row, nil
		}
	}
	if slices.Contains(b.Dropped, id) {
		return DocumentRow{}, ErrNotFound
	}
	return s.cfg.Store.Document(ctx, id)
}

// isGone reports whether a site has left the mesh for good.
func (s *Site) isGone(id SiteID) bool {
	s.mesh.mu.RLock()
	defer s.mesh.mu.RUnlock()
	return s.mesh.gone[id]
}
