package replica

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/hear"
	"github.com/skerry/skerry/engine/view"
)

// stored is what a site's disk has of one resource.
type stored struct {
	about      engine.About
	changes    []*engine.Change // in the order in which they came
	kept       []byte
	statuses   []byte
	epoch      uint64 // the first that is not over
	checkpoint []byte
}

// identify names a document by what it begins with.
func identify(about engine.About) engine.DocumentID {
	sum := sha256.Sum256(engine.Encode(&about))
	return engine.DocumentID(hex.EncodeToString(sum[:]))
}

// newChange is the next change of a line after its tip. In place of Automerge's format it is the entries, and nobody signs it.
func newChange(d engine.DocumentID, epoch uint64, line engine.Line, tip engine.Tip, entries []engine.Entry) *engine.Change {
	c := &engine.Change{SignedChange: engine.SignedChange{Line: line}, Document: d, Epoch: epoch, Number: tip.Number + 1, Previous: tip.Hash,
		Begins: tip.Last + 1, Entries: entries}
	h := sha256.New()
	fmt.Fprint(h, d, epoch, line, c.Number, tip.Hash)
	for _, e := range entries {
		fmt.Fprintf(h, "%s %x;", e.Map, e.Value)
	}
	c.Hash = [32]byte(h.Sum(nil))
	return c
}

// heardStatus is a status as another site gets it, encoded and decoded.
func heardStatus(by engine.SiteID, encoded []byte) hear.Status {
	st := &engine.Status{}
	if err := engine.Decode(encoded, st); err != nil {
		panic(err)
	}
	if err := st.Validate(); err != nil {
		panic(err)
	}
	return hear.Status{Signed: engine.SignedStatus{Site: by, Status: encoded, Size: 1}, Status: st}
}

// kindOf is the kind of what a document is about.
func kindOf(about engine.About) *engine.Kind { return kinds[string(about.Kind)] }

// open makes the replica of a document that is not here, of which nothing is known.
func (s *site) open(about engine.About) *Replica {
	id := identify(about)
	if r := s.replicas[id]; r != nil {
		return r
	}
	s.disk[id] = &stored{about: about}
	v := view.New(s.line(), id, about, engine.Encode(&about), kindOf(about), siteName)
	v.Epochs = []*view.Epoch{view.NewEpoch(0, firstTip(about, 0))}
	s.replicas[id] = New(v, limits, false)
	return s.replicas[id]
}

// load makes the replica of what is on the disk, and has it go on.
func (s *site) load(id engine.DocumentID) {
	d := s.disk[id]
	delete(s.replicas, id)
	delete(s.wakes, id)
	s.inbox = slices.DeleteFunc(s.inbox, func(i input) bool { return i.document == id })
	s.calls = slices.DeleteFunc(s.calls, func(c call) bool { return c.document == id })
	s.orphan(id)
	if d.kept == nil { // nothing of it was ever durable
		delete(s.disk, id)
		return
	}
	v := s.view(id)
	must(v.RestoreStatuses(d.statuses))
	r := New(v, limits, true)
	must(r.Restore(d.kept))
	s.replicas[id] = r
	s.put(id, Wake{})
}

// view reads what the disk has of a document.
func (s *site) view(id engine.DocumentID) *view.View {
	d := s.disk[id]
	v := view.New(s.line(), id, d.about, engine.Encode(&d.about), kindOf(d.about), siteName)
	if d.checkpoint != nil {
		must(v.Begin(d.checkpoint))
	}
	var kept view.Kept
	must(engine.Decode(d.kept, &kept))
	last := max(d.epoch, kept.Me.Epoch)
	for _, c := range d.changes {
		last = max(last, c.Epoch)
	}
	for n := d.epoch; n <= last; n++ {
		v.Epochs = append(v.Epochs, view.NewEpoch(n, firstTip(d.about, n)))
	}
	for _, c := range d.changes {
		e := v.Numbered(c.Epoch)
		e.Wrote(c)
		v.TakeEntries(e, c.Line, c.Number, c.Entries, func(o *engine.Operation) bool { return env{s}.Admits(v.Kind, o) }, must)
	}
	return v
}

// unfold has a replica consist of all that is on the disk again, in the place of a checkpoint that it has made.
func (s *site) unfold(id engine.DocumentID, r *Replica) {
	*r.History = *s.view(id).History
	r.Recount()
	r.Folds = false
	r.TouchAll()
	s.put(id, Wake{})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// start starts a site's agent with what is on its disk.
func (s *site) start() {
	s.forget()
	s.up = true
	s.runs++
	for _, id := range slices.Sorted(maps.Keys(s.disk)) {
		s.load(id)
	}
}

// crash ends it: what is not on the disk is lost. A request that its application holds is done, all the same, once it is released.
func (s *site) crash() {
	s.forget()
	s.up = false
	s.orphan("")
	clear(s.world.compared)
}

func (s *site) forget() {
	s.replicas, s.wakes = map[engine.DocumentID]*Replica{}, map[engine.DocumentID]time.Time{}
	s.met, s.names, s.claimed = map[engine.SiteID]bool{}, map[engine.ResourceID][]engine.DocumentID{}, map[engine.DocumentID]bool{}
	s.inbox, s.calls = nil, nil
}

// orphan says of the calls of a document, or of all where it is empty, that nobody waits for their answers any more.
func (s *site) orphan(id engine.DocumentID) {
	for i := range s.held {
		if id == "" || s.held[i].document == id {
			s.held[i].document = ""
		}
	}
}

// backup copies the disk, setBack puts the copy in its place: an empty one where there is none.
func (s *site) backup() { s.saved = copied(s.disk) }

func (s *site) setBack() { s.disk = copied(s.saved) }

func copied(disk map[engine.DocumentID]*stored) map[engine.DocumentID]*stored {
	c := map[engine.DocumentID]*stored{}
	for id, d := range disk {
		one := *d
		one.changes = slices.Clone(d.changes)
		c[id] = &one
	}
	return c
}

// present shows a reply as clients see it.
func (s *site) present(k *engine.Kind, r engine.Reply) engine.Reply { return presented(env{s}, k, r) }
