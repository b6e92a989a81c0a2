package p2p

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

// drawLetter draws a letter that an honest site may send. Sent is one of a few.
func drawLetter(t *rapid.T) *engine.Letter {
	site := rapid.SampledFrom([]engine.SiteID{"paris", "nantes", "lyon"})
	some := func(label string) []byte { return rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, label) }
	signature := bytes.Repeat([]byte{7}, signatureLen)
	l := &engine.Letter{}
	for range rapid.IntRange(0, 3).Draw(t, "parcels") {
		p := engine.Parcel{About: some("about"), Epoch: rapid.Uint64().Draw(t, "epoch"), More: rapid.Bool().Draw(t, "more")}
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			p.Changes = append(p.Changes, engine.SignedChange{Line: engine.LineOf(site.Draw(t, "author"), "1"), Signature: signature, Bytes: some("change")})
		}
		l.Parcels = append(l.Parcels, p)
	}
	for range rapid.IntRange(0, 2).Draw(t, "batches") {
		l.Batches = append(l.Batches, engine.StatusBatch{Site: site.Draw(t, "site"), Statuses: [][]byte{some("status"), some("status")}, Signature: signature})
	}
	for range rapid.IntRange(0, 2).Draw(t, "statuses") {
		l.Statuses = append(l.Statuses, engine.SignedStatus{Site: site.Draw(t, "site"), Status: some("status"), Signature: signature, Index: 1, Size: 2,
			Path: make([]byte, sha256.Size)})
	}
	for range rapid.IntRange(0, 2).Draw(t, "records") {
		l.Records = append(l.Records, engine.SignedRecord{Author: site.Draw(t, "author"), Record: some("record"), Signature: signature})
	}
	l.Sent = rapid.SampledFrom([][]engine.SiteID{nil, {"paris"}, {"paris", "nantes"}}).Draw(t, "sent")
	return l
}

// Joined letters are what engine.Encode makes of letters that were put together by hand, in bytes, and nothing is lost.
func TestJoinedLettersAreEncodedLetters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var j joiner
		for range 2 { // the second frame finds nothing of the first
			letters := rapid.SliceOfN(rapid.Custom(drawLetter), 1, 6).Draw(t, "letters")
			var want []*engine.Letter
			for _, l := range letters {
				p := newPacket(l)
				p.encode()
				if p.err != nil {
					t.Fatal(p.err)
				}
				encoded := 0
				for _, part := range p.parts {
					j.add(p.sent, part)
					encoded += len(part.bytes)
				}
				if encoded > p.size {
					t.Fatalf("%d bytes were taken for %d", encoded, p.size)
				}
				if len(p.parts) == 0 {
					continue
				}
				i := slices.IndexFunc(want, func(w *engine.Letter) bool { return slices.Equal(w.Sent, l.Sent) })
				if i < 0 {
					i = len(want)
					want = append(want, &engine.Letter{Sent: l.Sent})
				}
				w := want[i]
				w.Parcels, w.Batches = append(w.Parcels, l.Parcels...), append(w.Batches, l.Batches...)
				w.Statuses, w.Records = append(w.Statuses, l.Statuses...), append(w.Records, l.Records...)
			}
			if len(want) == 0 {
				continue
			}
			r := newFrameReader(iotest.OneByteReader(bytes.NewReader(j.frame())))
			n, err := r.length(maxFrame)
			if err != nil {
				t.Fatal(err)
			}
			b, err := r.body(n)
			if err != nil || !bytes.Equal(b, engine.Encode(want)) {
				t.Fatalf("%x, not %x: %v", b, engine.Encode(want), err)
			}
			got, err := decodeLetters(b)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v, not %+v: %v", got, want, err)
			}
		}
	})
}

