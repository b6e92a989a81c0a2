package replica

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/compact"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/view"
)

// A site whose disk was set back, or lost, does not reconstruct what its lost run had done. Its documents stay: what is in them is true,
// and what the others have is added. What it says of itself is forgotten. Once another site has told what the resource is, it looks once at
// the object, and corrects that to the fold. Nothing runs by itself that may have run before: what cannot be seen is one question to a
// person. One that comes late does the same, but for its documents, of which the others have let go: it takes theirs.

// never reports whether nothing tells that this site has ever had the object.
func (p *past) never() bool { return p.lost == nil && p.remnant.Settled == nil && !p.remnant.Sent }

// past is what is known of before the disk was set back.
type past struct {
	remnant *view.Remnant
	lost    *engine.Status // the last status of the lost run that another site has; nil: none
}

// fallBehind says that another site has more of this one than it has itself, or that the others have let go of what is here: it comes late.
// Nothing is begun any more before it has joined anew: it may have been done.
func (r *Replica) fallBehind(late bool) {
	r.behind, r.late = true, late && (r.late || !r.behind)
	r.leaveOff()
}

// leaveOff ends what is under way, and has the replica join anew: at once, or where something was sent, once the answer has come. That tells what
// it has made, which nothing else may. Whoever waits for an answer gets one now.
func (r *Replica) leaveOff() {
	r.refuseAll(r.rejoining())
	if r.task != nil && r.token != 0 && r.sends {
		return
	}
	if t, mine := r.task.(*own); mine {
		if r.Own == nil {
			r.give(t.ask, Given{Err: r.rejoining()})
		} else {
			r.give(t.ask, Given{Err: &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: r.Own.Operation.ID, Detail: fmt.Sprintf(
				"%s joins anew, and its application has given no certain answer yet; the operation will be settled", r.Name(r.Self))}})
		}
	}
	r.task, r.token, r.lookToken, r.postponed = nil, 0, 0, nil
	r.out.Own, r.out.Late = r.out.Own || !r.late, r.out.Late || r.late && !r.left
	r.left = r.left || r.late
}

// rejoining refuses a request while it is not known what this site's lost run had done, or what the others have done without it.
func (r *Replica) rejoining() *engine.Refusal {
	return &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "rejoins", Detail: fmt.Sprintf(
		"the disk of %s was set back, or it was away for too long, and what it has of %s %s is being found out; nothing has happened, try again later",
		r.Name(r.Self), r.Kind.Name, r.About.Key)}
}

// Remains is what a site remembers of a replica that is to join anew. Drops says that its documents are dropped.
func (r *Replica) Remains(drops bool) *view.Remnant {
	left := cmp.Or(r.past.remnant, &view.Remnant{Local: r.Mine.Local, Settled: r.Me.Settled, Late: r.late, Left: r.late && r.Me.Left != nil, Made: r.Mine.Made, Sent: r.Sent.Open() || view.Unsure(r.View), Paths: r.History.Paths()})
	left.Number, left.Lost = r.LastNumber(), r.past.lost
	left.Hear(r.View)
	if drops {
		left.Closed = compact.Closed(r.View, rowOf(r.View))
		left.Keep(r.View)
	}
	return left
}

// HeardOf is what a site had said of itself before the replica began to join anew, if it is the newest that is known of that site.
func HeardOf(r *Replica, site engine.SiteID) (engine.SignedStatus, bool) {
	return r.past.remnant.Of(r.View, site)
}

// Rejoin makes the replica one that joins anew. What was in flight may have run, and more.
func (r *Replica) Rejoin(left *view.Remnant, own *flight.Flight) {
	r.Account.Rejoin(left.Number, left.Made)
	r.Folded, left.Closed = append(r.Folded, left.Closed...), nil
	if !left.Left {
		r.Mine.Was = left.Local
	}
	r.Statuses, r.past.remnant, r.past.lost, r.Sent, r.Resumed = view.Statuses{}, left, left.Lost, nil, false
	r.TouchAll()
	if own != nil {
		own.Stage, own.Why = flight.Asked, "the disk of this site was set back since"
		r.Own = own
	}
}

// rejoin chooses what is done to join anew, once another member has told what the resource is.
func (r *Replica) rejoin(now time.Time) task {
	if !view.Told(r.View) || now.Before(r.again.at) || r.Kind.Natural() && !r.env.TakeName(r.Kind, r.About.Key, r.Document) {
		r.wake(now.Add(r.env.Backoff(4)))
		return nil
	}
	return &rejoin{past: &r.past}
}

type rejoin struct {
	*past
	local   engine.LocalID
	deletes bool
	sent    bool
	known   engine.Vector // when it was sent
	tries   int
	markers []string // that the object may have, to be looked for; nil: they were, or there are none
	sought  bool
}

