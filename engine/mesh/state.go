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
	// authorities are the keys that may say who belongs to the mesh, by rank; lists are the records that have made them so.
	authorities []engine.SiteID
	lists       []*record
	// records are those that count, by author; shared are those of them that are the word of all authorities.
	records map[engine.SiteID]map[engine.RecordKey]*record
	shared  map[engine.RecordKey]*record
	sum     engine.Fingerprint
	// admitted are all that have a certificate, and the founder as long as it is an authority; removed tells since when sites are out,
	// in Unix microseconds; gone are those of them that are no members any more.
	admitted map[engine.SiteID]bool
	removed  map[engine.SiteID]int64
	gone     map[engine.SiteID]bool
	// last is the highest number that is known of this site's own records, top that of all that authorities have said.
	last, top uint64
	// members follow from the rest; nil: they are to be made.
	members []engine.Member
}

// New returns the state of a site that belongs to no mesh yet.
func New(self engine.SiteID) *State {
	s := &State{self: self, gone: map[engine.SiteID]bool{}}
	s.clear()
	return s
}

// clear forgets all records that count.
func (s *State) clear() {
	s.records, s.shared = map[engine.SiteID]map[engine.RecordKey]*record{}, map[engine.RecordKey]*record{}
	s.admitted, s.removed = map[engine.SiteID]bool{}, map[engine.SiteID]int64{}
	s.sum, s.top, s.members = engine.Fingerprint{}, 0, nil
}

// Clone returns a state of its own that knows the same: what records would change can be tried out on it.
func (s *State) Clone() *State {
	c := *s
	c.records = make(map[engine.SiteID]map[engine.RecordKey]*record, len(s.records))
	for author, mine := range s.records {
		c.records[author] = maps.Clone(mine)
	}
	c.shared, c.admitted, c.removed, c.gone = maps.Clone(s.shared), maps.Clone(s.admitted), maps.Clone(s.removed), maps.Clone(s.gone)
	return &c
}

// News is what records have told that was not known.
type News struct {
	// Records are those that count now: they are to be made durable, and passed on.
	Records []engine.SignedRecord
	// Dropped have counted, and do no more, with nothing in their place: they are to be taken off the disk.
	Dropped []engine.SignedRecord
	// Joined were let in, Removed taken out of the mesh, Told have said something else of themselves than before. Revoked are those whose
	// keys are not trusted any more, among Removed or removed before.
	Joined, Removed, Revoked, Told []engine.SiteID
	// Rules says that a site's rules are others than before.
	Rules bool
	// Overreach are members that say what only authorities may. Nobody can know that they are none: this site may not have heard yet.
	Overreach []engine.SiteID
	// Own are records of this site's own. Those that it has not just made itself are of another run under its key, and have
	// taken the place of what it had said: it says that again.
	Own []engine.RecordKey
}

// Wants reports whether Take would take a record in if its author has signed it and may say it. So what is known already
// needs no check of its signature.
func (s *State) Wants(raw engine.SignedRecord) bool {
	r, err := open(raw)
	if err != nil {
		return true // Take says what is wrong
	}
	known := s.rival(r)
	return known == nil || r.newer(known) > 0
}

// rival is what counts now in the place of r: nil for nothing.
func (s *State) rival(r *record) *record {
	if shared(r.Key.Kind) {
		return s.shared[r.Key]
	}
	return s.records[r.raw.Author][r.Key]
}

// Take takes records in, whose signatures were checked, in any order: among them may be what lets others count. All that can
// be is taken, whatever is wrong with the rest. ErrMissing: it is not known that an author is a member, or an authority; whoever
// sent the record knows why. ErrRefused: no honest site has such a record. ErrTooLarge: there are too many, and this one is left out.
func (s *State) Take(raws ...engine.SignedRecord) (News, error) {
	t := taking{State: s, waiting: map[engine.SiteID][]*record{}}
	var errs []error
	var rest, lists []*record
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
		switch r.Key.Kind {
		case engine.RecordMesh:
			t.ready = append(t.ready, r)
		case engine.RecordAuthorities:
			lists = append(lists, r)
		default:
			rest = append(rest, r)
		}
	}
	errs = append(errs, t.run()...)
	errs = append(errs, t.follow(slices.Clone(lists)))
	t.ready = append(t.ready, rest...)
	errs = append(errs, t.run()...)
	t.overreach(lists)
	for _, author := range slices.Sorted(maps.Keys(t.waiting)) {
		if left := slices.DeleteFunc(t.waiting[author], t.knew); len(left) > 0 {
			t.overreach(left)
			errs = append(errs, fmt.Errorf("take %d records: %w: %s is not known to be a member, or an authority", len(left), engine.ErrMissing, author))
		}
	}
	for _, r := range t.heard { // another may have taken its place since
		if t.records[r.raw.Author][r.Key] == r {
			t.news.Records = append(t.news.Records, r.raw)
		}
	}
	return t.news, errors.Join(errs...)
}

