package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Replica is what a site publishes about its own replica of a resource.
type Replica struct {
	Local LocalID `json:"local_id,omitempty"`
	// Made counts how often the object was made anew here, so that each time is a request of its own to the application.
	Made uint64 `json:"made,omitempty"`
	// Facts are those that the application's state follows from.
	Facts []Fact `json:"facts,omitempty"`
	// Settled counts, for each line, how many of its operations are settled here: those with a Seq up to it. Of lines that are
	// over in the epoch that this is written in all are.
	Settled map[Line]uint64 `json:"settled"`
	// Observed is what the application showed once all of Settled was settled and nothing else was known; nil: not looked
	// at yet.
	Observed *Observed `json:"observed,omitempty"`
	// Summary is what a part of a cross resource showed when this site looked last: for readers who cannot reach it.
	Summary json.RawMessage `json:"summary,omitempty"`
	// Asked is when somebody asked here that all sites look at what their applications show.
	Asked time.Time `json:"asked,omitzero"`
	// Repairs are when the object was made anew here lately because it had vanished; Contended says why that is done no more.
	Repairs []time.Time `json:"repairs,omitempty"`
	// Kept are when somebody has kept what this site shows lately.
	Kept      []time.Time `json:"kept,omitempty"`
	Contended string      `json:"contended,omitempty"`
	// At is when this was written, by the site's own clock.
	At time.Time `json:"at"`
	// Paused is set while the site leaves its replica as it is.
	Paused *Pause `json:"paused,omitempty"`
	// Waits is set while the site's application does not let its agent in: what is not settled there is paused.
	Waits *Waiting `json:"waits,omitempty"`
	// Lost is what a lost run of the site's agent had published, until it is known what is left of that.
	Lost *Lost `json:"lost,omitempty"`
	// Held is a deletion that waits for a person; it goes when the deletion is settled.
	Held *Held `json:"held,omitempty"`
	// Joined is the operation by which the site was added, empty for one of those that the resource began with. Its replica
	// began with what that operation had seen.
	Joined OperationID `json:"joined,omitempty"`
	// Bare says that the content which belongs to the object has not been copied yet. Joined is not settled before it is.
	Bare bool `json:"bare,omitempty"`
	// Yields is since when another resource, created earlier, has this one's name here, and this one no object; zero: none has.
	Yields time.Time `json:"yields,omitzero"`
	// Left is the last word of a site that was removed.
	Left *Left `json:"left,omitempty"`
	// Final counts the changes that the site has made in the document of the epoch before this one. It makes no more there.
	Final uint64 `json:"final,omitempty"`
	// Whole says that the site has all that anybody has written there.
	Whole bool `json:"whole,omitempty"`

	epoch uint64 // that it is written in
}

// has reports whether the n-th operation of a line is settled.
func (r Replica) has(name Line, n uint64) bool { return n <= r.Settled[name] || name.over(r.epoch) }

// settled reports whether an operation is.
func (r *Replica) settled(o *Operation) bool {
	return o.Epoch+2 <= r.epoch || o.Seq <= r.Settled[o.Line()]
}

// Outcome is what a site publishes about an operation that did not simply succeed there.
type Outcome struct {
	State  State     `json:"state"` // rejected, superseded, uncertain, applied after all; pending: it waits, Error says for what
	Status int       `json:"status,omitempty"`
	At     time.Time `json:"at"`
	Error  string    `json:"error,omitempty"`
	// Blocks says that the operation is not settled: it waits for a person.
	Blocks bool `json:"blocks,omitempty"`
	// Carried says that its effect has come with content that was copied from another site: it is not to be run.
	Carried bool `json:"carried,omitempty"`
	// Again says that the operation was settled, and is to be applied once more: the object was made anew meanwhile, or a
	// person has asked for it.
	Again bool `json:"again,omitempty"`
	// Cause says which conflict it is where state and status do not tell.
	Cause ConflictKind `json:"cause,omitempty"`
	// Dropped says that a person has given it up at this site.
	Dropped bool `json:"dropped,omitempty"`
	// Adopt is the object that is to become the replica, for a create that waits.
	Adopt LocalID `json:"adopt,omitempty"`
	// Ran says that the operation has run and is not settled: what it has set beside what counts is to be corrected.
	Ran bool `json:"ran,omitempty"`
}

