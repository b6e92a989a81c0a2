package crdt

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// forgery is a change that nantes has honestly made, to be spoilt before it is sealed, signed and sent.
type forgery struct {
	*change
	author *site
	others map[string]*site
	// body and chunk edit what was encoded; both may be nil.
	body, chunk func([]byte) []byte
	signature   func([]byte) []byte
}

// seal writes a chunk's header as it should be for whatever follows it.
func seal(chunk []byte) []byte {
	h := sha256.Sum256(chunk[8:])
	copy(chunk[4:], h[:4])
	return chunk
}

func (f *forgery) send(tb testing.TB) engine.SignedChange {
	tb.Helper()
	chunk, h := f.encode()
	if f.body != nil {
		body := &reader{b: chunk[9:]}
		body.uint()
		chunk, h = sealChunk(f.body(slices.Clone(body.b)))
	}
	if f.chunk != nil {
		chunk = f.chunk(chunk)
		h = sha256.Sum256(chunk[8:])
	}
	signature, err := f.author.key.Sign(signed(h))
	must(tb, err)
	if f.signature != nil {
		signature = f.signature(signature)
	}
	return engine.SignedChange{Author: f.author.id, Signature: signature, Bytes: chunk}
}

// seqAt is where the body of a change with one dependency has its number.
const seqAt = 1 + 32 + 1 + 16