func TestLettersOutOfBounds(t *testing.T) {
	signature := make([]byte, signatureLen)
	about := []byte{1}
	for name, l := range map[string]engine.Letter{
		"no about":                {Parcels: []engine.Parcel{{}}},
		"a long about":            {Parcels: []engine.Parcel{{About: make([]byte, engine.MaxAbout+1)}}},
		"a long checkpoint":       {Parcels: []engine.Parcel{{About: about, Checkpoint: make([]byte, engine.MaxCheckpoint+1)}}},
		"a change of nobody":      {Parcels: []engine.Parcel{{About: about, Changes: []engine.SignedChange{{Signature: signature, Bytes: about}}}}},
		"a change of a long name": {Parcels: []engine.Parcel{{About: about, Changes: []engine.SignedChange{{Line: engine.Line(strings.Repeat("a", engine.MaxSiteID+1)), Signature: signature, Bytes: about}}}}},
		"an unsigned change":      {Parcels: []engine.Parcel{{About: about, Changes: []engine.SignedChange{{Line: "a", Bytes: about}}}}},
		"an empty change":         {Parcels: []engine.Parcel{{About: about, Changes: []engine.SignedChange{{Line: "a", Signature: signature}}}}},
		"a long change":           {Parcels: []engine.Parcel{{About: about, Changes: []engine.SignedChange{{Line: "a", Signature: signature, Bytes: make([]byte, engine.MaxChange+1)}}}}},
		"an empty batch":          {Batches: []engine.StatusBatch{{Site: "a", Signature: signature}}},
		"an empty status":         {Batches: []engine.StatusBatch{{Site: "a", Signature: signature, Statuses: [][]byte{{}}}}},
		"a status out of place":   {Statuses: []engine.SignedStatus{{Site: "a", Status: about, Signature: signature, Index: 1, Size: 1}}},
		"half a path":             {Statuses: []engine.SignedStatus{{Site: "a", Status: about, Signature: signature, Size: 1, Path: signature[:33]}}},
		"an unsigned record":      {Records: []engine.SignedRecord{{Author: "a", Record: about}}},
		"a long record":           {Records: []engine.SignedRecord{{Author: "a", Record: make([]byte, engine.MaxRecord+1), Signature: signature}}},
		"sent to nobody":          {Sent: []engine.SiteID{""}},
	} {
		if err := checkLetter(&l); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFrames(t *testing.T) {
	for name, c := range map[string]struct {
		b    []byte
		want error // nil: any other
	}{
		"nothing":           {nil, io.EOF},
		"half a length":     {[]byte{0x80}, io.ErrUnexpectedEOF},
		"half a body":       {[]byte{5, 1, 2}, io.ErrUnexpectedEOF},
		"an empty one":      {[]byte{0}, engine.ErrRefused},
		"one too long":      {binary.AppendUvarint(nil, 101), engine.ErrRefused},
		"one far too long":  {binary.AppendUvarint(nil, 1<<63), engine.ErrRefused},
		"an endless length": {bytes.Repeat([]byte{0x80}, 20), engine.ErrRefused},
		"no CBOR":           {[]byte{1, 0xff}, engine.ErrRefused},
		"two values":        {[]byte{2, 1, 1}, engine.ErrRefused},
	} {
		var n int
		if err := newFrameReader(bytes.NewReader(c.b)).read(&n, 100); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := encodeFrame(make([]byte, 100), 100); !errors.Is(err, engine.ErrTooLarge) {
		t.Errorf("a frame over its limit: %v", err)
	}
}

// What differs is found by whoever compares two lists, whatever they are.
func TestDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) map[byte]uint64 {
			return rapid.MapOf(rapid.ByteRange(0, 20), rapid.Uint64Range(0, 2)).Draw(t, label)
		}
		theirs, mine := draw("theirs"), draw("mine")
		var items []byte
		var digests []engine.Digest
		var there, here []id
		for i := range byte(21) {
			d := id{i}
			t, isThere := theirs[i]
			m, isHere := mine[i]
			if isThere {
				items = appendSum(append(items, d[:]...), engine.Fingerprint{t})
			}
			if isHere {
				digests = append(digests, engine.Digest{Document: d.document(), Digest: engine.Fingerprint{m}})
			}
			if isThere && (!isHere || t != m) {
				there = append(there, d)
			}
			if isHere && (!isThere || t != m) {
				here = append(here, d)
			}
		}
		if gotThere, gotHere := differences(items, digests); !slices.Equal(gotThere, there) || !slices.Equal(gotHere, here) {
			t.Fatalf("%x and %x, not %x and %x", gotThere, gotHere, there, here)
		}
	})
}

