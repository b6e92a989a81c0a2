package replica

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/compact"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// tidy sees to it that what is kept of a resource does not grow, and that what is due later is not forgotten.
func (r *Replica) tidy() {
	if r.out.Unfold = r.Stale && !r.Busy() && !r.behind; r.behind || r.Stale || r.About.Chooses() {
		return
	}
	if news, again := r.Lapse(r.env.Now(), r.limits.LeaveWithin); news {
		r.Changed()
	} else if again > 0 {
		r.wake(r.env.Now().Add(again))
	}
	if r.Own.Open() {
		if w := r.Me.Wait(engine.WaitAnswer); r.Own.Stage == flight.Unknown && w == nil {
			told := engine.Time(r.Own.Since).Add(firm / 2 * r.limits.LookAfter)
			if r.env.Now().Before(told) {
				r.wake(told)
			} else {
				r.openWaits()
			}
		}
		if r.Own.Stage != flight.Asked && r.task == nil {
			r.wake(r.settling.at)
		}
	}
	if r.Dirty || r.progress || r.epochEnds {
		r.fold()
	}
	r.out.Unfold = !r.Busy() && r.Folds && r.History.Unfollowing()
	r.tidyLook()
}

// fold lets checkpoints and epochs take the place of what every site has settled.
func (r *Replica) fold() {
	part := r.Part(r.Self)
	if part == view.PartNone || r.Me.Rejoins || r.Resumed && !r.env.Met(r.Others()) {
		return
	}
	member := part == view.PartMember || part == view.PartLeaving
	if member && len(r.Epochs) == 1 && compact.EpochLong(r.View, r.limits.Epoch) && compact.EpochBegun(r.View) && r.Me.Settled != nil {
		number := r.Current().Number + 1
		r.Epochs = append(r.Epochs, view.NewEpoch(number, r.env.FirstTip(r.About, number)))
		r.Changed()
	}
	most := r.limits.History
	if len(r.Epochs) > 1 || part == view.PartFormer && len(r.Epochs) > 1 {
		most = 0
	}
	large := largeBodies(r.View)
	if bodies, news := compact.History(r.View, most, func(o *engine.Operation) engine.OperationRow { return report.OperationRow(r.View, o) }); news {
		r.Changed()
		for _, id := range bodies {
			r.Touched[id] = true
		}
		for _, l := range large {
			if o := r.History.Get(l.of); o == nil || o.Blob == nil { // the checkpoint says what it has set
				r.out.Drop = append(r.out.Drop, l.body)
			}
		}
	}
	if r.epochEnds = len(r.Epochs) > 1 && compact.EpochOver(r.View); r.epochEnds && len(r.out.Entries) > 0 { // what this step writes is written first
		r.wake(r.env.Now())
	} else if r.epochEnds {
		r.epochEnds = false
		r.end()
	}
	r.dropBodies()
}

// end forgets the epoch before the current one: the checkpoint stands for what it had.
func (r *Replica) end() {
	_, b, err := r.Found()
	if err != nil {
		r.note("an epoch cannot end", err)
		return
	}
	old := r.Epochs[0].Number
	r.Epochs, r.Folds = r.Epochs[1:], false
	r.out.Ended, r.out.Checkpoint = &old, b
	r.Changed()
}

// largeBody is the large body of an operation.
type largeBody struct {
	of   engine.OperationID
	body engine.BlobHash
}

func largeBodies(v *view.View) (large []largeBody) {
	if !v.Large {
		return nil
	}
	for _, o := range v.History.Ordered() {
		if o.Blob != nil {
			large = append(large, largeBody{o.ID, o.Blob.Hash})
		}
	}
	return large
}

// dropBodies lets go of the large bodies that no site needs any more.
func (r *Replica) dropBodies() {
	if !r.Large {
		return
	}
	for _, o := range r.History.Ordered() {
		if o.Blob == nil {
			continue
		}
		was, known := r.needed[o.ID] // one that is not may have been needed when this process began
		if needed := compact.NeedsBlob(r.View, o); !known || needed != was {
			if r.needed == nil {
				r.needed = map[engine.OperationID]bool{}
			}
			if r.needed[o.ID] = needed; !needed {
				r.out.Drop = append(r.out.Drop, o.Blob.Hash)
			}
			r.Touched[o.ID] = true
			r.Changed()
		}
	}
}
