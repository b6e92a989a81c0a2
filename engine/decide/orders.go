package decide

import (
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// Case is what a person decides about.
type Case struct {
	*view.View
	Flights *flight.Flights
	// Tried says that this site has tried to settle the client's request that is open, and could not.
	Tried bool
	// Standing is what this site's application has been brought to.
	Standing plan.Standing
	Time     time.Time
	Names    Names
	NewID    func() string
	// Made is what is kept of the decision for people, as far as the case itself tells.
	Made engine.Decision
}

// Names are what a site knows of identifiers and names beside the resource.
type Names interface {
	// Here returns an identifier that clients have chosen as this site's application knows it.
	Here(k *engine.Kind, id string) engine.LocalID
	// Meta returns the resource that a local identifier is that of, empty for none.
	Meta(k *engine.Kind, local engine.LocalID) engine.ResourceID
	// Rivals are the claims of other resources of the same name.
	Rivals(k *engine.Kind, key engine.ResourceID, document engine.DocumentID) []view.Claim
}

// Orders are what a replica is to do about a decision, in this order.
type Orders struct {
	// Claim are other resources that are to give up their objects.
	Claim []engine.DocumentID
	// Land ends the request that is in flight, Retry has what is left tried at once.
	Land, Retry bool
	// Local is what the application calls the object from now on; nil: as before. Settle are operations that need nothing more here.
	Local  *engine.LocalID
	Settle []*engine.Operation
	// Issue is to be an operation of this site's.
	Issue *engine.Operation
	// Own is what becomes of the client's request that is open; nil: what it was.
	Own *Own
	// Look has the site look at its application; Release says that a deletion is held no more.
	Look, Release bool
}

// Own is what becomes of a client's request that is open: with a reply it has run, dismissed nothing came of it, else it is settled again.
type Own struct {
	Reply     *engine.Reply
	Dismissed *engine.OperationStatus
}

// begins are the orders that let things go on after an operation was decided about.
func (c *Case) begins(id engine.OperationID) *Orders {
	return &Orders{Land: c.Flights.Sends(id), Retry: true}
}
