package outbox

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// What this site keeps for others about one resource is handed over in the order in which its clients asked for it, and what they
// ask for later waits behind that: an older request never overwrites a newer one of the same site.

// lineKey names the kept requests for one resource.
type lineKey struct {
	service engine.ServiceName
	kind    engine.KindName
	target  string // empty for what makes something new, which waits for nothing
}

// lineOf names the line of a request.
func lineOf(r engine.Request) lineKey {
	return lineKey{r.Kind.Service, r.Kind.Name, tree.ChosenName(r)}
}

// byAge orders kept requests, the oldest first.
func byAge(a, b engine.Kept) int {
	return cmp.Or(a.KeptAt.Compare(b.KeptAt), cmp.Compare(a.Operation, b.Operation))
}

// join puts a request at the end of its line. It reports whether nothing is before it.
func (o *Outbox) join(key lineKey, id engine.OperationID) (first bool) {
	return key.target == "" || o.lines.Join(key, id)
}

// inTurn runs f while nothing else of a line is handed over, or dropped.
func (o *Outbox) inTurn(ctx context.Context, key lineKey, f func() error) error {
	if key.target == "" {
		return f()
	}
	release, err := o.turns.Take(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	return f()
}

// Empty reports whether nobody's requests wait for each other.
func (o *Outbox) Empty() bool { return o.lines.Empty() }

// CatchUp hands over what this site's clients have asked for before, and reports whether some of that still waits.
func (o *Outbox) CatchUp(ctx context.Context, r engine.Request) (waits bool, err error) {
	key := lineOf(r)
	if len(o.lines.Before(key, r.Operation)) == 0 {
		return false, nil
	}
	err = o.inTurn(ctx, key, func() error {
		for _, id := range o.lines.Before(key, r.Operation) {
			again, err := o.handOver(ctx, id)
			if waits = again || err != nil; waits {
				return err
			}
		}
		return nil
	})
	return waits, err
}

// followsCreate reports whether what r is about is yet to be made by a request that waits before it.
func (o *Outbox) followsCreate(ctx context.Context, r engine.Request) bool {
	return slices.ContainsFunc(o.lines.Before(lineOf(r), r.Operation), func(id engine.OperationID) bool {
		_, e, err := o.read(ctx, id)
		return err == nil && e.Request.Creates()
	})
}

// Deliver tries again to hand a kept request over, when nothing of its line is before it: whoever is handed over calls the next. It
// reports whether to try again later.
func (o *Outbox) Deliver(ctx context.Context, id engine.OperationID) (again bool, err error) {
	_, e, err := o.read(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	key := lineOf(e.Request)
	o.join(key, id)
	err = o.inTurn(ctx, key, func() error {
		if len(o.lines.Before(key, id)) > 0 {
			return nil
		}
		again, err = o.handOver(ctx, id)
		return err
	})
	return again || err != nil, err
}
