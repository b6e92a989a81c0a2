package replica

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/tree"
)

// looking is when this site is to look at what its application shows.
type looking struct {
	due   time.Time // zero: it need not
	tries int       // looks that have found sites to differ
	last  time.Time
	asked bool // somebody has asked for it
}

// Looks reports whether this site is to look at what its application shows, now or soon.
func (r *Replica) Looks() bool { return !r.look.due.IsZero() || r.lookToken != 0 }

func (l *looking) soon(now time.Time) { l.due, l.asked = now, true }

// tidyLook looks, or says when, where that is needed. It holds no request up: what is read while one goes out is thrown away.
func (r *Replica) tidyLook() {
	now := r.env.Now()
	if !r.Exists() || !r.Quiet(r.Self) || r.own.open() {
		r.look = looking{last: r.look.last, asked: r.look.asked && r.Exists(), due: r.look.due}
		if !r.look.asked {
			r.look.due = time.Time{}
		}
		return
	}
	switch {
	case r.look.asked:
	case r.Me.Shown == nil:
		if r.look.due.IsZero() {
			r.look.due, r.look.tries = now.Add(r.limits.LookAfter), 0
		}
	case !r.Me.Shown.Steady && !report.Agree(r.View):
		if r.look.due.IsZero() {
			r.look.due = now.Add(r.lookAgain())
		}
	default:
		r.look.due, r.look.tries = time.Time{}, 0
	}
	switch {
	case r.look.due.IsZero() || r.task != nil || r.lookToken != 0:
	case now.Before(r.look.due):
		r.wake(r.look.due)
	case !r.env.Reads(r.Kind):
		r.look.due = now.Add(r.lookAgain())
		r.look.tries++
		r.wake(r.look.due)
	default:
		r.look.due, r.look.asked = time.Time{}, false
		r.tokens++
		c := r.readCall(r.Mine.Local)
		c.Token, r.lookToken = r.tokens, r.tokens
		r.out.Calls = append(r.out.Calls, c)
		if len(r.env.Contained(r.Kind)) > 0 {
			r.out.Contents = true // whoever looks tells what its part holds, too
		}
	}
}

// lookAgain grows by half with each look that has found sites to differ, up to LookEvery.
func (r *Replica) lookAgain() time.Duration {
	d := firm * r.limits.LookAfter
	for range min(r.look.tries, 64) {
		if d += d / 2; d >= r.limits.LookEvery {
			return r.limits.LookEvery
		}
	}
	return d
}

// looked takes in what a look has read.
func (r *Replica) looked(in *Answered) {
	if !r.Quiet(r.Self) {
		return
	}
	now, why := r.observed(in.Presented, in.Reply, in.Err)
	if now == nil {
		if text := why.Error(); r.Mine.Unseen != text {
			r.Mine.Unseen = text
			r.Changed()
		}
		r.look.tries++
		r.look.due = r.env.Now().Add(r.lookAgain())
		return
	}
	before := r.Me.Shown
	r.show(now, in.Presented.Body, true)
	if !report.Agree(r.View) {
		r.look.tries++
	}
	if o := r.Me.Shown; o.Unseen == engine.UnseenGone && o.Steady && r.Me.Contended == "" && before != nil {
		r.task = &bringBack{}
		if r.task.begin(r) {
			r.task = nil
		}
	}
}

// saw takes in what the answer to a request shows, where that is the object as it is now: a look of its own is spared then.
func (r *Replica) saw(in *Answered) {
	if in.Err != nil || in.Presented.Status/100 != 2 || !r.Exists() || !r.Quiet(r.Self) || !r.isItem(in.Presented.Body) {
		return
	}
	now, _ := r.observed(in.Presented, in.Reply, nil)
	if now == nil || now.Unseen != "" || len(now.Differs) > 0 {
		return
	}
	r.show(now, in.Presented.Body, false)
}

// isItem reports whether an answer is a representation of the object.
func (r *Replica) isItem(body []byte) bool {
	t, err := tree.ParseJSON(body)
	if _, object := t.(map[string]any); err != nil || !object {
		return false
	}
	if r.Kind.ID.At == "" {
		return true
	}
	id, ok := tree.IDAt(t, r.Kind.ID.At)
	_, key := r.Kind.Split(string(r.About.Key))
	_, local := r.Kind.Split(string(r.Mine.Local))
	return ok && (id == key || id == local)
}

