package p2p

import (
	"encoding/binary"
	"sync"

	"github.com/skerry/skerry/engine"
)

// packet is a letter on its way to several members: it is encoded once, by the first writer that needs it.
type packet struct {
	letter *engine.Letter
	size   int // about

	once  sync.Once
	err   error  // it is not fit to be sent
	sent  string // the encoded list of sites, empty for none: letters with equal ones become one
	parts []part
}

// part is one encoded parcel, batch, status or record; field is its list's key in engine.Letter.
type part struct {
	field byte
	bytes []byte
}

const (
	fieldParcels = iota + 1
	fieldBatches
	fieldStatuses
	fieldRecords
	fieldSent
)

func newPacket(l *engine.Letter) *packet { return &packet{letter: l, size: sizeOf(l)} }

func (p *packet) encode() {
	p.once.Do(func() {
		l := p.letter
		p.letter = nil
		if p.err = checkLetter(l); p.err != nil {
			return // the others would hold it against this site
		}
		if len(l.Sent) > 0 {
			p.sent = string(engine.Encode(l.Sent))
		}
		p.parts = make([]part, 0, len(l.Parcels)+len(l.Batches)+len(l.Statuses)+len(l.Records))
		for i := range l.Parcels {
			p.parts = append(p.parts, part{fieldParcels, engine.Encode(&l.Parcels[i])})
		}
		for i := range l.Batches {
			p.parts = append(p.parts, part{fieldBatches, engine.Encode(&l.Batches[i])})
		}
		for i := range l.Statuses {
			p.parts = append(p.parts, part{fieldStatuses, engine.Encode(&l.Statuses[i])})
		}
		for i := range l.Records {
			p.parts = append(p.parts, part{fieldRecords, engine.Encode(&l.Records[i])})
		}
	})
}

// joiner joins packets into frames of letters. Letters that went to the same sites become one, in the order of the first of
// them. The zero value is an empty frame.
type joiner struct {
	letters []joined
	size    int    // bytes of parts and lists of sites
	buf     []byte // of the last frame, if it was not large
}

// joined is one letter of a frame.
type joined struct {
	sent   string
	fields [fieldSent][][]byte
}

// room reports whether a part fits into a frame that has others.
func (j *joiner) room(sent string, p part) bool {
	return len(j.letters) == 0 || j.size+len(sent)+len(p.bytes) <= frameBytes
}

func (j *joiner) add(sent string, p part) {
	i := len(j.letters) - 1
	for i >= 0 && j.letters[i].sent != sent {
		i--
	}
	if i < 0 {
		i = len(j.letters)
		j.letters = append(j.letters, joined{sent: sent})
		j.size += len(sent)
	}
	fields := &j.letters[i].fields
	fields[p.field] = append(fields[p.field], p.bytes)
	j.size += len(p.bytes)
}

// frame returns the frame, valid until the next call, and empties the joiner. It is what engine.Encode makes of the letters:
// arrays and maps of definite length are their heads and what is in them.
func (j *joiner) frame() []byte {
	buf := append(j.buf[:0], make([]byte, binary.MaxVarintLen32)...) // for the length
	buf = appendHead(buf, 4, len(j.letters))
	for i := range j.letters {
		l := &j.letters[i]
		fields := 0
		for _, parts := range l.fields {
			fields += min(len(parts), 1)
		}
		buf = appendHead(buf, 5, fields+min(len(l.sent), 1))
		for field, parts := range l.fields {
			if len(parts) == 0 {
				continue
			}
			buf = appendHead(append(buf, byte(field)), 4, len(parts))
			for _, b := range parts {
				buf = append(buf, b...)
			}
		}
		if l.sent != "" {
			buf = append(append(buf, fieldSent), l.sent...)
		}
	}
	j.reset()
	if cap(buf) <= keepBuffer {
		j.buf = buf
	}
	var length [binary.MaxVarintLen32]byte
	begin := len(length) - binary.PutUvarint(length[:], uint64(len(buf)-len(length)))
	copy(buf[begin:], length[:len(length)-begin])
	return buf[begin:]
}

func (j *joiner) reset() {
	clear(j.letters)
	j.letters, j.size = j.letters[:0], 0
}

// appendHead appends the head of a CBOR array (kind 4) or map (5) of n elements or pairs (RFC 8949, section 3).
func appendHead(b []byte, kind byte, n int) []byte {
	switch kind <<= 5; {
	case n < 24:
		return append(b, kind|byte(n))
	case n < 1<<8:
		return append(b, kind|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, kind|25), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(b, kind|26), uint32(n))
}
