package p2p

import (
	"bytes"
	"errors"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/skerry/skerry/engine"
)

// talk is one side of a comparison that does what a test says.
type talk struct {
	t *testing.T
	s network.Stream
	r *frameReader
}

func newTalk(t *testing.T, h host.Host, to *testSite) *talk {
	t.Helper()
	s, err := h.NewStream(t.Context(), infoOf(t, to).ID, compareProtocol)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Reset() })
	_ = s.SetDeadline(time.Now().Add(patience))
	return &talk{t, s, newFrameReader(s)}
}

func (k *talk) say(b []byte) {
	k.t.Helper()
	if _, err := k.s.Write(b); err != nil {
		k.t.Fatal(err)
	}
}

func (k *talk) tell(m *message) {
	k.t.Helper()
	frame, err := encodeFrame(m, maxFrame)
	if err != nil {
		k.t.Fatal(err)
	}
	k.say(frame)
}

// hear reads the next message, which is to be of this step. What the site wants for itself, and that it is done, is passed over.
func (k *talk) hear(want step) *message {
	k.t.Helper()
	for {
		var m message
		if err := k.r.read(&m, maxFrame); err != nil {
			k.t.Fatalf("no step %d: %v", want, err)
		}
		if m.Step == want {
			return &m
		}
		if m.Step != stepWant && m.Step != stepDone && m.Step != stepDiffer && m.Step != stepRecords {
			k.t.Fatalf("step %d, not %d: %+v", m.Step, want, m)
		}
	}
}

// garbage is a set of messages that are wrong in different ways.
func garbage() map[string][]byte {
	return map[string][]byte{
		"nothing":        {},
		"zeros":          make([]byte, 1024),
		"no CBOR":        {4, 0xff, 0xff, 0xff, 0xff},
		"a huge length":  {0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"an endless one": bytes.Repeat([]byte{0xff}, 64),
		"HTTP":           []byte("GET / HTTP/1.1\r\n\r\n"),
		"a map":          {3, 0xa1, 0x01, 0x80},
		"nested":         append([]byte{100}, bytes.Repeat([]byte{0x81}, 100)...),
	}
}

// hostile is a member of the site's mesh that keeps to no rules of ours.
func hostile(t *testing.T, a *testSite, options ...libp2p.Option) (host.Host, engine.SiteID) {
	t.Helper()
	key, id := testKey(t)
	h := newStranger(t, append(options, libp2p.Identity(key))...)
	m := engine.Member{ID: id}
	for _, addr := range h.Network().ListenAddresses() {
		m.Addresses = append(m.Addresses, addr.String())
	}
	a.members.add(m)
	return h, id
}

// A member that sends garbage on every protocol harms no one, gets nothing, and is disconnected in the end.
func TestGarbageFromMember(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{})
	a := sites[0]
	bad, badID := hostile(t, a)
	info := infoOf(t, a)
	if err := bad.Connect(t.Context(), info); err != nil {
		t.Fatal(err)
	}
	for _, p := range []protocol.ID{lettersProtocol, compareProtocol, blobProtocol} {
		for name, b := range garbage() {
			if answers(bad, info.ID, p, b) {
				t.Errorf("%s on %s was answered", name, p)
			}
		}
	}
	// A letter that the engine refuses counts like one that does not decode.
	a.exchange.setFault(func(from engine.SiteID, _ *engine.Letter) error {
		if from == badID {
			return engine.ErrRefused
		}
		return nil
	})
	var j joiner
	j.add("", part{fieldRecords, engine.Encode(&engine.SignedRecord{Author: badID, Record: []byte("x"), Signature: make([]byte, signatureLen)})})
	frame := bytes.Clone(j.frame())
	eventually(t, "the member is disconnected and kept out", func() bool {
		_ = bad.Connect(t.Context(), info)
		answers(bad, info.ID, lettersProtocol, frame)
		return !a.net.gater.member(bad.ID())
	})
	if a.net.Counters().Refused < maxRefusals {
		t.Errorf("only %d messages were refused", a.net.Counters().Refused)
	}
	// The other member notices nothing.
	id := a.exchange.create("doc", ids(sites))
	a.send(id, "change")
	eventually(t, "the others go on", func() bool { return same(sites) })
}