func TestGate(t *testing.T) {
	flip := func(b []byte) []byte { b[3] ^= 1; return b }
	long := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { return slices.Replace(b, at, at+1, b[at]|0x80, 0) }
	}
	tests := []struct {
		name  string
		spoil func(*forgery)
		want  error
		says  string
	}{
		{"nothing wrong", func(*forgery) {}, nil, ""},
		{"author forged", func(f *forgery) { f.signature = flip }, engine.ErrRefused, "wrong signature"},
		{"no signature", func(f *forgery) { f.signature = func([]byte) []byte { return nil } }, engine.ErrRefused, "wrong signature"},
		{"signed by someone else", func(f *forgery) {
			f.author = &site{id: f.author.id, key: f.others["brest"].key}
		}, engine.ErrRefused, "wrong signature"},
		{"author is no site", func(f *forgery) {
			f.author = &site{id: "nantes", key: f.author.key}
		}, engine.ErrRefused, "not of site nantes"},
		{"actor of someone else", func(f *forgery) { f.actor = f.others["paris"].actor }, engine.ErrRefused, "is not of site"},
		{"actor of the first change", func(f *forgery) { f.actor = firstActor }, engine.ErrRefused, "is not of site"},
		{"key of someone else", func(f *forgery) {
			f.puts[0].key = string(f.others["paris"].id)
		}, engine.ErrRefused, "is not of site"},
		{"key of a longer name", func(f *forgery) { f.puts[0].key = string(f.author.id) + "x" }, engine.ErrRefused, "is not of site"},
		{"key too long", func(f *forgery) {
			f.puts[0].key = string(f.author.id) + "/" + strings.Repeat("x", engine.MaxKey)
		}, engine.ErrRefused, "too long"},
		{"key no text", func(f *forgery) { f.puts[0].key = string(f.author.id) + "/\xff" }, engine.ErrRefused, "no text"},
		{"key twice", func(f *forgery) { f.puts = append(f.puts, f.puts[0]) }, engine.ErrRefused, "twice"},
		{"value too large", func(f *forgery) { f.puts[0].value = make([]byte, engine.MaxEntry+1) }, engine.ErrRefused, "a value of"},
		{"change too large", func(f *forgery) {
			f.puts = nil
			for i := range 5 {
				key := fmt.Sprint(f.author.id, "/", i)
				f.puts = append(f.puts, put{object: 1, key: key, value: make([]byte, engine.MaxEntry)})
			}
		}, engine.ErrRefused, "a change of"},
		{"too many operations", func(f *forgery) {
			f.puts = nil
			for i := range maxOps + 1 {
				f.puts = append(f.puts, put{object: 1, key: fmt.Sprint(f.author.id, "/", i)})
			}
		}, engine.ErrRefused, "more than 4096 values"},
		{"no operations", func(f *forgery) { f.puts = nil }, engine.ErrRefused, "column of actions"},
		{"an unknown map", func(f *forgery) { f.puts[0].object = 5 }, engine.ErrRefused, "no map 5"},
		{"the root", func(f *forgery) { f.puts[0].object = 0 }, engine.ErrRefused, "different lengths"},
		{"a map made", func(f *forgery) { f.puts[0].makes = true }, engine.ErrRefused, "no put of bytes"},
		{"predecessor of someone else", func(f *forgery) {
			f.puts[0].preds = []opID{{6, f.others["paris"].actor}}
		}, engine.ErrRefused, "predecessors"},
		{"predecessor left out", func(f *forgery) { f.puts[1].preds = nil }, engine.ErrRefused, "predecessors"},
		{"predecessor that is not there", func(f *forgery) { f.puts[1].preds[0].counter = 1 << 62 }, engine.ErrRefused, "predecessors"},
		{"predecessor twice", func(f *forgery) {
			f.puts[1].preds = append(f.puts[1].preds, f.puts[1].preds[0])
		}, engine.ErrRefused, "predecessors"},
		{"a gap in the numbers", func(f *forgery) { f.seq++ }, engine.ErrRefused, "after its change 1"},
		{"a number twice", func(f *forgery) { f.seq-- }, engine.ErrRefused, "after its change 1"},
		{"number zero", func(f *forgery) { f.seq = 0 }, engine.ErrRefused, "change 0"},
		{"first operation too low", func(f *forgery) { f.startOp-- }, engine.ErrRefused, "first operation"},
		{"first operation too high", func(f *forgery) { f.startOp = 1 << 63 }, engine.ErrRefused, "first operation"},
		{"no dependency", func(f *forgery) { f.deps = nil }, engine.ErrRefused, "no dependency"},
		{"dependency unknown", func(f *forgery) { f.deps[0][0] ^= 1 }, engine.ErrMissing, "missing"},
		{"not built on its own last change", func(f *forgery) {
			_, f.deps[0] = firstChange(engine.SchemaResource, f.author.shelf.about()).encode()
		}, engine.ErrRefused, "does not build on"},
		{"dependency twice", func(f *forgery) { f.deps = append(f.deps, f.deps[0]) }, engine.ErrRefused, "not sorted"},
		{"dependencies not sorted", func(f *forgery) {
			_, first := firstChange(engine.SchemaResource, f.author.shelf.about()).encode()
			f.deps = append(f.deps, first)
			slices.SortFunc(f.deps, func(a, b hash) int { return compareHashes(b, a) })
		}, engine.ErrRefused, "not sorted"},
		{"wrong checksum", func(f *forgery) {
			f.chunk = func(b []byte) []byte { b[4] ^= 1; return b }
		}, engine.ErrRefused, "wrong checksum"},
		{"bytes after the chunk", func(f *forgery) {
			f.chunk = func(b []byte) []byte { return seal(append(b, 0)) }
		}, engine.ErrRefused, "length"},
		{"bytes after the columns", func(f *forgery) {
			f.body = func(b []byte) []byte { return append(b, 0) }
		}, engine.ErrRefused, "1 bytes too many"},
		{"a second chunk behind", func(f *forgery) {
			f.chunk = func(b []byte) []byte { return seal(append(b, b...)) }
		}, engine.ErrRefused, "length"},
		{"cut short", func(f *forgery) {
			f.body = func(b []byte) []byte { return b[:len(b)-1] }
		}, engine.ErrRefused, "truncated"},
		{"length written long", func(f *forgery) {
			f.chunk = func(b []byte) []byte {
				n := len(appendUint(nil, uint64(len(b))))
				return seal(slices.Insert(setHigh(b, 9+n-1), 9+n, 0))
			}
		}, engine.ErrRefused, "not in the form"},
		{"number written long", func(f *forgery) { f.body = long(seqAt) }, engine.ErrRefused, "not in the form"},
		{"a time", func(f *forgery) {
			f.body = func(b []byte) []byte { b[seqAt+2] = 1; return b }
		}, engine.ErrRefused, "a time"},
		{"a message", func(f *forgery) {
			f.body = func(b []byte) []byte { return slices.Replace(b, seqAt+3, seqAt+4, 1, 'x') }
		}, engine.ErrRefused, "a message"},
		{"a short actor", func(f *forgery) {
			f.body = func(b []byte) []byte { return slices.Replace(b, 33, 35, 15) }
		}, engine.ErrRefused, "actor of 15 bytes"},
		{"an insert", func(f *forgery) {
			f.body = func(b []byte) []byte { // two times false becomes none, then two times true
				i := bytes.Index(b, []byte{columnInsert, 1, columnAction})
				b[i+1] = 2
				j := bytes.LastIndex(b, []byte{2, 2, actionPut})
				return slices.Replace(b, j, j+1, 0, 2)
			}
		}, engine.ErrRefused, "not in the form"},
		{"a deletion", func(f *forgery) {
			f.body = func(b []byte) []byte {
				j := bytes.LastIndex(b, []byte{2, 2, actionPut})
				b[j+2] = 3
				return b
			}
		}, engine.ErrRefused, "no put of bytes"},
		{"an unknown column", func(f *forgery) {
			f.body = func(b []byte) []byte {
				b[bytes.Index(b, []byte{columnInsert, 1, columnAction})] = 0x94
				return b
			}
		}, engine.ErrRefused, "unknown column 0x94"},
		{"a run of more than there are", func(f *forgery) {
			f.body = func(b []byte) []byte {
				j := bytes.LastIndex(b, []byte{2, 2, actionPut})
				b[j+1] = 3
				return b
			}
		}, engine.ErrRefused, "different lengths"},
		{"compressed", func(f *forgery) {
			f.chunk = func(b []byte) []byte {
				body := &reader{b: b[9:]}
				body.uint()
				var packed bytes.Buffer
				w, _ := flate.NewWriter(&packed, flate.BestSpeed)
				_, _ = w.Write(body.b)
				_ = w.Close()
				out := append(slices.Clone(b[:8]), 2)
				return append(appendUint(out, uint64(packed.Len())), packed.Bytes()...)
			}
		}, engine.ErrRefused, "chunk"},
		{"a document", func(f *forgery) {
			f.chunk = func(b []byte) []byte { b[8] = 0; return seal(b) }
		}, engine.ErrRefused, "chunk of type 0"},
		{"empty", func(f *forgery) { f.chunk = func([]byte) []byte { return make([]byte, 8) } }, engine.ErrRefused, "no chunk"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			paris, nantes, brest := newSite(t, "paris", 0, newShelf()), newSite(t, "nantes", 0, newShelf()),
				newSite(t, "brest", 0, newShelf())
			id := paris.create(t, resource(paris, nantes, brest))
			nantes.create(t, resource(paris, nantes, brest))
			_, err := paris.merge(t, id, nantes.write(t, id, nantes.entry(engine.MapReplicas, "", "before")))
			must(t, err)

			f := &forgery{author: nantes, others: map[string]*site{"paris": paris, "brest": brest}}
			nantes.open(t, id, func(d *document) {
				f.change, err = nantes.compose(d.history, []engine.Entry{
					nantes.entry(engine.MapOperations, "1", "new"), nantes.entry(engine.MapReplicas, "", "after")})
				must(t, err)
			})
			before, heads := paris.entries(t, id), paris.heads(t, id)
			tt.spoil(f)
			entries, err := paris.merge(t, id, f.send(t))
			if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Fatalf("got error %v, want %v", err, tt.want)
			}
			if tt.want == nil {
				if len(entries) != 2 || paris.heads(t, id) == heads {
					t.Fatalf("the honest change gave %v", entries)
				}
				return
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %q does not say %q", err, tt.says)
			}
			if len(entries) != 0 || !equalEntries(paris.entries(t, id), before) || paris.heads(t, id) != heads {
				t.Error("what was refused changed the document")
			}
		})
	}
}

