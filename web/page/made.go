package page

import (
	"fmt"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// choiceWords says what somebody has decided.
func choiceWords(d shape.Decision) string {
	uncertain := d.About == string(engine.ConflictUncertain)
	switch action := engine.Action(d.Action); {
	case action == engine.ActionRetry:
		return "send it to " + d.Site + " again"
	case action == engine.ActionAccept:
		return d.Site + " lets it in"
	case action == engine.ActionDone && uncertain:
		return "it ran at " + d.Site
	case action == engine.ActionDone:
		return d.Site + " has it already"
	case action == engine.ActionDrop && uncertain:
		return "it did not run at " + d.Site
	case action == engine.ActionDrop:
		return d.Site + " is left without it"
	case action == engine.ActionAdopt:
		return "the object that is at " + d.Site + " is its replica"
	case action == engine.ActionKeep:
		return "everyone shows what " + d.Site + " shows"
	case action == engine.ActionDismiss:
		return d.Site + " may differ"
	case action == engine.ActionReopen:
		return "that it may differ is taken back"
	case action == engine.ActionConfirm:
		return d.Site + " deletes it"
	case action == engine.ActionReject:
		return d.Site + " keeps the object, and it is brought back"
	}
	return d.Action + " at " + d.Site
}

// undoWords is what a button says that takes a decision back.
func undoWords(d shape.Decision) string {
	if d.Undo == string(engine.ActionRetry) {
		return "Undo: send it to " + d.Site + " after all"
	}
	return "Undo: Ask again"
}

// decidedWords says what was just decided about some conflicts.
func decidedWords(list []shape.Conflict) string {
	what := list[0].Title()
	if len(list) > 1 {
		what = fmt.Sprintf("%d", len(list))
	}
	if list[0].Accepted.Action == string(engine.ActionDrop) {
		return what + " given up at " + list[0].Site
	}
	return what + " may differ at " + list[0].Site
}
