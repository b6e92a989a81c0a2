package engine

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A blob has one name, however its bytes came, and another with any other byte, size or order of chunks.
func TestBlobsAreNamedByWhatIsInThem(t *testing.T) {
	random := rand.NewChaCha8([32]byte{})
	body := make([]byte, 3*ChunkSize+5)
	_, _ = random.Read(body)
	refOf := func(b []byte) (BlobRef, Digests) {
		h := NewBlobHasher()
		_, _ = h.Write(b)
		return h.Sum()
	}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, ChunkSize - 1, ChunkSize, ChunkSize + 1, 2 * ChunkSize, len(body)}).Draw(t, "size")
		want, digests := refOf(body[:size])
		h := NewBlobHasher()
		for rest := body[:size]; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			_, _ = h.Write(rest[:n])
			rest = rest[n:]
		}
		if got, _ := h.Sum(); got != want {
			t.Fatalf("in pieces it is %v, whole %v", got, want)
		}
		if !digests.Are(want) || int64(len(digests)) != want.Chunks()*sha256.Size {
			t.Fatalf("%d bytes of digests for %d chunks", len(digests), want.Chunks())
		}
		var back []byte
		for i := range want.Chunks() {
			chunk := body[i*ChunkSize:][:want.ChunkLen(i)]
			if !digests.Fits(i, chunk) {
				t.Fatalf("chunk %d does not fit", i)
			}
			back = append(back, chunk...)
		}
		if !bytes.Equal(back, body[:size]) {
			t.Fatal("the chunks are not the body")
		}
		other := bytes.Clone(body[:size])
		other[rapid.IntRange(0, size-1).Draw(t, "at")] ^= 1
		if got, _ := refOf(other); got == want || digests.Are(got) {
			t.Fatal("another byte, and the same name")
		}
	})
	a, digests := refOf(body)
	swapped := append(bytes.Clone(digests[32:64]), append(bytes.Clone(digests[:32]), digests[64:]...)...)
	if Digests(swapped).Are(a) || digests.Are(BlobRef{a.Hash, a.Size - 1}) || digests[:32].Are(a) {
		t.Error("other digests, or another size, are the blob's")
	}
}

func TestReferencesFromOutside(t *testing.T) {
	good := strings.Repeat("0a", 32)
	for _, r := range []BlobRef{
		{BlobHash(good), MaxInlineBody}, {BlobHash(good), -1}, {BlobHash(good), MaxBlob + 1}, {BlobHash(strings.ToUpper(good)), 1 << 20},
		{BlobHash(good[1:]), 1 << 20}, {"../../" + BlobHash(good[6:]), 1 << 20}, {"", 1 << 20},
	} {
		if err := r.Validate(); !errors.Is(err, ErrRefused) {
			t.Errorf("%+v: %v", r, err)
		}
		o := Operation{ID: "o", Type: TypeAbsolute, Origin: "s", Run: "00000000", Seq: 1, Blob: &r}
		b, err := o.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeOperation(o.Key(), b); err == nil {
			t.Errorf("an operation with %+v", r)
		}
	}
	ref := BlobRef{BlobHash(good), MaxInlineBody + 1}
	if err := ref.Validate(); err != nil {
		t.Error(err)
	}
	o := Operation{ID: "o", Type: TypeAbsolute, Origin: "s", Run: "00000000", Seq: 1, Blob: &ref, Body: []byte("x")}
	b, err := o.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeOperation(o.Key(), b); err == nil {
		t.Error("an operation with two bodies")
	}
}
