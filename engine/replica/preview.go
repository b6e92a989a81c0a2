package replica

import (
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
)

// NextTry is when this site goes on with an operation that waits here for its application or for another site; zero: as soon as it
// may. It does not wait where something else has to happen first, or where it is under way.
func (r *Replica) NextTry(id engine.OperationID) (at time.Time, waits bool) {
	open := r.OwnIs(id)
	switch o := r.History.Get(id); {
	case r.task != nil || open && r.Own.Stage == flight.Asked:
		return at, false
	case open:
		return r.settling.at, true
	case o == nil || r.Settled(r.Self, o) || r.Mine.Outcomes[id].Blocks || r.Own.Open() || r.Me.Wait(engine.WaitPaused) != nil:
		return at, false
	}
	return r.again.at, true
}
