package engine

import "slices"

// Living returns, in order, the operations of h for which in is true and that no delete among them has ended. A
// delete ends the creates that it has seen: it never discards a create it did not see. Everything else lives as long
// as one of the creates that it builds on, whether or not in is true for that one, so that a delete wins over the
// changes that are concurrent with it.
func (h *History) Living(in func(*Operation) bool) []*Operation {
	var deletes, creates, living []*Operation
	for _, o := range h.ordered {
		if o.Type == TypeDelete && in(o) {
			deletes = append(deletes, o)
		}
	}
	for _, o := range h.ordered {
		if o.Type == TypeCreate && !slices.ContainsFunc(deletes, func(d *Operation) bool { return h.Before(o, d) }) {
			creates = append(creates, o)
		}
	}
	for _, o := range h.ordered {
		if o.Type == TypeDelete || o.Type == TypePlace || !in(o) {
			continue
		}
		if slices.ContainsFunc(creates, func(c *Operation) bool { return c == o || h.Before(c, o) && o.Type != TypeCreate }) {
			living = append(living, o)
		}
	}
	return living
}

// anyOperation selects all that is known.
func anyOperation(*Operation) bool { return true }

// among returns what selects the operations of a list.
func among(ops []*Operation) func(*Operation) bool {
	set := make(map[*Operation]bool, len(ops))
	for _, o := range ops {
		set[o] = true
	}
	return func(o *Operation) bool { return set[o] }
}

// either selects what one of two selects.
func either(a, b func(*Operation) bool) func(*Operation) bool {
	return func(o *Operation) bool { return a(o) || b(o) }
}
