package tree

import (
	"encoding/json"
	"slices"

	"github.com/skerry/skerry/engine"
)

// Moved lists the fewest elements that somebody has put where they stand, who had before and makes after of it: the new ones, and those that
// do not stand where they stood among the others.
func Moved(before, after []string) []string {
	stays := staying(after, before, func(string) int { return 1 })
	return slices.DeleteFunc(slices.Clone(after), func(t string) bool { return stays[t] })
}

// Place puts into a list the elements that somebody has put where stated has them: each after what it was put after, and before what it was
// put before. Moved tells which these are; the others of stated tell where. An element that stands right stays; one that comes from
// elsewhere stands right before the next of stated that stays, and last where there is none. What stated does not name stays where it is.
func Place(list, stated []string, moved func(string) bool) []string {
	few := len(stated) + 1 // what was not moved counts for more than all that was
	stays := staying(stated, list, func(t string) int {
		if moved(t) {
			return 1
		}
		return few
	})
	in := make(map[string]bool, len(list))
	for _, t := range list {
		in[t] = true
	}
	goes := map[string]bool{}
	before := map[string][]string{} // what comes right before an element that stays; before "", last
	next := ""
	for _, t := range slices.Backward(stated) {
		switch {
		case stays[t]:
			next = t
		case moved(t):
			goes[t] = in[t]
			before[next] = append(before[next], t)
		}
	}
	placed := make([]string, 0, len(list)+len(stated))
	for _, t := range list {
		if goes[t] {
			continue
		}
		placed = append(appendBackward(placed, before[t]), t)
	}
	return appendBackward(placed, before[""])
}

func appendBackward(list, reversed []string) []string {
	for _, t := range slices.Backward(reversed) {
		list = append(list, t)
	}
	return list
}

// staying returns the elements of which the most weight stands in the same order in both lists: the heaviest increasing subsequence.
func staying(of, in []string, weight func(string) int) map[string]bool {
	at := make(map[string]int, len(in))
	for i, t := range in {
		at[t] = i + 1
	}
	type end struct{ weight, of int } // a subsequence by its last element: an index into of, after the first
	best := make([]end, len(in)+1)    // a Fenwick tree of the heaviest, by the place in the other list
	previous := make([]int, len(of)+1)
	heaviest := end{}
	for i, t := range of {
		place, there := at[t]
		if !there {
			continue
		}
		found := end{}
		for j := place - 1; j > 0; j -= j & -j {
			if best[j].weight > found.weight {
				found = best[j]
			}
		}
		previous[i+1] = found.of
		found = end{found.weight + weight(t), i + 1}
		for j := place; j < len(best); j += j & -j {
			if found.weight > best[j].weight {
				best[j] = found
			}
		}
		if found.weight > heaviest.weight {
			heaviest = found
		}
	}
	stays := map[string]bool{}
	for i := heaviest.of; i > 0; i = previous[i] {
		stays[of[i-1]] = true
	}
	return stays
}

// Unordered reports whether the catalog says that the order of the array at p is no value.
func Unordered(k *engine.Kind, p engine.Pointer) bool {
	return k != nil && slices.ContainsFunc(k.Unordered, func(at engine.Pointer) bool { return at.Covers(p) && p.Covers(at) })
}

// Ordered reports whether the array at p has elements that the catalog tells apart, and an order that is a value.
func Ordered(k *engine.Kind, p engine.Pointer) bool {
	_, keyed := KeyAt(k, p)
	return keyed && !Unordered(k, p)
}

// KeysOf is JSON of the keys of some elements.
func KeysOf(tokens []string) json.RawMessage {
	keys := make([]any, len(tokens))
	for i, t := range tokens {
		keys[i] = keyOf(t)
	}
	return Compact(keys)
}

// TokensOf reads what KeysOf has written.
func TokensOf(keys json.RawMessage) ([]string, bool) {
	v, err := ParseJSON(keys)
	list, ok := v.([]any)
	tokens := make([]string, len(list))
	for i, key := range list {
		if err == nil && ok {
			tokens[i], ok = tokenOf(key)
		}
	}
	return tokens, err == nil && ok
}

// Orders collects in which order the keyed arrays of a tree have their elements. It has none of an array whose order is no value.
func Orders(v any, at engine.Pointer, into map[engine.Pointer][]string) {
	switch c := v.(type) {
	case map[string]any:
		for name, member := range c {
			Orders(member, at.Append(name), into)
		}
	case *elements:
		if !c.loose {
			into[at] = c.order
		}
		for t, element := range c.by {
			Orders(element, at.Append(t), into)
		}
	}
}

// Arrange puts the elements of keyed arrays in a tree into order. Those that it does not name stay where they are.
func Arrange(tree any, order map[engine.Pointer][]string) {
	for p, tokens := range order {
		if v, ok := ValueAt(tree, p); ok {
			if e, ok := v.(*elements); ok && !e.loose {
				e.arrange(tokens)
			}
		}
	}
}

// arrange puts the elements that it names into the order given.
func (e *elements) arrange(named []string) {
	there := slices.DeleteFunc(slices.Clone(named), func(t string) bool { _, ok := e.by[t]; return !ok })
	e.order = Place(e.order, there, func(string) bool { return true })
}

// Arranged reports whether the keyed array at p has these elements in this order, whatever is between them. Where there is none, or where
// the order is no value, there is nothing to arrange.
func Arranged(tree any, p engine.Pointer, tokens []string) bool {
	v, _ := ValueAt(tree, p)
	e, ok := v.(*elements)
	if !ok || e.loose {
		return true
	}
	named := make(map[string]bool, len(tokens))
	for _, t := range tokens {
		_, there := e.by[t]
		named[t] = there
	}
	return slices.Equal(among(e.order, named), among(tokens, named))
}

func among(list []string, named map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(list), func(t string) bool { return !named[t] })
}

// sorted puts the elements of keyed arrays whose order is no value into one order, which is the same for equal trees.
func sorted(v any) {
	switch c := v.(type) {
	case map[string]any:
		for _, member := range c {
			sorted(member)
		}
	case *elements:
		if c.loose {
			slices.Sort(c.order)
		}
		for _, element := range c.by {
			sorted(element)
		}
	}
}
