package site

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/hear"
)

// early holds statuses of documents that are not here yet: the fast path may bring what a site says of a resource before the change
// that makes it. It is bounded; what goes lost, anti-entropy brings.
type early struct {
	of    map[engine.DocumentID][]hear.Status
	order []engine.DocumentID
}

// mostEarly is how many documents' statuses are held.
const mostEarly = 4096

func (e *early) put(id engine.DocumentID, list []hear.Status) {
	if e.of == nil {
		e.of = map[engine.DocumentID][]hear.Status{}
	}
	if _, known := e.of[id]; !known {
		if len(e.order) >= mostEarly {
			delete(e.of, e.order[0])
			e.order = e.order[1:]
		}
		e.order = append(e.order, id)
	}
	e.of[id] = append(e.of[id], list...)
}

// take returns what has come of a document that is made now.
func (e *early) take(id engine.DocumentID) []hear.Status {
	list := e.of[id]
	delete(e.of, id)
	return list
}
