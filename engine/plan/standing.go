package plan

import (
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

// Standing is what one site's application has been brought to.
type Standing struct {
	// Settled reports whether an operation needs nothing more here.
	Settled func(*engine.Operation) bool
	// Void reports whether a settled operation never reached the application because it had been superseded.
	Void func(*engine.Operation) bool
	// Blocked reports whether an operation waits for a person.
	Blocked func(*engine.Operation) bool
	// Uncertain reports whether an operation may have run, and a person is asked whether it has. Nil: none.
	Uncertain func(*engine.Operation) bool
	// Doubtful reports whether an operation may have reached the application without an answer. Nil: none.
	Doubtful func(*engine.Operation) bool
	// Unsure reports whether an operation that is not settled may have reached the application, by itself or in a correction,
	// so that the values at its paths are not known. Nil: none.
	Unsure func(*engine.Operation) bool
	// Ran reports whether an action that is not settled has run, and what it has set is to be corrected. Nil: none.
	Ran func(*engine.Operation) bool
	// Refused reports whether the application has refused a settled operation: it does not show what that sets. Nil: none.
	Refused func(*engine.Operation) bool
	// Stays reports whether the application has refused a settled delete, and somebody has decided that the object stays. Nil: none.
	Stays func(*engine.Operation) bool
	// Gone says that the application has no object of the resource, whatever is settled: it vanished, or was never made here.
	// Where what counts says that it exists, it is made anew.
	Gone bool
	// Carried reports whether an operation's effect has come with the content of the object. Nil: none.
	Carried func(*engine.Operation) bool
	// Lossy says that the object may be made anew without what undeclared actions have done: that comes in another way, or
	// somebody has accepted that it does not.
	Lossy bool
	// Yields says that the name, and with it the object, is another resource's here: nothing is done before that changes.
	Yields bool
	// Undo are operations that do not count any more, whoever they are known to, and that the application may show. They are in no history.
	Undo []*engine.Operation
	// Alike reports whether one request may do two operations together: both are done with the rights of the same user, or of the agent.
	// Nil: it may.
	Alike func(a, b *engine.Operation) bool
	// Apart says that the application has refused several operations in one request: each is brought about by itself.
	Apart bool
	// Dropped says that it is gone because a person has decided against it, or because it has ended by itself: it is not made anew.
	Dropped bool
}

// together reports whether one request may do both.
func (s Standing) together(a, b *engine.Operation) bool { return s.Alike == nil || s.Alike(a, b) }

// is asks a function that may be nil.
func is(f func(*engine.Operation) bool, o *engine.Operation) bool { return f != nil && f(o) }

// Shows reports whether the application shows what o did, as long as it has the object at all.
func (s Standing) Shows(o *engine.Operation) bool { return s.Settled(o) && !s.Void(o) }

// Shown is what the application has been brought to.
func (s Standing) Shown() merge.Pick { return merge.Pick(s.Shows) }

// Unmade reports whether an application has no object, though everything that is settled there says that it exists and nobody has decided
// against it: it is to be made anew.
func (s Standing) Unmade(h *merge.History) bool { return s.Gone && !s.Dropped && h.Exists(s.Shows) }

// Fold is what the application shows, of a cross resource this site's part.
func (s Standing) Fold(h *merge.History) merge.Fold {
	if s.Gone {
		return h.Nothing()
	}
	return h.Fold(s.Shows)
}

// Whole is what the applications of all parts of a cross resource show together; of another resource it is Fold.
func (s Standing) Whole(h *merge.History) merge.Fold {
	if s.Gone {
		return h.Nothing()
	}
	return h.Whole(s.Shows)
}

// seeks reports whether o is a create that may have been done and has to be looked for, also where it counts as settled and
// what it has made is not known any more.
func (s Standing) seeks(o *engine.Operation) bool {
	return o.Type == engine.TypeCreate && (!s.Settled(o) || s.Gone) && is(s.Doubtful, o)
}

// difference returns what has to be sent so that an application which was brought to before shows after. What it has refused
// is in before and not there, so it is sent where another operation sets or removes the same.
func (s Standing) difference(before, after merge.Fold) *engine.Edit {
	e := before.Difference(after)
	if s.Refused == nil {
		return e
	}
	again := &engine.Edit{}
	shown := after.Paths()
	for p, cell := range after.Cells {
		was := before.Cells[p]
		switch {
		case was.By == nil || cell.By != nil && was.By.ID == cell.By.ID || !s.Refused(was.By):
		case cell.Value != nil:
			tree.Set(again, p, cell.Value)
		case shown[p] == nil && held(shown, p):
			again.Unset = append(again.Unset, p)
		}
	}
	return tree.And(e, again)
}

// target folds what the application is to show, and lists the operations that put opaque bytes that count and have been taken
// the place of here: they are applied once more, and are no part of the fold until then. Where what is still to come takes the
// effect of the last one, it is the one that counts in the end: the last would be passed over, and its bytes may be there.
func (s Standing) target(h *merge.History, to merge.Pick, before merge.Fold) (merge.Fold, []*engine.Operation) {
	after := h.Fold(to)
	var again []*engine.Operation
	for path, o := range after.Absolute {
		if o == before.Absolute[path] || !s.Shows(o) {
			continue
		}
		counting, _ := h.Effective(merge.Any)
		if last := lastAbsolute(counting)[path]; last != nil && s.Shows(last) {
			o = last
		}
		again = append(again, o)
	}
	if len(again) == 0 {
		return after, nil
	}
	slices.SortFunc(again, func(a, b *engine.Operation) int { return strings.Compare(a.Path, b.Path) })
	return h.Fold(to.But(again...)), again
}

// lastAbsolute returns for each path the last operation that put opaque bytes there.
func lastAbsolute(ops []*engine.Operation) map[string]*engine.Operation {
	var last map[string]*engine.Operation
	for _, o := range ops {
		if o.Type == engine.TypeAbsolute {
			if last == nil {
				last = map[string]*engine.Operation{}
			}
			last[o.Path] = o
		}
	}
	return last
}
