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
	// said is what Body decodes to: engine.MeshOrigin, SiteRecord, Bulletin, Authorities, Certificate, Removal, Invitation or ZoneRecord; nil of
	// a kind that is unknown here, which is kept for sites that know it.
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
	case len(r.Mesh) > maxText:
		return nil, fmt.Errorf("%w: a mesh of %d bytes", engine.ErrRefused, len(r.Mesh))
	}
	return r, nil
}

// fingerprint is what the record adds to that of all.
func (r *record) fingerprint() engine.Fingerprint {
	return engine.FingerprintOf("record", []byte(r.raw.Author), r.raw.Record)
}

// orders reports whether only authorities may say something of this kind. It counts because of who has signed it, wherever it comes
// from, and whether or not its author is a site.
func orders(kind engine.RecordKind) bool {
	return kind == engine.RecordAuthorities || kind == engine.RecordInvitation || shared(kind)
}

// shared reports whether all authorities together have one word about one thing of this kind: the newest counts, whoever has said it.
func shared(kind engine.RecordKind) bool {
	return kind == engine.RecordCertificate || removes(kind) || kind == engine.RecordZone
}

// removes reports whether what is said of this kind takes a site out of the mesh.
func removes(kind engine.RecordKind) bool {
	return kind == engine.RecordRemoval || kind == engine.RecordRevocation
}

// newer compares two records of which one counts. It is zero only for the same record. No date decides: an authority numbers above
// all that it knows from authorities, so what was said with another's word in sight comes after that.
func (r *record) newer(than *record) int {
	// An author gives a number twice only where its disk was set back, or where two run with its key.
	return cmp.Or(cmp.Compare(r.Number, than.Number), cmp.Compare(r.raw.Author, than.raw.Author), bytes.Compare(r.raw.Record, than.raw.Record))
}
