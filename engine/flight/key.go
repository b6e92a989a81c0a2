package flight

import (
	"slices"
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
	key := KeyTo(v, o, made)
	if out := v.Mine.Outcomes[o.ID]; out.Again && step.Kind != plan.StepMake {
		key += ".again" + strconv.FormatInt(out.At, 36)
	}
	return key
}

// KeyTo is the key of what is done to an object that was made anew so many times. Bytes that are put after others, and after those were put last, are
// put once more, also where a lost run had put them before: a service that honours keys would do nothing.
func KeyTo(v *view.View, o *engine.Operation, made uint64) string {
	key := FirstKey(v, o) + MadeAnew(made)
	if o.Type == engine.TypeAbsolute && v.Kind.HonoursKey {
		for _, p := range slices.Backward(v.History.Ordered()) {
			if p.ID != o.ID && p.Type == engine.TypeAbsolute && p.Path == o.Path && v.Settled(v.Self, p) {
				last, _ := v.LastTry(p.ID)
				return key + ".after." + string(p.ID) + "." + strconv.FormatInt(last.At, 36)
			}
		}
	}
	return key
}

// MadeAnew tells an object that was made anew so many times from those before.
func MadeAnew(made uint64) string {
	if made == 0 {
		return ""
	}
	return "." + strconv.FormatUint(made, 10)
}