func TestMessagesOutOfBounds(t *testing.T) {
	full := make([]byte, engine.Ranges*sumLen)
	whole := []sums{{Parts: full}}
	item := func(first byte) []byte { return append([]byte{first}, make([]byte, itemLen-1)...) }
	for name, m := range map[string]message{
		"no step":                  {},
		"no mesh":                  {Step: stepOpen, Sums: whole},
		"no ranges":                {Step: stepOpen, Mesh: full[:sumLen]},
		"another range":            {Step: stepOpen, Mesh: full[:sumLen], Sums: []sums{{Range: engine.Range{Depth: 1}, Parts: full}}},
		"too few parts":            {Step: stepOpen, Mesh: full[:sumLen], Sums: []sums{{Parts: full[1:]}}},
		"parts of the smallest":    {Step: stepDeeper, Sums: []sums{{Range: engine.Range{Depth: 2}, Parts: full}}},
		"no such range":            {Step: stepDeeper, Sums: []sums{{Range: engine.Range{Depth: 1, First: 32}, Parts: full}}},
		"the same range twice":     {Step: stepDeeper, Sums: []sums{{Range: engine.Range{Depth: 1}, Parts: full}, {Range: engine.Range{Depth: 1}, Parts: full}}},
		"digests of all":           {Step: stepDigests, Lists: []list{{}}},
		"half a digest":            {Step: stepDigests, Lists: []list{{Range: engine.Range{Depth: 1}, Items: full[:33]}}},
		"ranges that fall":         {Step: stepDigests, Lists: []list{{Range: engine.Range{Depth: 2, First: 5}}, {Range: engine.Range{Depth: 2, First: 4}}}},
		"a range in another":       {Step: stepDigests, Lists: []list{{Range: engine.Range{Depth: 1}}, {Range: engine.Range{Depth: 2, First: 4}}}},
		"an item elsewhere":        {Step: stepDigests, Lists: []list{{Range: engine.Range{Depth: 1}, Items: item(8)}}},
		"an item twice":            {Step: stepDigests, Lists: []list{{Range: engine.Range{Depth: 1}, Items: append(item(7), item(7)...)}}},
		"items that fall":          {Step: stepDigests, Lists: []list{{Range: engine.Range{Depth: 1}, Items: append(item(7), item(6)...)}}},
		"half an identifier":       {Step: stepDiffer, IDs: full[:33]},
		"a want of nothing":        {Step: stepWant},
		"a want of no document":    {Step: stepWant, Want: []engine.Have{{Document: "x"}}},
		"a want of too many":       {Step: stepWant, Want: slices.Repeat([]engine.Have{{Document: testDocumentID(nil)}}, wantDocuments+1)},
		"changes of nobody":        {Step: stepWant, Want: []engine.Have{{Document: testDocumentID(nil), Changes: map[uint64]map[engine.Line]uint64{0: {"": 1}}}}},
		"a status of nobody":       {Step: stepWant, Want: []engine.Have{{Document: testDocumentID(nil), Statuses: map[engine.SiteID]uint64{"": 1}}}},
		"no letter":                {Step: stepLetter},
		"a letter that is refused": {Step: stepRecords, Letter: &engine.Letter{Parcels: []engine.Parcel{{}}}},
		"a step that is none":      {Step: stepDone + 1},
	} {
		if err := m.check(); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := decodeMessage(engine.Encode(&m)); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s, decoded: %v", name, err)
		}
	}
	for _, m := range []message{
		{Step: stepOpen, Mesh: full[:sumLen], Sums: whole}, {Step: stepBusy}, {Step: stepDeeper}, {Step: stepDone}, {Step: stepAnswered, IDs: full},
		{Step: stepDigests, Lists: []list{{Range: engine.Range{Depth: 1}, Items: append(item(6), item(7)...)}, {Range: engine.Range{Depth: 2, First: 32}, Items: item(8)}}},
	} {
		if got, err := decodeMessage(engine.Encode(&m)); err != nil || !reflect.DeepEqual(*got, m) {
			t.Errorf("%+v, not %+v: %v", got, m, err)
		}
	}
}

func TestPongRoundTrip(t *testing.T) {
	want := pong{seq: 7, clock: time.UnixMicro(1_800_000_000_000_001), sum: sum{1, 2}, at: vivaldi.Coordinate{Vector: [vivaldi.Dimensions]float64{1, -2, 3}, Height: 4, Error: 0.5}}
	var b [pongSize]byte
	encodePong(&b, want)
	if got := decodePong(&b); !got.clock.Equal(want.clock) || got.seq != want.seq || got.sum != want.sum || got.at != want.at {
		t.Errorf("%+v, not %+v", got, want)
	}
}

// A queue has so much room, and the room comes back.
func TestQueueIsBounded(t *testing.T) {
	q := newQueue()
	p := &packet{size: queueBytes / 4}
	if q.push(p) {
		t.Error("it takes something for a member that is not connected")
	}
	q.set(true)
	for range 2 {
		for i := range 5 {
			if q.push(p) != (i < 4) {
				t.Errorf("packet %d", i)
			}
		}
		if n := len(q.take()); n != 4 {
			t.Errorf("%d packets", n)
		}
	}
	for range queueLetters {
		q.push(&packet{})
	}
	if q.push(&packet{}) {
		t.Errorf("more than %d packets", queueLetters)
	}
	if !q.set(false) || q.set(false) || len(q.take()) > 0 {
		t.Error("what is left for a member that has gone is lost once")
	}
}

