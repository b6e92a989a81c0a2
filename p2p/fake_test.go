package p2p

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
)

// fakeMembership is a list of members in memory.
type fakeMembership struct {
	self engine.SiteID

	mu      sync.Mutex
	members map[engine.SiteID]engine.Member
	secret  string // of the open invitation; empty: none
	records []engine.SignedRecord
	joined  func(engine.Member)
	asked   func(engine.SiteID) // called after each answer of IsMember was made up
}

func (f *fakeMembership) Self() engine.SiteID { return f.self }

func (f *fakeMembership) Members() []engine.Member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.members))
}

func (f *fakeMembership) IsMember(id engine.SiteID) bool {
	f.mu.Lock()
	_, ok := f.members[id]
	asked := f.asked
	f.mu.Unlock()
	if asked != nil {
		asked(id)
	}
	return ok
}

func (f *fakeMembership) Inviting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.secret != ""
}

func (f *fakeMembership) Admit(_ context.Context, r engine.JoinRequest) ([]engine.SignedRecord, error) {
	f.mu.Lock()
	if f.secret == "" || string(r.Secret) != f.secret {
		f.mu.Unlock()
		return nil, &engine.Refusal{Status: http.StatusForbidden, Type: "join", Detail: "the secret is wrong"}
	}
	m := engine.Member{ID: r.Site, SiteRecord: r.Record, Joined: time.Now()}
	f.members[r.Site] = m
	joined, records := f.joined, f.records
	f.mu.Unlock()
	if joined != nil {
		joined(m)
	}
	return records, nil
}

func (f *fakeMembership) add(m engine.Member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[m.ID] = m
}

func (f *fakeMembership) remove(id engine.SiteID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.members, id)
}

func (f *fakeMembership) invite(secret string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.secret = secret
}

// fakeDocument is a grow-only set of numbered changes by line.
type fakeDocument struct {
	placement []engine.SiteID
	about     []byte
	changes   map[engine.Line][]engine.SignedChange
	digest    engine.Fingerprint
}

func (d *fakeDocument) version() map[engine.Line]uint64 {
	v := map[engine.Line]uint64{}
	for author, changes := range d.changes {
		v[author] = uint64(len(changes))
	}
	return v
}

// count computes the digest.
func (d *fakeDocument) count() { d.digest = testFingerprint(d.about, engine.Encode(d.version())) }

