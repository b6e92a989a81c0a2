package view

import (
	"maps"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// View is all that a site knows of one resource. It is not safe for concurrent use.
type View struct {
	Self     engine.SiteID
	Document engine.DocumentID
	About    engine.About
	Raw      []byte // About, encoded
	Kind     *engine.Kind
	History  *merge.History
	// Epochs are the documents, oldest first: one, or two while the first is ending.
	Epochs []*Epoch
	// Me is what this site says, or is about to say, about itself. Mine is what it knows of itself beside that.
	Me   engine.Status
	Mine Mine
	// CreatedAt is the time of its oldest operation; zero: none is known.
	CreatedAt time.Time
	// Refused counts operations that this site's catalog does not admit.
	Refused int
	// Touched are operations whose rows have to be written again.
	Touched map[engine.OperationID]bool
	// Folded are the rows of touched operations that a checkpoint stands for since then.
	Folded []engine.OperationRow
	// Large says that an operation with a large body was here.
	Large bool
	// Fetches say why operations wait here for their bodies.
	Fetches map[engine.OperationID]Fetch

	name      func(engine.SiteID) engine.SiteName
	replicas  map[engine.SiteID]engine.Replica
	decisions map[engine.ConflictID]map[engine.SiteID]engine.Decision
	contents  map[inner]engine.Inner
	saidIn    map[inner]uint64 // the epoch of what a site said last of a thing inside its part, or of its replica
	statuses  map[engine.SiteID]*engine.Status
	signed    map[engine.SiteID]engine.SignedStatus
	writers   map[engine.SiteID]bool // who belongs to the placement or has ever done so
	expected  map[engine.SiteID]bool // writers of whom nothing is known but that an operation which is held back adds them
	placed    *merge.Placement       // nil: to be folded anew
	digest    engine.Fingerprint     // of the changes and statuses that are here
	overdue   map[engine.SiteID]bool // removed sites that nothing waits for any more
	lastTold  string                 // what Me was told as, number and time apart
	heardOfMe uint64                 // the highest number of a status of this site's that another one has
}

// Mine is what a site knows of its own replica beside what it tells others.
type Mine struct {
	// Local is what the application here calls its object; empty: it has none.
	Local engine.LocalID `cbor:"1,keyasint,omitempty"`
	// Made counts how often the object was made anew, so that each time is a request of its own to the application.
	Made uint64 `cbor:"2,keyasint,omitempty"`
	// Outcomes are those of this site's, all of them.
	Outcomes map[engine.OperationID]engine.Outcome `cbor:"3,keyasint,omitempty"`
	// Tries are this site's attempts of operations that are not settled everywhere.
	Tries map[engine.OperationID]*Tries `cbor:"4,keyasint,omitempty"`
	// Unseen is why the last look told nothing.
	Unseen string `cbor:"5,keyasint,omitempty"`
	// Lacking says what the resource relies on and this site cannot reach; it is part of its row.
	Lacking string `cbor:"6,keyasint,omitempty"`
	// Halted is why this site does not try now what is left to do, where it is not for others to know.
	Halted *engine.Wait `cbor:"7,keyasint,omitempty"`
}

// New returns the view of a resource of which nothing is known but its about. Name tells what people call a site.
func New(self engine.SiteID, id engine.DocumentID, about engine.About, raw []byte, kind *engine.Kind, name func(engine.SiteID) engine.SiteName) *View {
	v := &View{
		Self: self, Document: id, About: about, Raw: raw, Kind: kind, name: name,
		History: merge.New(kind, about, self),
		Me:      engine.Status{Document: id},
		Mine:    Mine{Outcomes: map[engine.OperationID]engine.Outcome{}, Tries: map[engine.OperationID]*Tries{}},
		Touched: map[engine.OperationID]bool{},
		Fetches: map[engine.OperationID]Fetch{},

		replicas:  map[engine.SiteID]engine.Replica{},
		decisions: map[engine.ConflictID]map[engine.SiteID]engine.Decision{},
		contents:  map[inner]engine.Inner{},
		saidIn:    map[inner]uint64{},
		statuses:  map[engine.SiteID]*engine.Status{},
		signed:    map[engine.SiteID]engine.SignedStatus{},
		writers:   make(map[engine.SiteID]bool, len(about.Placement)),
		expected:  map[engine.SiteID]bool{},
		overdue:   map[engine.SiteID]bool{},
	}
	for _, s := range about.Placement {
		v.writers[s] = true
	}
	return v
}

// Name is what people call a site.
func (v *View) Name(s engine.SiteID) engine.SiteName { return v.name(s) }

// Names lists sites for people.
func (v *View) Names(ids []engine.SiteID) string {
	text := ""
	for i, id := range ids {
		if i > 0 {
			text += ", "
		}
		text += string(v.name(id))
	}
	return text
}

// Exists reports whether the resource is there, everything known counted.
func (v *View) Exists() bool { return v.History.Exists(merge.Any) }

// Empty reports whether nothing but the about is known.
func (v *View) Empty() bool {
	return v.Blank() && len(v.statuses) == 0
}

// Blank reports whether no operation is known, whatever sites have said of themselves.
func (v *View) Blank() bool {
	return v.History.Len() == 0 && v.History.Base() == nil && v.History.Held() == 0
}

// IsChoice reports whether the document is that of a name that exactly one of its sites is to hold something under.
func (v *View) IsChoice() bool { return v.About.Collaboration == engine.ExactlyOne }

// HeldBack counts the operations that this site knows of and cannot take in.
func (v *View) HeldBack() int { return v.History.Held() + v.Refused }

// Settled reports whether o needs nothing more at a site, as far as is known here.
func (v *View) Settled(s engine.SiteID, o *engine.Operation) bool { return v.SettledAt(s)(o) }

// SettledAt returns what tells which operations need nothing more at a site, as far as is known here.
func (v *View) SettledAt(s engine.SiteID) func(*engine.Operation) bool {
	settled, outcomes := v.At(s).Settled, v.Outcomes(s)
	if len(outcomes) == 0 {
		return func(o *engine.Operation) bool { return o.Number <= settled[o.Origin] }
	}
	return func(o *engine.Operation) bool { return o.Number <= settled[o.Origin] && !outcomes[o.ID].Again }
}

// Outcomes are those that a site tells of. The map belongs to the view.
func (v *View) Outcomes(s engine.SiteID) map[engine.OperationID]engine.Outcome {
	if s == v.Self {
		return v.Mine.Outcomes
	}
	if st := v.statuses[s]; st != nil && st.Left == nil {
		return st.Outcomes
	}
	return nil
}

// TouchAll has the rows of all operations written again.
func (v *View) TouchAll() {
	for _, o := range v.History.Ordered() {
		v.Touched[o.ID] = true
	}
}

// Fetch is how far the body of an operation that waits for it has come.
type Fetch struct {
	Why   string
	Bytes int64 // that are here
}

// keptTries are remembered of one operation, the last ones: of what is tried for weeks the newest tell enough.
const keptTries = 10

// Tries are this site's attempts of one operation.
type Tries struct {
	Count int   `cbor:"1,keyasint"`
	Last  []Try `cbor:"2,keyasint,omitempty"` // oldest first, keptTries at most
}

// Try is one attempt.
type Try struct {
	At     int64  `cbor:"1,keyasint"`
	Status int    `cbor:"2,keyasint,omitempty"`
	Error  string `cbor:"3,keyasint,omitempty"`
}

// Tried takes in what came of sending an operation to the application here.
func (v *View) Tried(id engine.OperationID, t Try) {
	a := v.Mine.Tries[id]
	if a == nil {
		a = &Tries{}
		v.Mine.Tries[id] = a
	}
	a.Count++
	a.Last = append(slices.Clip(a.Last), t)
	a.Last = a.Last[max(0, len(a.Last)-keptTries):]
	v.Touched[id] = true
}

// LastTry is the newest attempt of an operation here; ok is false when there was none.
func (v *View) LastTry(id engine.OperationID) (t Try, ok bool) {
	a := v.Mine.Tries[id]
	if a == nil || len(a.Last) == 0 {
		return t, false
	}
	return a.Last[len(a.Last)-1], true
}

// Said is what a site has said of its replica in the document.
func (v *View) Said(s engine.SiteID) engine.Replica { return v.replicas[s] }

// LocalAt is what a site's application calls the resource, as far as is known; empty when it has no object.
func (v *View) LocalAt(s engine.SiteID) engine.LocalID {
	switch st := v.At(s); {
	case s == v.Self:
		return v.Mine.Local
	case !st.Object:
		return ""
	}
	if l := v.replicas[s].Local; l != "" {
		return l
	}
	return engine.LocalID(v.About.Key)
}

// Decided takes in what somebody has decided: of each site the last counts, in whichever order they come.
func (v *View) decided(d engine.Decision) {
	by := v.decisions[d.Conflict]
	if by == nil {
		by = map[engine.SiteID]engine.Decision{}
		v.decisions[d.Conflict] = by
	}
	if old, ok := by[d.By]; !ok || d.At > old.At || d.At == old.At && d.For > old.For {
		by[d.By] = d
	}
}

// Accepted returns who has accepted a conflict as it has been since then, nil for nobody.
func (v *View) Accepted(id engine.ConflictID, since int64) *engine.Decision {
	for _, by := range slices.Sorted(maps.Keys(v.decisions[id])) {
		if d := v.decisions[id][by]; d.For == since {
			return &d
		}
	}
	return nil
}
