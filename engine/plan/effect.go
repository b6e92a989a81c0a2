package plan

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
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

// TraceHere tells by what the application of a site shows whether an operation of another site has run there: what its origin has seen it set is there, or what
// there was before it. It tells nothing where both are the same, or something else is shown. Nothing else of this site's may have run in between.
func TraceHere(h *merge.History, s Standing, o *engine.Operation, shows []byte) Trace {
	if s.Gone || o.Edit.Empty() {
		return TraceNone
	}
	k, before, after := h.Kind(), s.Fold(h), h.Fold(s.Shown().Or(o))
	sets := before.Difference(after)
	for p, i := range o.Edit.Add { // of a number that no client has set, what was there before follows from what was added
		switch trace := traceAt(p, i, after, shows); trace {
		case TraceThere:
			delete(sets.Set, p)
		default:
			return trace
		}
	}
	switch {
	case len(sets.Unset)+len(sets.Order) > 0:
		return TraceNone
	case Shows(k, shows, sets):
		return map[bool]Trace{true: TraceThere, false: TraceNone}[len(sets.Set)+len(o.Edit.Add) > 0]
	case len(o.Edit.Add) == 0 && Shows(k, shows, after.Difference(before)):
		return TraceAbsent
	}
	return TraceNone
}

// traceAt is TraceHere for a number that the operation adds to.
func traceAt(p engine.Pointer, i engine.Increment, after merge.Fold, shows []byte) Trace {
	_, is, err := numberAt(p, shows)
	if err != nil {
		return TraceNone
	}
	to, err := tree.ParseDecimal(string(after.Cells[p].Value))
	if err != nil {
		return TraceNone
	}
	by, err := tree.ParseDecimal(string(i.By))
	switch {
	case err != nil || by.Number() == "0":
		return TraceNone
	case is.Number() == to.Number():
		return TraceThere
	case is.Number() == to.Minus(by).Number():
		return TraceAbsent
	}
	return TraceNone
}
