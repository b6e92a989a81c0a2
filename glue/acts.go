package glue

import (
	"net/http"

	"github.com/skerry/skerry/engine"
)

// Acts is what a request would do. Known says that what it is about is there: else it may make that. What the catalog has no word for is an
// action.
func (m Match) Acts(method, contentType string, known bool) []engine.Act {
	makes := m.Kind != nil && m.Kind.Natural() && m.Target != "" && !m.Below && (m.Type == engine.TypeReplace || m.Type == engine.TypeAbsolute || m.Type == engine.TypePatch && m.Kind.CreatesByPatch(contentType))
	switch {
	case Safe(method):
		return []engine.Act{engine.ActRead}
	case makes && !known:
		return []engine.Act{engine.ActCreate, engine.ActChange}
	case m.Type != "":
		return []engine.Act{m.Type.Act()}
	case method == http.MethodDelete:
		return []engine.Act{engine.ActDelete}
	}
	return []engine.Act{engine.ActAction}
}

// Everything judges several acts together: what is not accepted comes first.
func Everything(acts []engine.Act, accepts func(engine.Act) engine.Acceptance) engine.Acceptance {
	var a engine.Acceptance
	for _, act := range acts {
		if a = accepts(act); !a.Accepted {
			break
		}
	}
	return a
}
