package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Take says what becomes of two concurrent operations.
type Take string

const (
	// TakeOne: the later in order counts, and takes away what the earlier one does.
	TakeOne Take = "one"
	// TakeBothAnyOrder: both count, and it makes no difference in which order they run.
	TakeBothAnyOrder Take = "both-any-order"
	// TakeBothKeepOrder: both count, in order.
	TakeBothKeepOrder Take = "both-keep-order"
)

// Resolution is a rule for two concurrent operations, Before being the earlier one in order. Before and After are names of
// operations of the kind, or types.
type Resolution struct {
	Before, After string
	Take          Take
}

func (r Resolution) String() string {
	return fmt.Sprintf("take %s of %s before %s", r.Take, r.Before, r.After)
}

// resolution returns the rule of the kind for two concurrent operations, a being the earlier one in order; nil without one. A
// rule for a named operation goes before one for its type, and among those for as many names the first in the catalog.
func (k *Kind) resolution(a, b *Operation) *Resolution {
	if k == nil {
		return nil
	}
	var found *Resolution
	most := -1
	for i := range k.Resolutions {
		r := &k.Resolutions[i]
		before, after := r.names(r.Before, a), r.names(r.After, b)
		if before < 0 || after < 0 || before+after <= most {
			continue
		}
		found, most = r, before+after
	}
	return found
}

// names returns 1 when s is the name of o, 0 when it is its type, and -1 when it is neither.
func (*Resolution) names(s string, o *Operation) int {
	switch {
	case o.Name != "" && s == o.Name:
		return 1
	case s == string(o.Type):
		return 0
	}
	return -1
}

// takes reports whether the kind has a rule for the two that says take.
func (k *Kind) takes(a, b *Operation, take Take) bool {
	r := k.resolution(a, b)
	return r != nil && r.Take == take
}

// A Fact says that an application has refused what two concurrent operations amount to together. Of this pair the later one
// counts whole at every site, from the moment on at which the site hears of it, for good.
type Fact struct {
	Earlier OperationID `json:"earlier"`
	Later   OperationID `json:"later"`
}

// AddFact takes a fact in. It counts once both operations are known and where they are concurrent.
func (h *History) AddFact(f Fact) {
	if h.facts == nil {
		h.facts = map[Fact]bool{}
	}
	h.facts[f] = true
}

// sortedFacts lists all facts.
func (h *History) sortedFacts() []Fact {
	return slices.SortedFunc(maps.Keys(h.facts), func(a, b Fact) int {
		return cmp.Or(cmp.Compare(a.Later, b.Later), cmp.Compare(a.Earlier, b.Earlier))
	})
}

// counts reports whether f is about two operations that are known, concurrent and in this order.
func (h *History) counts(f Fact) bool {
	a, b := h.Get(f.Earlier), h.Get(f.Later)
	return a != nil && b != nil && Compare(a, b) < 0 && h.Concurrent(a, b)
}

// disputed lists the pairs that a refused correction with taken is put down to: the latest operation that is concurrent with an
// earlier one, with each of those. At least one of a pair is in taken: what the application shows already it has taken together.
// It is empty once these are known as facts: the application refuses that operation by itself.
func (h *History) disputed(s Standing, taken []*Operation) []Fact {
	counting, _ := h.effective(s.shown().or(taken...))
	asked := among(taken)
	for i, later := range slices.Backward(counting) {
		if later.Change.Empty() {
			continue
		}
		var facts []Fact
		for _, earlier := range counting[:i] {
			if !earlier.Change.Empty() && h.Concurrent(earlier, later) && (asked(earlier) || asked(later)) {
				facts = append(facts, Fact{earlier.ID, later.ID})
			}
		}
		if len(facts) > 0 || h.heldWhole(later) {
			return facts
		}
	}
	return nil
}

// heldWhole reports whether an operation counts whole already because of a fact.
func (h *History) heldWhole(o *Operation) bool {
	for f := range h.facts {
		if f.Later == o.ID && h.counts(f) {
			return true
		}
	}
	return false
}
