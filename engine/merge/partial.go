package merge

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// A client that reads a resource, changes a field and puts it back sends along what the application has set by itself: a state, a size, a
// version. That is no wish of its, and another site's application has a value of its own there. So a PUT sets what differs from the fold, and
// of fields that no client has ever set only those to which it gives another value than the application shows. A merge patch gives arrays whole,
// so that the same goes for what is in them.

// saysMore reports whether e sets a path that the fold before it does not have.
func saysMore(e *engine.Edit, before Fold) bool {
	was := before.Paths()
	for p := range e.Set {
		if was[p] == nil {
			return true
		}
	}
	return false
}

// saysMoreIn is saysMore for what is in one of some arrays.
func saysMoreIn(arrays []engine.Pointer, e *engine.Edit, before Fold) bool {
	was := before.Paths()
	for p := range e.Set {
		if was[p] == nil && slices.ContainsFunc(arrays, func(at engine.Pointer) bool { return p != at && at.Contains(p) }) {
			return true
		}
	}
	return false
}

// leaveOutOf is leaveOut for what is in one of some arrays.
func leaveOutOf(arrays []engine.Pointer, k *engine.Kind, e *engine.Edit, before Fold, representation []byte) {
	said := maps.Clone(e.Set)
	leaveOut(k, e, before, representation)
	e.Partial = false
	for p, v := range said {
		switch inside := slices.ContainsFunc(arrays, func(at engine.Pointer) bool { return at.Contains(p) }); {
		case !inside:
			e.Set[p] = v
		case e.Set[p] == nil:
			e.Partial = true
		}
	}
}

// leaveOut takes out of e, what a PUT sets, what the application shows by itself and the PUT leaves as it is. What is not JSON shows nothing.
func leaveOut(k *engine.Kind, e *engine.Edit, before Fold, representation []byte) {
	root, err := tree.Parse(k, representation)
	if err != nil {
		return
	}
	was, shown, own := before.Paths(), map[engine.Pointer]json.RawMessage{}, map[engine.Pointer]bool{}
	tree.Leaves(root, "", shown)
	for _, p := range tree.Sorted(e.Set) { // what is above comes before
		above := p.Parent()
		begun := above != "" && e.Set[above] != nil && !own[above] && !bytes.Equal(was[above], e.Set[above])
		own[p] = was[p] == nil && !begun && bytes.Equal(shown[p], e.Set[p])
	}
	stay := func(p engine.Pointer) {
		for ; p != "" && own[p]; p = p.Parent() { // what is above it has to be there
			own[p] = false
		}
	}
	orders := map[engine.Pointer][]string{}
	tree.Orders(root, "", orders)
	for at, tokens := range e.Order {
		if !sameOrder(orders[at], tokens) { // the client has put them in this order
			for p := range e.Set {
				if own[p] && at.Contains(p) {
					stay(p)
				}
			}
		}
	}
	for p, v := range own {
		if !v {
			stay(p.Parent())
		}
	}
	for p, left := range own {
		if left {
			delete(e.Set, p)
			e.Partial = true
		}
	}
	for at, tokens := range e.Order {
		theirs := slices.DeleteFunc(slices.Clone(tokens), func(t string) bool { return own[at.Append(t)] })
		if len(theirs) == len(tokens) {
			continue
		}
		delete(e.Order, at)
		delete(e.Placed, at)
		tree.NotePlaces(e, at, before.Order()[at], theirs)
	}
}

// sameOrder reports whether what two lists have in common stands in one order.
func sameOrder(a, b []string) bool {
	common := func(list, with []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(t string) bool { return !slices.Contains(with, t) })
	}
	return slices.Equal(common(a, b), common(b, a))
}