// taking is one Take.
type taking struct {
	*State
	news  News
	ready []*record
	heard []*record // that have come to count
	// waiting are those that count once a site was let in.
	waiting map[engine.SiteID][]*record
	// was is the state before the authorities have changed; nil: they have not.
	was *State
}

// overreach takes note of the members among the authors of records who say what only authorities may.
func (t *taking) overreach(records []*record) {
	for _, r := range records {
		if author := r.raw.Author; orders(r.Key.Kind) && t.IsMember(author) && !t.IsAuthority(author) && !slices.Contains(t.news.Overreach, author) {
			t.news.Overreach = append(t.news.Overreach, author)
		}
	}
}

// follow takes in lists of authorities. Where others have the say from then on, all that is known is taken in anew: what counts with
// them. The error tells of lists that do not count, as far as is known here.
func (t *taking) follow(news []*record) error {
	news = slices.DeleteFunc(news, func(r *record) bool {
		known := t.rival(r)
		return known != nil && r.newer(known) == 0
	})
	if len(news) == 0 || t.id == "" {
		return missing(news)
	}
	lists, keys := t.State.follow(slices.Concat(t.lists, news))
	left := missing(slices.DeleteFunc(news, func(r *record) bool { return slices.Contains(lists, r) }))
	if slices.Equal(lists, t.lists) {
		return left
	}
	was := *t.State
	t.was, t.lists, t.authorities = &was, lists, keys
	t.clear()
	for _, mine := range was.records {
		for _, r := range mine {
			if r.Key.Kind == engine.RecordMesh {
				t.count(r)
			} else if r.Key.Kind != engine.RecordAuthorities {
				t.ready = append(t.ready, r)
			}
		}
	}
	for _, r := range lists {
		t.count(r)
	}
	if t.IsAuthority(t.founder) {
		t.admit(t.founder)
	}
	return left
}

