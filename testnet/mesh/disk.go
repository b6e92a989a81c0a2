package mesh

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/skerry/skerry/engine"
)

// fullDisk is a store that makes nothing durable for some commits.
type fullDisk struct {
	engine.Store
	good atomic.Int64 // commits that succeed before the others fail; below zero: all succeed
	full atomic.Bool  // one has failed
	// meets, unless nil, is called with each batch before it is made durable.
	meets atomic.Pointer[func(*engine.Batch)]
}

func (d *fullDisk) Commit(ctx context.Context, b *engine.Batch) error {
	if f := d.meets.Load(); f != nil {
		(*f)(b)
	}
	if d.good.Load() == 0 {
		d.full.Store(true)
		return fmt.Errorf("commit: %w", engine.ErrStorage)
	}
	if d.good.Load() > 0 {
		d.good.Add(-1)
	}
	return d.Store.Commit(ctx, b)
}
