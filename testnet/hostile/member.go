package hostile

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/crdt"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
	"github.com/skerry/skerry/engine/vivaldi"
	"github.com/skerry/skerry/p2p"
)

// honest is one of the sites that a member harms.
type honest struct {
	id   engine.SiteID
	name engine.SiteName
	at   peer.AddrInfo
}

// Member is one hostile member of the mesh. A site that has had enough of it lets it in no more for a while, so there are several.
type Member struct {
	id   engine.SiteID
	said engine.SiteRecord
	key  crypto.PrivKey
	docs *crdt.Documents
	host host.Host
	// mesh are the records that it was given when it joined, sites who is honest, rules what they say of their kinds.
	mesh   []engine.SignedRecord
	meshID string
	sites  []honest
	rules  map[string]string
	starts [][]byte // frames of letters that say it has started; its attacks come one after the other

	mu     sync.Mutex
	rng    *mathrand.Rand
	number uint64   // of its newest record
	heard  [][]byte // frames of letters that honest sites have sent it, the newest last
	known  map[engine.DocumentID]*document
	clock  time.Duration // by which its pongs are wrong
	misled engine.SiteID // whom they mislead; empty: everybody
	forked bool          // it has told two sites of a line in two ways
	bodies map[engine.BlobHash]body

	fetched chan struct{} // has one in it once a site has fetched a body of the member
}

// document is one in which the member has a part, or of which it knows from elsewhere.
type document struct {
	id    engine.DocumentID
	about engine.About
	raw   []byte
	tip   engine.Tip // of the member's own line
	ops   uint64     // that it has issued
	part  bool       // it is in the placement
	made  bool       // by the member
}

// maxHeard is how many frames are remembered.
const maxHeard = 64

// join makes a key and has it let in by whoever has issued the token.
func join(ctx context.Context, text, name, address string, port int, rng *mathrand.Rand) (*Member, error) {
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		return nil, err
	}
	token, err := p2p.DecodeToken(text)
	if err != nil {
		return nil, err
	}
	listen := []string{fmt.Sprintf("/ip4/%s/udp/%d/quic-v1", address, port)}
	n, err := p2p.New(p2p.Config{Key: key, Listen: listen}, nil, nil)
	if err != nil {
		return nil, err
	}
	record := engine.SiteRecord{Name: engine.SiteName(name), Addresses: listen, Services: []engine.ServiceName{"images", "networks", "servers"}, Application: "lab"}
	m := &Member{id: n.Self(), said: record, key: key, rng: rng, number: 1, known: map[engine.DocumentID]*document{},
		bodies: map[engine.BlobHash]body{}, fetched: make(chan struct{}, 1)}
	m.meshID = token.Mesh
	m.mesh, err = n.Join(ctx, token, record)
	for range 30 { // strangers are let in a few a second, and members are many
		if !errors.Is(err, engine.ErrUnreachable) || rest(ctx, time.Second) != nil {
			break
		}
		m.mesh, err = n.Join(ctx, token, record)
	}
	if err = errors.Join(err, n.Close()); err != nil {
		return nil, fmt.Errorf("%s joins: %w", name, err)
	}
	m.read()
	if m.docs, err = crdt.New(key); err != nil {
		return nil, err
	}
	if err := m.open(listen); err != nil {
		return nil, err
	}
	_ = m.tell(ctx, &engine.Letter{Records: []engine.SignedRecord{m.itself()}}) // who does not hear of it does not reach it: the test sees that
	return m, nil
}

// itself is what the member says of itself: nobody else says where it is, and who does not know that sends it nothing.
func (m *Member) itself(change ...func(*engine.SiteRecord)) engine.SignedRecord {
	r := m.said
	r.At, r.Rules = time.Now().UnixMicro(), m.rules
	for _, f := range change {
		f(&r)
	}
	return m.record(engine.RecordKey{Kind: engine.RecordSite}, r)
}

// read takes from the records of the mesh who the others are.
func (m *Member) read() {
	for _, r := range m.mesh {
		var record engine.MeshRecord
		var s engine.SiteRecord
		if engine.Decode(r.Record, &record) != nil || record.Key.Kind != engine.RecordSite || engine.Decode(record.Body, &s) != nil || r.Author == m.id {
			continue
		}
		id, err := peer.Decode(string(r.Author))
		if err != nil || strings.HasPrefix(string(s.Name), prefix) {
			continue
		}
		h := honest{id: r.Author, name: s.Name, at: peer.AddrInfo{ID: id}}
		for _, a := range s.Addresses {
			if addr, err := multiaddr.NewMultiaddr(a); err == nil {
				h.at.Addrs = append(h.at.Addrs, addr)
			}
		}
		m.sites, m.rules = append(m.sites, h), s.Rules
	}
}