// What a site of another version may send is not held against it.
func TestWhatIsUnknownIsNotRefused(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{})
	tried := make(chan struct{}, 100)
	sites[1].exchange.setFault(func(engine.SiteID, *engine.Letter) error {
		tried <- struct{}{}
		return engine.ErrUnknown
	})
	id := sites[0].exchange.create("doc", ids(sites))
	for range 2 * maxRefusals {
		sites[0].send(id, "x")
		<-tried
	}
	if n := sites[1].net.Counters().Refused; n != 0 {
		t.Errorf("%d messages were refused", n)
	}
	if _, err := decodeLetters(engine.Encode([]any{map[int]any{6: "a newer field"}})); err != nil {
		t.Errorf("a newer field: %v", err)
	}
}

// Each of these breaks the order of a comparison, or a bound: it is ended and counted.
func TestComparisonsOutOfTurn(t *testing.T) {
	a := newTestSite(t, testConfig{})
	a.run(t)
	zeros := make([]byte, engine.Ranges*sumLen)
	open := &message{Step: stepOpen, Mesh: zeros[:sumLen], Sums: []sums{{Parts: zeros}}}
	want := &message{Step: stepWant, Want: []engine.Have{{Document: testDocumentID(nil)}}}
	letter := &message{Step: stepLetter, Letter: &engine.Letter{}}
	for name, say := range map[string][]*message{
		"no opening":              {want},
		"two openings":            {open, open},
		"an answer to nothing":    {open, letter},
		"another answer":          {open, {Step: stepAnswered}},
		"a want after the last":   {open, {Step: stepDone}, want},
		"two lasts":               {open, {Step: stepDigests, Last: true}, {Step: stepDigests, Last: true}},
		"what the server says":    {open, {Step: stepDiffer, Last: true}},
		"a busy asker":            {open, {Step: stepBusy}},
		"a letter out of bounds":  {open, {Step: stepRecords, Letter: &engine.Letter{Sent: []engine.SiteID{""}}}},
		"a step that there isn't": {open, {Step: 99}},
	} {
		bad, _ := hostile(t, a)
		if err := bad.Connect(t.Context(), infoOf(t, a)); err != nil {
			t.Fatal(err)
		}
		before := a.net.Counters().Refused
		k := newTalk(t, bad, a)
		for _, m := range say {
			frame, err := encodeFrame(m, maxFrame)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.s.Write(frame); err != nil {
				break // it has ended it already
			}
		}
		if _, err := io.Copy(io.Discard, k.s); err == nil {
			t.Errorf("%s: the comparison ended well", name)
		}
		eventually(t, name+" is counted", func() bool { return a.net.Counters().Refused > before })
		_ = bad.Close()
	}
}

// A member that answers with garbage is found out too.
func TestGarbageInAnswers(t *testing.T) {
	for name, answer := range map[string]*message{
		"ranges of the wrong depth": {Step: stepDeeper, Sums: []sums{{Parts: make([]byte, engine.Ranges*sumLen)}}},
		"another step":              {Step: stepDone},
	} {
		t.Run(name, func(t *testing.T) {
			a := newTestSite(t, testConfig{})
			bad, badID := hostile(t, a, libp2p.ListenAddrStrings("/ip4/127.0.0.1/udp/0/quic-v1"))
			bad.SetStreamHandler(pingProtocol, func(s network.Stream) {
				var b [pongSize]byte
				for {
					if _, err := io.ReadFull(s, b[:pingSize]); err != nil {
						return
					}
					_, _ = s.Write(b[:])
				}
			})
			bad.SetStreamHandler(compareProtocol, func(s network.Stream) {
				var m message
				if err := newFrameReader(s).read(&m, maxFrame); err != nil {
					_ = s.Reset()
					return
				}
				_ = writeFrame(s, answer, maxFrame)
				_ = s.Close()
			})
			a.exchange.write(a.exchange.create("doc", []engine.SiteID{a.id, badID}), []byte("x"))
			a.run(t)
			eventually(t, "its answers are refused", func() bool { return a.net.Counters().Refused > 0 })
		})
	}
}

