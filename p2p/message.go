package p2p

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/skerry/skerry/engine"
)

// The compare protocol. The site that opens the stream asks, the other serves.
//
//	asks    open: fingerprints of the mesh records and of the ranges of depth 1
//	serves  deeper: for each range that differs, the fingerprints of its parts
//	asks    digests, in several messages: for each range or part that differs, what is in it here
//	serves  differ, for each of these messages: which documents are other ones there, or more
//
// From then on both are the same. Each side pulls what it lacks: it sends a want with what it has of some documents, and
// gets letters and then an answered. The side that serves begins to as soon as it knows of a difference. Where the mesh
// records differ, both send records. A side that wants no more says done. One that has said and heard it ends its half.
const compareProtocol = engine.CompareCall

type step uint8

const (
	stepOpen step = iota + 1
	stepBusy      // in the place of deeper: the other side asks already
	stepDeeper
	stepDigests
	stepDiffer
	stepRecords
	stepWant
	stepLetter
	stepAnswered
	stepDone
)

// message is what the two sides of a comparison send each other.
type message struct {
	Step step `cbor:"1,keyasint"`
	// Mesh is the fingerprint of the mesh records (open).
	Mesh []byte `cbor:"2,keyasint,omitempty"`
	// Sums are the fingerprints of the parts of some ranges (open, deeper).
	Sums []sums `cbor:"3,keyasint,omitempty"`
	// Lists tell what is in some ranges, rising (digests).
	Lists []list `cbor:"4,keyasint,omitempty"`
	// IDs are identifiers of 32 bytes of documents: those that differ, or that an answer could not give whole (differ, answered).
	IDs []byte `cbor:"5,keyasint,omitempty"`
	// Last says that no more message of its step follows (digests, differ). In deeper it says that the mesh records are equal.
	Last bool `cbor:"6,keyasint,omitempty"`
	// Want is what the sender has of documents that it wants more of.
	Want []engine.Have `cbor:"7,keyasint,omitempty"`
	// Letter is an answer, or the mesh records (letter, records).
	Letter *engine.Letter `cbor:"8,keyasint,omitempty"`
}

// sums are the fingerprints of the parts of a range, 32 bytes each.
type sums struct {
	Range engine.Range `cbor:"1,keyasint"`
	Parts []byte       `cbor:"2,keyasint"`
}

// list is what a site has in a range: items of an identifier and a digest, 32 bytes each, by rising identifier.
type list struct {
	Range engine.Range `cbor:"1,keyasint"`
	Items []byte       `cbor:"2,keyasint,omitempty"`
}

const (
	sumLen  = 32
	idLen   = 32
	itemLen = idLen + sumLen
	// maxEpochs, maxLines and maxAuthors bound what a want tells of one document.
	maxEpochs  = 64
	maxLines   = 16 << 10
	maxAuthors = 16 << 10
)

// id is the identifier of a document in binary form.
type id [idLen]byte

func (i id) document() engine.DocumentID { return engine.DocumentID(hex.EncodeToString(i[:])) }

// part returns the number of the smallest range in which it lies.
func (i id) part() int { return int(i[0])<<2 | int(i[1])>>6 }

// idOf returns the binary form of a valid identifier.
func idOf(d engine.DocumentID) (i id) {
	_, _ = hex.Decode(i[:], []byte(d))
	return i
}

// idsOf takes a sequence of identifiers apart.
func idsOf(b []byte) []id {
	ids := make([]id, len(b)/idLen)
	for i := range ids {
		ids[i] = id(b[i*idLen:])
	}
	return ids
}

