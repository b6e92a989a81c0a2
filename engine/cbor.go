package engine

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// What sites tell each other, and what a site keeps for itself, is CBOR in its core deterministic form (RFC 8949, section
// 4.2.1): equal values have equal bytes. Decoding is bounded and strict, but takes fields that a newer version has added.
var (
	encoding = must(cbor.CoreDetEncOptions().EncMode())
	decoding = must(cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		MaxNestedLevels: 16, MaxArrayElements: 1 << 17, MaxMapPairs: 1 << 16, UTF8: cbor.UTF8RejectInvalid,
	}.DecMode())
)

func must[T any](mode T, err error) T {
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}

// Encode returns the bytes that travel. It panics for what has no encoding: values of this package all have one.
func Encode(v any) []byte {
	b, err := encoding.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return b
}

// Decode decodes exactly one value. The error wraps ErrRefused.
func Decode(b []byte, v any) error {
	if err := decoding.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil
}
