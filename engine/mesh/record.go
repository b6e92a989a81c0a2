package mesh

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/skerry/skerry/engine"
)

// Message is what the author of an encoded record signs.
func Message(record []byte) []byte { return append([]byte("skerry record\x00"), record...) }

// record is one that counts, or may come to.
type record struct {
	engine.MeshRecord
	raw engine.SignedRecord
	// said is what Body decodes to: engine.MeshOrigin, SiteRecord, Admission, Removal, Invitation or ZoneRecord; nil of a kind
	// that is unknown here, which is kept for sites that know it.
	said any
}

// open decodes a record but for its body.
func open(raw engine.SignedRecord) (*record, error) {
	r := &record{raw: raw}
	if n := len(raw.Record); n > engine.MaxRecord {
		return nil, fmt.Errorf("%w: %d bytes", engine.ErrRefused, n)
	}
	if err := engine.Decode(raw.Record, &r.MeshRecord); err != nil {
		return nil, err
	}
	switch {
	case !validSite(raw.Author):
		return nil, fmt.Errorf("%w: it has no author", engine.ErrRefused)
	case r.Number == 0 || r.Number > maxNumber:
		return nil, fmt.Errorf("%w: number %d", engine.ErrRefused, r.Number)
	case r.Key.Kind == "" || len(r.Key.Kind) > maxName || len(r.Key.About) > maxAbout:
		return nil, fmt.Errorf("%w: key %.40q", engine.ErrRefused, r.Key.Kind)
	}
	return r, nil
}

// fingerprint is what the record adds to that of all.
func (r *record) fingerprint() engine.Fingerprint {
	return engine.FingerprintOf("record", []byte(r.raw.Author), r.raw.Record)
}

// newer compares two records of which one counts: those of one author and key, or of one zone. It is zero only for the same
// record.
func (r *record) newer(than *record) int {
	if z, ok := r.said.(engine.ZoneRecord); ok {
		other := than.said.(engine.ZoneRecord)
		if c := cmp.Or(cmp.Compare(z.At, other.At), cmp.Compare(r.raw.Author, than.raw.Author)); c != 0 {
			return c
		}
	}
	// An author gives a number twice only where its disk was set back, or where two run with its key.
	return cmp.Or(cmp.Compare(r.Number, than.Number), bytes.Compare(r.raw.Record, than.raw.Record))
}
