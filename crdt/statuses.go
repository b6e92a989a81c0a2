package crdt

import (
	"fmt"

	"github.com/skerry/skerry/engine"
)

// SignStatuses signs encoded statuses of this site as one batch, which keeps them: 1 to engine.MaxBatch of them.
func (d *Documents) SignStatuses(statuses [][]byte) engine.StatusBatch {
	if err := checkBatch(statuses); err != nil {
		panic(fmt.Sprintf("sign statuses: %v", err))
	}
	m := signed(statusesDomain, newTree(statuses).root())
	return engine.StatusBatch{Site: d.self.id, Statuses: statuses, Signature: d.scheme.Sign(d.key, m)}
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
		if err = d.verifyRoot(statusesDomain, b.Site, t.root(), b.Signature); err == nil {
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
			err = d.verifyRoot(statusesDomain, s.Site, root, s.Signature)
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