// show takes in what the application shows in this state. Read says that it was read, and not answered to a request.
func (r *Replica) show(now *engine.Shown, body []byte, read bool) {
	at := r.env.Now()
	r.Mine.Unseen = ""
	now.Since = at.UnixMicro()
	later := read && !r.look.last.IsZero() && at.Sub(r.look.last) >= firm/2*r.limits.LookAfter
	before := r.Me.Shown
	r.remember(before, now, later)
	r.look.last = at
	contended := r.contention(now, at)
	summary := r.summary(now, body)
	if before != nil && same(before, now) && contended == r.Me.Contended && string(summary) == string(r.Me.Summary) {
		return
	}
	r.Me.Shown, r.Me.Contended, r.Me.Summary = now, contended, summary
	r.Changed()
}

func same(a, b *engine.Shown) bool {
	return a.Hash == b.Hash && a.Unseen == b.Unseen && a.Apart == b.Apart && a.Fold == b.Fold && slices.Equal(a.Differs, b.Differs) &&
		a.Was == b.Was && a.Steady == b.Steady
}

// observed reads what a look has brought. Nil: it tells nothing, err says why.
func (r *Replica) observed(presented, reply engine.Reply, err error) (*engine.Shown, error) {
	st := r.Standing(r.Self)
	settled := merge.Pick{In: st.Settled, Fact: st.Executed}
	whole := r.History.Whole(settled)
	unseen := func(u engine.Unseen) (*engine.Shown, error) {
		return &engine.Shown{Unseen: u, Fold: whole.Digest(r.Document)}, nil
	}
	switch {
	case err != nil:
		return nil, err
	case reply.Gone():
		return unseen(engine.UnseenGone)
	case reply.Status >= 200 && reply.Status < 300:
		var divided []engine.Pointer
		if r.About.Collaboration == engine.Cross {
			divided = r.Kind.Divide
		}
		return plan.Observe(r.Kind, r.Document, presented.Body, whole, r.History.Fold(settled), divided), nil
	case reply.Status >= 300 && plan.Judge(engine.TypeReplace, reply, nil) == plan.Refused:
		return unseen(engine.UnseenUnreadable)
	}
	return nil, errors.New(plan.Tell(reply, nil))
}

// remember completes what a look saw by what an earlier one, in the same state, has seen. Later says that a while has passed in
// between.
func (r *Replica) remember(before, now *engine.Shown, later bool) {
	if before == nil {
		return
	}
	if before.What() == now.What() {
		now.Since, now.Was = before.Since, before.Was
		now.Steady = before.Steady || later && !report.Agree(r.View)
		return
	}
	now.Was = before.Was
	if before.Was == "" || report.Agree(r.View) {
		now.Was = before.What()
	}
	if now.Was == now.What() { // it is what it was
		now.Was = ""
	}
}

// contention is why repairs are to stop, empty while there is no reason.
func (r *Replica) contention(now *engine.Shown, at time.Time) string {
	was := r.Me.Contended
	switch {
	case now.Unseen == engine.UnseenGone:
		return was
	case !now.Steady || report.AgreesWith(r.View, now):
		return ""
	case was == "" && len(r.keeps(at)) >= repairsMost && (now.Was != "" || len(now.Differs) > 0):
		return contentionWords(len(r.keeps(at)))
	}
	return was
}

// maxSummary is the most bytes of a summary. A longer representation is cut down to what the catalog aggregates.
const maxSummary = 8 << 10

// summary is what this site tells the others that its part of a cross resource shows, for the time when they cannot reach it.
func (r *Replica) summary(now *engine.Shown, body []byte) json.RawMessage {
	if r.About.Collaboration != engine.Cross || now.Hash == "" {
		return r.Me.Summary
	}
	if s := tree.Summary(r.Kind, body, maxSummary); s != nil {
		return s
	}
	return r.Me.Summary
}