// open opens the member's host, which keeps to no bounds, and answers what it is asked.
func (m *Member) open(listen []string) error {
	resources, err := rcmgr.NewResourceManager(rcmgr.NewFixedLimiter(rcmgr.InfiniteLimits))
	if err != nil {
		return err
	}
	m.host, err = libp2p.New(libp2p.Identity(m.key), libp2p.ListenAddrStrings(listen...), libp2p.ResourceManager(resources),
		libp2p.DisableRelay(), libp2p.Ping(false), libp2p.DisableMetrics(), libp2p.ForceReachabilityPublic())
	if err != nil {
		return err
	}
	m.host.SetStreamHandler(pings, m.pong)
	m.host.SetStreamHandler(letters, m.listen)
	for _, p := range []protocol.ID{compares, blobs, requests} {
		m.host.SetStreamHandler(p, func(s network.Stream) { m.mislead(p, s) })
	}
	return nil
}

func (m *Member) close() error { return m.host.Close() }

// chance returns a number below n.
func (m *Member) chance(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rng.IntN(n)
}

// noise fills b.
func (m *Member) noise(b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range b {
		b[i] = byte(m.rng.Uint32())
	}
}

// victim is one of the honest sites.
func (m *Member) victim() honest { return m.sites[m.chance(len(m.sites))] }

// pong answers pings with a sum that nobody has, a coordinate that is none, and the clock that the member pretends to.
func (m *Member) pong(s network.Stream) {
	defer s.Reset()
	for {
		b := make([]byte, 8)
		if _, err := io.ReadFull(s, b); err != nil {
			return
		}
		m.mu.Lock()
		off := m.clock
		if m.misled != "" && m.misled != engine.SiteID(s.Conn().RemotePeer().String()) {
			off = 0
		}
		m.mu.Unlock()
		b = binary.BigEndian.AppendUint64(b, uint64(time.Now().Add(off).UnixMicro()))
		rest := make([]byte, sumLen+pongCoordinate)
		m.noise(rest)
		if _, err := s.Write(append(b, rest...)); err != nil {
			return
		}
	}
}

// pongCoordinate is what a coordinate takes in a pong, as package p2p has it.
const pongCoordinate = 4 * (vivaldi.Dimensions + 2)

// listen remembers letters, and takes note of documents in which the member has a part.
func (m *Member) listen(s network.Stream) {
	defer s.Reset()
	for r := newReader(s); ; {
		b, err := r.frame()
		if err != nil {
			return
		}
		var list []*engine.Letter
		if engine.Decode(b, &list) != nil {
			continue
		}
		m.mu.Lock()
		m.heard = append(m.heard, slices.Clone(b))
		m.heard = m.heard[max(0, len(m.heard)-maxHeard):]
		for _, l := range list {
			for i := range l.Parcels {
				m.learn(l.Parcels[i].About)
			}
		}
		m.mu.Unlock()
	}
}

// learn takes note of a document; the caller holds mu.
func (m *Member) learn(raw []byte) *document {
	about, id, err := m.docs.Decode(raw)
	if err != nil {
		return nil
	}
	if m.known[id] == nil {
		m.known[id] = &document{id: id, about: about, raw: slices.Clone(raw), tip: m.docs.First(about, id, 0), part: slices.Contains(about.Placement, m.id)}
	}
	return m.known[id]
}

// anyDocument is a document in which the member has a part, and does not fork its lines; nil while there is none.
func (m *Member) anyDocument() *document {
	forks := m.forkable()
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []*document
	for _, id := range slices.Sorted(maps.Keys(m.known)) {
		if d := m.known[id]; d.part && d != forks {
			list = append(list, d)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[m.rng.IntN(len(list))]
}

// forkable is the document in which the member forks its lines, and does nothing else: from there on nothing of it counts there. Honest sites have
// made it; nil while they have not made two.
func (m *Member) forkable() *document {
	if list := m.given(); len(list) > 1 {
		return list[0]
	}
	return nil
}

// given are the documents of others in which the member has a part, as far as it has heard of them.
func (m *Member) given() (list []*document) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(m.known)) {
		if d := m.known[id]; d.part && !d.made {
			list = append(list, d)
		}
	}
	return list
}

