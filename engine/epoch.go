package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// epoch is one of the documents of a resource. A resource has one, and a second one from when the first has grown long until
// every member writes in the second and has settled all that the first has.
type epoch struct {
	number uint64
	id     DocumentID
	raw    []byte // its about
	// changes counts what each site has written in it, and operations are those among that, as far as they are here, of so many bytes.
	changes    map[SiteID]uint64
	operations int
	bytes      int
}

func newEpoch(number uint64, id DocumentID, raw []byte) *epoch {
	return &epoch{number: number, id: id, raw: raw, changes: map[SiteID]uint64{}}
}

// length is how many changes the document has.
func (e *epoch) length() (n uint64) {
	for _, c := range e.changes {
		n += c
	}
	return n
}

func (e *epoch) count(rows []ChangeRow) {
	for _, row := range rows {
		e.changes[row.Author]++
	}
}

// current is the epoch that this site writes in.
func (v *view) current() *epoch { return v.epochs[len(v.epochs)-1] }

// numbered returns the epoch of a number, nil when it is not here.
func (v *view) numbered(n uint64) *epoch {
	for _, e := range v.epochs {
		if e.number == n {
			return e
		}
	}
	return nil
}

// final counts the changes that this site has made in the epoch before the current one. Once the others have all that it has said it had
// made, it stays so: what they do not have of that, a lost run has made, or this one before it knew of the current one, and it says it there.
func (v *view) final() uint64 {
	if len(v.epochs) > 1 && !v.counted() {
		return v.epochs[0].changes[v.self]
	}
	if v.writesIn(v.self, v.current()) {
		return v.replicas[v.self].Final
	}
	return 0
}

// counted reports whether all others have what this site has said it had made in the epoch before the current one, and what it has issued there.
func (v *view) counted() bool {
	if !v.writesIn(v.self, v.current()) {
		return false
	}
	others := v.others()
	return !slices.ContainsFunc(others, func(m SiteID) bool { return !v.writesIn(m, v.current()) || !v.replicas[m].Whole }) && !v.issuedUnheard(others)
}

// split reports whether what adds a site may be in another document than what it writes, which an envelope brings.
func (v *view) split(e Envelope) bool { return e.More || v.current().number > 0 }

// whole reports whether this site has all that anybody has written in the epoch before the current one, and nothing that its author does not
// know: that was set back, and has yet to take it back.
func (v *view) whole() bool {
	if len(v.epochs) == 1 {
		return true
	}
	members := v.members()
	for _, m := range members {
		if m != v.self && !v.writesIn(m, v.current()) {
			return false
		}
	}
	for site := range v.replicas {
		if v.lacks(site) {
			return false
		}
	}
	return !slices.ContainsFunc(v.history.ordered, func(o *Operation) bool {
		r := v.replicas[o.Origin]
		return o.Epoch < v.current().number && o.Origin != v.self && !v.history.base.has(o) && !r.settled(o) && !r.Over && slices.Contains(members, o.Origin)
	})
}

// closed reports whether nothing more is taken in that other members have written in an epoch: this site has said that it has all of the one before
// the current one, and still has. Others may have dropped that since. What comes after all, a lost run has written, and who else has it waits
// until its author has taken it back and says so.
func (v *view) closed(number uint64) bool {
	mine := v.replicas[v.self]
	return number < v.current().number && mine.epoch == v.current().number && mine.Whole && v.whole()
}

// lacks reports whether a site that writes in the current epoch has written something in the one before that is not here yet.
func (v *view) lacks(site SiteID) bool {
	r := v.replicas[site]
	return len(v.epochs) > 1 && r.epoch == v.current().number && v.epochs[0].changes[site] < r.Final && !v.overdue(site)
}

// writesIn reports whether a site is known to write in an epoch, and so in none before it.
func (v *view) writesIn(site SiteID, e *epoch) bool {
	r, known := v.replicas[site]
	return known && r.epoch >= e.number
}

// epochOf returns the document of an epoch, which is the same wherever it is opened: its first change holds nothing but the
// about of the resource and the number.
func (s *Site) epochOf(about About, number uint64) (*epoch, error) {
	about.Epoch = number
	raw, id, err := s.cfg.Documents.Encode(about)
	if err != nil {
		return nil, fmt.Errorf("make epoch %d of %s: %w", number, about.Key, err)
	}
	return newEpoch(number, id, raw), nil
}

