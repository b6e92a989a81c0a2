package mesh

import (
	"context"
	"fmt"

	"github.com/skerry/skerry/engine"
)

// fullDisk says what a disk does not do.
type fullDisk struct {
	good int  // commits that succeed before the others fail; below zero: all succeed
	last bool // what settles something has room all the same
	// breaks is the name of a resource that nobody can ask about without a panic.
	breaks engine.ResourceID
}

// limited is a disk that does less than it should.
type limited struct {
	engine.Store
	at *fullDisk
}

// SameName implements engine.Store.
func (d limited) SameName(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) ([]engine.DocumentID, error) {
	if id == d.at.breaks {
		panic("broken on purpose")
	}
	return d.Store.SameName(ctx, service, kind, id)
}

// Commit implements engine.Store.
func (d limited) Commit(ctx context.Context, b *engine.Batch) error {
	switch {
	case d.at.last && b.Settles:
	case d.at.good == 0:
		return fmt.Errorf("commit: %w", engine.ErrStorage)
	case d.at.good > 0:
		d.at.good--
	}
	return d.Store.Commit(ctx, b)
}
