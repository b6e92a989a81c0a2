package flight

import (
	"strconv"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// FirstKey is the Idempotency-Key of an operation that runs at this site.
func FirstKey(v *view.View, o *engine.Operation) string {
	return string(o.ID) + "." + string(v.Name(v.Self))
}

// KeyFor is the key of what a step sends: the same however often it is sent, until it has been done. What is done to an object
// that was made anew is another request than what was done to the one before, and so is what is to be applied once more.
func KeyFor(v *view.View, f *Flights, o *engine.Operation, step plan.Step) string {
	if f.Sends(o.ID) && f.Sent.Key != "" {
		return f.Sent.Key
	}
	made := v.Mine.Made
	if step.Kind == plan.StepMake {
		made++
	}
	key := FirstKey(v, o) + MadeAnew(made)
	if n := putSince(v, o); n > 0 {
		key += ".after" + strconv.Itoa(n)
	}
	if out := v.Mine.Outcomes[o.ID]; out.Again && step.Kind != plan.StepMake {
		key += ".again" + strconv.FormatInt(out.At, 36)
	}
	return key
}

// putSince counts the bytes that were put here where o puts some and that it has not seen: o may have been put before them, and to put it
// once more is another request. A service that honours keys would do nothing for the one of before.
func putSince(v *view.View, o *engine.Operation) (n int) {
	if o.Type != engine.TypeAbsolute || !v.Kind.HonoursKey {
		return 0
	}
	for _, p := range v.History.Ordered() {
		if p.ID != o.ID && p.Type == engine.TypeAbsolute && p.Path == o.Path && v.Settled(v.Self, p) && !o.Saw(p.Line, p.Number) {
			n++
		}
	}
	return n
}

// MadeAnew tells an object that was made anew so many times from those before.
func MadeAnew(made uint64) string {
	if made == 0 {
		return ""
	}
	return "." + strconv.FormatUint(made, 10)
}