func testFingerprint(parts ...[]byte) (f engine.Fingerprint) {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	b := h.Sum(nil)
	for i := range f {
		f[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return f
}

// fakeExchange is a map of documents in memory. A change's bytes are its number in 8 bytes and a payload. It keeps for each
// other site the fingerprints of the smallest ranges, as the engine does.
type fakeExchange struct {
	self engine.SiteID

	mu      sync.Mutex
	docs    map[engine.DocumentID]*fakeDocument
	ranges  map[engine.Range][]engine.DocumentID
	sums    map[engine.SiteID]map[engine.Range]*engine.Fingerprint
	records map[string]engine.SignedRecord
	// fault, unless nil, is asked first by Receive.
	fault    func(from engine.SiteID, l *engine.Letter) error
	letters  int // that were received
	parcels  int // likewise, also of those that told nothing new
	statuses int
	bytes    int // of changes, likewise
	listed   int // how often Digests was called
	senders  map[engine.SiteID]int
	orders   int                                 // how often a change came before the one that it follows
	arrived  func()                              // unless nil, called when Receive has taken a letter in
	passOn   func(*engine.Letter, engine.SiteID) // likewise, with what was new
	most     int                                 // the most bytes that Missing gave at once
	blob     func(first int64) io.Reader
	digests  engine.Digests // of the blob
}

func newFakeExchange(self engine.SiteID) *fakeExchange {
	return &fakeExchange{self: self, docs: map[engine.DocumentID]*fakeDocument{}, ranges: map[engine.Range][]engine.DocumentID{},
		sums: map[engine.SiteID]map[engine.Range]*engine.Fingerprint{}, records: map[string]engine.SignedRecord{}, senders: map[engine.SiteID]int{}}
}

type testAbout struct {
	Name      string          `cbor:"1,keyasint"`
	Placement []engine.SiteID `cbor:"2,keyasint"`
}

func testDocumentID(about []byte) engine.DocumentID {
	d := sha256.Sum256(about)
	return engine.DocumentID(hex.EncodeToString(d[:]))
}

// count counts the document's digest in its range for every site that shares it. The caller holds mu.
func (f *fakeExchange) count(id engine.DocumentID, d *fakeDocument, add func(*engine.Fingerprint, engine.Fingerprint)) {
	r, digest := engine.RangeOf(id, engine.RangeDepth), d.digest
	for _, site := range d.placement {
		if f.sums[site] == nil {
			f.sums[site] = map[engine.Range]*engine.Fingerprint{}
		}
		if f.sums[site][r] == nil {
			f.sums[site][r] = &engine.Fingerprint{}
		}
		add(f.sums[site][r], digest)
	}
}

// change changes a document and what is counted of it. The caller holds mu.
func (f *fakeExchange) change(id engine.DocumentID, d *fakeDocument, how func()) {
	f.count(id, d, (*engine.Fingerprint).Sub)
	how()
	d.count()
	f.count(id, d, (*engine.Fingerprint).Add)
}

// open returns the document of an About, made when it is not there. The caller holds mu.
func (f *fakeExchange) open(about []byte) (engine.DocumentID, *fakeDocument, error) {
	id := testDocumentID(about)
	if d := f.docs[id]; d != nil {
		return id, d, nil
	}
	var a testAbout
	if err := engine.Decode(about, &a); err != nil {
		return "", nil, err
	}
	d := &fakeDocument{placement: a.Placement, about: about, changes: map[engine.Line][]engine.SignedChange{}}
	d.count()
	f.docs[id] = d
	r := engine.RangeOf(id, engine.RangeDepth)
	at, _ := slices.BinarySearch(f.ranges[r], id)
	f.ranges[r] = slices.Insert(f.ranges[r], at, id)
	f.count(id, d, (*engine.Fingerprint).Add)
	return id, d, nil
}

func (f *fakeExchange) create(name string, placement []engine.SiteID) engine.DocumentID {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, _, err := f.open(engine.Encode(testAbout{name, placement}))
	if err != nil {
		panic(err)
	}
	return id
}

// write makes a change of this site and returns to whom it goes, and as what.
func (f *fakeExchange) write(id engine.DocumentID, payload []byte) ([]engine.SiteID, *engine.Letter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.docs[id]
	line := engine.LineOf(f.self, "1")
	b := binary.BigEndian.AppendUint64(nil, uint64(len(d.changes[line])+1))
	c := engine.SignedChange{Line: line, Signature: make([]byte, signatureLen), Bytes: append(b, payload...)}
	f.change(id, d, func() { d.changes[line] = append(d.changes[line], c) })
	return d.placement, &engine.Letter{Parcels: []engine.Parcel{{About: d.about, Changes: []engine.SignedChange{c}}}, Sent: d.placement}
}

func (f *fakeExchange) Receive(_ context.Context, from engine.SiteID, l *engine.Letter) error {
	f.mu.Lock()
	fault, arrived, passOn := f.fault, f.arrived, f.passOn
	f.mu.Unlock()
	if fault != nil {
		if err := fault(from, l); err != nil {
			return err
		}
	}
	news, err := f.take(from, l)
	if arrived != nil {
		arrived()
	}
	if passOn != nil && len(news.Parcels) > 0 {
		passOn(news, from)
	}
	return err
}

// take takes a letter in and returns what was new in it.
func (f *fakeExchange) take(from engine.SiteID, l *engine.Letter) (news *engine.Letter, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	news = &engine.Letter{Sent: l.Sent}
	f.letters++
	f.parcels += len(l.Parcels)
	f.statuses += len(l.Statuses)
	f.senders[from]++
	for _, r := range l.Records {
		f.records[string(r.Record)] = r
	}
	for _, p := range l.Parcels {
		id, d, wrong := f.open(p.About)
		if wrong == nil && (!slices.Contains(d.placement, f.self) || !slices.Contains(d.placement, from)) {
			wrong = fmt.Errorf("%w: not shared", engine.ErrRefused)
		}
		if wrong != nil {
			return news, wrong
		}
		got := p
		got.Changes = nil
		f.change(id, d, func() {
			for _, c := range p.Changes {
				f.bytes += len(c.Bytes)
				number := int(binary.BigEndian.Uint64(c.Bytes))
				switch have := len(d.changes[c.Line]); {
				case number == have+1:
					d.changes[c.Line] = append(d.changes[c.Line], c)
					got.Changes = append(got.Changes, c)
				case number > have+1:
					f.orders++
					err = engine.ErrMissing
				}
			}
		})
		if len(got.Changes) > 0 {
			news.Parcels = append(news.Parcels, got)
		}
	}
	return news, err
}

func (f *fakeExchange) Fingerprints(with engine.SiteID, ranges []engine.Range) []engine.Fingerprint {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]engine.Fingerprint, len(ranges))
	for i, r := range ranges {
		if r.Depth == engine.RangeDepth {
			if s := f.sums[with][r]; s != nil {
				all[i] = *s
			}
			continue
		}
		first, end := ends(r)
		for part, s := range f.sums[with] {
			if int(part.First) >= first && int(part.First) < end {
				all[i].Add(*s)
			}
		}
	}
	return all
}

