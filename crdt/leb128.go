package crdt

import (
	"encoding/binary"
	"errors"
)

var errTruncated = errors.New("truncated")

// reader takes values from the front of bytes that nobody vouches for. After the first error it yields zero
// values, and err tells it.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err, r.b = err, nil
	}
}

// uint takes an unsigned LEB128. It accepts encodings that are longer than they need to be; comparing with what
// our encoder writes finds those.
func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail(errTruncated)
		return 0
	}
	r.b = r.b[n:]
	return v
}

// int takes a signed LEB128 of at most 64 bits.
func (r *reader) int() int64 {
	var v int64
	for i, shift := 0, uint(0); i < len(r.b) && shift < 64; i, shift = i+1, shift+7 {
		v |= int64(r.b[i]&0x7f) << shift
		if r.b[i]&0x80 == 0 {
			if r.b[i]&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			r.b = r.b[i+1:]
			return v
		}
	}
	r.fail(errTruncated)
	return 0
}

// take takes n bytes; they alias the input. It returns nil when there are fewer.
func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail(errTruncated)
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func appendUint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

func appendInt(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func appendString(b []byte, s string) []byte {
	return append(appendUint(b, uint64(len(s))), s...)
}