func (t *rejoin) begin(r *work) bool {
	t.remnant = cmp.Or(t.remnant, &view.Remnant{})
	t.reissue(r)
	if t.local = cmp.Or(r.Said[r.Self].Local, t.remnant.Local); r.Kind.Natural() {
		t.local = r.env.Here(r.Kind, string(r.About.Key))
	}
	switch {
	case t.remnant.Left:
		t.joined(r, "")
		r.Mine.Made++
		if by := r.Placement().Added[r.Self]; by != nil {
			r.begin(by)
		}
		return true
	case t.local == "":
		return t.nameless(r)
	case !t.free(r, t.local): // the application was set back too, and has given it away
		return t.joined(r, "")
	}
	return r.call(r.readCall(t.local))
}

// free reports whether an object is not another resource's. Of those that join anew under one name it is one's that lives.
func (t *rejoin) free(r *work, local engine.LocalID) bool {
	if r.Kind.Natural() {
		return !slices.ContainsFunc(r.env.Rivals(r.Kind, r.About.Key, r.Document), func(c view.Claim) bool {
			return c.Object || c.Rejoins && c.Born != nil && !r.Exists()
		})
	}
	return slices.Contains([]engine.ResourceID{"", r.About.Key}, r.env.Meta(r.Kind, local))
}

// reissue issues those operations again that nobody has heard of.
func (t *rejoin) reissue(r *work) {
	for _, i := range t.remnant.Issued {
		again := i.Operation
		again.Line, again.Origin = i.Line, r.Self                                             // which the encoding leaves out
		began := again.Type == engine.TypeCreate && len(again.Seen) == 0 && !r.Kind.Natural() // the resource, of which they know
		if began && r.History.Base() != nil || r.History.Get(again.ID) != nil || r.History.Base().Has(&again) {
			continue // the others have it
		}
		issue.Rebase(r.View, &again)
		r.Me.Settled = r.History.Complete()
		issue.Stamp(r.View, &again)
		r.write(issue.Entry(&again))
	}
	t.remnant.Issued = nil
	r.Changed()
}

// seek looks for the object by the marker that its create has left in it, if there may be one. It reports whether it does.
func (t *rejoin) seek(r *work) bool {
	creates := r.History.All(func(o *engine.Operation) bool { return isCreate(o) && issue.Marks(r.Kind, o) })
	if t.sought || len(creates) == 0 || t.never() {
		return false
	}
	key := flight.FirstKey(r.View, creates[len(creates)-1])
	t.sought, t.markers = true, []string{key + flight.MadeAnew(t.remnant.Made), key + flight.MadeAnew(t.remnant.Made+1)}
	return !t.find(r)
}

func (t *rejoin) find(r *work) bool {
	return r.call(&Call{Kind: CallFind, Call: engine.Call{Kind: r.Kind}, Request: t.markers[0]})
}

// found goes on after a search for a marker.
func (t *rejoin) found(r *work, in *Answered) bool {
	f := flight.ByMarker(in.List, in.Err, false)
	switch t.markers = t.markers[1:]; {
	case f.Fate == flight.Later:
		return t.later(r)
	case f.Fate == flight.Happened && t.free(r, f.Reply.Local):
		t.local, t.markers = f.Reply.Local, nil
		return r.call(r.readCall(t.local))
	case f.Fate == flight.Absent && len(t.markers) > 0:
		return t.find(r)
	}
	t.markers = nil
	return t.nameless(r)
}

func isCreate(o *engine.Operation) bool { return o.Type == engine.TypeCreate }

// nameless decides where nobody knows what the application calls the object: a person is asked, also where it is deleted by now, or later.
func (t *rejoin) nameless(r *work) bool {
	if t.seek(r) {
		return false
	}
	born, made, never := r.History.Born(merge.Any), t.remnant.Sent || t.lost != nil && t.lost.Object, t.never()
	t.joined(r, "")
	switch {
	case never:
	case born == nil && made: // what is no more may be there
		for _, o := range r.History.All(isCreate) {
			r.Became(o.ID, engine.Outcome{State: engine.StateUncertain, Cause: engine.ConflictRejoined,
				Error: "it is deleted, and nobody knows which object of this application it was: the disk of this site was set back since"})
		}
	case born != nil:
		r.Became(born.ID, engine.Outcome{State: engine.StateUncertain, Blocks: true, Cause: engine.ConflictRejoined,
			Error: "the disk of this site was set back, and nobody knows which object of its application this is: say so, or have a new one made"})
		for _, at := range append(slices.Clip(born.Copies), born) {
			r.Me.Settled[at.Line] = min(r.Me.Settled[at.Line], at.Number-1)
		}
		maps.DeleteFunc(r.Me.Settled, func(_ engine.Line, n uint64) bool { return n == 0 })
	}
	return true
}

