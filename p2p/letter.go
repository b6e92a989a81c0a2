package p2p

import (
	"crypto/sha256"
	"fmt"

	"github.com/skerry/skerry/engine"
)

// The bounds of a letter, beside those of package engine. An honest site sends nothing beyond them; whatever is in it, the engine
// checks again.
const (
	signatureLen = 64 // Ed25519 (RFC 8032)
	// maxParts is how many parcels, batches, single statuses or records one letter has, maxStatuses how many statuses a batch.
	maxParts    = 16 << 10
	maxStatuses = 16 << 10
	maxSent     = 16 << 10
	// maxPath is the most bytes of an audit path: a digest for each level of a tree of that many statuses and more.
	maxPath = 64 * sha256.Size
)

// decodeLetters decodes and checks a frame of the letters protocol. The error wraps ErrRefused.
func decodeLetters(b []byte) ([]*engine.Letter, error) {
	var letters []*engine.Letter
	if err := decode(b, &letters); err != nil {
		return nil, fmt.Errorf("letters: %w", err)
	}
	for _, l := range letters {
		if l == nil {
			return nil, fmt.Errorf("letters: %w: no letter", engine.ErrRefused)
		}
		if err := checkLetter(l); err != nil {
			return nil, err
		}
	}
	return letters, nil
}

// checkLetter reports, as ErrRefused, what no honest site sends.
func checkLetter(l *engine.Letter) error {
	if len(l.Parcels) > maxParts || len(l.Batches) > maxParts || len(l.Statuses) > maxParts || len(l.Records) > maxParts || len(l.Sent) > maxSent {
		return fmt.Errorf("letter: %w: %d parcels, %d and %d statuses, %d records for %d sites", engine.ErrRefused,
			len(l.Parcels), len(l.Batches), len(l.Statuses), len(l.Records), len(l.Sent))
	}
	for i := range l.Parcels {
		if err := checkParcel(&l.Parcels[i]); err != nil {
			return fmt.Errorf("parcel: %w", err)
		}
	}
	for i := range l.Batches {
		b := &l.Batches[i]
		if !named(b.Site) || len(b.Signature) != signatureLen || len(b.Statuses) == 0 || len(b.Statuses) > maxStatuses {
			return fmt.Errorf("batch: %w: %d statuses, a signature of %d bytes", engine.ErrRefused, len(b.Statuses), len(b.Signature))
		}
		for _, s := range b.Statuses {
			if len(s) == 0 || len(s) > engine.MaxStatus {
				return fmt.Errorf("batch: %w: a status of %d bytes", engine.ErrRefused, len(s))
			}
		}
	}
	for i := range l.Statuses {
		s := &l.Statuses[i]
		if !named(s.Site) || len(s.Status) == 0 || len(s.Status) > engine.MaxStatus || len(s.Signature) != signatureLen ||
			len(s.Path) > maxPath || len(s.Path)%sha256.Size != 0 || s.Index >= s.Size {
			return fmt.Errorf("status: %w: %d bytes, number %d of %d, a path of %d bytes", engine.ErrRefused, len(s.Status), s.Index, s.Size, len(s.Path))
		}
	}
	if err := checkRecords(l.Records); err != nil {
		return err
	}
	for _, site := range l.Sent {
		if !named(site) {
			return fmt.Errorf("letter: %w: sent to nobody", engine.ErrRefused)
		}
	}
	return nil
}

func checkParcel(p *engine.Parcel) error {
	if len(p.About) == 0 || len(p.About) > engine.MaxAbout || len(p.Checkpoint) > engine.MaxCheckpoint {
		return fmt.Errorf("%w: a first change of %d bytes, a checkpoint of %d", engine.ErrRefused, len(p.About), len(p.Checkpoint))
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		if !c.Line.Valid() || !signs(len(c.Signature)) || len(c.Bytes) == 0 || len(c.Bytes) > engine.MaxChange {
			return fmt.Errorf("%w: a change of %d bytes, a signature of %d", engine.ErrRefused, len(c.Bytes), len(c.Signature))
		}
	}
	return nil
}

// signs reports whether a change's signature has a length that there is: one alone, or one with a place among several, and an audit path.
func signs(n int) bool {
	path := n - signatureLen - 4
	return n == signatureLen || path > 0 && path <= maxPath && path%sha256.Size == 0
}

func checkRecords(records []engine.SignedRecord) error {
	for i := range records {
		r := &records[i]
		if !named(r.Author) || len(r.Signature) != signatureLen || len(r.Record) == 0 || len(r.Record) > engine.MaxRecord {
			return fmt.Errorf("record: %w: %d bytes, a signature of %d", engine.ErrRefused, len(r.Record), len(r.Signature))
		}
	}
	return nil
}

// named reports whether the identifier of a site is of a length that there is.
func named(site engine.SiteID) bool { return site != "" && len(site) <= engine.MaxSiteID }

// sizeOf is about how many bytes of frame a letter takes.
func sizeOf(l *engine.Letter) int {
	const each = 128 // a name and a signature
	size := each + len(l.Sent)*each/2
	for i := range l.Parcels {
		p := &l.Parcels[i]
		size += len(p.About) + len(p.Checkpoint) + 16
		for j := range p.Changes {
			size += len(p.Changes[j].Bytes) + len(p.Changes[j].Signature) + each/2
		}
	}
	for i := range l.Batches {
		size += each
		for _, s := range l.Batches[i].Statuses {
			size += len(s) + 4
		}
	}
	for i := range l.Statuses {
		size += len(l.Statuses[i].Status) + len(l.Statuses[i].Path) + each + 16
	}
	for i := range l.Records {
		size += len(l.Records[i].Record) + each
	}
	return size
}