func appendSum(b []byte, f engine.Fingerprint) []byte {
	for _, n := range f {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// decodeMessage decodes and checks a message of the compare protocol. The error wraps ErrRefused.
func decodeMessage(b []byte) (*message, error) {
	var m message
	if err := decode(b, &m); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return &m, nil
}

// check admits a message by itself; whether it is its turn is for who reads it to see.
func (m *message) check() error {
	if len(m.IDs)%idLen != 0 {
		return fmt.Errorf("%w: %d bytes of identifiers", engine.ErrRefused, len(m.IDs))
	}
	var err error
	switch m.Step {
	case stepOpen:
		if len(m.Mesh) != sumLen || len(m.Sums) != 1 || m.Sums[0].Range != (engine.Range{}) {
			return fmt.Errorf("%w: an opening with %d ranges", engine.ErrRefused, len(m.Sums))
		}
		err = m.Sums[0].check()
	case stepDeeper:
		err = m.checkDeeper()
	case stepDigests:
		err = m.checkLists()
	case stepWant:
		err = m.checkWant()
	case stepRecords, stepLetter:
		if m.Letter == nil {
			return fmt.Errorf("%w: no letter", engine.ErrRefused)
		}
		err = checkLetter(m.Letter)
	case stepBusy, stepDiffer, stepAnswered, stepDone:
	default:
		return fmt.Errorf("%w: there is no step %d", engine.ErrRefused, m.Step)
	}
	return err
}

func (s sums) check() error {
	if !s.Range.Valid() || s.Range.Depth == engine.RangeDepth || len(s.Parts) != engine.Ranges*sumLen {
		return fmt.Errorf("%w: %d bytes of fingerprints in %v", engine.ErrRefused, len(s.Parts), s.Range)
	}
	return nil
}

func (m *message) checkDeeper() error {
	for i, s := range m.Sums {
		if err := s.check(); err != nil {
			return err
		}
		if s.Range.Depth != 1 || i > 0 && s.Range.First <= m.Sums[i-1].Range.First {
			return fmt.Errorf("%w: fingerprints in %v", engine.ErrRefused, s.Range)
		}
	}
	return nil
}

// ends returns the number of the first and the next after the last of the smallest ranges that are in r.
func ends(r engine.Range) (first, end int) {
	width := 1
	for range engine.RangeDepth - r.Depth {
		width *= engine.Ranges
	}
	return int(r.First) * width, int(r.First+1) * width
}

func (m *message) checkLists() error {
	before := 0
	for _, l := range m.Lists {
		if !l.Range.Valid() || l.Range.Depth == 0 || len(l.Items)%itemLen != 0 {
			return fmt.Errorf("%w: %d bytes of digests in %v", engine.ErrRefused, len(l.Items), l.Range)
		}
		first, end := ends(l.Range)
		if first < before {
			return fmt.Errorf("%w: digests in %v after those that follow", engine.ErrRefused, l.Range)
		}
		before = end
		var last []byte
		for items := l.Items; len(items) > 0; items = items[itemLen:] {
			if part := id(items).part(); part < first || part >= end || bytes.Compare(last, items[:idLen]) >= 0 {
				return fmt.Errorf("%w: digests that do not rise in %v", engine.ErrRefused, l.Range)
			}
			last = items[:idLen]
		}
	}
	return nil
}

func (m *message) checkWant() error {
	if len(m.Want) == 0 || len(m.Want) > wantDocuments {
		return fmt.Errorf("%w: %d documents wanted", engine.ErrRefused, len(m.Want))
	}
	for i := range m.Want {
		h := &m.Want[i]
		if !h.Document.Valid() || len(h.Changes) > maxEpochs || len(h.Statuses) > maxAuthors {
			return fmt.Errorf("%w: a document with %d epochs and %d statuses", engine.ErrRefused, len(h.Changes), len(h.Statuses))
		}
		for _, lines := range h.Changes {
			if len(lines) > maxLines {
				return fmt.Errorf("%w: a document of %d lines", engine.ErrRefused, len(lines))
			}
			for line := range lines {
				if !line.Valid() {
					return fmt.Errorf("%w: changes of nobody", engine.ErrRefused)
				}
			}
		}
		for site := range h.Statuses {
			if !named(site) {
				return fmt.Errorf("%w: a status of nobody", engine.ErrRefused)
			}
		}
	}
	return nil
}
