package replica

import (
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/hear"
	"github.com/skerry/skerry/engine/view"
)

// heard takes in what came from another site.
func (r *Replica) heard(in *Heard) {
	news := hear.Hear(r.View, &r.Flights, r.env, &in.Said)
	if news.Taken {
		r.partly = time.Time{}
		if in.More {
			r.partly = r.env.Now().Add(r.limits.CallTimeout)
		}
	}
	r.progress = r.progress || news.Progress
	if news.Look {
		r.look.Soon(r.env.Now())
	}
	if news.Lost != nil {
		r.past.lost = news.Lost
	}
	if news.Late {
		r.fallBehind(true)
	}
	if news.Behind {
		r.fallBehind(false)
	}
	ofLost := func(c *engine.Change) bool { return c.Author() == r.Self }
	if len(r.env.Contained(r.Kind)) > 0 && slices.ContainsFunc(in.Changes, ofLost) { // its lost run may have told of what its part does not hold
		r.out.Contents = true
	}
	r.out.Missing, r.out.Refused, r.out.Pass, r.out.Forked, r.out.Checkpoint = news.Missing, news.Refused, news.Pass, news.Forked, news.Checkpoint
	r.out.Fetch = append(r.out.Fetch, news.Fetch...)
}

// Recast has the replica consist of what counts, as it was made of what is stored.
func (r *Replica) Recast(all *view.View) {
	view.Recast(r.View, all, flight.MayShow(r.View, &r.Flights))
}