func (f *fakeExchange) Digests(_ context.Context, with engine.SiteID, r engine.Range) ([]engine.Digest, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed++
	var all []engine.Digest
	first, end := ends(r)
	for part := first; part < end; part++ {
		for _, id := range f.ranges[engine.Range{Depth: engine.RangeDepth, First: uint16(part)}] {
			if d := f.docs[id]; slices.Contains(d.placement, with) {
				all = append(all, engine.Digest{Document: id, Digest: d.digest})
			}
		}
	}
	return all, nil
}

func (f *fakeExchange) Have(_ context.Context, with engine.SiteID, ids []engine.DocumentID) ([]engine.Have, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []engine.Have
	for _, id := range ids {
		if d := f.docs[id]; d != nil && slices.Contains(d.placement, with) {
			all = append(all, engine.Have{Document: id, Changes: map[uint64]map[engine.Line]uint64{0: d.version()}})
		}
	}
	return all, nil
}

func (f *fakeExchange) Missing(_ context.Context, with engine.SiteID, have []engine.Have, limit int) (*engine.Letter, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, size := &engine.Letter{}, 0
	defer func() { f.most = max(f.most, size) }()
	for covered, h := range have {
		d := f.docs[h.Document]
		if d == nil || !slices.Contains(d.placement, with) {
			continue
		}
		p := engine.Parcel{About: d.about}
		size += len(d.about)
		for _, line := range slices.Sorted(maps.Keys(d.changes)) {
			for _, c := range d.changes[line][min(int(h.Changes[0][line]), len(d.changes[line])):] {
				if size > len(d.about) && size+len(c.Bytes) > limit {
					if p.More = true; len(p.Changes) > 0 {
						l.Parcels = append(l.Parcels, p)
					}
					return l, covered, nil
				}
				p.Changes = append(p.Changes, c)
				size += len(c.Bytes) + 128
			}
		}
		if len(p.Changes) > 0 || len(h.Changes) == 0 {
			l.Parcels = append(l.Parcels, p)
		}
	}
	return l, len(have), nil
}

func (f *fakeExchange) MeshFingerprint() (sum engine.Fingerprint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.records {
		sum.Add(testFingerprint(r.Record))
	}
	return sum
}

func (f *fakeExchange) MeshRecords() []engine.SignedRecord {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(maps.Values(f.records), func(a, b engine.SignedRecord) int { return cmp.Compare(string(a.Record), string(b.Record)) })
}

// record adds a record of this site to those of the mesh.
func (f *fakeExchange) record(text string) engine.SignedRecord {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := engine.SignedRecord{Author: f.self, Record: []byte(text), Signature: make([]byte, signatureLen)}
	f.records[text] = r
	return r
}

// Blob gives the only blob, if there is one, to the members of the document's placement.
func (f *fakeExchange) Blob(_ context.Context, with engine.SiteID, id engine.DocumentID, _ engine.BlobRef, first int64) (engine.Digests, io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.docs[id]
	if d == nil || f.blob == nil || !slices.Contains(d.placement, with) {
		return nil, nil, engine.ErrNotFound
	}
	return f.digests, io.NopCloser(f.blob(first)), nil
}

// documents counts them.
func (f *fakeExchange) documents() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.docs)
}

// sum is that of all that is shared with a site, and of the mesh. Two sites that have the same have the same sum.
func (f *fakeExchange) sum(with engine.SiteID) [2]engine.Fingerprint {
	return [2]engine.Fingerprint{f.Fingerprints(with, []engine.Range{{}})[0], f.MeshFingerprint()}
}

func (f *fakeExchange) with(set func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	set()
}

func (f *fakeExchange) setFault(fault func(from engine.SiteID, l *engine.Letter) error) {
	f.with(func() { f.fault = fault })
}

var (
	_ engine.Exchange   = (*fakeExchange)(nil)
	_ engine.Membership = (*fakeMembership)(nil)
)
