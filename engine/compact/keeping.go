package compact

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

// Keeping is how a site goes about letting go of what is kept of a resource. Nothing of it has to last.
type Keeping struct {
	// Ends says that the epoch before the current one is over, and ends once what was just written is on disk.
	Ends bool

	needed map[engine.OperationID]bool // operations with a large body that some site needs
}

// Bounds are how many operations are kept one by one once every site has settled them, and how many a document takes.
type Bounds struct{ History, Epoch int }

// Let is what a site lets go of.
type Let struct {
	// Drop are large bodies.
	Drop []engine.BlobHash
	// Forgone is how many operations are given up that were held back.
	Forgone int
	// Ended is an epoch whose document may be deleted; Checkpoint takes its place. Err is why one could not end.
	Ended      *uint64
	Checkpoint []byte
	Err        error
}

// Tidy lets checkpoints and epochs take the place of what every site has settled, and opens an epoch where that is due: tip is that of an
// epoch's document. Row makes the row of an operation; writes says that something was just written.
func (k *Keeping) Tidy(v *view.View, most Bounds, writes bool, tip func(epoch uint64) engine.Tip, row func(*engine.Operation) engine.OperationRow) (let Let) {
	part := v.Part(v.Self)
	member := part == view.PartMember || part == view.PartLeaving
	if lost := epochLost(v); member && len(v.Epochs) == 1 && (lost || EpochLong(v, most.Epoch) && v.Me.Settled != nil) && EpochBegun(v) {
		number := v.Current().Number + 1
		v.Epochs = append(v.Epochs, view.NewEpoch(number, tip(number)))
		v.Changed()
	}
	if len(v.Epochs) > 1 {
		most.History = 0
	}
	let.Forgone = forgo(v)
	bodies := largeBodies(v)
	if ids, news := History(v, most.History, row); news {
		v.Changed()
		for _, id := range ids {
			v.Touched[id] = true
		}
		for _, l := range bodies {
			if o := v.History.Get(l.of); o == nil || o.Blob == nil { // the checkpoint says what it has set
				let.Drop = append(let.Drop, l.body)
			}
		}
	}
	if k.Ends = len(v.Epochs) > 1 && EpochOver(v); k.Ends && !writes {
		k.Ends = false
		let.end(v)
	}
	k.dropBodies(v, &let)
	return let
}

// end forgets the epoch before the current one: the checkpoint stands for what it had.
func (l *Let) end(v *view.View) {
	_, b, err := v.Found()
	if err != nil {
		l.Err = err
		return
	}
	view.SayLines(v) // it may be alone, and have told nobody since the current one was opened
	old := v.Epochs[0].Number
	v.Epochs, v.Folds = v.Epochs[1:], false
	l.Ended, l.Checkpoint = &old, b
	v.Changed()
}

// largeBody is the large body of an operation.
type largeBody struct {
	of   engine.OperationID
	body engine.BlobHash
}

func largeBodies(v *view.View) (large []largeBody) {
	if !v.Large {
		return nil
	}
	for _, o := range v.History.Ordered() {
		if o.Blob != nil {
			large = append(large, largeBody{o.ID, o.Blob.Hash})
		}
	}
	return large
}

// dropBodies lets go of the large bodies that no site needs any more.
func (k *Keeping) dropBodies(v *view.View, let *Let) {
	if !v.Large {
		return
	}
	for _, o := range v.History.Ordered() {
		if o.Blob == nil {
			continue
		}
		was, known := k.needed[o.ID] // one that is not may have been needed when this process began
		if needed := NeedsBlob(v, o); !known || needed != was {
			if k.needed == nil {
				k.needed = map[engine.OperationID]bool{}
			}
			if k.needed[o.ID] = needed; !needed {
				let.Drop = append(let.Drop, o.Blob.Hash)
			}
			v.Touched[o.ID] = true
			v.Changed()
		}
	}
}
