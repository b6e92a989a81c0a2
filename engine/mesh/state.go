package mesh

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// State is what one site knows of the mesh. It belongs to one goroutine; what it returns is never changed after, and must not
// be by others.
type State struct {
	self    engine.SiteID
	id      string // of the mesh; empty: this site belongs to none
	founder engine.SiteID
	// records are those that count, by author.
	records map[engine.SiteID]map[engine.RecordKey]*record
	sum     engine.Fingerprint
	zones   map[engine.ZoneName]*record
	// admitted are the founder and all that were ever let in; removed tells since when sites are out, in Unix microseconds; gone
	// are those of them that are no members any more.
	admitted map[engine.SiteID]bool
	removed  map[engine.SiteID]int64
	gone     map[engine.SiteID]bool
	// last is the highest number that is known of this site's own records.
	last uint64
	// entries and members follow from the rest; nil: they are to be made.
	entries *entries
	members []engine.Member
}

// New returns the state of a site that belongs to no mesh yet.
func New(self engine.SiteID) *State {
	return &State{self: self, records: map[engine.SiteID]map[engine.RecordKey]*record{}, zones: map[engine.ZoneName]*record{},
		admitted: map[engine.SiteID]bool{}, removed: map[engine.SiteID]int64{}, gone: map[engine.SiteID]bool{}}
}

// Clone returns a state of its own that knows the same: what records would change can be tried out on it.
func (s *State) Clone() *State {
	c := *s
	c.records = make(map[engine.SiteID]map[engine.RecordKey]*record, len(s.records))
	for author, mine := range s.records {
		c.records[author] = maps.Clone(mine)
	}
	c.zones, c.admitted, c.removed, c.gone = maps.Clone(s.zones), maps.Clone(s.admitted), maps.Clone(s.removed), maps.Clone(s.gone)
	return &c
}

// News is what records have told that was not known.
type News struct {
	// Records are those that count now: they are to be made durable, and passed on.
	Records []engine.SignedRecord
	// Joined were let in, Removed taken out of the mesh, Told have said something else of themselves than before.
	Joined, Removed, Told []engine.SiteID
	// Rules says that a site's rules are others than before.
	Rules bool
	// Own are records of this site's own. Those that it has not just made itself are of another run under its key, and have
	// taken the place of what it had said: it says that again.
	Own []engine.RecordKey
}

// Wants reports whether Take would take a record in if its author has signed it and is a member. So what is known already
// needs no check of its signature.
func (s *State) Wants(raw engine.SignedRecord) bool {
	r, err := open(raw)
	if err != nil {
		return true // Take says what is wrong
	}
	known := s.rival(r)
	return known == nil || r.Key.Kind == engine.RecordZone && r.decode() != nil || r.newer(known) > 0
}

// rival is what counts now in the place of r: nil for nothing.
func (s *State) rival(r *record) *record {
	if r.Key.Kind == engine.RecordZone {
		return s.zones[engine.ZoneName(r.Key.About)]
	}
	return s.records[r.raw.Author][r.Key]
}

// Take takes records in, whose signatures were checked, in any order: among them may be what lets others count. All that can
// be is taken, whatever is wrong with the rest. ErrMissing: it is not known that an author is a member; whoever sent the record
// knows why. ErrRefused: no honest site has such a record. ErrTooLarge: there are too many, and this one is left out.
func (s *State) Take(raws ...engine.SignedRecord) (News, error) {
	t := taking{State: s, waiting: map[engine.SiteID][]*record{}}
	var errs []error
	for _, raw := range raws {
		r, err := open(raw)
		if err == nil {
			err = r.decode()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("take a record of %.60q: %w", raw.Author, err))
			continue
		}
		if r.raw.Author == s.self {
			s.last = max(s.last, r.Number)
		}
		if r.Key.Kind == engine.RecordMesh {
			t.ready = slices.Insert(t.ready, 0, r)
		} else {
			t.ready = append(t.ready, r)
		}
	}
	errs = append(errs, t.run()...)
	for _, author := range slices.Sorted(maps.Keys(t.waiting)) {
		errs = append(errs, fmt.Errorf("take %d records: %w: %s is not known to be a member", len(t.waiting[author]), engine.ErrMissing, author))
	}
	return t.news, errors.Join(errs...)
}

// taking is one Take.
type taking struct {
	*State
	news  News
	ready []*record
	// waiting are those that count once a site was let in.
	waiting map[engine.SiteID][]*record
}

func (t *taking) run() (errs []error) {
	for len(t.ready) > 0 {
		r := t.ready[0]
		t.ready = t.ready[1:]
		if needs := t.needs(r); needs != "" {
			t.waiting[needs] = append(t.waiting[needs], r)
			continue
		}
		if err := t.put(r); err != nil {
			errs = append(errs, fmt.Errorf("take a record of %s: %w", r.raw.Author, err))
		}
	}
	return errs
}

// needs is the site that has to be admitted before r counts; empty: none.
func (t *taking) needs(r *record) engine.SiteID {
	about := engine.SiteID(r.Key.About)
	switch {
	case t.id == "" && r.Key.Kind == engine.RecordMesh:
	case !t.admitted[r.raw.Author]:
		return r.raw.Author
	case r.Key.Kind == engine.RecordRemoval && !t.admitted[about]:
		return about
	}
	return ""
}

