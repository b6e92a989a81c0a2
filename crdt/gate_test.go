package crdt

import (
	"bytes"
	"compress/flate"
	"crypto/ed25519"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// forgery is nantes' next change in a document of paris and nantes as a hostile nantes may send it.
type forgery struct {
	place
	entries   []engine.Entry
	body      func([]byte) []byte // what comes after the length of the chunk; the length and the checksum are made right
	chunk     func([]byte) []byte // all of it; the checksum is made right unless it leaves it
	signature func([]byte) []byte
	by        *Documents // who signs
	claims    engine.Line
	of        engine.DocumentID // that it is signed for, with the epoch
	epoch     uint64
}

func newForgery(d *document, by *Documents) *forgery {
	tip := d.tip(by)
	f := &forgery{by: by, claims: lineOf(by), of: d.id, epoch: d.epoch, place: place{line: lineOf(by), actor: actorOf(lineOf(by)), maps: mapsOf[d.about.Collaboration],
		number: tip.Number + 1, previous: tip.Hash, begins: tip.Last + 1}}
	f.entries = []engine.Entry{{Map: engine.MapOperations, Value: []byte("new")}, {Map: engine.MapReplicas, Value: []byte("after")}}
	return f
}

// reseal makes the checksum of a chunk right.
func reseal(chunk []byte) []byte {
	if len(chunk) > hashedFrom {
		seal(chunk)
	}
	return chunk
}

// wrap makes a chunk of a body.
func wrap(body []byte) []byte {
	chunk := appendUint(append(make([]byte, hashedFrom), chunkChange), uint64(len(body)))
	return reseal(append(chunk, body...))
}

// bodyOf is the body of a chunk.
func bodyOf(chunk []byte) []byte {
	r := &reader{b: chunk[hashedFrom+1:]}
	r.uint()
	return r.b
}

func (f *forgery) send() engine.SignedChange {
	chunk, _, _ := f.write(f.entries)
	if f.body != nil {
		chunk = wrap(f.body(slices.Clone(bodyOf(chunk))))
	}
	if f.chunk != nil {
		chunk = f.chunk(chunk)
	}
	var h hash
	if len(chunk) > hashedFrom {
		h = seal(slices.Clone(chunk))
	}
	signature := ed25519.Sign(f.by.key, append([]byte(changeDomain), statement(f.of, f.epoch, h)...))
	if f.signature != nil {
		signature = f.signature(signature)
	}
	return engine.SignedChange{Line: f.claims, Signature: signature, Bytes: chunk}
}

// Where parts of the body of a forgery are: its number has one byte, and so has its first operation.
const (
	actorAt  = 1 + 32
	numberAt = actorAt + 1 + 16
	timeAt   = numberAt + 2
	othersAt = timeAt + 2
)

// at replaces n bytes at a place of the body.
func at(i, n int, by ...byte) func([]byte) []byte {
	return func(b []byte) []byte { return slices.Replace(b, i, i+n, by...) }
}

func TestGate(t *testing.T) {
	paris, nantes, brest := newSite(t, "paris"), newSite(t, "nantes"), newSite(t, "brest")
	spec := func(b []byte, of byte) int {
		return bytes.Index(b[othersAt:], []byte{of, 1, columnAction, 2}) + othersAt
	}
	tests := []struct {
		name  string
		spoil func(*forgery)
		says  string
	}{
		{"nothing wrong", func(*forgery) {}, ""},
		{"forged", func(f *forgery) { f.signature = func(s []byte) []byte { s[3] ^= 1; return s } }, "wrong signature"},
		{"no signature", func(f *forgery) { f.signature = func([]byte) []byte { return nil } }, "wrong signature"},
		{"a long signature", func(f *forgery) { f.signature = func(s []byte) []byte { return append(s, 0) } }, "a cut signature"},
		{"signed for another document", func(f *forgery) { f.of = engine.DocumentID(strings.Repeat("0", 64)) }, "wrong signature"},
		{"signed for another epoch", func(f *forgery) { f.epoch++ }, "wrong signature"},
		{"signed by someone else", func(f *forgery) { f.by = brest }, "wrong signature"},
		{"someone else's", func(f *forgery) { f.claims = lineOf(brest) }, "is not that of line"},
		{"someone else's run", func(f *forgery) { f.claims = engine.LineOf(f.by.Self(), "2") }, "is not that of line"},
		{"author is no site", func(f *forgery) { f.claims = "nantes/1" }, "site \"nantes\""},
		{"a long author", func(f *forgery) { f.claims = engine.Line(strings.Repeat("1", 1<<20)) }, "no line"},
		{"a long run", func(f *forgery) { f.claims += engine.Line(strings.Repeat("1", engine.MaxRun)) }, "no line"},
		{"a run without a name", func(f *forgery) { f.claims = engine.LineOf(f.by.Self(), "") }, "no line"},
		{"a run in a run", func(f *forgery) { f.claims += "/1" }, "no line"},
		{"actor of someone else", func(f *forgery) { f.actor = actorOf(lineOf(paris)) }, "is not that of line"},
		{"actor of the first change", func(f *forgery) { f.actor = firstActor }, "is not that of line"},
		{"keys of someone else", func(f *forgery) { f.line = lineOf(paris) }, "not in the form"},
		{"keys of another change", func(f *forgery) {
			f.body = func(b []byte) []byte { return bytes.Replace(b, []byte("/2/0"), []byte("/1/0"), 1) }
		}, "not in the form"},
		{"keys in another order", func(f *forgery) {
			f.body = func(b []byte) []byte { return bytes.Replace(b, []byte("/2/0"), []byte("/2/2"), 1) }
		}, "not in the form"},
		{"value too large", func(f *forgery) { f.entries[0].Value = make([]byte, engine.MaxEntry+1) }, "a value of 1572865 bytes"},
		{"change too large", func(f *forgery) {
			f.entries = slices.Repeat([]engine.Entry{{Map: engine.MapOperations, Value: make([]byte, engine.MaxEntry)}}, 5)
		}, "a change of"},
		{"too many entries", func(f *forgery) {
			f.entries = slices.Repeat([]engine.Entry{{Map: engine.MapOperations}}, engine.MaxEntries+1)
		}, "4097 entries"},
		{"an unknown map", func(f *forgery) { f.entries[0].Map = engine.MapContents; f.maps = mapsOf[engine.Cross] }, "no map 5"},
		{"the root", func(f *forgery) { f.entries[0].Map = "none" }, "no map 0"},
		{"number zero", func(f *forgery) { f.number = 0 }, "change 0"},
		{"a far too high number", func(f *forgery) { f.number = maxNumber + 1; f.begins = 1 << 30 }, "change 524289"},
		{"first operation too low", func(f *forgery) { f.begins = 6 }, "begins with operation 6"},
		{"first operation too high", func(f *forgery) { f.begins = 7 + engine.MaxEntries }, "begins with operation 4103"},
		{"first operation at the end", func(f *forgery) { f.begins = 1<<64 - 1 }, "begins with operation"},
		{"another number", func(f *forgery) { f.number = 1; f.begins = 6 }, "does not follow"},
		{"another predecessor", func(f *forgery) { f.previous[0] ^= 1 }, "does not follow"},
		{"another beginning", func(f *forgery) { f.begins++ }, "does not follow"},
		{"no dependency", func(f *forgery) { f.body = func(b []byte) []byte { return append([]byte{0}, b[33:]...) } }, "0 dependencies"},
		{"two dependencies", func(f *forgery) {
			f.body = func(b []byte) []byte { return slices.Concat([]byte{2}, b[1:33], b[1:]) }
		}, "2 dependencies"},
		{"wrong checksum", func(f *forgery) { f.chunk = func(b []byte) []byte { b[4] ^= 1; return b } }, "wrong checksum"},
		{"bytes after the chunk", func(f *forgery) { f.chunk = func(b []byte) []byte { return reseal(append(b, 0)) } }, "length"},
		{"bytes after the columns", func(f *forgery) { f.body = func(b []byte) []byte { return append(b, 0) } }, "1 bytes too many"},
		{"a second chunk behind", func(f *forgery) { f.chunk = func(b []byte) []byte { return reseal(append(b, b...)) } }, "length"},
		{"cut short", func(f *forgery) { f.body = func(b []byte) []byte { return b[:len(b)-1] } }, "truncated"},
		{"nothing in it", func(f *forgery) { f.body = func([]byte) []byte { return nil } }, "truncated"},
		{"length written long", func(f *forgery) {
			f.chunk = func(b []byte) []byte {
				n := len(appendUint(nil, uint64(len(bodyOf(b)))))
				b[hashedFrom+n] |= 0x80
				return reseal(slices.Insert(b, hashedFrom+1+n, 0))
			}
		}, "not in the form"},
		{"number written long", func(f *forgery) { f.body = at(numberAt, 1, 0x82, 0) }, "not in the form"},
		{"a number without an end", func(f *forgery) {
			f.body = at(numberAt, 1, bytes.Repeat([]byte{0xff}, 12)...)
		}, "truncated"},
		{"a time", func(f *forgery) { f.body = at(timeAt, 1, 1) }, "a time"},
		{"a message", func(f *forgery) { f.body = at(timeAt+1, 1, 1, 'x') }, "a message"},
		{"a short actor", func(f *forgery) { f.body = at(actorAt, 2, 15) }, "is not that of line"},
		{"no other actor", func(f *forgery) { f.body = at(othersAt, 18, 0) }, "other actors"},
		{"another other actor", func(f *forgery) { f.body = at(othersAt+2, 1, 1) }, "other actors"},
		{"another object's maker", func(f *forgery) {
			f.body = func(b []byte) []byte { // the runs of object actors and of their counters: two times 1, then 1 and 2
				i := bytes.Index(b, []byte{2, 1, 0x7e, 1, 2})
				b[i+1] = 0
				return b
			}
		}, "not in the form"},
		{"an insert", func(f *forgery) {
			f.body = func(b []byte) []byte { // two times false becomes none, then two times true
				b[spec(b, columnInsert)+1] = 2
				i := bytes.LastIndex(b, []byte{2, 2, actionPut})
				return slices.Replace(b, i, i+1, 0, 2)
			}
		}, "0 entries"},
		{"a deletion", func(f *forgery) {
			f.body = func(b []byte) []byte { b[bytes.LastIndex(b, []byte{2, 2, actionPut})+2] = 3; return b }
		}, "not in the form"},
		{"a text", func(f *forgery) {
			f.body = func(b []byte) []byte { b[bytes.LastIndex(b, []byte{0x7e, 0x37, 0x57})+1] = 0x36; return b }
		}, "a value that is not bytes"},
		{"a value longer than there is", func(f *forgery) {
			f.body = func(b []byte) []byte { b[bytes.LastIndex(b, []byte{0x7e, 0x37, 0x57})+2] = 0x67; return b }
		}, "truncated"},
		{"a value shorter than there is", func(f *forgery) {
			f.body = func(b []byte) []byte { b[bytes.LastIndex(b, []byte{0x7e, 0x37, 0x57})+2] = 0x47; return b }
		}, "not in the form"},
		{"a predecessor", func(f *forgery) {
			f.body = func(b []byte) []byte { b[len(b)-1] = 1; return b }
		}, "not in the form"},
		{"an unknown column", func(f *forgery) {
			f.body = func(b []byte) []byte { b[spec(b, columnInsert)] = 0x94; return b }
		}, "unknown column"},
		{"a compressed column", func(f *forgery) {
			f.body = func(b []byte) []byte { b[spec(b, columnInsert)] |= 8; return b }
		}, "unknown column"},
		{"a column twice", func(f *forgery) {
			f.body = func(b []byte) []byte { b[spec(b, columnInsert)+2] = columnInsert; return b }
		}, ""},
		{"more columns than there are", func(f *forgery) {
			f.body = func(b []byte) []byte { b[othersAt+18] = 9; return b }
		}, "9 columns"},
		{"a null", func(f *forgery) {
			f.body = func(b []byte) []byte { b[bytes.LastIndex(b, []byte{0x7e, 0x37, 0x57})] = 0; return b }
		}, "null in a column"},
		{"a run of more than there are", func(f *forgery) {
			f.body = func(b []byte) []byte { b[bytes.LastIndex(b, []byte{2, 2, actionPut})+1] = 3; return b }
		}, "not in the form"},
		{"runs written apart", func(f *forgery) {
			f.entries = f.entries[:1]
			f.body = func(b []byte) []byte { // once 0 for the predecessors becomes a run of one
				b[len(b)-2] = 1
				return b
			}
		}, "not in the form"},
		{"compressed", func(f *forgery) {
			f.chunk = func(b []byte) []byte {
				var packed bytes.Buffer
				w, _ := flate.NewWriter(&packed, flate.BestSpeed)
				_, _ = w.Write(bodyOf(b))
				_ = w.Close()
				out := append(slices.Clone(b[:hashedFrom]), 2)
				return append(appendUint(out, uint64(packed.Len())), packed.Bytes()...)
			}
		}, "chunk of type 2"},
		{"a document", func(f *forgery) { f.chunk = func(b []byte) []byte { b[hashedFrom] = 0; return reseal(b) } }, "chunk of type 0"},
		{"empty", func(f *forgery) { f.chunk = func([]byte) []byte { return nil } }, "no chunk"},
		{"no magic", func(f *forgery) { f.chunk = func(b []byte) []byte { b[0] ^= 1; return b } }, "no chunk"},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDocument(t, paris, replicated(paris, nantes, brest), 0)
			d.write(t, nantes, engine.Entry{Map: engine.MapReplicas, Value: []byte("before")})
			f := newForgery(d, nantes)
			tt.spoil(f)
			c, err := paris.Read(d.about, d.id, 0, f.send(), false)
			if err == nil && !d.tip(nantes).Follows(c) {
				err = errors.New("does not follow")
			} else if err != nil && !errors.Is(err, engine.ErrRefused) {
				t.Errorf("the sender is not at fault: %v", err)
			}
			switch {
			case i == 0 && err != nil:
				t.Fatal(err)
			case i > 0 && err == nil:
				t.Fatalf("it passes: %+v", c)
			case i > 0 && !strings.Contains(err.Error(), tt.says):
				t.Errorf("error %q does not say %q", err, tt.says)
			}
		})
	}
}

// TestTrustedBytesMayBeDamaged: bytes from the own disk are decoded without the gate, and never by a panic.
func TestTrustedBytesMayBeDamaged(t *testing.T) {
	paris := newSite(t, "paris")
	d := newDocument(t, paris, replicated(paris), 0)
	c := d.write(t, paris, engine.Entry{Map: engine.MapOperations, Value: []byte("value")}).SignedChange
	for i := range c.Bytes {
		bad := c
		bad.Bytes = slices.Clone(c.Bytes)
		bad.Bytes[i] ^= 0x41
		if _, err := paris.Read(d.about, d.id, 0, bad, true); err == nil || errors.Is(err, engine.ErrRefused) {
			t.Errorf("damage at %d: %v", i, err)
		}
	}
}