// attempt is what this site knows of its own tries of an operation; it is not published.
type attempt struct {
	count  int
	status int
	err    string
	at     time.Time
}

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
	decisions map[ConflictID]Decision
	contents  map[string]Inner // by "site/hash"
	attempts  map[OperationID]*attempt
	fetches   map[OperationID]string // why operations wait here for their bodies
	large     bool                   // an operation with such a body was here
	unneeded  []BlobHash             // bodies that no site needs any more, once what is being stored is on disk
	createdAt time.Time
	touched   map[OperationID]bool // operations whose rows have to be written again
	refused   int                  // operations that this site's catalog does not admit
	waits     *Waiting             // why this site does not try what is pending now; nil: it does
	unseen    string               // why the last look of this site told nothing
	owner     bool                 // it is no more, and what was made along with it may have to be deleted
	shifted   bool                 // it came, went or lives elsewhere, and what relies on it has not been told
	asked     bool                 // another site has asked for a look that has not been queued yet
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
		replicas: map[SiteID]Replica{}, outcomes: map[SiteID]map[OperationID]Outcome{}, decisions: map[ConflictID]Decision{},
		contents: map[string]Inner{},
		attempts: map[OperationID]*attempt{}, fetches: map[OperationID]string{}, touched: map[OperationID]bool{},
		lapsed: map[SiteID]bool{}, writers: writers, lastWords: map[string][32]byte{},
		epochs: []*epoch{newEpoch(about.Epoch, document, raw)}, from: about.Epoch, writtenIn: map[string]uint64{},
	}
}

