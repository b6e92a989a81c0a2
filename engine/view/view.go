package view

import (
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// View is all that a site knows of one resource. It is not safe for concurrent use.
type View struct {
	Self     engine.SiteID
	Line     engine.Line // that this run writes
	Document engine.DocumentID
	About    engine.About
	Raw      []byte // About, encoded
	Kind     *engine.Kind
	History  *merge.History
	// Epochs are the documents, oldest first: one, or two while the first is ending.
	Epochs
	Membership
	// ForkedLines are those that do not count whole.
	ForkedLines
	// Account is what this site says of itself, Statuses what the others say of themselves.
	Account
	Statuses
	// Contents are what lies inside a container, Decisions what people have decided. Said is what sites have said of their replicas.
	Contents  Contents
	Decisions Decisions
	Said      map[engine.SiteID]Said
	// CreatedAt is the time of its oldest operation; zero: none is known.
	CreatedAt time.Time
	// Refused counts operations that this site's catalog does not admit.
	Refused int
	// Folded are the rows of touched operations that a checkpoint stands for since then.
	Folded []engine.OperationRow
	// Folds says that a checkpoint was made here since the epoch began.
	Folds bool
	// Large says that an operation with a large body was here.
	Large bool
	// Fetches say why operations wait here for their bodies.
	Fetches map[engine.OperationID]Fetch

	name  func(engine.SiteID) engine.SiteName
	rules Rules // by which operations were last judged
	// others are remembered of the placement that they were made of.
	others others
}

// Said is what a site has said of its replica in a document.
type Said struct {
	engine.Replica
	in place
}

// New returns the view of a resource of which nothing is known but its about. Line is the one that this run writes; name tells what
// people call a site.
func New(line engine.Line, id engine.DocumentID, about engine.About, raw []byte, kind *engine.Kind, name func(engine.SiteID) engine.SiteName) *View {
	self := line.Site()
	v := &View{
		Self: self, Line: line, Document: id, About: about, Raw: raw, Kind: kind, name: name,
		History: merge.New(kind, about, self),
		Said:    map[engine.SiteID]Said{}, Fetches: map[engine.OperationID]Fetch{},
	}
	v.Membership.begin(v.History, about.Placement)
	v.Account.begin(id, line.Run(), v.History.Ordered)
	return v
}

// Name is what people call a site.
func (v *View) Name(s engine.SiteID) engine.SiteName { return v.name(s) }

// Exists reports whether the resource is there, everything known counted.
func (v *View) Exists() bool { return v.History.Exists(merge.Any) }

// Empty reports whether nothing but the about is known.
func (v *View) Empty() bool {
	return v.Blank() && len(v.Statuses.of) == 0
}

// Blank reports whether no operation is known, whatever sites have said of themselves.
func (v *View) Blank() bool {
	return v.History.Len() == 0 && v.History.Base() == nil && v.History.Held() == 0
}

// HeldBack counts the operations that this site knows of and cannot take in.
func HeldBack(v *View) int { return v.History.Held() + v.Refused }

// Settled reports whether o needs nothing more at a site, as far as is known here.
func (v *View) Settled(s engine.SiteID, o *engine.Operation) bool { return v.SettledAt(s).Has(o) }

// SettledAt returns what tells which operations need nothing more at a site, as far as is known here.
func (v *View) SettledAt(s engine.SiteID) Settled { return Settled{v.At(s).Settled, v.Outcomes(s)} }

// Settled are the operations that need nothing more at a site.
type Settled struct {
	vector   engine.Vector
	outcomes map[engine.OperationID]engine.Outcome
}

// Has reports whether o is one of them.
func (s Settled) Has(o *engine.Operation) bool { return o.In(s.vector) && !s.outcomes[o.ID].Again }

// Outcomes are those that a site tells of. The map belongs to the view.
func (v *View) Outcomes(s engine.SiteID) map[engine.OperationID]engine.Outcome {
	if s == v.Self {
		return v.Mine.Outcomes
	}
	if st := v.newestOf(s); st.Left == nil {
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

// LocalAt is what a site's application calls the resource, as far as is known; empty when it has no object.
func (v *View) LocalAt(s engine.SiteID) engine.LocalID {
	switch st := v.At(s); {
	case s == v.Self:
		return v.Mine.Local
	case !st.Object:
		return ""
	}
	if l := v.Said[s].Local; l != "" {
		return l
	}
	return engine.LocalID(v.About.Key)
}
