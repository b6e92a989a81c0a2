package mesh

import (
	"context"
	"fmt"

	"github.com/skerry/skerry/engine"
)

// fullDisk says for which commits a disk has no room.
type fullDisk struct {
	good int  // commits that succeed before the others fail; below zero: all succeed
	last bool // what settles something has room all the same
	full bool // one has failed
	// meets, unless nil, is called with each batch before it is made durable.
	meets func(*engine.Batch)
}

// limited is a disk that makes nothing durable for some commits.
type limited struct {
	engine.Store
	at *fullDisk
}

// Commit implements engine.Store.
func (d limited) Commit(ctx context.Context, b *engine.Batch) error {
	if d.at.meets != nil {
		d.at.meets(b)
	}
	switch {
	case d.at.last && b.Settles:
	case d.at.good == 0:
		d.at.full = true
		return fmt.Errorf("commit: %w", engine.ErrStorage)
	case d.at.good > 0:
		d.at.good--
	}
	return d.Store.Commit(ctx, b)
}
