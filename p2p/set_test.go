package p2p

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

func digest(i uint64) [32]byte { return sha256.Sum256(binary.BigEndian.AppendUint64(nil, i)) }

func setOf(docs map[[32]byte][32]byte) *set {
	var items []item
	for id, heads := range docs {
		items = append(items, item{id: id, heads: heads})
	}
	return newSet(items)
}

// reconcileSets runs the protocol between two sets without a network and tells how many bytes and steps it took.
func reconcileSets(t interface{ Fatal(...any) }, a, b *set) (c *comparison, bytes, steps int) {
	c = newComparison(a)
	for asked := c.next(); len(asked) > 0; asked = c.next() {
		request := c.request(asked)
		if err := request.check(); err != nil {
			t.Fatal(err)
		}
		answer := b.answer(request)
		if err := answer.check(asked); err != nil {
			t.Fatal(err)
		}
		if err := c.take(asked, answer); err != nil {
			t.Fatal(err)
		}
		for _, v := range []any{request, answer} {
			frame, err := encodeFrame(v, 4*maxCompare)
			if err != nil {
				t.Fatal(err)
			}
			bytes += len(frame)
		}
		steps++
	}
	return c, bytes, steps
}

// Whatever two sites have, comparing finds exactly what differs.
func TestComparisonFindsWhatDiffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few first bytes, so that ranges are crowded and deep.
		id := rapid.Custom(func(t *rapid.T) [32]byte {
			d := digest(rapid.Uint64Range(0, 300).Draw(t, "id"))
			if rapid.Bool().Draw(t, "crowded") {
				copy(d[:rapid.IntRange(0, 31).Draw(t, "same")], make([]byte, 32))
			}
			return d
		})
		heads := rapid.Custom(func(t *rapid.T) [32]byte { return digest(rapid.Uint64Range(0, 2).Draw(t, "heads")) })
		a := rapid.MapOfN(id, heads, 0, 200).Draw(t, "a")
		b := maps.Clone(a)
		for _, id := range rapid.SliceOfN(id, 0, 60).Draw(t, "changed") {
			if rapid.Bool().Draw(t, "gone") {
				delete(b, id)
			} else {
				b[id] = heads.Draw(t, "heads")
			}
		}
		var here, there [][32]byte
		for id, h := range b {
			if mine, ok := a[id]; !ok || mine != h {
				here = append(here, id)
			}
		}
		for id, h := range a {
			if theirs, ok := b[id]; !ok || theirs != h {
				there = append(there, id)
			}
		}
		c, _, _ := reconcileSets(t, setOf(a), setOf(b))
		byID := func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) }
		for _, list := range [][][32]byte{here, there, c.here, c.there} {
			slices.SortFunc(list, byID)
		}
		if !slices.Equal(c.here, here) || !slices.Equal(c.there, there) {
			t.Fatalf("found %d and %d, not %d and %d", len(c.here), len(c.there), len(here), len(there))
		}
	})
}

// The cost follows the difference, not the number of documents.
func TestComparisonCost(t *testing.T) {
	docs := map[[32]byte][32]byte{}
	for i := range uint64(100_000) {
		docs[digest(i)] = digest(i)
	}
	a := setOf(docs)
	if _, bytes, steps := reconcileSets(t, a, a); bytes > 64 || steps != 1 {
		t.Errorf("equal sets: %d bytes in %d steps", bytes, steps)
	}
	for i := range uint64(10) {
		docs[digest(i)] = digest(i + 1)
	}
	c, bytes, steps := reconcileSets(t, a, setOf(docs))
	if bytes > 64<<10 || steps > 5 || len(c.here) != 10 {
		t.Errorf("ten of 100,000: %d bytes in %d steps, %d found", bytes, steps, len(c.here))
	}
	t.Logf("ten of 100,000: %d bytes in %d steps", bytes, steps)
}

func TestPrefixBounds(t *testing.T) {
	first, last := prefix("\x0a\x0b\x0c").bounds()
	if first[0] != 0xab || first[1] != 0xc0 || first[31] != 0 || last[0] != 0xab || last[1] != 0xcf || last[31] != 0xff {
		t.Errorf("%x to %x", first, last)
	}
}

// FuzzReconcile gives both sides bytes of the other: nothing may panic, or get past a bound.
func FuzzReconcile(f *testing.F) {
	docs := map[[32]byte][32]byte{}
	for i := range uint64(300) {
		docs[digest(i)] = digest(i)
	}
	s := setOf(docs)
	for _, v := range []any{
		compareRequest{Ranges: []compareRange{{Prefix: []byte{1, 2}, Fingerprint: make([]byte, fingerprintLen)}}},
		compareRequest{Differ: make([]byte, 64)},
		s.answer(newComparison(setOf(nil)).request([]prefix{""})),
		fetchRequest{Wants: []want{{Document: testDocumentID(nil), Have: engine.Version{"a": 1}}}},
		fetchAnswer{Pieces: []piece{{Document: testDocumentID(nil), Envelope: &engine.Envelope{Document: testDocumentID(nil), About: []byte{1}}}}, Last: true},
		hint{Document: testDocumentID(nil)},
	} {
		frame, err := encodeFrame(v, maxFrame)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
	}
	for _, b := range garbage() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		read := func(v any) bool {
			err := readFrame(bufio.NewReader(bytes.NewReader(b)), v, maxCompare)
			if err != nil && !errors.Is(err, engine.ErrRefused) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && len(b) < 10 {
				t.Errorf("error of another kind: %v", err)
			}
			return err == nil
		}
		var request compareRequest
		if read(&request) && request.check() == nil {
			answer := s.answer(request)
			if _, err := encodeFrame(answer, 4*maxCompare); err != nil {
				t.Errorf("the answer is too long: %v", err)
			}
		}
		var answer compareAnswer
		if read(&answer) {
			c := newComparison(s)
			if asked := c.next(); answer.check(asked) == nil {
				if err := c.take(asked, answer); err != nil || len(c.here) > listItems || len(c.todo) > 16 {
					t.Errorf("one answer makes %d documents and %d ranges: %v", len(c.here), len(c.todo), err)
				}
			}
		}
		var wants fetchRequest
		if read(&wants) && wants.check() == nil && len(wants.Wants) > maxWants {
			t.Error("too many documents pass")
		}
		var pieces fetchAnswer
		if read(&pieces) {
			_ = pieces.check(map[engine.DocumentID]bool{testDocumentID(nil): true})
		}
		var h hint
		if read(&h) && h.check() == nil && (h.Envelope == nil) == (h.Document == "") {
			t.Error("a hint of two things, or of none, passes")
		}
	})
}

func BenchmarkCompare100000(b *testing.B) {
	docs := map[[32]byte][32]byte{}
	for i := range uint64(100_000) {
		docs[digest(i)] = digest(i)
	}
	mine := setOf(docs)
	for range 10 {
		docs[digest(rand.Uint64N(100_000))] = digest(1 << 20)
	}
	theirs := setOf(docs)
	for b.Loop() {
		_, bytes, steps := reconcileSets(b, mine, theirs)
		b.ReportMetric(float64(bytes), "wire-B/op")
		b.ReportMetric(float64(steps), "steps/op")
	}
}

func BenchmarkNewSet100000(b *testing.B) {
	items := make([]item, 100_000)
	for i := range items {
		items[i] = item{id: digest(uint64(i)), heads: digest(uint64(i))}
	}
	for b.Loop() {
		newSet(slices.Clone(items))
	}
}
