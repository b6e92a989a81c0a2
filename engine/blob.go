package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
)

const (
	// ChunkSize is how many bytes of a blob travel and are checked at once. Only the last chunk may be shorter.
	ChunkSize = 1 << 20
	// MaxBlob is the most bytes that a blob may have, whatever a site allows: the digests of its chunks fit into one message.
	MaxBlob = 64 << 30
)

// BlobHash names a blob by what is in it: 64 lower-case hex digits, the SHA-256 digest of its size and of the digests of its
// chunks (Digests.Of). So each chunk can be checked when it comes, without the others.
type BlobHash string

// BlobRef is what an operation carries in the place of a body of more than MaxInlineBody bytes.
type BlobRef struct {
	Hash BlobHash `json:"hash" cbor:"1,keyasint"`
	Size int64    `json:"size" cbor:"2,keyasint"`
}

// NeededBlob is a blob that something stored needs. Where that is an operation, it has the operation's origin and the size; else neither is
// known.
type NeededBlob struct {
	BlobRef
	Origin SiteID
}

// Validate checks a reference from outside. The error wraps ErrRefused.
func (r BlobRef) Validate() error {
	if b, err := hex.DecodeString(string(r.Hash)); err != nil || len(b) != sha256.Size || hex.EncodeToString(b) != string(r.Hash) {
		return fmt.Errorf("%w: %.80q names no blob", ErrRefused, string(r.Hash))
	}
	if r.Size <= MaxInlineBody || r.Size > MaxBlob {
		return fmt.Errorf("%w: a blob of %d bytes", ErrRefused, r.Size)
	}
	return nil
}

// Chunks counts the chunks of the blob.
func (r BlobRef) Chunks() int64 { return (r.Size + ChunkSize - 1) / ChunkSize }

// ChunkLen returns the length of chunk i, which the blob must have.
func (r BlobRef) ChunkLen(i int64) int { return int(min(ChunkSize, r.Size-i*ChunkSize)) }

// Digests are the SHA-256 digests of a blob's chunks, one after the other.
type Digests []byte

// Of returns the reference of the blob of this size whose chunks have these digests.
func (d Digests) Of(size int64) BlobRef {
	h := sha256.New()
	h.Write([]byte("skerry blob\x00"))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(size)))
	h.Write(d)
	return BlobRef{Hash: BlobHash(hex.EncodeToString(h.Sum(nil))), Size: size}
}

// Are reports whether these are the digests of the blob.
func (d Digests) Are(r BlobRef) bool {
	return int64(len(d)) == r.Chunks()*sha256.Size && d.Of(r.Size) == r
}

// Fits reports whether these bytes are chunk i, which there must be.
func (d Digests) Fits(i int64, chunk []byte) bool {
	sum := sha256.Sum256(chunk)
	return bytes.Equal(sum[:], d[i*sha256.Size:][:sha256.Size])
}

// BlobHasher finds out the reference of the bytes that are written to it. It keeps 32 bytes for each chunk.
type BlobHasher struct {
	chunk   hash.Hash
	digests Digests
	size    int64
}

// NewBlobHasher returns a hasher of nothing yet.
func NewBlobHasher() *BlobHasher { return &BlobHasher{chunk: sha256.New()} }

// Write implements io.Writer. It never fails.
func (h *BlobHasher) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		part := p[:min(int64(len(p)), ChunkSize-h.size%ChunkSize)]
		h.chunk.Write(part)
		if h.size += int64(len(part)); h.size%ChunkSize == 0 {
			h.endChunk()
		}
		p = p[len(part):]
	}
	return n, nil
}

func (h *BlobHasher) endChunk() {
	h.digests = h.chunk.Sum(h.digests)
	h.chunk.Reset()
}

// Sum ends the blob and returns its reference and its digests. Nothing may be written after.
func (h *BlobHasher) Sum() (BlobRef, Digests) {
	if h.size%ChunkSize != 0 {
		h.endChunk()
	}
	return h.digests.Of(h.size), h.digests
}

// Bytes writes a number of bytes for people.
func Bytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB"}
	f, i := float64(n), 0
	for ; f >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