func (t *rejoin) answer(r *work, in *Answered) bool {
	if len(t.markers) > 0 {
		return t.found(r, in)
	}
	if t.sent {
		return t.corrected(r, in)
	}
	as, one := view.WithRightsOfAll(r.View)
	t.known = r.History.Complete()
	switch {
	case !t.free(r, t.local): // the application was set back too, and has just given it away
		return t.joined(r, "")
	case in.Err != nil || in.Reply.Status != 200 && !in.Reply.Gone(), r.env.Making(r.Kind): // which may have been given this identifier
		return t.later(r)
	case in.Reply.Gone() && !slices.Contains([]engine.LocalID{"", t.local}, t.remnant.Local) && t.free(r, t.remnant.Local): // the one that this run knew
		t.local = t.remnant.Local
		return r.call(r.readCall(t.local))
	case in.Reply.Gone() && r.Own != nil && r.Own.Creates && !r.Kind.Natural(): // what a later try has made has another name
		return t.nameless(r)
	case in.Reply.Gone(), r.History.Len() == 0 && r.History.Base() == nil: // what made it is lost: it is nobody's
		return t.joined(r, "")
	case !one, t.remnant.Late && r.Part(r.Self) != view.PartMember: // where it was removed meanwhile the object stays as it is
		return t.joined(r, t.local)
	case !r.Exists():
		call := r.sendCall(&engine.Operation{Type: engine.TypeDelete, Method: "DELETE", Path: r.Kind.Item}, t.local, "", nil)
		call.Call.As, t.sent, t.deletes = as, true, true
		return r.call(call)
	}
	fold := r.History.Fold(merge.Any)
	edit := tree.Missing(r.Kind, r.History.Anew(fold, t.remnant.Paths), in.Presented.Body)
	if edit.Empty() {
		return t.joined(r, t.local)
	}
	call, err := plan.Correction(r.Kind, r.History.MergeType(), edit, in.Presented, t.local)
	if err != nil {
		return t.joined(r, t.local)
	}
	call.As, t.sent = as, true
	return r.call(&Call{Kind: CallSend, Present: true, Call: call})
}

func (t *rejoin) later(r *work) bool {
	r.env.FreeName(r.Kind, r.About.Key, r.Document)
	r.again.tries++
	r.again.at = r.env.Now().Add(r.env.Backoff(r.again.tries))
	r.wake(r.again.at)
	return true
}

func (t *rejoin) corrected(r *work, in *Answered) bool {
	what := engine.TypeReplace
	if t.deletes {
		what = engine.TypeDelete
	}
	became := plan.Judge(what, in.Reply, in.Err)
	if (became == plan.Done || became == plan.Refused) && !maps.Equal(t.known, r.History.Complete()) { // it is to show what has come since as well
		t.sent, t.deletes = false, false
		return r.call(r.readCall(t.local))
	}
	switch became {
	case plan.Done:
		if t.deletes {
			t.local = ""
		}
	case plan.Conflict:
		if t.tries++; t.tries < 3 {
			t.sent, t.deletes = false, false
			return r.call(r.readCall(t.local))
		}
	case plan.Refused:
	default:
		return t.later(r)
	}
	return t.joined(r, t.local) // where it was refused the object stays as it is, and a look tells how it differs
}

// joined ends it: everything known is settled here, but for what cannot be known.
func (t *rejoin) joined(r *work, local engine.LocalID) bool {
	r.env.FreeName(r.Kind, r.About.Key, r.Document)
	left, lost := t.remnant, cmp.Or(t.lost, &engine.Status{}).Settled
	r.SayOnly(engine.Status{Settled: r.History.Complete()})
	if by := r.Placement().Added[r.Self]; by != nil {
		r.Me.Joined = by.ID
	}
	if f := r.Own; f != nil && t.over(r, f) {
		r.Own = nil
		if r.History.Get(f.Operation.ID) == nil { // where no document tells of it any more, its row does
			r.out.Rows = append(r.out.Rows, report.FlightRow(r.View, f, engine.OperationStatus{State: engine.StateApplied, At: r.env.Now(), Attempts: f.Attempt}))
		}
	}
	r.Mine.Outcomes, r.Mine.Tries = map[engine.OperationID]engine.Outcome{}, map[engine.OperationID]*view.Tries{}
	t.remnant, t.lost, r.Resumed, r.Mine.Was = nil, nil, false, ""
	r.setLocal(local)
	if r.Mine.Seen = local != ""; local != "" { // it was read
		r.Voided(plan.Reversed(r.History)) // the object is there
		for _, o := range r.History.Living(merge.Any) {
			if o.Type == engine.TypeAction && o.Edit == nil && !o.In(left.Settled) {
				r.Became(o.ID, engine.Outcome{State: engine.StateUncertain, Cause: engine.ConflictRejoined, Error: left.Ran(o, lost)})
			}
		}
		putAgain(r)
	}
	r.openWaits()
	r.TouchAll()
	r.Changed()
	return true
}

// over reports whether others have heard of a client's request that is in flight here, or of one that came after it: the lost run had settled it
// then, since one follows the other.
func (t *rejoin) over(r *work, f *flight.Flight) bool {
	return r.History.Get(f.Operation.ID) != nil || f.Creates && !r.Kind.Natural() && r.History.Base() != nil || t.remnant.Outlived(r.View)
}

// putAgain has the opaque bytes that count, and that are settled, put in their place once more: no representation shows whether they are there.
func putAgain(r *work) {
	bytes := r.History.Whole(merge.Any).Absolute
	for _, path := range slices.Sorted(maps.Keys(bytes)) {
		if o := bytes[path]; o.In(r.Me.Settled) {
			r.Became(o.ID, engine.Outcome{State: engine.StatePending, Again: true})
		}
	}
}