// take takes an entry of the document in, which o is where it is an operation. An error says that the entry makes no sense; the
// view is as before then.
func (v *view) take(e Entry, o *Operation) error {
	author, rest, _ := strings.Cut(e.Key, "/")
	if !v.writers[SiteID(author)] {
		return fmt.Errorf("%s/%s: %w: its author has no part in this resource", e.Map, e.Key, ErrRefused)
	}
	if slot := string(e.Map) + "/" + e.Key; e.Map != MapOperations && e.Map != MapDecisions {
		if v.from < v.writtenIn[slot] {
			return nil // what its author wrote before it went on to another epoch
		}
		v.writtenIn[slot] = v.from
	}
	switch e.Map {
	case MapOperations:
		if e := v.numbered(v.from); e != nil {
			e.operations++
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
		v.asked = v.asked || SiteID(author) != v.self && r.Asked.After(before.Asked)
		clear(v.lastWords)
		if (before.Left == nil) != (r.Left == nil) || before.Joined != r.Joined {
			v.touchAll()
		}
		settled := v.settledAt(SiteID(author))
		halted := (before.Paused == nil) != (r.Paused == nil) || (before.Waits == nil) != (r.Waits == nil) ||
			before.Held.waits() != r.Held.waits()
		for _, o := range v.history.ordered {
			newly := !before.settled(o) && r.settled(o)
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
		if old, ok := v.decisions[ConflictID(rest)]; !ok || old.For.Before(d.For) || old.For.Equal(d.For) && d.By < old.By {
			v.decisions[ConflictID(rest)] = d
		}
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
	r, outcomes := v.replica(s), v.outcomes[s]
	return func(o *Operation) bool { return r.settled(o) && !outcomes[o.ID].Again }
}

// standing is what this site's application has been brought to.
func (v *view) standing() Standing {
	return v.standingAt(v.self)
}

// standingAt is what the application of a site has been brought to, as far as is known here.
func (v *view) standingAt(site SiteID) Standing {
	r, settled, outcomes := v.replica(site), v.settledAt(site), v.outcomes[site]
	st := Standing{
		// The object is made before its content comes, and that before anything else.
		Settled:  func(o *Operation) bool { return settled(o) || r.Bare && o.ID == r.Joined },
		Void:     func(o *Operation) bool { return outcomes[o.ID].State == StateSuperseded },
		Blocked:  func(o *Operation) bool { return outcomes[o.ID].Blocks },
		Ran:      func(o *Operation) bool { return outcomes[o.ID].Ran },
		Executed: func(f Fact) bool { return slices.Contains(r.Facts, f) },
		Gone:     r.Local == "",
		Lossy:    v.brings(r.Joined),
		Carried:  func(o *Operation) bool { return outcomes[o.ID].Carried },
		Yields:   v.yielded(site),
	}
	st.Dropped = st.Gone && slices.ContainsFunc(v.history.ordered, func(o *Operation) bool {
		return o.Type == TypeCreate && st.Settled(o) && v.outcomes[site][o.ID].State == StateRejected
	})
	return st
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
		r.Bare = r.Bare && o.ID != r.Joined
	}
	return r
}

// holds reports whether a site has a part in the resource.
func (v *view) holds(s SiteID) bool { return v.placement().Has(s) }

// exists reports whether the resource is there, everything known counted.
func (v *view) exists() bool {
	return v.history.exists(anyOperation)
}

// status returns what is known of o at site s.
func (v *view) status(s SiteID, o *Operation) OperationStatus {
	out, told := v.outcomes[s][o.ID]
	if told && (out.State != StatePending || v.settled(s, o)) {
		return OperationStatus{State: out.State, Status: out.Status, At: out.At, Error: out.Error}
	}
	if v.settled(s, o) && v.placement().Void[o.ID] {
		return OperationStatus{State: StateSuperseded, At: v.replicas[s].At, Error: "it would have left no site"}
	}
	if v.settled(s, o) {
		return OperationStatus{State: StateApplied, At: v.replicas[s].At}
	}
	st := OperationStatus{State: StatePending, Error: out.Error, At: out.At}
	if why := v.fetches[o.ID]; why != "" && s == v.self {
		st.Error = why
	}
	w := v.waitsAt(s)
	if w != nil {
		st.Error, st.At = w.Reason, w.Since
	}
	if a := v.attempts[o.ID]; a != nil && s == v.self {
		st.Attempts, st.Status, st.At = a.count, a.status, a.at
		st.Error = cmp.Or(a.err, st.Error)
	}
	if w != nil && w.State == QueuePaused {
		st.State = StatePaused
	}
	switch r := v.replica(s); {
	case r.Held.waits() && r.Held.Operation == o.ID:
		st.State, st.Error, st.At = StateHeld, unconfirmed(v.name(s)), r.Held.At
	case r.Paused != nil:
		st.State, st.Error, st.At = StatePaused, r.Paused.String(), r.Paused.At
	}
	return st
}

// wait sets why this site does not try what is pending, and reports whether that is something else than before.
func (v *view) wait(w *Waiting) bool {
	if v.waits == w || v.waits != nil && w != nil && *v.waits == *w {
		return false
	}
	v.waits = w
	settled := v.settledAt(v.self)
	for _, o := range v.history.ordered {
		if !settled(o) {
			v.touched[o.ID] = true
		}
	}
	return true
}

// waitsAt is why a site does not try what is pending there, as far as is known here; nil: it does.
func (v *view) waitsAt(s SiteID) *Waiting {
	if s == v.self && v.waits != nil {
		return v.waits
	}
	return v.replicas[s].Waits
}

var stateRank = map[State]int{
	StateSuperseded: 0, StateApplied: 1, StatePending: 2, StatePaused: 3, StateHeld: 4, StateRejected: 5, StateUncertain: 6,
}

// worst returns the state that is farthest from applied.
func worst(sites map[SiteID]OperationStatus) State {
	w := StateSuperseded
	for _, s := range sites {
		if stateRank[s.State] > stateRank[w] {
			w = s.State
		}
	}
	return w
}

// operationRow describes o for the index.
func (v *view) operationRow(o *Operation) OperationRow {
	row := OperationRow{
		ID: o.ID, Document: v.document, Resource: v.about.Key, Type: o.Type, Service: v.about.Service,
		Kind: v.about.Kind, Method: o.Method, Path: shownPath(o.Path, string(v.about.Key)), Scope: o.Scope,
		Origin: o.Origin, User: o.User, IssuedAt: time.UnixMicro(o.Time), Parents: v.history.Parents(o),
		Sites: map[SiteID]OperationStatus{},
	}
	row.Body, row.Change = hide(v.kind, o)
	row.Blob = o.Blob
	if v.part(v.self) == partFormer {
		row.Sites, row.State = v.knownAtLeaving(o)
		return row
	}
	row.NeedsBlob = v.needsBlob(o)
	for _, s := range v.correspondents() {
		row.Sites[s] = v.status(s, o)
	}
	row.State = worst(row.Sites)
	return row
}

// knownAtLeaving is what a site that has left knows of an operation: where it was settled then. What has become of it elsewhere
// since is not told to it.
func (v *view) knownAtLeaving(o *Operation) (map[SiteID]OperationStatus, State) {
	known := map[SiteID]OperationStatus{}
	for s := range v.writers {
		if st := v.status(s, o); v.settled(s, o) && st.State != StatePending {
			known[s] = st
		}
	}
	if len(known) == 0 {
		return known, StateLeft
	}
	return known, worst(known)
}

// Hidden stands where a sensitive value is not shown.
const Hidden = "(hidden)"

// hide returns the body and the change of o without the values of sensitive fields.
func hide(k *Kind, o *Operation) ([]byte, json.RawMessage) {
	if len(k.Sensitive) == 0 {
		if o.Change.Empty() {
			return o.Body, nil
		}
		return o.Body, compactStruct(o.Change)
	}
	var change json.RawMessage
	if !o.Change.Empty() {
		c := *o.Change
		c.Set, c.Add = maps.Clone(c.Set), maps.Clone(c.Add)
		maps.DeleteFunc(c.Add, func(p Pointer, _ Increment) bool { return k.Hides(p) })
		for p := range c.Set {
			if k.Hides(p) {
				c.Set[p] = compact(Hidden)
			}
		}
		change = compactStruct(c)
	}
	if len(o.Body) == 0 {
		return nil, change
	}
	tree, err := parseJSON(o.Body)
	if _, isObject := tree.(map[string]any); err != nil || !isObject {
		return []byte(Hidden), change // no way to tell what in it is sensitive
	}
	for _, p := range k.Sensitive {
		overwrite(tree, p.Tokens(), Hidden)
	}
	return compact(tree), change
}

func compactStruct(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode a change: %v", err)) // it holds nothing but validated JSON
	}
	return b
}
