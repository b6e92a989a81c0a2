package merge

import "github.com/skerry/skerry/engine"

// History is what a site knows of the operations of one resource, and what they amount to. What it makes of a set of operations
// does not depend on the order in which they come. It is not safe for concurrent use.
type History struct {
	known
	kind      *engine.Kind // whose rules the operations follow
	self      engine.SiteID
	placement []engine.SiteID // where the resource lived first
	parts     engine.Parts    // with which a cross resource began; nil for others
	takesOne  bool            // a rule of the kind lets one operation take the effect of another
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

// Stand makes h consist of a checkpoint, which stands for at least all that the one before it does, and the operations that
// follow it, beside those that wait.
func (h *History) Stand(c *Checkpoint) {
	h.folded, h.placed = folded{}, placed{}
	h.known.stand(c)
}
