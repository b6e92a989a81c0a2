package p2p

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"go.uber.org/goleak"

	"github.com/skerry/skerry/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(ending{m}) }

// ending runs the tests and gives what they started its time to end: goleak waits for less than half a second.
type ending struct{ m *testing.M }

func (e ending) Run() int {
	code := e.m.Run()
	for begin := time.Now(); goleak.Find() != nil && time.Since(begin) < patience; {
		time.Sleep(10 * time.Millisecond)
	}
	return code
}

// fakeMembership is a list of members in memory.
type fakeMembership struct {
	self engine.SiteID

	mu      sync.Mutex
	members map[engine.SiteID]engine.Member
	secret  string // of the open invitation; empty: none
	mesh    engine.Envelope
	joined  func(engine.Member)
}

func (f *fakeMembership) Self() engine.SiteID { return f.self }

func (f *fakeMembership) Members() []engine.Member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.members))
}

func (f *fakeMembership) IsMember(id engine.SiteID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.members[id]
	return ok
}

func (f *fakeMembership) Inviting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.secret != ""
}

func (f *fakeMembership) Admit(_ context.Context, r engine.JoinRequest) (engine.Envelope, error) {
	f.mu.Lock()
	if f.secret == "" || string(r.Secret) != f.secret {
		f.mu.Unlock()
		return engine.Envelope{}, &engine.Refusal{Status: http.StatusForbidden, Type: "join", Detail: "the secret is wrong"}
	}
	m := engine.Member{ID: r.Site, SiteRecord: r.Record, Joined: time.Now()}
	f.members[r.Site] = m
	joined, mesh := f.joined, f.mesh
	f.mu.Unlock()
	if joined != nil {
		joined(m)
	}
	return mesh, nil
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

// fakeDocument is a grow-only set of numbered changes by actor.
type fakeDocument struct {
	placement []engine.SiteID
	about     []byte
	changes   map[string][]engine.SignedChange
}

// fakeReplicas is a map of documents in memory. A change's bytes are its actor, a slash, its number in 8 bytes, and a
// payload.
type fakeReplicas struct {
	self engine.SiteID

	mu   sync.Mutex
	docs map[engine.DocumentID]*fakeDocument
	// fault, unless nil, is asked first by Receive.
	fault    func(from engine.SiteID, e engine.Envelope) error
	received int
	senders  []engine.SiteID
	arrived  func() // unless nil, called when Receive has taken an envelope in
	most     int    // the most bytes that Missing gave at once
	blob     func(first int64) io.Reader
	digests  engine.Digests // of the blob
}

func newFakeReplicas(self engine.SiteID) *fakeReplicas {
	return &fakeReplicas{self: self, docs: map[engine.DocumentID]*fakeDocument{}}
}

// testAbout holds the placement, so that a receiver learns it.
func testAbout(name string, placement []engine.SiteID) []byte {
	b, err := encodeCBOR(struct {
		Name      string
		Placement []engine.SiteID
	}{name, placement})
	if err != nil {
		panic(err)
	}
	return b
}

func testDocumentID(about []byte) engine.DocumentID {
	d := sha256.Sum256(about)
	return engine.DocumentID(hex.EncodeToString(d[:]))
}

func (f *fakeReplicas) create(name string, placement []engine.SiteID) engine.DocumentID {
	f.mu.Lock()
	defer f.mu.Unlock()
	about := testAbout(name, placement)
	id := testDocumentID(about)
	if f.docs[id] == nil {
		f.docs[id] = &fakeDocument{placement: placement, about: about, changes: map[string][]engine.SignedChange{}}
	}
	return id
}

// write makes a change of this site and returns what is to be published.
func (f *fakeReplicas) write(id engine.DocumentID, payload []byte) ([]engine.SiteID, engine.Envelope) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.docs[id]
	actor := string(f.self)
	b := append([]byte(actor+"/"), binary.BigEndian.AppendUint64(nil, uint64(len(d.changes[actor])+1))...)
	c := engine.SignedChange{Author: f.self, Signature: make([]byte, signatureLen), Bytes: append(b, payload...)}
	d.changes[actor] = append(d.changes[actor], c)
	return d.placement, engine.Envelope{Document: id, About: d.about, Changes: []engine.SignedChange{c}}
}

