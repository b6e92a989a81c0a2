package shape

import (
	"time"

	"github.com/skerry/skerry/engine"
)

// Decision is what a person has decided about a resource.
type Decision struct {
	Action    string    `json:"action"`
	About     string    `json:"about"`     // the kind of conflict; empty where that was none
	Conflict  string    `json:"conflict"`  // empty for none
	Operation string    `json:"operation"` // what it was about; of keep, what came of it; empty for none
	Site      string    `json:"site"`      // where it was carried out
	Said      string    `json:"said"`      // the site where the person was
	User      string    `json:"user"`      // empty where people need not say who they are
	At        time.Time `json:"at"`
	// Undo is what takes it back now: an action of its conflict, restore for a request that sets what was there before; empty: nothing does.
	Undo string `json:"undo"`
}

// Decision tells of a decision. What takes it back is for who knows what there is now.
func (n Names) Decision(d engine.Decision) Decision {
	v := Decision{Action: string(d.Action), About: string(d.About), Conflict: string(d.Conflict), Operation: string(d.Operation), Site: n.Of(d.By), Said: n.Of(d.By),
		User: d.User, At: engine.Time(d.At)}
	if d.Said != "" {
		v.Said = n.Of(d.Said)
	}
	return v
}
