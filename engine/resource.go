package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// view is all that a site knows of one resource: its document decoded. It is not safe for concurrent use.
type view struct {
	self      SiteID
	name      func(SiteID) SiteName // for reasons that people read
	document  DocumentID
	about     About
	aboutRaw  []byte
	kind      *Kind
	history   *History
	replicas  map[SiteID]Replica
	outcomes  map[SiteID]map[OperationID]Outcome
	decisions map[ConflictID]map[SiteID]Decision // the last of each site
	contents  map[string]Inner                   // by "site/hash"
	attempts  map[OperationID]*attempts
	fetches   map[OperationID]fetched // why operations wait here for their bodies
	large     bool                    // an operation with such a body was here
	bodiless  []OperationID           // operations with such a body that a checkpoint stands for now
	unneeded  []BlobHash              // bodies that no site needs any more, once what is being stored is on disk
	createdAt time.Time
	touched   map[OperationID]bool // operations whose rows have to be written again
	refused   int                  // operations that this site's catalog does not admit
	waits     *Waiting             // why this site does not try what is pending now; nil: it does
	unseen    string               // why the last look of this site told nothing
	owner     bool                 // it is no more, and what was made along with it may have to be deleted
	shifted   bool                 // it came, went or lives elsewhere, and what relies on it has not been told
	asked     bool                 // another site has asked for a look that has not been queued yet
	reordered bool                 // operations count as having seen more than when they came
	writers   map[SiteID]bool      // who belongs to the placement or has ever done so
	placed    *Placement           // nil: to be folded anew
	lastWords map[string][32]byte  // of sites that have left, by site and document, as far as they were asked for
	// clock and patience tell since when a site that was removed is overdue, lapsed which are known to be. Nil: none ever is.
	clock    func() time.Time
	patience time.Duration
	lapsed   map[SiteID]bool
	// epochs are the documents, oldest first: one, or two while the first is ending. From is the number of the one that entries
	// are taken from, and writtenIn tells the newest epoch that an entry was written in, by map and key.
	epochs    []*epoch
	from      uint64
	writtenIn map[string]uint64
	// between are the digests of its documents that are shown between this site and others of which one has left, by document.
	between map[DocumentID]map[SiteID][32]byte
	// shownStill are the epochs that are over and still shown to sites that have left in them.
	shownStill map[uint64][]SiteID
}

func newView(self SiteID, name func(SiteID) SiteName, document DocumentID, about About, raw []byte, kind *Kind) *view {
	writers := make(map[SiteID]bool, len(about.Placement))
	for _, s := range about.Placement {
		writers[s] = true
	}
	h := HistoryOf(kind)
	h.placement = about.Placement
	if about.Collaboration == Cross {
		h.spread = &spread{self: self, parts: about.Parts, fields: kind.Divide}
	}
	return &view{
		self: self, name: name, document: document, about: about, aboutRaw: raw, kind: kind, history: h,
		replicas: map[SiteID]Replica{}, outcomes: map[SiteID]map[OperationID]Outcome{}, decisions: map[ConflictID]map[SiteID]Decision{},
		contents: map[string]Inner{},
		attempts: map[OperationID]*attempts{}, fetches: map[OperationID]fetched{}, touched: map[OperationID]bool{},
		lapsed: map[SiteID]bool{}, writers: writers, lastWords: map[string][32]byte{},
		epochs: []*epoch{newEpoch(about.Epoch, document, raw)}, from: about.Epoch, writtenIn: map[string]uint64{},
		between: map[DocumentID]map[SiteID][32]byte{}, shownStill: map[uint64][]SiteID{},
	}
}

