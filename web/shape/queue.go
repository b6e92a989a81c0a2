package shape

import (
	"time"

	"github.com/skerry/skerry/engine"
)

// Queue tells whether a site's requests to one service of its application go out.
type Queue struct {
	State  string     `json:"state"` // running, failing, paused
	Since  *time.Time `json:"since"` // nil: since the agent started
	Reason string     `json:"reason"`
	// Waiting counts the resources that wait for it, NextTry is when it is tried next (nil: it runs, or nothing waits). Both are
	// known of the answering site only.
	Waiting int        `json:"waiting"`
	NextTry *time.Time `json:"next_try"`
}

// QueuesOf tells of queues by the services' names.
func QueuesOf(all map[engine.ServiceName]engine.QueueStatus) map[string]Queue {
	list := make(map[string]Queue, len(all))
	for name, q := range all {
		list[string(name)] = Queue{string(q.State), Moment(q.Since), q.Reason, q.Waiting, Moment(q.Next)}
	}
	return list
}