func missing(lists []*record) error {
	if len(lists) == 0 {
		return nil
	}
	return fmt.Errorf("take %d lists of authorities: %w: they follow none that counts", len(lists), engine.ErrMissing)
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
			err = fmt.Errorf("take a record of %s: %w", r.raw.Author, err)
			if len(errs) == 0 || errs[len(errs)-1].Error() != err.Error() { // what is said once of thousands is enough
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// needs is the site that has to be admitted, or to be an authority, before r counts; empty: none.
func (t *taking) needs(r *record) engine.SiteID {
	author, about := r.raw.Author, engine.SiteID(r.Key.About)
	switch {
	case r.Key.Kind == engine.RecordMesh && (t.id == "" || author == t.founder):
	case orders(r.Key.Kind) && !t.IsAuthority(author), !orders(r.Key.Kind) && !t.admitted[author] && !t.IsAuthority(author):
		return author
	case removes(r.Key.Kind) && !t.admitted[about]:
		return about
	}
	return ""
}

// put makes a record count, if it is newer than what did.
func (t *taking) put(r *record) error {
	old := t.rival(r)
	if old != nil && r.newer(old) <= 0 {
		return nil
	}
	if o, ok := r.said.(engine.MeshOrigin); ok && t.id != "" && (r.raw.Author != t.founder || o.Mesh != t.id) {
		return fmt.Errorf("%w: another mesh", engine.ErrRefused)
	}
	// What founders have signed before certificates named the mesh can mean no other one.
	if orders(r.Key.Kind) && r.Mesh != t.id && (r.Mesh != "" || r.raw.Author != t.founder) {
		return fmt.Errorf("%w: an authority says it of mesh %.60q", engine.ErrRefused, r.Mesh)
	}
	if err := t.bound(r); err != nil {
		return err
	}
	if old != nil {
		t.sum.Sub(old.fingerprint())
		delete(t.records[old.raw.Author], old.Key)
	}
	t.count(r)
	t.apply(r, old)
	return nil
}

// count has a record among those that count.
func (t *taking) count(r *record) {
	author := r.raw.Author
	if t.records[author] == nil {
		t.records[author] = map[engine.RecordKey]*record{}
	}
	t.records[author][r.Key] = r
	t.sum.Add(r.fingerprint())
	if shared(r.Key.Kind) {
		t.shared[r.Key] = r
	}
	if orders(r.Key.Kind) {
		t.top = max(t.top, r.Number)
	}
	if t.knew(r) {
		return
	}
	t.heard = append(t.heard, r)
	if author == t.self {
		t.news.Own = append(t.news.Own, r.Key)
	}
}

// bound refuses what is more than one site may say, or all authorities together.
func (t *taking) bound(r *record) error {
	if t.rival(r) != nil {
		return nil
	}
	mine := t.records[r.raw.Author]
	switch kind := r.Key.Kind; {
	case kind == engine.RecordCertificate && !t.admitted[engine.SiteID(r.Key.About)] && len(t.admitted) >= MaxMembers:
		return fmt.Errorf("%w: the mesh has %d sites", engine.ErrTooLarge, len(t.admitted))
	case kind == engine.RecordZone && count(t.shared, func(r *record) bool { return r.Key.Kind == kind }) >= MaxZones:
		return fmt.Errorf("%w: the mesh has %d zones", engine.ErrTooLarge, MaxZones)
	case r.said == nil && count(mine, func(r *record) bool { return r.said == nil }) >= maxOthers:
		last := lastUnknown(mine)
		if r.Key.Compare(last.Key) > 0 {
			return fmt.Errorf("%w: it says %d things that are unknown here", engine.ErrTooLarge, maxOthers)
		}
		t.drop(last)
	}
	return nil
}

// lastUnknown is the last of what one site says that is unknown here. Those before it stay when there are too many: sites that have heard of
// different ones come to have the same.
func lastUnknown(records map[engine.RecordKey]*record) (last *record) {
	for _, r := range records {
		if r.said == nil && (last == nil || r.Key.Compare(last.Key) > 0) {
			last = r
		}
	}
	return last
}

// drop has a record count no more.
func (t *taking) drop(r *record) {
	t.sum.Sub(r.fingerprint())
	delete(t.records[r.raw.Author], r.Key)
	t.news.Dropped = append(t.news.Dropped, r.raw)
}

func count(records map[engine.RecordKey]*record, of func(*record) bool) (n int) {
	for _, r := range records {
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
		if t.id == "" {
			t.id, t.founder, t.authorities = said.Mesh, r.raw.Author, []engine.SiteID{r.raw.Author}
			t.admit(t.founder)
		}
	case engine.SiteRecord:
		var before engine.SiteRecord
		if old != nil {
			before = old.said.(engine.SiteRecord)
		}
		if !t.knew(r) {
			t.news.Rules = t.news.Rules || !maps.Equal(before.Rules, said.Rules)
			t.news.Told = append(t.news.Told, r.raw.Author)
		}
	case engine.Certificate:
		if !t.admitted[about] {
			t.admit(about)
		}
	case engine.Removal: // or a revocation
		if _, removed := t.removed[about]; !removed && !t.wasRemoved(about) {
			t.news.Removed = append(t.news.Removed, about)
		}
		if r.Key.Kind == engine.RecordRevocation && old == nil && !t.knew(r) {
			t.news.Revoked = append(t.news.Revoked, about)
		}
		t.removed[about] = t.removedAt(about)
	}
}

// removedAt is the earlier of the times at which a site was retired and revoked.
func (s *State) removedAt(id engine.SiteID) int64 {
	earliest := int64(maxTime)
	for _, kind := range []engine.RecordKind{engine.RecordRemoval, engine.RecordRevocation} {
		if r := s.shared[engine.RecordKey{Kind: kind, About: string(id)}]; r != nil {
			earliest = min(earliest, r.said.(engine.Removal).At)
		}
	}
	return earliest
}

// wasRemoved reports whether a site was removed before the authorities have changed.
func (t *taking) wasRemoved(id engine.SiteID) bool {
	if t.was == nil {
		return false
	}
	_, removed := t.was.removed[id]
	return removed
}

// knew reports whether a record counted before the authorities have changed.
func (t *taking) knew(r *record) bool { return t.was != nil && t.was.records[r.raw.Author][r.Key] == r }

// admit takes note of a member; what waits for that is ready.
func (t *taking) admit(id engine.SiteID) {
	t.admitted[id] = true
	if t.was == nil || !t.was.admitted[id] {
		t.news.Joined = append(t.news.Joined, id)
	}
	t.ready = append(t.ready, t.waiting[id]...)
	delete(t.waiting, id)
}

// Fingerprint is the sum of the fingerprints of all records that count. Sites that agree have the same.
func (s *State) Fingerprint() engine.Fingerprint { return s.sum }

// Records returns all records that count, in an order in which each can be taken in after those before it: first how the mesh
// began, then its authorities, then the certificates, then the rest.
func (s *State) Records() []engine.SignedRecord {
	var all []*record
	for _, mine := range s.records {
		all = slices.AppendSeq(all, maps.Values(mine))
	}
	rank := func(r *record) int {
		switch r.said.(type) {
		case engine.MeshOrigin:
			return -1
		case engine.Authorities:
			return slices.Index(s.lists, r)
		case engine.Certificate:
			return maxLists
		}
		return maxLists + 1
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