// frames are letters that honest sites have sent.
func (m *Member) frames() [][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.heard)
}

// mislead answers a comparison, a request for a blob or a request of another agent with anything but what it is to be. Its own large bodies it
// gives: what they take is what it is after.
func (m *Member) mislead(p protocol.ID, s network.Stream) {
	end := s.Reset
	defer func() { _ = end() }()
	_ = s.SetDeadline(time.Now().Add(20 * time.Second))
	buffer := make([]byte, 4096)
	if p == blobs {
		request, err := newReader(s).frame()
		if err != nil {
			return
		}
		if m.gives(s, request) {
			end = s.Close // else what is on its way would be taken back
			return
		}
	} else if _, err := s.Read(buffer); err != nil {
		return
	}
	switch m.chance(4) {
	case 0: // nothing, for a while
		_, _ = io.Copy(io.Discard, s)
	case 1:
		_, _ = s.Write(garbage[m.chance(len(garbage))])
	case 2: // without an end
		head := map[protocol.ID]string{requests: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[", blobs: "\x03\xa1\x01\xf5"}[p]
		_, err := io.WriteString(s, head)
		for n := 0; err == nil && n < 64<<20; n += len(buffer) {
			_, err = s.Write(buffer)
		}
	case 3:
		_, _ = s.Write([]byte("HTTP/1.1 200 OK\r\nSkerry-Replicated: ////\r\nSkerry-Homes: 99999999:1\r\nSkerry-Next: \x00\r\nContent-Length: 99999999999\r\n\r\n{}"))
	}
}

// send writes bytes on a new stream of a protocol, and returns what comes back, up to a bound.
func (m *Member) send(ctx context.Context, to honest, p protocol.ID, b ...[]byte) ([]byte, error) {
	s, err := m.stream(ctx, to, p)
	if err != nil {
		return nil, err
	}
	defer s.Reset()
	_ = s.SetDeadline(time.Now().Add(5 * time.Second))
	for _, part := range b {
		if _, err := s.Write(part); err != nil {
			return nil, err
		}
	}
	_ = s.CloseWrite()
	return io.ReadAll(io.LimitReader(s, 8<<20))
}

// errShut says that a site does not let the member in any more.
var errShut = errors.New("it is shut out")

// stream opens a stream to an honest site.
func (m *Member) stream(ctx context.Context, to honest, p protocol.ID) (network.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := m.host.Connect(ctx, to.at); err != nil {
		return nil, fmt.Errorf("%w: %w", errShut, err)
	}
	s, err := m.host.NewStream(ctx, to.at.ID, p)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errShut, err)
	}
	return s, nil
}

// line is the one that the member writes.
func (m *Member) line() engine.Line { return engine.LineOf(m.id, "1") }

// writes signs values as one change of the member's own line, and returns the letter that brings it.
func (m *Member) writes(d *document, in engine.MapName, values ...any) (*engine.Letter, error) {
	l, tip, err := m.written(d, in, values...)
	if err == nil {
		m.mu.Lock()
		d.tip = tip
		m.mu.Unlock()
	}
	return l, err
}

// written is writes for what the line does not go on with.
func (m *Member) written(d *document, in engine.MapName, values ...any) (*engine.Letter, engine.Tip, error) {
	var entries []engine.Entry
	for _, v := range values {
		raw, is := v.([]byte)
		if !is {
			raw = engine.Encode(v)
		}
		entries = append(entries, engine.Entry{Map: in, Value: raw})
	}
	m.mu.Lock()
	tip := d.tip
	m.mu.Unlock()
	c, err := m.docs.Write(d.about, d.id, 0, m.line(), tip, entries)
	if err != nil {
		return nil, tip, err
	}
	m.docs.SignChanges([]*engine.Change{c})
	return &engine.Letter{Parcels: []engine.Parcel{{About: d.raw, Changes: []engine.SignedChange{c.SignedChange}}}}, c.Tip(), nil
}

// record signs a record of the mesh.
func (m *Member) record(key engine.RecordKey, body any) engine.SignedRecord {
	m.mu.Lock()
	m.number++
	n := m.number
	m.mu.Unlock()
	b := engine.Encode(engine.MeshRecord{Key: key, Number: n, Body: engine.Encode(body)})
	return engine.SignedRecord{Author: m.id, Record: b, Signature: m.docs.Sign(mesh.Message(b))}
}
