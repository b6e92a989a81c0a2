package decide

import (
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/report"
)

// Recall notes what a decision is about, as long as that can be told: once it is carried out, the conflict is no more.
func (c *Case) Recall(conflict engine.ConflictID, operation engine.OperationID) {
	c.Made.Conflict, c.Made.Operation = conflict, operation
	for _, x := range report.Conflicts(c.View) {
		if x.ID == conflict || conflict == "" && operation != "" && x.Operation == operation && x.Site == c.Self {
			c.Made.Conflict, c.Made.About = x.ID, x.Kind
			return
		}
	}
}

// Trace is what the document is to have of a decision, so that every site of the resource tells who has decided it.
func (c *Case) Trace(what engine.Action, by engine.Decider) engine.Entry {
	d := c.Made
	d.Action, d.By, d.At, d.User = what, c.Self, max(d.At, c.Time.UnixMicro()), by.User
	if len(d.User) > engine.MaxUser {
		d.User = strings.ToValidUTF8(d.User[:engine.MaxUser], "")
	}
	if by.Site != "" && by.Site != c.Self {
		d.Said = by.Site
	}
	return engine.Entry{Map: engine.MapDecisions, Value: engine.Encode(&d)}
}