func (f *fakeReplicas) Receive(_ context.Context, from engine.SiteID, e engine.Envelope) error {
	f.mu.Lock()
	fault := f.fault
	f.mu.Unlock()
	if fault != nil {
		if err := fault(from, e); err != nil {
			return err
		}
	}
	if f.arrived != nil {
		defer f.arrived()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.received++
	f.senders = append(f.senders, from)
	if testDocumentID(e.About) != e.Document {
		return fmt.Errorf("%w: not its first change", engine.ErrRefused)
	}
	var about struct {
		Name      string
		Placement []engine.SiteID
	}
	if err := decodeCBOR(e.About, &about); err != nil {
		return err
	}
	if !slices.Contains(about.Placement, f.self) || !slices.Contains(about.Placement, from) {
		return fmt.Errorf("%w: not shared", engine.ErrRefused)
	}
	d := f.docs[e.Document]
	if d == nil {
		d = &fakeDocument{placement: about.Placement, about: e.About, changes: map[string][]engine.SignedChange{}}
		f.docs[e.Document] = d
	}
	var err error
	for _, c := range e.Changes {
		actor := string(c.Author)
		seq := int(binary.BigEndian.Uint64(c.Bytes[len(actor)+1:]))
		switch have := len(d.changes[actor]); {
		case seq == have+1:
			d.changes[actor] = append(d.changes[actor], c)
		case seq > have+1:
			err = engine.ErrMissing
		}
	}
	return err
}

func (f *fakeReplicas) Summaries(_ context.Context, with engine.SiteID, from, to engine.DocumentID) ([]engine.Summary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []engine.Summary
	for id, d := range f.docs {
		if id >= from && (to == "" || id < to) && slices.Contains(d.placement, with) {
			all = append(all, engine.Summary{Document: id, Heads: d.heads()})
		}
	}
	slices.SortFunc(all, func(a, b engine.Summary) int {
		if a.Document < b.Document {
			return -1
		}
		return 1
	})
	return all, nil
}

func (d *fakeDocument) version() engine.Version {
	v := engine.Version{}
	for actor, changes := range d.changes {
		v[actor] = uint64(len(changes))
	}
	return v
}

func (d *fakeDocument) heads() [32]byte {
	b, err := encodeCBOR(d.version())
	if err != nil {
		panic(err)
	}
	return sha256.Sum256(b)
}

func (f *fakeReplicas) Version(_ context.Context, id engine.DocumentID) (engine.Version, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.docs[id]; d != nil {
		return d.version(), nil
	}
	return engine.Version{}, nil
}

func (f *fakeReplicas) Missing(_ context.Context, with engine.SiteID, id engine.DocumentID, have engine.Version, limit int) (engine.Envelope, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.docs[id]
	if d == nil || !slices.Contains(d.placement, with) {
		return engine.Envelope{}, false, engine.ErrNotFound
	}
	e := engine.Envelope{Document: id, About: d.about}
	size := 0
	for actor, changes := range d.changes {
		for _, c := range changes[min(int(have[actor]), len(changes)):] {
			if size > 0 && size+len(c.Bytes) > limit {
				f.most = max(f.most, size)
				return e, true, nil
			}
			e.Changes = append(e.Changes, c)
			size += len(c.Bytes)
		}
	}
	f.most = max(f.most, size)
	return e, false, nil
}

// state is what the documents come to, for comparing sites.
func (f *fakeReplicas) state() map[engine.DocumentID][32]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := make(map[engine.DocumentID][32]byte, len(f.docs))
	for id, d := range f.docs {
		s[id] = d.heads()
	}
	return s
}

// seen tells how many envelopes arrived, and the most bytes that one answer of Missing had.
func (f *fakeReplicas) seen() (received, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.received, f.most
}

func (f *fakeReplicas) setFault(fault func(from engine.SiteID, e engine.Envelope) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// testSite is one site: a Network over a loopback host (or a simulated one) with its fakes.
type testSite struct {
	id       engine.SiteID
	key      crypto.PrivKey
	net      *Network
	members  *fakeMembership
	replicas *fakeReplicas
	stop     func()

	mu       sync.Mutex
	events   []string
	compared []int // how many documents it had, each time it was told that it was compared
}

func (s *testSite) comparisons() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.compared)
}

