package front

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/tree"
)

// create runs a request that makes a new replicated resource.
func (f *Front) create(ctx context.Context, r engine.Request, k keys.Keeper) (engine.Answer, error) {
	if a, here, err := f.createdBefore(ctx, r); here || err != nil {
		return a, err
	}
	r.Operation = f.operationOf(r)
	about := aboutOf(r)
	switch chosen := tree.ChosenName(r); {
	case chosen != "":
		about.Key = engine.ResourceID(chosen)
	case r.Kind.Natural(): // the application is left to choose
		return f.errands.create(ctx, r, about, k)
	default: // what comes once more is the same resource, also where a lost run of this agent has made it
		about.Key = engine.ResourceID(r.Kind.Inside(r.Within, madeBy(r.Operation)))
	}
	if r.Kind.Natural() {
		release, err := f.turns.take(ctx, "make", r.Kind, string(about.Key))
		if err != nil {
			return engine.Answer{}, fmt.Errorf("wait for other requests on %s: %w", about.Key, err)
		}
		defer release()
	}
	id, after, err := f.incarnate(ctx, about)
	if err != nil {
		return engine.Answer{}, err
	}
	return f.ask(ctx, id, about, r, k, &replica.Ask{Creates: true, After: after})
}

// aboutOf is what the document of the resource begins with that a request makes, but its key.
func aboutOf(r engine.Request) *engine.About {
	about := &engine.About{Service: r.Kind.Service, Kind: r.Kind.Name, Collaboration: engine.Replication, Placement: slices.Sorted(slices.Values(r.Placement))}
	if r.Parts != nil {
		about.Collaboration, about.Parts = engine.Cross, r.Parts
	}
	return about
}

// madeBy is the meta-identifier of what an operation makes whose identifier clients do not choose: a name-based UUID of version 8
// (RFC 9562, appendix B.2), the same for all who ask.
func madeBy(id engine.OperationID) string {
	h := sha256.Sum256([]byte("skerry resource " + string(id)))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// createdBefore answers a request whose operation has come here already in the document of what it has made.
func (f *Front) createdBefore(ctx context.Context, r engine.Request) (engine.Answer, bool, error) {
	if r.Operation == "" {
		return engine.Answer{}, false, nil
	}
	row, err := f.Store.Operation(ctx, r.Operation)
	if there, err := found(err); !there || row.Document == "" {
		if err != nil {
			err = fmt.Errorf("look whether operation %s has come here: %w", r.Operation, err)
		}
		return engine.Answer{}, false, err
	}
	arrived := false
	err = f.Site.Look(ctx, row.Document, func(v *replica.Replica) { arrived = v.History.Get(r.Operation) != nil })
	if there, err := found(err); !there || !arrived {
		return engine.Answer{}, false, err
	}
	a, err := f.given(ctx, row.Document, nil, r.Kind, &replica.Ask{Request: r, Operation: r.Operation})
	return a, true, err
}

// incarnate makes what is to be created the incarnation after the last that is past here. It returns its document, and what its create
// comes after: the newest incarnation is the one created last.
func (a *around) incarnate(ctx context.Context, about *engine.About) (id engine.DocumentID, after int64, err error) {
	old, err := a.Store.ResourceByID(ctx, about.Service, about.Kind, about.Key)
	for err == nil && (old.State.Past() || old.GoneAt(a.self)) {
		if about.Incarnation, err = a.incarnation(ctx, old.Document); err != nil {
			return "", 0, err
		}
		after = max(after, old.CreatedAt.UnixMicro()+1)
		if _, id, err = a.Documents.Identify(*about); err == nil {
			old, err = a.Store.ResourceByDocument(ctx, id) // it may be past, too, or this site may have left it
		}
	}
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return "", 0, fmt.Errorf("look up %s: %w", about.Key, err)
	}
	if _, id, err = a.Documents.Identify(*about); err != nil {
		return "", 0, fmt.Errorf("make the document of %s: %w", about.Key, err)
	}
	return id, after, nil
}

// incarnation is the one after that of a document.
func (a *around) incarnation(ctx context.Context, old engine.DocumentID) (uint64, error) {
	rec, err := a.Store.Record(ctx, old)
	if err != nil {
		return 0, fmt.Errorf("read the last incarnation: %w", err)
	}
	about, _, err := a.Documents.Decode(rec.About)
	if err != nil {
		return 0, fmt.Errorf("read the last incarnation: %w", err)
	}
	return about.Incarnation + 1, nil
}