// A member has so many streams of one protocol, and no more; the streams of others are as good as before.
func TestStreamsOfAMemberAreBounded(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{})
	a := sites[0]
	bad, badID := hostile(t, a)
	if err := bad.Connect(t.Context(), infoOf(t, a)); err != nil {
		t.Fatal(err)
	}
	var open []network.Stream
	var refused atomic.Int64
	var reads sync.WaitGroup
	for range 4 * streamsOf(lettersProtocol) {
		s, err := bad.NewStream(t.Context(), infoOf(t, a).ID, lettersProtocol)
		if err == nil {
			_, err = s.Write([]byte{5}) // the begin of a frame
		}
		if err != nil {
			refused.Add(1)
			continue
		}
		open = append(open, s)
		reads.Go(func() { // of what is served nothing comes
			_, _ = s.Read(make([]byte, 1))
			refused.Add(1)
		})
	}
	serving := func() int {
		l := a.net.link(badID)
		if l == nil {
			return 0
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.streams[lettersProtocol]
	}
	eventually(t, "all others are refused", func() bool {
		if n := serving(); n > streamsOf(lettersProtocol) {
			t.Fatalf("%d streams are served", n)
		}
		return refused.Load() == 3*int64(streamsOf(lettersProtocol))
	})
	if n := serving(); n != streamsOf(lettersProtocol) {
		t.Errorf("%d streams are served", n)
	}
	id := sites[1].exchange.create("doc", ids(sites))
	sites[1].send(id, "x")
	eventually(t, "the letters of others arrive", func() bool { return same(sites) })
	for _, s := range open {
		_ = s.Reset()
	}
	reads.Wait()
	eventually(t, "their end is noticed", func() bool { return serving() == 0 })
}

// Requests of other sites count until whoever serves them closes them.
func TestRequestsOfAMemberAreBounded(t *testing.T) {
	l := newLink(&Network{self: "a"}, "b", "")
	for range streamsOf(httpProtocol) {
		if !l.opened(httpProtocol, streamsOf(httpProtocol)) {
			t.Fatal("fewer are let in")
		}
	}
	if l.opened(httpProtocol, streamsOf(httpProtocol)) {
		t.Error("one more is let in")
	}
	l.closed(httpProtocol)
	if !l.opened(httpProtocol, streamsOf(httpProtocol)) {
		t.Error("none is let in after one has ended")
	}
}

// Decoding takes memory in proportion to what was sent, whatever that says.
func TestDenseMessagesAreRefused(t *testing.T) {
	letters := []byte{0x8a} // ten letters of 10,000 empty parcels: none of these arrays alone is too long
	for range 10 {
		letters = append(append(letters, 0xa1, 0x01, 0x99, 10_000>>8, 10_000&0xff), bytes.Repeat([]byte{0xa0}, 10_000)...)
	}
	allocations := math.Inf(1)
	for range 5 { // whatever else runs meanwhile allocates as well: the least is the decoder's own
		allocations = min(allocations, testing.AllocsPerRun(10, func() {
			if _, err := decodeLetters(letters); !errors.Is(err, engine.ErrRefused) {
				t.Error(err)
			}
		}))
	}
	if allocations > 10 || items(letters) != 1+10*(3+10_000) {
		t.Errorf("%.0f allocations for %d items in %d bytes", allocations, items(letters), len(letters))
	}
	wants := &message{Step: stepWant}
	for range wantDocuments {
		wants.Want = append(wants.Want, engine.Have{Document: testDocumentID(nil), Changes: map[uint64]map[engine.Line]uint64{0: {"12D3KooWabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrst": 1}}})
	}
	lists := &message{Step: stepDigests, Last: true}
	for _, r := range (engine.Range{}).Parts() {
		for _, part := range r.Parts() {
			lists.Lists = append(lists.Lists, list{Range: part})
		}
	}
	for _, m := range []*message{wants, lists} {
		if _, err := decodeMessage(engine.Encode(m)); err != nil {
			t.Errorf("what an honest site sends: %v", err)
		}
	}
}
