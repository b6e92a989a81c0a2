package flight

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

// ClaimOf is what a resource has to do with its name at this site, counted what its requests in flight may have made.
func ClaimOf(v *view.View, f *Flights) view.Claim {
	st := v.Standing(v.Self)
	maybe := f.Sent.Open() && f.Sent.Operation.Type == engine.TypeCreate && st.Gone || f.Own.Open() && f.Own.Creates
	if !maybe && f.Resumed && st.Gone {
		for _, o := range v.History.Ordered() {
			maybe = maybe || o.Type == engine.TypeCreate && v.Kind.HonoursKey && !st.Settled(o)
		}
	}
	c := v.Claim(maybe)
	if f.Own != nil && f.Own.Stage == Asked {
		c.Asks = f.Own.Operation.ID
	}
	for id, out := range v.Mine.Outcomes {
		if (out.Blocks || out.State == engine.StateUncertain) && id > c.Asks {
			c.Asks = id
		}
	}
	return c
}