func setHigh(b []byte, at int) []byte { b[at] |= 0x80; return b }

// about returns the About of the one document on the shelf.
func (s *shelf) about() []byte {
	for _, row := range s.documents {
		return row.About
	}
	return nil
}

// TestCloneCannotHideWhatItHasNotSeen has two processes of one site write one key at the same time, and then one of
// them pretend that it had seen the other's value.
func TestCloneCannotHideWhatItHasNotSeen(t *testing.T) {
	paris := newSite(t, "paris", 0, newShelf())
	one, two := newSite(t, "nantes", 1, newShelf()), newSite(t, "nantes", 2, newShelf())
	about := resource(paris, one)
	id := paris.create(t, about)
	one.create(t, about)
	two.create(t, about)
	a := one.write(t, id, one.entry(engine.MapReplicas, "", "one"))
	_, err := paris.merge(t, id, a)
	must(t, err)

	f := &forgery{author: two}
	two.open(t, id, func(d *document) {
		f.change, err = two.compose(d.history, []engine.Entry{two.entry(engine.MapReplicas, "", "two")})
		must(t, err)
	})
	f.puts[0].preds = []opID{{6, one.actor}}
	if _, err := paris.merge(t, id, f.send(t)); !errors.Is(err, engine.ErrRefused) {
		t.Fatalf("got %v, want a refusal", err)
	}
	f.puts[0].preds = nil
	_, err = paris.merge(t, id, f.send(t))
	must(t, err)
	paris.open(t, id, func(d *document) {
		if got, want := paris.history(d), ownReading(t, d); !equalEntries(got, want) {
			t.Errorf("of two values we show %v, Automerge %v", got, want)
		}
	})
}

// TestAnOperationIsWrittenOnce has its origin write another one under the same key.
func TestAnOperationIsWrittenOnce(t *testing.T) {
	paris, nantes := newSite(t, "paris", 0, newShelf()), newSite(t, "nantes", -1, newShelf())
	about := resource(paris, nantes)
	id := paris.create(t, about)
	nantes.create(t, about)
	first := paris.write(t, id, paris.entry(engine.MapOperations, "one", "as it was"))
	if _, err := nantes.merge(t, id, first); err != nil {
		t.Fatal(err)
	}
	again := []engine.Entry{paris.entry(engine.MapOperations, "one", "as it was not")}
	if _, err := paris.Set.Write(t.Context(), id, again); err == nil {
		t.Error("an operation is written twice")
	}
	if got := nantes.entries(t, id); len(got) != 1 || string(got[0].Value) != "as it was" {
		t.Errorf("nantes has %v", got)
	}
}