// take takes an entry of the document in, which o is where it is an operation. An error says that the entry makes no sense; the
// view is as before then.
func (v *view) take(e Entry, o *Operation) error {
	author, rest, _ := strings.Cut(e.Key, "/")
	if !v.writers[SiteID(author)] {
		return fmt.Errorf("%s/%s: %w: its author has no part in this resource", e.Map, e.Key, ErrRefused)
	}
	if e.Map == MapReplicas { // also of an earlier epoch, where its author has a last word, too
		clear(v.lastWords)
		for _, to := range v.between {
			delete(to, SiteID(author))
		}
	}
	if slot := string(e.Map) + "/" + e.Key; e.Map != MapOperations && e.Map != MapDecisions {
		if v.from < v.writtenIn[slot] {
			return nil // what its author wrote before it went on to another epoch
		}
		v.writtenIn[slot] = v.from
	}
	switch e.Map {
	case MapOperations:
		if epoch := v.numbered(v.from); epoch != nil {
			epoch.operations++
			epoch.bytes += len(e.Value)
		}
		if o.Epoch != v.from {
			return fmt.Errorf("operation %s: %w: it is in epoch %d and says %d", o.ID, ErrRefused, v.from, o.Epoch)
		}
		if o.Change != nil {
			if err := o.Change.Validate(); err != nil {
				return fmt.Errorf("operation %s: %w: %w", o.ID, ErrRefused, err)
			}
		}
		if o.Place != nil {
			if err := o.Place.Validate(); err != nil {
				return fmt.Errorf("operation %s: %w: %w", o.ID, ErrRefused, err)
			}
		}
		o.Name = "" // what the rules know it by is this site's own catalog's to say
		if n := v.kind.named(o.Method, o.Path); n != nil {
			o.Name = n.Name
		}
		complete := v.history.Add(o)
		v.large = v.large || o.Blob != nil
		if len(complete) > 0 && v.placed != nil {
			before := v.placed.Sites
			if v.placed = nil; !slices.Equal(before, v.placement().Sites) {
				v.touchAll()
			}
		}
		for _, c := range complete {
			v.touched[c.ID] = true
			if at := time.UnixMicro(c.Time); v.createdAt.IsZero() || at.Before(v.createdAt) {
				v.createdAt = at
			}
		}
	case MapReplicas:
		var r Replica
		if err := decodeStrict(e.Value, &r); err != nil {
			return fmt.Errorf("replica of %s: %w: %w", author, ErrRefused, err)
		}
		before := v.replicas[SiteID(author)]
		r.epoch = v.from
		v.replicas[SiteID(author)] = r
		if v.history.Heed(SiteID(author), r.Hindsight) {
			v.placed, v.reordered = nil, true
			v.touchAll()
		}
		v.asked = v.asked || SiteID(author) != v.self && r.Asked.After(before.Asked)
		if (before.Left == nil) != (r.Left == nil) || before.Joined != r.Joined {
			v.touchAll()
		}
		settled := v.settledAt(SiteID(author))
		halted := (before.Paused == nil) != (r.Paused == nil) || (before.Waits == nil) != (r.Waits == nil) ||
			before.Held.waits() != r.Held.waits()
		was, is := before.settles(), r.settles()
		for _, o := range v.history.ordered {
			newly := !was(o) && is(o)
			if newly || halted && !settled(o) {
				v.touched[o.ID] = true
			}
		}
	case MapOutcomes:
		var o Outcome
		if err := decodeStrict(e.Value, &o); err != nil {
			return fmt.Errorf("outcome %s: %w: %w", e.Key, ErrRefused, err)
		}
		if earlier, later, is := strings.Cut(rest, "/"); is {
			v.history.AddFact(Fact{OperationID(earlier), OperationID(later)})
			return nil
		}
		at := v.outcomes[SiteID(author)]
		if at == nil {
			at = map[OperationID]Outcome{}
			v.outcomes[SiteID(author)] = at
		}
		at[OperationID(rest)] = o
		if o.State == StateLeft { // it was of a replica that is no more
			delete(at, OperationID(rest))
		}
		v.touched[OperationID(rest)] = true
	case MapContents:
		var c Inner
		if err := decodeStrict(e.Value, &c); err != nil || !c.check() || e.Key != contentKey(SiteID(author), c.Kind, c.Local) {
			return fmt.Errorf("content %s: %w", e.Key, ErrRefused)
		}
		v.contents[e.Key] = c
	case MapDecisions:
		var d Decision
		if err := decodeStrict(e.Value, &d); err != nil || string(d.By) != author {
			return fmt.Errorf("decision %s: %w", e.Key, ErrRefused)
		}
		v.decided(ConflictID(rest), d)
	}
	return nil
}

// touchAll has the rows of all operations written again.
func (v *view) touchAll() {
	for _, o := range v.history.ordered {
		v.touched[o.ID] = true
	}
}

func outcomeKey(s SiteID, o OperationID) string { return string(s) + "/" + string(o) }

