package plan

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// Trace is what a representation tells of a request that had no certain answer.
type Trace int

const (
	TraceNone   Trace = iota // it does not tell
	TraceThere               // the request has run
	TraceAbsent              // it has not
)

// TraceOf tells by what the application showed before a request and shows now whether it has run, where the catalog declares
// what it sets: its values have come, the number that it adds to is another one, or what is observed has changed. Nothing else
// of this site's may have run in between.
func TraceOf(k *engine.Kind, n *engine.NamedOperation, shown, shows []byte) Trace {
	if n.Counter != "" {
		i, err := increment(n.Counter, shown, shows)
		switch {
		case err != nil:
			return TraceNone
		case i.By == "0":
			return TraceAbsent
		}
		return TraceThere
	}
	sets := &engine.Edit{}
	for at, v := range n.Sets {
		tree.Set(sets, at, v)
	}
	if len(sets.Set) > 0 {
		switch is, was := Shows(k, shows, sets), Shows(k, shown, sets); {
		case !is:
			return TraceAbsent
		case !was:
			return TraceThere
		}
	}
	if n.Observed {
		after, _ := tree.Parse(k, shows)
		switch e, err := tree.Difference(k, shown, shows); {
		case err != nil:
			return TraceNone
		case !tree.Without(k, e, tree.Says(after)).Empty():
			return TraceThere
		}
	}
	return TraceNone
}
