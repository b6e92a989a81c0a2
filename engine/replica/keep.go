package replica

import (
	"fmt"
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/decide"
	"github.com/skerry/skerry/engine/drift"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/view"
)

// keep makes what this site's application shows of a resource what all sites show: it becomes an operation of this site.
type keep struct {
	decide *Decide
	before merge.Fold
	about  *decide.Case // what it is about, as long as that can be told
}

func refuseKeep(format string, args ...any) *engine.Refusal {
	return &engine.Refusal{Status: http.StatusConflict, Type: "keep", Detail: fmt.Sprintf(format, args...)}
}

func (t *keep) end(r *work, id engine.OperationID, err error) bool {
	r.out.Decided = append(r.out.Decided, DecidedOf{t.decide, id, err})
	return true
}

func (t *keep) begin(r *work) bool {
	t.before = r.standing().Whole(r.History)
	t.about = &decide.Case{View: r.View}
	t.about.Recall(t.decide.Conflict, "")
	keeps := len(drift.Keeps(r.View, r.env.Now()))
	switch {
	case !t.before.Exists || r.Mine.Local == "":
		return t.end(r, "", refuseKeep("%s has no object of %s to keep; keep another site, or delete the resource", r.Name(r.Self), r.About.Key))
	case keeps >= drift.RepairsMost && !t.decide.Force:
		return t.end(r, "", &engine.Refusal{Status: http.StatusConflict, Type: "contention", Detail: fmt.Sprintf(
			"%s was repaired %d times within %s and was changed again: find out what changes it, then force it", r.About.Key, keeps, drift.RepairsWithin)})
	}
	return r.call(r.readCall(r.Mine.Local))
}

func (t *keep) answer(r *work, in *Answered) bool {
	if in.Err != nil || in.Reply.Status != 200 {
		return t.end(r, "", refuseKeep("%s does not show %s now (%s)", r.Name(r.Self), r.About.Key, plan.Tell(in.Reply, in.Err)))
	}
	root, err := tree.Parse(r.Kind, in.Presented.Body)
	if _, object := root.(map[string]any); err != nil || !object {
		return t.end(r, "", refuseKeep("the representation of %s is no JSON object: write it anew instead", r.About.Key))
	}
	d := issue.Division(r.View, nil)
	root = d.Kept(root, t.before)
	o, err := issue.Keeping(r.Kind, root, t.before, engine.OperationID(r.env.NewID()))
	if err == nil && len(o.Body) > engine.MaxInlineBody || issue.TooLarge(o) != nil {
		err = engine.ErrTooLarge
	}
	if err != nil {
		return t.end(r, "", &engine.Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Err: err,
			Detail: "the representation is more than an operation can carry to other sites; nothing has happened"})
	}
	o.User = t.decide.By.User
	now, err := r.issue(o)
	if err != nil {
		return t.end(r, "", err)
	}
	drift.Keep(r.View, r.env.Now())
	r.Applied(view.MadeGood(r.View, merge.Any), 0)
	if d.Divides(now) { // this part, too, is to show its share of what is kept
		r.Became(o.ID, engine.Outcome{State: engine.StatePending, Again: true})
	}
	t.about.Time, t.about.Made.Operation = r.env.Now(), o.ID
	r.write(t.about.Trace(engine.ActionKeep, t.decide.By))
	return t.end(r, o.ID, nil)
}
