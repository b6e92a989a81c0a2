package merge

import (
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// History is what a site knows of the operations of one resource, and what they amount to. What it makes of a set of operations
// does not depend on the order in which they come. It is not safe for concurrent use.
type History struct {
	known
	kind      *engine.Kind // whose rules the operations follow
	self      engine.SiteID
	placement []engine.SiteID // where the resource lived first
	parts     engine.Parts    // with which a cross resource began; nil for others
	takesOne  bool            // a rule of the kind lets one operation take the effect of another
	facts     map[engine.Fact]bool
	placed    placed
	folded    folded
}

// New returns an empty history of a resource of this kind, as the site self sees it.
func New(k *engine.Kind, about engine.About, self engine.SiteID) *History {
	h := &History{kind: k, self: self, placement: about.Placement, takesOne: TakesOne(k)}
	h.byID, h.lines = map[engine.OperationID]*engine.Operation{}, map[engine.Line]*line{}
	if about.Collaboration == engine.Cross {
		h.parts = about.Parts
	}
	return h
}

// Kind returns the kind whose rules count.
func (h *History) Kind() *engine.Kind { return h.kind }

// AddFact takes a fact in. It counts once both operations are known and where they are concurrent.
func (h *History) AddFact(f engine.Fact) {
	if h.facts == nil {
		h.facts = map[engine.Fact]bool{}
	}
	h.facts[f] = true
}

// Facts lists all facts, in one order.
func (h *History) Facts() []engine.Fact {
	if len(h.facts) == 0 {
		return nil
	}
	return slices.SortedFunc(maps.Keys(h.facts), compareFacts)
}

// Stand makes h consist of a checkpoint, which stands for at least all that the one before it does, and the operations that
// follow it, beside those that wait.
func (h *History) Stand(c *Checkpoint) {
	h.folded, h.placed = folded{}, placed{}
	for _, f := range c.Facts {
		h.AddFact(f)
	}
	h.known.stand(c)
}
