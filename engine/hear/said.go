package hear

import (
	"github.com/skerry/skerry/engine"
)

// Said is what came from another site: changes and statuses that were decoded and verified.
type Said struct {
	From     engine.SiteID
	Changes  []*engine.Change
	Statuses []Status
	// Checkpoint stands for the epochs before Epoch; nil: none came.
	Checkpoint []byte
	Epoch      uint64
	First      engine.Tip // of the document of Epoch
	More       bool       // the sender has more of it
}

// Placer is whose document it is: the site's that has written the first change that is known of it, else of who tells of it.
func (s *Said) Placer() engine.SiteID {
	if len(s.Changes) > 0 {
		return s.Changes[0].Line.Site()
	}
	return s.From
}

// Status is a status as it came and decoded.
type Status struct {
	Signed engine.SignedStatus
	Status *engine.Status
}

// Env is what is asked of a site's surroundings. All of it is known at once.
type Env interface {
	// FirstTip is that of an epoch's document.
	FirstTip(about engine.About, epoch uint64) engine.Tip
	// Admits tells whether this site's catalog sees in an operation what its origin says, and sets its Name.
	Admits(k *engine.Kind, o *engine.Operation) bool
	// Note logs something that an operator may want to know.
	Note(document engine.DocumentID, message string, err error)
	HasBlob(ref engine.BlobRef) bool
	// HearDelete takes note of a deletion of another site.
	HearDelete(o *engine.Operation)
}

// News is what comes of it.
type News struct {
	// Behind says that another site has more of this one than it has itself: its disk was set back. Lost is the status of this site's that
	// told so; nil: none. Late: the others have let go of what is here.
	Behind, Late bool
	Lost         *engine.Status
	// Taken says that its changes belong to what is here. Missing: they build on what is not here, Refused: this site has no part in it, or who
	// has sent it has none.
	Taken, Missing, Refused bool
	// Progress says that another site has come further. Look: it asks this one to look at its application.
	Progress, Look bool
	// Checkpoint is what this site begins with.
	Checkpoint []byte
	// Fetch are operations whose bodies are to be fetched.
	Fetch []*engine.Operation
	// Forked are forks that are news, Pass what was news and may be to others, too.
	Forked []Forked
	Pass   *Said
}

// Forked is a fork with the two changes that prove it. Nil: the first one is here already.
type Forked struct {
	engine.Fork
	First, Second *engine.Change
	// Instead is the line whose fork goes for it, empty: none does.
	Instead engine.Line
}
