package replica

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/drift"
)

// believes reports whether the object, which a read has not found, is to be made anew.
func (r *work) believes() bool {
	return r.look.Believe(r.View, r.env.Now(), func(ends bool) string { return r.env.Remake(r.Kind, r.Document, ends) })
}

// vanished takes in that the application has no object of the resource any more, though no operation deleted it. It is made anew
// from the fold by what is done next, unless that has had to be done too often: false then, and the resource is contended.
func (r *work) vanished(local engine.LocalID) bool {
	if r.Mine.Local != local {
		return true
	}
	if drift.End(r.View, r.env.Now()) {
		r.note("an object has ended by itself", nil)
		r.setLocal("")
		return true
	}
	if !drift.Vanish(r.View, r.env.Now()) {
		return false
	}
	r.note("an object is gone from the application, though no operation deleted it", nil)
	r.setLocal("")
	if r.Sent.Open() && r.Sent.Operation.Type == engine.TypePatch { // one that may have run on it is not there any more
		r.land()
	}
	return true
}

// bringBack has an object made anew that looks have not found for a while. It looks once more first, while no other request is under way.
type bringBack struct{}

func (t *bringBack) begin(r *work) bool { return r.call(r.readCall(r.Mine.Local)) }

func (t *bringBack) answer(r *work, in *Answered) bool {
	if in.Err == nil && in.Reply.Gone() && r.believes() { // else the next look tells
		r.vanished(r.Mine.Local)
	}
	return true
}