// settled reports whether o needs nothing more at site s, as far as is known here.
func (v *view) settled(s SiteID, o *Operation) bool { return v.settledAt(s)(o) }

// settledAt returns what tells which operations need nothing more at site s, as far as is known here.
func (v *view) settledAt(s SiteID) func(*Operation) bool {
	settled, outcomes := v.replica(s).settles(), v.outcomes[s]
	return func(o *Operation) bool { return settled(o) && !outcomes[o.ID].Again }
}

// standing is what this site's application has been brought to.
func (v *view) standing() Standing {
	return v.standingAt(v.self)
}

// standingAt is what the application of a site has been brought to, as far as is known here.
func (v *view) standingAt(site SiteID) Standing {
	r, settled, outcomes := v.replica(site), v.settledAt(site), v.outcomes[site]
	copies := r.Bare && v.exists()
	st := Standing{
		// The object is made before its content comes, and that before anything else, unless it is to be deleted.
		Settled: func(o *Operation) bool { return settled(o) || copies && o.ID == r.Joined },
		Void:    func(o *Operation) bool { return outcomes[o.ID].State == StateSuperseded },
		Blocked: func(o *Operation) bool { return outcomes[o.ID].Blocks },
		Ran:     func(o *Operation) bool { return outcomes[o.ID].Ran },
		Refused: func(o *Operation) bool { return outcomes[o.ID].State == StateRejected && !outcomes[o.ID].Blocks },
		Undone: func(o *Operation) bool {
			out := outcomes[o.ID]
			return o.Type == TypeDelete && out.State == StateRejected && !out.Blocks && !out.Dropped
		},
		Uncertain: func(o *Operation) bool { return outcomes[o.ID].State == StateUncertain },
		Executed:  func(f Fact) bool { return slices.Contains(r.Facts, f) },
		Gone:      r.Local == "",
		Lossy:     v.brings(r.Joined) || adopts(outcomes),
		Carried:   func(o *Operation) bool { return outcomes[o.ID].Carried },
		Yields:    v.yielded(site),
	}
	st.Dropped = st.Gone && slices.ContainsFunc(v.history.ordered, func(o *Operation) bool {
		return o.Type == TypeCreate && st.Settled(o) && st.Refused(o)
	})
	return st
}

// adopts reports whether a person has said which object is to become the replica: that has what was done to it.
func adopts(outcomes map[OperationID]Outcome) bool {
	for _, out := range outcomes {
		if out.Adopt != "" {
			return true
		}
	}
	return false
}

// unmade reports whether the application of a site has no object, though everything that is settled there says that it
// exists and nobody has decided against it: it is to be made anew.
func (v *view) unmade(site SiteID) bool {
	st := v.standingAt(site)
	return st.Gone && !st.Dropped && v.history.exists(st.shows)
}

// shown is the fold that this site's application shows; of a cross resource, that of all parts together.
func (v *view) shown() Fold { return v.standing().whole(v.history) }

// local returns this site's identifier of the resource, empty when it has no replica.
func (v *view) local() LocalID { return v.replica(v.self).Local }

// withSettled returns this site's replica as it is once ops are settled as well.
func (v *view) withSettled(local LocalID, now time.Time, ops ...*Operation) Replica {
	r := v.replica(v.self)
	r.Local, r.Settled, r.At, r.Waits = local, maps.Clone(r.Settled), now, nil // what is written has come through
	if r.Settled == nil {
		r.Settled = map[Line]uint64{}
	}
	if local != "" {
		r.Yields = time.Time{}
	}
	if len(ops) > 0 {
		r.Observed = nil // it was of another state
	}
	for _, o := range ops {
		r.Settled[o.Line()] = max(r.Settled[o.Line()], o.Seq)
		if r.Held != nil && r.Held.Operation == o.ID {
			r.Held = nil
		}
		if r.Open != nil && r.Open.Operation == o.ID {
			r.Open = nil
		}
		r.Bare = r.Bare && o.ID != r.Joined
	}
	return r.caughtUp()
}

// holds reports whether a site has a part in the resource.
func (v *view) holds(s SiteID) bool { return v.placement().Has(s) }

// exists reports whether the resource is there, everything known counted.
func (v *view) exists() bool {
	return v.history.exists(anyOperation)
}

func compactStruct(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode a change: %v", err)) // it holds nothing but validated JSON
	}
	return b
}
