package crdt

import (
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/skerry/skerry/engine"
)

const statusesDomain = "skerry statuses\x00"

// signedRoot is what the author of a batch signs.
func signedRoot(root hash) (m [len(statusesDomain) + sha256.Size]byte) {
	copy(m[copy(m[:], statusesDomain):], root[:])
	return m
}

// SignStatuses signs encoded statuses of this site as one batch, which keeps them: 1 to engine.MaxBatch of them.
func (d *Documents) SignStatuses(statuses [][]byte) engine.StatusBatch {
	if err := checkBatch(statuses); err != nil {
		panic(fmt.Sprintf("sign statuses: %v", err))
	}
	m := signedRoot(newTree(statuses).root())
	return engine.StatusBatch{Site: d.self.id, Statuses: statuses, Signature: d.scheme.Sign(d.key, m[:])}
}

func checkBatch(statuses [][]byte) error {
	if n := len(statuses); n == 0 || n > engine.MaxBatch {
		return fmt.Errorf("a batch of %d", n)
	}
	for _, s := range statuses {
		if n := len(s); n == 0 || n > engine.MaxStatus {
			return fmt.Errorf("a status of %d bytes", n)
		}
	}
	return nil
}

// OpenBatch checks the signature of a batch once and returns its statuses, each with its audit path. What they say is not
// looked at. The error wraps ErrRefused.
func (d *Documents) OpenBatch(b engine.StatusBatch) ([]engine.SignedStatus, error) {
	err := checkBatch(b.Statuses)
	if err == nil {
		t := newTree(b.Statuses)
		if err = d.verifyRoot(b.Site, t.root(), b.Signature); err == nil {
			return t.each(b), nil
		}
	}
	return nil, fmt.Errorf("open a batch of statuses of %.60q: %w: %w", b.Site, engine.ErrRefused, err)
}

// VerifyStatus checks one status of a batch by its audit path and the signature of the batch. What it says is not looked
// at. Index and Size are not signed: a status may come with others that lead to the same root, so nothing may follow from
// them. The error wraps ErrRefused.
func (d *Documents) VerifyStatus(s engine.SignedStatus) error {
	err := checkBatch([][]byte{s.Status})
	if root, ok := climb(s.Status, s.Index, s.Size, s.Path); err == nil {
		if ok && s.Size <= engine.MaxBatch {
			err = d.verifyRoot(s.Site, root, s.Signature)
		} else {
			err = fmt.Errorf("a path of %d bytes to status %d of %d", len(s.Path), s.Index, s.Size)
		}
	}
	if err != nil {
		return fmt.Errorf("verify a status of %.60q: %w: %w", s.Site, engine.ErrRefused, err)
	}
	return nil
}

// each returns the statuses of a batch of which t is the tree, each with its audit path. They share the bytes of the batch, whose signature is
// not looked at.
func (t tree) each(b engine.StatusBatch) []engine.SignedStatus {
	list := make([]engine.SignedStatus, len(b.Statuses))
	for i := range list {
		list[i] = engine.SignedStatus{Site: b.Site, Status: b.Statuses[i], Signature: b.Signature,
			Index: uint64(i), Size: uint64(len(b.Statuses)), Path: t.path(i)}
	}
	return list
}

func (d *Documents) verifyRoot(site engine.SiteID, root hash, signature []byte) error {
	if len(signature) != ed25519.SignatureSize {
		return errors.New("wrong signature")
	}
	key := signedBy{site, root, [ed25519.SignatureSize]byte(signature)}
	if d.roots.has(key) {
		return nil
	}
	a, err := d.authors.of(site)
	if err != nil {
		return err
	}
	if m := signedRoot(root); !d.scheme.Verify(a.key, m[:], signature) {
		return errors.New("wrong signature")
	}
	d.roots.add(key)
	return nil
}

// signedBy is a root with a signature that was verified.
type signedBy struct {
	site      engine.SiteID
	root      hash
	signature [ed25519.SignatureSize]byte
}

// maxRoots bounds each of the two generations of roots.
const maxRoots = 1024

// roots remembers at least the last maxRoots roots whose signature was verified, since the statuses of one batch may come
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
