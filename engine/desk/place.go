package desk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// Place changes where a resource lives: a removal from a placement, an addition to it, or both. It is durable here when Place returns
// and takes no other site to be reached; the added sites make the object when they hear of it, the removed ones apply what they know
// from before and leave theirs to itself. The identifier is empty when nothing is different. engine.ErrNotFound: there is no such
// document here; a *engine.Refusal where the caller is to be told.
func (d *Desk) Place(ctx context.Context, id engine.DocumentID, q engine.PlaceRequest) (engine.OperationID, error) {
	for _, site := range slices.Concat(q.Sites, q.Add) {
		if !d.cfg.Members.IsMember(site) {
			return "", noMember(site)
		}
	}
	for _, site := range q.Remove {
		if !d.cfg.Members.WasAdmitted(site) {
			return "", noMember(site)
		}
	}
	operation, err := d.decide(ctx, id, &replica.Decide{What: replica.VerbPlace, Place: q})
	return operation, at("place a resource", err)
}

// Shares are what the parts that q says would have of what is divided, in their order: nothing of what no client has set. Nothing is changed.
// engine.ErrNotFound: the document is not here; a *engine.Refusal where it would not be divided so.
func (d *Desk) Shares(ctx context.Context, id engine.DocumentID, q engine.PlaceRequest) (shares []map[engine.Pointer]json.RawMessage, err error) {
	looked := d.cfg.Site.Look(ctx, id, func(r *replica.Replica) {
		shares, err = r.Case().Shares(q)
	})
	return shares, at("divide a resource", cmp.Or(looked, err))
}

func noMember(site engine.SiteID) *engine.Refusal {
	return &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "unknown-site", Detail: fmt.Sprintf("site %s is no member of the mesh", site)}
}

// at says what was under way when an error came; nil for none.
func at(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Pause makes this site's replica of a resource take nothing of other sites until Resume. A request that is under way finishes.
// Requests of this site's own clients are served as before, and travel. Pausing again changes by and reason. engine.ErrNotFound: the
// document is not here; a *engine.Refusal: the reason is too long, or the site was removed.
func (d *Desk) Pause(ctx context.Context, id engine.DocumentID, by engine.SiteID, reason string) error {
	if len(reason) > engine.MaxReason {
		return &engine.Refusal{Status: http.StatusBadRequest, Type: "bad-request", Detail: fmt.Sprintf("a reason has at most %d bytes", engine.MaxReason)}
	}
	_, err := d.decide(ctx, id, &replica.Decide{What: replica.VerbPause, Pause: &engine.Pause{
		By: d.cfg.Members.Name(by), At: d.cfg.Now(), Reason: reason}})
	return at("pause a replica", err)
}

// Resume ends a pause and sees to what has waited. A replica that is not paused stays as it is. engine.ErrNotFound.
func (d *Desk) Resume(ctx context.Context, id engine.DocumentID) error {
	_, err := d.decide(ctx, id, &replica.Decide{What: replica.VerbPause})
	return at("resume a replica", err)
}

// Check has this site, and the others as soon as they hear of it, look at what their applications show of a resource.
// engine.ErrNotFound: the document is not here, or this site has no replica.
func (d *Desk) Check(ctx context.Context, id engine.DocumentID) error {
	_, err := d.decide(ctx, id, &replica.Decide{What: replica.VerbCheck})
	return at("have a resource looked at", err)
}

// Keep makes what this site's application shows of a resource what all sites show: it becomes an operation of this site. When that was
// done a few times lately and did not last, it is refused unless force says that the cause is found. engine.ErrNotFound: the document
// is not here; otherwise the error may be a *engine.Refusal.
func (d *Desk) Keep(ctx context.Context, id engine.DocumentID, by engine.Decider, force bool) (engine.OperationID, error) {
	operation, err := d.decide(ctx, id, &replica.Decide{What: replica.VerbKeep, By: by, Force: force})
	return operation, at("keep what this site shows", err)
}