func TestBans(t *testing.T) {
	var r refusals
	now := time.Unix(0, 0)
	for i := range 5 {
		for n := range maxRefusals {
			now = now.Add(time.Second)
			if got, want := r.add(now), time.Duration(0); n < maxRefusals-1 && got != want {
				t.Fatalf("banned for %v after %d refusals", got, n+1)
			} else if want = banTime << i; n == maxRefusals-1 && got != min(want, maxBanTime) {
				t.Fatalf("banned for %v the %d. time", got, i+1)
			}
		}
	}
	for range 10 * maxRefusals { // rarely enough
		now = now.Add(refusalTime/maxRefusals + 10*time.Second)
		if got := r.add(now); got != 0 {
			t.Fatalf("banned for %v", got)
		}
	}
}

// FuzzFrame looks for frames that take more memory than they have bytes, and for panics.
func FuzzFrame(f *testing.F) {
	for _, b := range garbage() {
		f.Add(b)
	}
	f.Add(opening(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newFrameReader(bytes.NewReader(b))
		for {
			n, err := r.length(maxFrame)
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, engine.ErrRefused) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("an error of another kind: %v", err)
				}
				return
			}
			body, err := r.body(n)
			if cap(r.buf) > 4*len(b)+2*keepBuffer {
				t.Errorf("%d bytes took %d", len(b), cap(r.buf))
			}
			if err != nil {
				return
			}
			if len(body) != n || !bytes.Contains(b, body) {
				t.Errorf("%d bytes of %d were read", len(body), n)
			}
		}
	})
}

// FuzzLetters looks for letters that pass and break a bound, and for panics.
func FuzzLetters(f *testing.F) {
	for i := range 3 {
		f.Add(engine.Encode([]*engine.Letter{rapid.Custom(drawLetter).Example(i)}))
	}
	for _, b := range garbage() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		letters, err := decodeLetters(b)
		if err != nil {
			if !errors.Is(err, engine.ErrRefused) {
				t.Errorf("an error of another kind: %v", err)
			}
			return
		}
		var j joiner
		for _, l := range letters {
			p := newPacket(l)
			p.encode()
			if p.err != nil {
				t.Errorf("what was taken in may not be passed on: %v", p.err)
			}
			for _, part := range p.parts {
				j.add(p.sent, part)
			}
		}
		if len(j.letters) == 0 {
			return
		}
		r := newFrameReader(bytes.NewReader(j.frame()))
		n, err := r.length(1 << 30)
		if err != nil {
			t.Fatal(err)
		}
		if b, err = r.body(n); err == nil {
			_, err = decodeLetters(b)
		}
		if err != nil {
			t.Errorf("what is passed on is refused: %v", err)
		}
	})
}

// FuzzMessage looks for messages that pass and break a bound, and for panics.
func FuzzMessage(f *testing.F) {
	full := make([]byte, engine.Ranges*sumLen)
	for _, m := range []message{
		{Step: stepOpen, Mesh: full[:sumLen], Sums: []sums{{Parts: full}}},
		{Step: stepDeeper, Sums: []sums{{Range: engine.Range{Depth: 1, First: 3}, Parts: full}}, Last: true},
		{Step: stepDigests, Lists: []list{{Range: engine.Range{Depth: 1}, Items: full[:itemLen]}}},
		{Step: stepDiffer, IDs: full[:idLen]},
		{Step: stepWant, Want: []engine.Have{{Document: testDocumentID(nil), Changes: map[uint64]map[engine.Line]uint64{1: {"a": 1}}, Statuses: map[engine.SiteID]uint64{"a": 2}}}},
		{Step: stepLetter, Letter: rapid.Custom(drawLetter).Example(1)},
	} {
		f.Add(engine.Encode(&m))
	}
	for _, b := range garbage() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMessage(b)
		if err != nil {
			if !errors.Is(err, engine.ErrRefused) {
				t.Errorf("an error of another kind: %v", err)
			}
			return
		}
		again, err := decodeMessage(engine.Encode(m))
		if err != nil || fmt.Sprint(again) == "" {
			t.Errorf("what decodes does not decode again: %v", err)
		}
		for _, l := range m.Lists {
			there, here := differences(l.Items, nil)
			if len(there) != len(l.Items)/itemLen || len(here) != 0 {
				t.Errorf("%d documents of %d bytes", len(there), len(l.Items))
			}
			for _, d := range there {
				if !l.Range.Contains(d.document()) {
					t.Errorf("%x does not lie in %v", d, l.Range)
				}
			}
		}
	})
}

// FuzzPong looks for answers to pings that do a site's own coordinate harm, and for panics.
func FuzzPong(f *testing.F) {
	f.Add(make([]byte, pongSize))
	f.Add(bytes.Repeat([]byte{0xff}, pongSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		var in [pongSize]byte
		copy(in[:], b)
		p := newPosition(vivaldi.New())
		for range 10 {
			p.measured("other", decodePong(&in).at, 20*time.Millisecond)
		}
		if c := p.coordinate(); !c.Valid() {
			t.Errorf("it is at %+v", c)
		}
	})
}
