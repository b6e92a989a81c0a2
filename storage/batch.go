package storage

import (
	"fmt"

	"github.com/skerry/skerry/engine"
)

// batch writes what a batch has, in the transaction that is under way, and returns the number of its first event. What is
// dropped goes first, so that it can come anew in the same batch.
func (w *writer) batch(b *engine.Batch) (firstEvent uint64, err error) {
	for _, e := range b.Dropped {
		if err := w.dropEpoch(e); err != nil {
			return 0, fmt.Errorf("epoch %d of document %s: %w", e.Epoch, e.Document, err)
		}
	}
	for i := range b.Records {
		r := &b.Records[i]
		if err := w.putRecord(r); err != nil {
			return 0, fmt.Errorf("resource %s of document %s: %w", r.Row.ID, r.Row.Document, err)
		}
	}
	for _, c := range b.Changes {
		if err := w.putChange(c); err != nil {
			return 0, fmt.Errorf("change %d of %s in document %s: %w", c.Number, c.Line, c.Document, err)
		}
	}
	for i := range b.Forks {
		if err := w.putFork(&b.Forks[i]); err != nil {
			return 0, fmt.Errorf("fork of %s in document %s: %w", b.Forks[i].Line, b.Forks[i].Document, err)
		}
	}
	for i := range b.Operations {
		if err := w.putOperation(&b.Operations[i]); err != nil {
			return 0, fmt.Errorf("operation %s: %w", b.Operations[i].ID, err)
		}
	}
	if err := w.queues(b); err != nil {
		return 0, err
	}
	for i := range b.Conflicts {
		if err := w.putConflict(&b.Conflicts[i]); err != nil {
			return 0, fmt.Errorf("conflict %s: %w", b.Conflicts[i].ID, err)
		}
	}
	for _, id := range b.Resolved {
		if err := w.exec(dropConflict, string(id)); err != nil {
			return 0, fmt.Errorf("conflict %s: %w", id, err)
		}
	}
	for i := range b.Mesh {
		if err := w.putMesh(&b.Mesh[i]); err != nil {
			return 0, fmt.Errorf("record of %s: %w", b.Mesh[i].Author, err)
		}
	}
	for i := range b.MeshDropped {
		if err := w.dropMesh(&b.MeshDropped[i]); err != nil {
			return 0, fmt.Errorf("record of %s: %w", b.MeshDropped[i].Author, err)
		}
	}
	return w.events.add(b.Events), nil
}

// queues writes what a batch has of errands, kept requests and answers.
func (w *writer) queues(b *engine.Batch) error {
	for i := range b.Errands {
		if err := w.putErrand(&b.Errands[i]); err != nil {
			return fmt.Errorf("errand %s: %w", b.Errands[i].Operation, err)
		}
	}
	for _, id := range b.Ended {
		if err := w.exec(dropErrand, string(id)); err != nil {
			return fmt.Errorf("errand %s: %w", id, err)
		}
	}
	for i := range b.Outbox {
		if err := w.putKept(&b.Outbox[i]); err != nil {
			return fmt.Errorf("kept request %s: %w", b.Outbox[i].Operation, err)
		}
	}
	for _, id := range b.Delivered {
		if err := w.exec(dropKept, string(id)); err != nil {
			return fmt.Errorf("kept request %s: %w", id, err)
		}
	}
	for i := range b.Answers {
		if err := w.putAnswer(&b.Answers[i]); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return nil
}
