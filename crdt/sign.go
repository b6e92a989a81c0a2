package crdt

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"github.com/skerry/skerry/engine"
)

// What a signature is for: a change, the root over several, the root over statuses.
const (
	changeDomain   = "skerry change\x00"
	changesDomain  = "skerry changes\x00"
	statusesDomain = "skerry statuses\x00"
)

// signed is what the author of a hash signs.
func signed(domain string, h hash) []byte { return append([]byte(domain), h[:]...) }

// statement is what the author of a change says by signing: that it has written this hash in that document, in that epoch. A site gives the
// same numbers in each of its documents, and a change does not name the one that it is of: without that, one could be passed on as of another
// document, where it would prove that its author had forked its line.
func statement(of engine.DocumentID, epoch uint64, h hash) []byte {
	b := make([]byte, 0, 2*sha256.Size+8+sha256.Size)
	return append(binary.BigEndian.AppendUint64(append(b, of...), epoch), h[:]...)
}

// SignChanges implements engine.Documents. What is written together has one signature: making and checking them is most of what a change
// costs. Each change has with it its place among them and its audit path, so that it can be passed on alone.
func (d *Documents) SignChanges(changes []*engine.Change) {
	for batch := range slices.Chunk(changes, engine.MaxBatch) {
		if len(batch) == 1 {
			c := batch[0]
			c.Signature = d.scheme.Sign(d.key, append([]byte(changeDomain), statement(c.Document, c.Epoch, c.Hash)...))
			continue
		}
		statements := make([][]byte, len(batch))
		for i, c := range batch {
			statements[i] = statement(c.Document, c.Epoch, c.Hash)
		}
		t := newTree(statements)
		signature := d.scheme.Sign(d.key, signed(changesDomain, t.root()))
		for i, c := range batch {
			c.Signature = binary.BigEndian.AppendUint16(slices.Clone(signature), uint16(i))
			c.Signature = binary.BigEndian.AppendUint16(c.Signature, uint16(len(batch)))
			c.Signature = append(c.Signature, t.path(i)...)
		}
	}
}

// verifyChange checks what SignChanges has made of a statement.
func (d *Documents) verifyChange(by *author, statement, signature []byte) error {
	if len(signature) <= ed25519.SignatureSize {
		if len(signature) < ed25519.SignatureSize || !d.scheme.Verify(by.key, append([]byte(changeDomain), statement...), signature) {
			return errors.New("wrong signature")
		}
		return nil
	}
	signature, rest := signature[:ed25519.SignatureSize], signature[ed25519.SignatureSize:]
	if len(rest) < 4 {
		return errors.New("a cut signature")
	}
	index, size := binary.BigEndian.Uint16(rest), binary.BigEndian.Uint16(rest[2:])
	root, ok := climb(statement, uint64(index), uint64(size), rest[4:])
	if !ok || size < 2 || size > engine.MaxBatch {
		return errors.New("a path that does not lead to the root")
	}
	return d.verifyRoot(changesDomain, by.id, root, signature)
}

// verifyRoot checks a signature over a root once, for all that it is over.
func (d *Documents) verifyRoot(domain string, site engine.SiteID, root hash, signature []byte) error {
	if len(signature) != ed25519.SignatureSize {
		return errors.New("wrong signature")
	}
	key := signedBy{domain, site, root, [ed25519.SignatureSize]byte(signature)}
	if d.roots.has(key) {
		return nil
	}
	a, err := d.authors.of(site)
	if err != nil {
		return err
	}
	if !d.scheme.Verify(a.key, signed(domain, root), signature) {
		return errors.New("wrong signature")
	}
	d.roots.add(key)
	return nil
}

// signedBy is a root with a signature that was verified.
type signedBy struct {
	domain    string
	site      engine.SiteID
	root      [sha256.Size]byte
	signature [ed25519.SignatureSize]byte
}

// maxRoots bounds each of the two generations of roots.
const maxRoots = 1024

// roots remembers at least the last maxRoots roots whose signature was verified, since what one signature is over may come
// one by one. It is safe for concurrent use.
type roots struct {
	mu         sync.Mutex
	young, old map[signedBy]struct{}
}

func (r *roots) has(k signedBy) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.young[k]; ok {
		return true
	}
	_, ok := r.old[k]
	return ok
}

func (r *roots) add(k signedBy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.young == nil || len(r.young) >= maxRoots {
		r.young, r.old = map[signedBy]struct{}{}, r.young
	}
	r.young[k] = struct{}{}
}
