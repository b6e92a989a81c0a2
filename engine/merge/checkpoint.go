package merge

import (
	"slices"

	"github.com/skerry/skerry/engine"
)

// Checkpoint stands in a history for its first operations in order, all of which every site has settled. Nothing that comes
// after is unheard and concurrent with one of them. So it keeps those that a known, later one is concurrent with as they are,
// and of the others, which everything later has seen, what still counts of each. It is not changed once made.
type Checkpoint struct {
	// Seen counts the operations that it stands for, Firm those of them that every later operation has seen.
	Seen, Firm engine.Vector
	// Time is the newest of their times, First the oldest: of the resource's creation.
	Time, First int64
	// Count is how many they are, those that are kept not counted.
	Count uint64
	// Newest are those of the firm ones that came last and that no other of them has seen.
	Newest []engine.OperationID
	// Kept are those that everything later has seen and that still count, in order, each with that part of its Edit that
	// nothing has taken the place of: the living creates, with bodies of which the object can be made anew; the last opaque
	// bytes of each path; an action of unknown effect; those that a site has refused or is to apply once more, deletes with
	// the creates that they have ended and the last other delete of each; those that have changed the placement.
	Kept []*engine.Operation
	// Lost are those of Kept that have lost their effect, sorted.
	Lost []engine.OperationID
	// Late are the others, as they are, in order.
	Late []*engine.Operation
	// Order is in which order keyed arrays have their elements before the first of Late that arranges any.
	Order map[engine.Pointer][]string
	// Superseded are the newest of the values that they have taken from each other.
	Superseded []engine.Superseded
	// Whereabouts tells where the resources are that they refer to.
	Whereabouts []engine.Whereabouts
	// Placed is the placement.
	Placed *Placed
	// MergeType is the media type that clients have sent merge patches with.
	MergeType string
}

// A checkpoint keeps so many superseded values, with at most so many bytes, removed paths and refused operations.
const (
	maxSuperseded      = 100
	maxSupersededBytes = 256 << 10
	maxRemoved         = 100
	maxRefused         = 32
)

// Has reports whether c stands for operation o, or keeps it. A nil *Checkpoint has none.
func (c *Checkpoint) Has(o *engine.Operation) bool { return c != nil && c.Seen.Has(o.Line, o.Number) }

// Until is the newest time of what it stands for, zero for none.
func (c *Checkpoint) Until() int64 {
	if c == nil {
		return 0
	}
	return c.Time
}

// Reduces reports whether c keeps o with a part of its Edit only.
func (c *Checkpoint) Reduces(o *engine.Operation) bool {
	if c == nil {
		return false
	}
	_, found := slices.BinarySearchFunc(c.Kept, o, engine.Compare)
	return found
}

// KeepsValues reports whether c keeps of an action what still counts of what it sets and adds, and not what to send.
func (c *Checkpoint) KeepsValues(o *engine.Operation) bool {
	return o.Type == engine.TypeAction && o.Edit != nil && c.Reduces(o)
}

// late returns one of those that c keeps as they are.
func (c *Checkpoint) late(line engine.Line, n uint64) *engine.Operation {
	if c == nil {
		return nil
	}
	i := slices.IndexFunc(c.Late, func(o *engine.Operation) bool { return o.Line == line && o.Number == n })
	if i < 0 {
		return nil
	}
	return c.Late[i]
}