// rootOf returns the document by which this site knows the resource of an envelope, that of its first epoch, and the
// envelope's about. What the about says is checked when its document is made.
func (s *Site) rootOf(e Envelope) (first *epoch, about About, err error) {
	if err := json.Unmarshal(e.About, &about); err != nil {
		return nil, About{}, fmt.Errorf("%w: its about: %w", ErrRefused, err)
	}
	if about.Epoch == 0 {
		return newEpoch(0, e.Document, e.About), about, nil
	}
	if first, err = s.epochOf(about, 0); err != nil {
		return nil, About{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return first, about, nil
}

// goesOn reports whether this site has the document of the epoch after that of a document.
func (s *Site) goesOn(ctx context.Context, row DocumentRow) (bool, error) {
	var about About
	if err := json.Unmarshal(row.About, &about); err != nil {
		return false, fmt.Errorf("read the about of document %s: %w", row.ID, err)
	}
	if !about.Schema.ofResource() { // others have one document for good
		return false, nil
	}
	next, err := s.epochOf(about, about.Epoch+1)
	if err != nil {
		return false, err
	}
	_, err = s.cfg.Store.Document(ctx, next.id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// openEpochs loads what is stored of a resource, whose first document's row is row, into v.
func (s *Site) openEpochs(ctx context.Context, v *view, row DocumentRow) error {
	v.epochs = nil
	for number := row.Epoch; ; number++ {
		e, err := s.epochOf(v.about, number)
		if err != nil {
			return err
		}
		stored, err := s.cfg.Store.Document(ctx, e.id)
		if errors.Is(err, ErrNotFound) && len(v.epochs) > 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if e.changes, err = s.cfg.Ledger.Authors(ctx, e.id); err != nil {
			return err
		}
		v.epochs, v.from = append(v.epochs, e), number
		if stored.Checkpoint != nil {
			if err := v.begin(stored.Checkpoint); err != nil {
				return err
			}
		}
		entries, err := s.cfg.Documents.Entries(ctx, e.id)
		if err != nil {
			return err
		}
		v.learn(entries)
		for _, entry := range entries {
			s.takeIn(v, entry)
		}
		v.between[e.id] = maps.Clone(stored.Former)
	}
}

// hears makes the document of an epoch that another site has opened part of the view. It reports whether the envelope is to be
// merged: what belongs to an epoch that is over is not.
func (s *Site) hears(v *view, e Envelope, number uint64) (bool, error) {
	last := v.current()
	switch known := v.numbered(number); {
	case known != nil && known.id != e.Document:
		return false, fmt.Errorf("%w: it is not epoch %d", ErrRefused, number)
	case known != nil:
		return true, nil
	case number < last.number:
		return false, nil
	case number > last.number+1, len(v.epochs) > 1: // the one before has to end here first
		s.queue.add(job{document: v.document}, 0)
		return false, fmt.Errorf("%w: this site knows the resource until epoch %d", ErrMissing, last.number)
	}
	if _, err := s.cfg.Documents.Create(e.Document, e.About); err != nil {
		return false, err
	}
	v.epochs = append(v.epochs, newEpoch(number, e.Document, e.About))
	return true, nil
}

// endedBytes is how large, for each member and for each operation that an epoch may have, the operations of a resource that was deleted
// may be to stay: 4 KiB a member by default. Its last epoch, which has none, takes less than half of that.
const endedBytes = 16

// long reports whether the current epoch has grown so long that the next one is to be opened: by operations, or by what
// sites say of their replicas, or by what nobody needs any more of a resource that was deleted. Opening one costs a change of every
// member.
func (v *view) long(most int) bool {
	current := v.current()
	return current.operations >= most || current.length() >= uint64(4*most+8*len(v.members())) ||
		current.bytes >= endedBytes*most*len(v.members()) && !v.exists()
}

// ending reports whether this site has a part in ending an epoch. While another resource has the name at a member, which settles nothing
// then, that waits for a person.
func (v *view) ending() bool {
	p := v.part(v.self)
	return len(v.epochs) > 1 && (p == partMember || p == partLeaving) && !slices.ContainsFunc(v.members(), v.yielded)
}

// tidy sees to it that what is kept of a resource does not grow: it compacts the history, opens the next epoch of a long one,
// tells that this site writes there, and drops an epoch that is over. The caller holds the turn.
func (s *Site) tidy(ctx context.Context, r *resource) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if errors.Is(err, ErrNotFound) { // it was to be created
		return nil
	}
	if err != nil {
		return err
	}
	switch p := v.part(s.cfg.Self); {
	case p == partFormer && len(v.epochs) > 1: // it may be added again in the next one
		v.compact(0)
		if v.over() {
			return s.drop(ctx, r)
		}
		return nil
	case p != partMember && p != partLeaving:
		return nil
	}
	if _, left := s.resumed.Load(r.id); left && s.uncompared(v.correspondents()) { // others may know of more that this site has written
		return nil
	}
	if len(v.epochs) == 1 && v.long(s.cfg.Epoch) && v.overEverywhere() && v.replica(s.cfg.Self).Settled != nil {
		next, err := s.epochOf(v.about, v.current().number+1)
		if err != nil {
			return err
		}
		if _, err := s.cfg.Documents.Create(next.id, next.raw); err != nil {
			return fmt.Errorf("open epoch %d of %s: %w", next.number, v.about.Key, err)
		}
		v.epochs = append(v.epochs, next)
	}
	if err := s.sayEpoch(ctx, r); err != nil {
		return err
	}
	most := s.cfg.History
	if len(v.epochs) > 1 {
		most = 0
	}
	v.compact(most)
	if err := s.countAfter(ctx, r); err != nil { // what others cannot take in is seen from the checkpoint
		return err
	}
	switch {
	case len(v.bodiless) > 0 && len(v.epochs) == 1:
		return s.store(ctx, r, &Batch{})
	case len(v.epochs) == 1, !v.over():
		return nil
	}
	if err := s.drop(ctx, r); err != nil {
		return err
	}
	if err := s.sayEpoch(ctx, r); err != nil {
		return err
	}
	return s.countAfter(ctx, r)
}

// sayEpoch publishes how far this site is with the epochs, unless it has. The caller holds r.mu, and r.view is loaded.
func (s *Site) sayEpoch(ctx context.Context, r *resource) error {
	v := r.view
	mine, began, both := v.replicas[s.cfg.Self], v.writesIn(s.cfg.Self, v.current()), len(v.epochs) > 1
	if both && (!began || !mine.Whole && v.whole()) || !both && began && v.current().number > 0 && !mine.Over {
		return s.write(ctx, r, []Entry{v.replicaAs(v.replica(s.cfg.Self))}, &Batch{})
	}
	return nil
}

// overEverywhere reports whether every member is known to have the current epoch alone, so that nobody will need anything of
// the one before, nor anybody whom one of them adds.
func (v *view) overEverywhere() bool {
	current := v.current()
	return current.number == 0 || !slices.ContainsFunc(v.members(), func(m SiteID) bool {
		return !v.writesIn(m, current) || !v.replicas[m].Over
	})
}

// over reports whether the epoch before the current one is over here: every member writes in the current one and has all that
// any has written before, and a checkpoint stands for it.
func (v *view) over() bool {
	current := v.current()
	for _, m := range v.members() {
		if !v.writesIn(m, current) || !v.replicas[m].Whole {
			return false
		}
	}
	waits := func(l Line) bool { // its origin will say what it builds on, unless it is gone
		origin, _, _ := strings.Cut(string(l), ".")
		p := v.part(SiteID(origin))
		return l.epoch() < current.number && (p == partMember || p == partLeaving && !v.overdue(SiteID(origin)))
	}
	return v.history.base != nil && v.refused == 0 && !v.history.holdsBack(waits) &&
		!slices.ContainsFunc(v.history.ordered, func(o *Operation) bool { return !v.history.base.has(o) && o.Epoch < current.number })
}

// drop forgets the epoch before the current one: the checkpoint stands for what it had.
func (s *Site) drop(ctx context.Context, r *resource) error {
	v := r.view
	old, current := v.epochs[0], v.current()
	v.history.forget(current.number)
	b, err := s.instead(ctx, v, nil)
	if err != nil {
		s.forget(r)
		return err
	}
	v.epochs = []*epoch{current}
	if err := s.store(ctx, r, b); err != nil {
		return fmt.Errorf("drop epoch %d of %s: %w", old.number, v.about.Key, err)
	}
	s.cfg.Documents.Forget(old.id)
	s.cfg.Log.Info("an epoch of a resource is over", "resource", string(v.about.Key), "epoch", current.number,
		"operations", v.history.base.Count)
	return nil
}

// instead is what puts a checkpoint in the place of the document of the epoch before the current one on disk: this site's own where none is
// given.
func (s *Site) instead(ctx context.Context, v *view, checkpoint []byte) (*Batch, error) {
	old, current := v.epochs[0], v.current()
	first, err := s.cfg.Store.Document(ctx, v.document)
	if err != nil {
		return nil, fmt.Errorf("drop epoch %d of %s: %w", old.number, v.about.Key, err)
	}
	row, err := s.shownTo(ctx, v, old)
	if err != nil {
		return nil, fmt.Errorf("drop epoch %d of %s: %w", old.number, v.about.Key, err)
	}
	if len(row.Former) > 0 {
		v.shownStill[old.number] = slices.Sorted(maps.Keys(row.Former))
	}
	if checkpoint == nil {
		if checkpoint, err = v.encodeCheckpoint(); err != nil {
			return nil, err
		}
	}
	first.Sites, first.Leaving, first.Epoch, first.Checkpoint = nil, nil, current.number, nil
	b := &Batch{Dropped: []DocumentID{old.id}, Documents: []DocumentRow{first, {ID: current.id, About: current.raw, Checkpoint: checkpoint}}}
	if len(row.Former) > 0 { // between those sites and this one it stays as it was
		row.Sites, row.Leaving, row.Epoch = nil, nil, current.number
		b.Documents = append(b.Documents, row)
	}
	return b, nil
}
