package drift

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
	"github.com/skerry/skerry/engine/view"
)

// observe reads what a look has brought. Nil: it tells nothing, err says why.
func observe(v *view.View, presented, reply engine.Reply, err error) (*engine.Shown, error) {
	st := v.Standing(v.Self)
	settled := merge.Pick(st.Settled)
	whole := v.History.Whole(settled)
	unseen := func(u engine.Unseen) (*engine.Shown, error) {
		return &engine.Shown{Unseen: u, Fold: whole.Digest(v.Document)}, nil
	}
	switch {
	case err != nil:
		return nil, err
	case reply.Gone():
		return unseen(engine.UnseenGone)
	case reply.Status >= 200 && reply.Status < 300:
		if err := plan.Unsettled(v.Kind, presented.Body); err != nil {
			return nil, err
		}
		return plan.Observe(v.Kind, v.Document, presented.Body, whole, v.History.Fold(settled), v.History.Division(settled).Fields()), nil
	case reply.Status >= 300 && plan.Judge(engine.TypeReplace, reply, nil) == plan.Refused:
		return unseen(engine.UnseenUnreadable)
	}
	return nil, errors.New(plan.Tell(reply, nil))
}

// isItem reports whether an answer is a representation of the object.
func isItem(v *view.View, body []byte) bool {
	t, err := tree.ParseJSON(body)
	if _, object := t.(map[string]any); err != nil || !object {
		return false
	}
	if v.Kind.ID.At == "" {
		return true
	}
	id, ok := tree.IDAt(t, v.Kind.ID.At)
	_, key := v.Kind.Split(string(v.About.Key))
	_, local := v.Kind.Split(string(v.Mine.Local))
	return ok && (id == key || id == local)
}

// show takes in what the application shows in this state. Later says that it was read, a while after it was looked at last.
func show(v *view.View, now *engine.Shown, body []byte, at time.Time, later bool) {
	v.Mine.Unseen = ""
	if b := v.Me.Shown; b != nil && b.Unseen != engine.UnseenGone {
		v.Mine.Seen = true
	}
	if ending := plan.Ending(v.Kind, body); now.Unseen != engine.UnseenGone && ending != v.Mine.Ending {
		v.Mine.Ending = ending
		v.Changed()
	}
	now.Since, now.Of = at.UnixMicro(), v.Operated()
	before := v.Me.Shown
	remember(v, before, now, later)
	contended, summary := contention(v, now, at), summary(v, now, body)
	if before != nil && same(before, now) && contended == v.Me.Contended && string(summary) == string(v.Me.Summary) {
		return
	}
	v.Me.Shown, v.Me.Contended, v.Me.Summary = now, contended, summary
	v.Changed()
}

func same(a, b *engine.Shown) bool {
	return a.Hash == b.Hash && a.Unseen == b.Unseen && a.Apart == b.Apart && a.Fold == b.Fold && slices.Equal(a.Differs, b.Differs) &&
		a.Was == b.Was && a.Steady == b.Steady
}

// remember completes what a look saw by what an earlier one, in the same state, has seen. Later says that a while has passed in
// between.
func remember(v *view.View, before, now *engine.Shown, later bool) {
	if before == nil {
		return
	}
	if before.What() == now.What() {
		now.Since, now.Was = before.Since, before.Was
		now.Steady = before.Steady || later && !report.Agree(v)
		return
	}
	if before.Unseen == engine.UnseenGone && before.Was == "" { // nobody has changed what had not been shown before
		return
	}
	now.Was = before.Was
	if before.Was == "" || report.Agree(v) {
		now.Was = before.What()
	}
	if now.Was == now.What() { // it is what it was
		now.Was = ""
	}
}

// contention is why repairs are to stop, empty while there is no reason.
func contention(v *view.View, now *engine.Shown, at time.Time) string {
	was := v.Me.Contended
	switch {
	case now.Unseen == engine.UnseenGone:
		return was
	case !now.Steady || report.AgreesWith(v, now):
		return ""
	case was == "" && len(Keeps(v, at)) >= RepairsMost && (now.Was != "" || len(now.Differs) > 0):
		return contentionWords(len(Keeps(v, at)))
	}
	return was
}

// maxSummary is the most bytes of a summary. A longer representation is cut down to what the catalog aggregates.
const maxSummary = 8 << 10

// summary is what this site tells the others that its part of a cross resource shows, for the time when they cannot reach it.
func summary(v *view.View, now *engine.Shown, body []byte) json.RawMessage {
	switch {
	case v.Placement().Parts == nil:
		return nil
	case now.Hash == "":
		return v.Me.Summary
	}
	if s := tree.Summary(v.Kind, body, maxSummary); s != nil {
		return s
	}
	return v.Me.Summary
}
