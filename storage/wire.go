package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/skerry/skerry/engine"
)

// What rows hold that no list looks into is written field by field: numbers as varints, texts with their length before them.
// It is written with each step of an operation and read for each row of a list, so it is short and quick.

func appendText[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// errStored: what is stored is not what was written there.
var errStored = errors.New("it cannot be read")

// parser reads what was written so. After an error it returns nothing but zeros.
type parser struct {
	rest []byte
	err  error
}

func (p *parser) fail() { p.rest, p.err = nil, errStored }

func (p *parser) uint() uint64 {
	n, size := binary.Uvarint(p.rest)
	if size <= 0 {
		p.fail()
		return 0
	}
	p.rest = p.rest[size:]
	return n
}

func (p *parser) int() int64 {
	n, size := binary.Varint(p.rest)
	if size <= 0 {
		p.fail()
		return 0
	}
	p.rest = p.rest[size:]
	return n
}

// bytes returns a part of what is parsed.
func (p *parser) bytes() []byte {
	n := p.uint()
	if n > uint64(len(p.rest)) {
		p.fail()
		return nil
	}
	b := p.rest[:n:n]
	p.rest = p.rest[n:]
	return b
}

func (p *parser) text() string { return string(p.bytes()) }

// length reads how many elements follow, of which each takes at least one byte.
func (p *parser) length() int {
	n := p.uint()
	if n > uint64(len(p.rest)) {
		p.fail()
		return 0
	}
	return int(n)
}

// end returns the error of all that was read, and one where something is left.
func (p *parser) end() error {
	if p.err == nil && len(p.rest) > 0 {
		p.fail()
	}
	return p.err
}

// encodeApart and decodeApart turn digests by site into a column and back; nil for none.
func encodeApart(by map[engine.SiteID]engine.Fingerprint) (b []byte) {
	for _, site := range sitesOf(by) {
		b = appendDigest(appendText(b, site), by[site])
	}
	return b
}

func decodeApart(b []byte) (map[engine.SiteID]engine.Fingerprint, error) {
	if len(b) == 0 {
		return nil, nil
	}
	by := map[engine.SiteID]engine.Fingerprint{}
	for p := (parser{rest: b}); len(p.rest) > 0; {
		site := engine.SiteID(p.text())
		if p.err != nil || len(p.rest) < digestSize {
			return nil, fmt.Errorf("digests by site: %w", errStored)
		}
		by[site], p.rest = decodeDigest(p.rest[:digestSize]), p.rest[digestSize:]
	}
	return by, nil
}

// digestSize is how many bytes a fingerprint has in a column.
const digestSize = 8 * len(engine.Fingerprint{})

func appendDigest(b []byte, f engine.Fingerprint) []byte {
	for _, n := range f {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// decodeDigest is the way back; zero for anything else.
func decodeDigest(b []byte) (f engine.Fingerprint) {
	if len(b) == digestSize {
		for i := range f {
			f[i] = binary.BigEndian.Uint64(b[8*i:])
		}
	}
	return f
}
