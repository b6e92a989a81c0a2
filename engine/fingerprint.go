package engine

import (
	"crypto/sha256"
	"encoding/binary"
)

// FingerprintOfHash returns the fingerprint of what a SHA-256 digest names.
func FingerprintOfHash(h [32]byte) Fingerprint {
	var f Fingerprint
	for i := range f {
		f[i] = binary.BigEndian.Uint64(h[8*i:])
	}
	return f
}

// FingerprintOf returns the fingerprint of some bytes of one domain.
func FingerprintOf(domain string, parts ...[]byte) Fingerprint {
	b := append(make([]byte, 0, 256), "skerry "+domain+"\x00"...)
	for _, p := range parts {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(p))), p...)
	}
	return FingerprintOfHash(sha256.Sum256(b))
}

// Bytes returns the fingerprint in 32 bytes.
func (f Fingerprint) Bytes() []byte {
	b := make([]byte, 0, 32)
	for _, n := range f {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// Number returns a number in 8 bytes.
func Number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