// put makes a record count, if it is newer than what did.
func (t *taking) put(r *record) error {
	author := r.raw.Author
	old := t.rival(r)
	if old != nil && r.newer(old) <= 0 {
		return nil
	}
	if o, ok := r.said.(engine.MeshOrigin); ok && t.id != "" && (author != t.founder || o.Mesh != t.id) {
		return fmt.Errorf("%w: another mesh", engine.ErrRefused)
	}
	if err := t.bound(r); err != nil {
		return err
	}
	if old != nil {
		t.sum.Sub(old.fingerprint())
		delete(t.records[old.raw.Author], old.Key)
	}
	if t.records[author] == nil {
		t.records[author] = map[engine.RecordKey]*record{}
	}
	t.records[author][r.Key] = r
	t.sum.Add(r.fingerprint())
	t.news.Records = append(t.news.Records, r.raw)
	if author == t.self {
		t.news.Own = append(t.news.Own, r.Key)
	}
	t.apply(r, old)
	return nil
}

// bound refuses what is more than one site may say.
func (t *taking) bound(r *record) error {
	mine := t.records[r.raw.Author]
	if mine[r.Key] != nil {
		return nil
	}
	switch kind := r.Key.Kind; {
	case kind == engine.RecordAdmission && !t.admitted[engine.SiteID(r.Key.About)] && len(t.admitted) >= MaxMembers:
		return fmt.Errorf("%w: the mesh has %d sites", engine.ErrTooLarge, len(t.admitted))
	case kind == engine.RecordZone && count(mine, func(r *record) bool { return r.Key.Kind == kind }) >= MaxZones:
		return fmt.Errorf("%w: it has set %d zones", engine.ErrTooLarge, MaxZones)
	case r.said == nil && count(mine, func(r *record) bool { return r.said == nil }) >= maxOthers:
		return fmt.Errorf("%w: it says %d things that are unknown here", engine.ErrTooLarge, maxOthers)
	}
	return nil
}

func count(mine map[engine.RecordKey]*record, of func(*record) bool) (n int) {
	for _, r := range mine {
		if of(r) {
			n++
		}
	}
	return n
}

// apply does what a record says that counts from now on.
func (t *taking) apply(r, old *record) {
	about := engine.SiteID(r.Key.About)
	t.members = nil
	switch said := r.said.(type) {
	case engine.MeshOrigin:
		t.entries = nil
		if t.id == "" {
			t.id, t.founder = said.Mesh, r.raw.Author
			t.admit(t.founder)
		}
	case engine.SiteRecord:
		var before engine.SiteRecord
		if old != nil {
			before = old.said.(engine.SiteRecord)
		}
		t.news.Rules = t.news.Rules || !maps.Equal(before.Rules, said.Rules)
		t.news.Told = append(t.news.Told, r.raw.Author)
	case engine.Admission:
		t.entries = nil
		if !t.admitted[about] {
			t.admit(about)
		}
	case engine.Removal:
		if _, known := t.removed[about]; !known {
			t.news.Removed = append(t.news.Removed, about)
		}
		t.removed[about] = t.removedAt(about)
	case engine.ZoneRecord:
		t.zones[engine.ZoneName(r.Key.About)] = r
	}
}

// admit takes note of a member; what waits for that is ready.
func (t *taking) admit(id engine.SiteID) {
	t.admitted[id] = true
	t.news.Joined = append(t.news.Joined, id)
	t.ready = append(t.ready, t.waiting[id]...)
	delete(t.waiting, id)
}

// removedAt is the earliest of the times at which members say that a site was taken out.
func (s *State) removedAt(id engine.SiteID) int64 {
	key, earliest := engine.RecordKey{Kind: engine.RecordRemoval, About: string(id)}, int64(maxTime)
	for _, mine := range s.records {
		if r := mine[key]; r != nil {
			earliest = min(earliest, r.said.(engine.Removal).At)
		}
	}
	return earliest
}

// Fingerprint is the sum of the fingerprints of all records that count. Sites that agree have the same.
func (s *State) Fingerprint() engine.Fingerprint { return s.sum }

// Records returns all records that count, in an order in which each can be taken in after those before it: first how the mesh
// began, then who let whom in, then the rest.
func (s *State) Records() []engine.SignedRecord {
	var all []*record
	for _, mine := range s.records {
		all = slices.AppendSeq(all, maps.Values(mine))
	}
	joined := s.joined().of
	rank := func(r *record) int64 {
		switch r.Key.Kind {
		case engine.RecordMesh:
			return -1
		case engine.RecordAdmission: // its author was let in before
			return joined[r.raw.Author].at
		}
		return maxTime * 2
	}
	slices.SortFunc(all, func(a, b *record) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.raw.Author, b.raw.Author),
			cmp.Compare(a.Key.Kind, b.Key.Kind), cmp.Compare(a.Key.About, b.Key.About))
	})
	raws := make([]engine.SignedRecord, len(all))
	for i, r := range all {
		raws[i] = r.raw
	}
	return raws
}
