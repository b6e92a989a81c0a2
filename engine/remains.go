package engine

import "slices"

// remains lists what the application shows of operations that a delete ends while something else keeps the object alive, and that
// no correction takes back: opaque bytes that nothing replaces, and actions of which nothing tells what they have done.
func (h *History) remains(s Standing, d *Operation) []*Operation {
	left := h.Living(s.shown().or(d).in)
	lives, last := among(left), lastAbsolute(left)
	return slices.DeleteFunc(h.Living(s.shows), func(o *Operation) bool {
		switch {
		case lives(o) || !o.Change.Empty():
			return true
		case o.Type == TypeAbsolute:
			return last[o.Path] != nil
		}
		return o.Type != TypeAction && o.Type != TypeCreate
	})
}

// startAnew takes an object away by a delete that has not ended all of it, to make it anew without what the delete has ended. It
// holds where that would lose what nothing can bring back.
func startAnew(h *History, s Standing, d *Operation) Step {
	left, _ := h.effective(s.shown().or(d))
	i := slices.IndexFunc(left, func(o *Operation) bool { return o.Type == TypeAction && o.Change == nil })
	if i >= 0 && !s.Lossy {
		return Step{Kind: StepHold, Operations: []*Operation{d, left[i]}, Reason: HoldMixed}
	}
	return Step{Kind: StepRun, Operations: []*Operation{d}}
}