func testKey(t testing.TB) (crypto.PrivKey, engine.SiteID) {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id, err := SiteIDOf(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, id
}

type testConfig struct {
	now       func() time.Time
	listen    []string
	reconcile time.Duration
	options   []libp2p.Option
}

// newTestSite makes a site that is its only member; run starts it.
func newTestSite(t testing.TB, c testConfig) *testSite {
	t.Helper()
	key, id := testKey(t)
	s := &testSite{id: id, key: key, replicas: newFakeReplicas(id), members: &fakeMembership{self: id, members: map[engine.SiteID]engine.Member{}}}
	if c.listen == nil {
		c.listen = []string{"/ip4/127.0.0.1/udp/0/quic-v1"}
	}
	var err error
	s.net, err = New(Config{
		Key: key, Listen: c.listen, Reconcile: c.reconcile, Options: c.options, Now: c.now, Log: testLog(t),
		OnStatus: func(site engine.SiteID, up bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, fmt.Sprint(site, up))
		},
		OnCompared: func(engine.SiteID) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.compared = append(s.compared, len(s.replicas.state()))
		},
	}, s.members, s.replicas)
	if err != nil {
		t.Fatal(err)
	}
	s.members.add(s.member())
	return s
}

func (s *testSite) member() engine.Member {
	return engine.Member{ID: s.id, SiteRecord: engine.SiteRecord{Addresses: s.net.Addresses()}}
}

func (s *testSite) run(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.net.Run(ctx) }()
	for !slices.Contains(s.net.host.Mux().Protocols(), httpProtocol) || !slices.Contains(s.net.host.Mux().Protocols(), joinProtocol) {
		select { // until it serves
		case err := <-done:
			cancel()
			t.Fatalf("run: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	var once sync.Once
	s.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
	t.Cleanup(s.stop)
}

// newTestMesh starts sites that know each other, and waits until each reaches all.
func newTestMesh(t testing.TB, count int, c testConfig) []*testSite {
	t.Helper()
	var sites []*testSite
	for range count {
		sites = append(sites, newTestSite(t, c))
	}
	for _, s := range sites {
		for _, o := range sites {
			s.members.add(o.member())
		}
	}
	for _, s := range sites {
		s.run(t)
	}
	eventually(t, "all sites are reachable", func() bool { return allUp(sites) })
	return sites
}

func allUp(sites []*testSite) bool {
	for _, s := range sites {
		up := 0
		for _, status := range s.net.Status() {
			if status.Reachable {
				up++
			}
		}
		if up != len(sites)-1 {
			return false
		}
	}
	return true
}

func ids(sites []*testSite) []engine.SiteID {
	var all []engine.SiteID
	for _, s := range sites {
		all = append(all, s.id)
	}
	slices.Sort(all)
	return all
}

func same(sites []*testSite) bool {
	first := sites[0].replicas.state()
	for _, s := range sites[1:] {
		if !maps.Equal(first, s.replicas.state()) {
			return false
		}
	}
	return true
}

// publish writes a change at the site and hands it to the network.
func (s *testSite) publish(id engine.DocumentID, payload string) {
	placement, e := s.replicas.write(id, []byte(payload))
	s.net.Publish(placement, e)
}

// patience bounds what would never come. It says nothing of how long anything takes: a loaded machine may be slow.
const patience = 2 * time.Minute

// eventually polls until ok.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	within(t, patience, what, ok)
}

// within polls until ok, for d, which means something in virtual time only.
func within(t testing.TB, d time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(d)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", d, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Blob gives the only blob, if there is one, to the members of the document's placement.
func (f *fakeReplicas) Blob(_ context.Context, with engine.SiteID, id engine.DocumentID, ref engine.BlobRef, first int64) (engine.Digests, io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.docs[id]
	if d == nil || f.blob == nil || !slices.Contains(d.placement, with) {
		return nil, nil, engine.ErrNotFound
	}
	return f.digests, io.NopCloser(f.blob(first)), nil
}
