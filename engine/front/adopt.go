package front

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/tree"
)

// Adoption makes resources of objects that are there already.
type Adoption struct {
	*around
	errands *Errands
	turns   turns
}

// AdoptExisting makes a resource of an object that this site's application has, and has it replicated at other sites, or spread over them.
// Nothing is sent to this site's application but a read: the resource begins with a create made from what that shows. The other sites are
// added to it as to any resource, so that content which the catalog declares is copied; what is spread has them from the beginning. It returns the resource's identifier and the last
// operation that this took, empty when it lives at all of the sites already. ErrNotFound: the application has no such object;
// otherwise the error may be a *engine.Refusal.
func (f *Front) AdoptExisting(ctx context.Context, q engine.AdoptRequest) (engine.ResourceID, engine.OperationID, error) {
	return f.adoption.adopt(ctx, adopting{AdoptRequest: q})
}

// adopting is what is to become a resource. Where its object was a part of a cross resource, share and whole tell what its share was of.
type adopting struct {
	engine.AdoptRequest
	share *merge.Division
	whole map[engine.Pointer]merge.Cell
}

func (d *Adoption) adopt(ctx context.Context, q adopting) (engine.ResourceID, engine.OperationID, error) {
	if q.Kind.Single != "" && slices.ContainsFunc(q.Sites, func(s engine.SiteID) bool { return s != d.self }) {
		return "", "", issue.Single(q.Kind)
	}
	row, err := d.Site.Lookup(ctx, q.Kind, string(q.ID))
	var first engine.OperationID
	if errors.Is(err, engine.ErrNotFound) {
		if first, err = d.here(ctx, q); err != nil {
			return "", "", err
		}
		row, err = d.Site.Lookup(ctx, q.Kind, string(q.ID))
	}
	if err != nil {
		return "", "", fmt.Errorf("adopt %s: %w", q.ID, err)
	}
	if q.Scope != "" {
		if err := issue.Held(row.Collaboration == engine.Cross, q.Parts != nil, q.Kind, row.ID); err != nil {
			return "", "", err
		}
	}
	placed, err := d.Site.Decide(ctx, row.Document, nil, &replica.Decide{What: replica.VerbPlace, Place: engine.PlaceRequest{Add: q.Sites, User: q.User}})
	if err != nil {
		return "", "", err
	}
	return row.ID, cmp.Or(placed, first), nil
}

// Rejections are of deletions of other sites that people do not want.
type Rejections struct{ Front *Front }

// Reject has this site keep an object that a deletion of other sites would take away, which is held here, and makes a resource of it again, at
// the sites that had it. It returns that resource's identifier. Nothing has happened where the application does not show the object.
// engine.ErrNotFound, engine.ErrSettled, or another *engine.Refusal.
func (r Rejections) Reject(ctx context.Context, deletion engine.OperationID, by engine.Decider) (engine.ResourceID, error) {
	f := r.Front
	row, err := f.Store.Operation(ctx, deletion)
	if err != nil {
		return "", fmt.Errorf("reject deletion %s: %w", deletion, err)
	}
	q := adopting{AdoptRequest: engine.AdoptRequest{Kind: f.Site.Kind(row.Service, row.Kind), User: by.User, Scope: row.Scope}}
	err = f.Site.Look(ctx, row.Document, func(r *replica.Replica) {
		now, shows := r.Placement(), r.Standing(r.Self).Shown()
		q.ID, q.Sites, q.Parts = r.Mine.Local, now.Sites, now.Parts
		q.share, q.whole = r.History.Division(shows), maps.Clone(r.History.Whole(shows).Cells)
	})
	if err != nil || q.Kind == nil || q.ID == "" {
		return "", cmp.Or(err, error(engine.ErrSettled))
	}
	if _, err := f.adoption.create(ctx, q); err != nil {
		return "", err
	}
	if _, err := f.Site.Decide(ctx, row.Document, nil, &replica.Decide{What: replica.VerbReject, Operation: deletion, By: by}); err != nil {
		return "", err
	}
	id, _, err := f.adoption.adopt(ctx, q)
	if err != nil {
		return "", fmt.Errorf("the object stays, and is no resource of other sites yet: adopt it: %w", err)
	}
	return id, nil
}

// adopts reports whether a request that concerns nothing replicated has the object that it changes adopted, when there is one.
func (f *Front) adopts(r engine.Request) bool {
	return len(r.Via) == 0 && len(r.Placement) > 1 && slices.Contains(r.Placement, f.self) &&
		r.Target != "" && r.Path == r.Kind.Item && (r.Method == http.MethodPut || r.Method == http.MethodPatch)
}

// here makes a resource that lives at this site alone of an object that is not replicated.
func (d *Adoption) here(ctx context.Context, q adopting) (engine.OperationID, error) {
	k := q.Kind
	release, _ := d.turns.Try(turn{"adopt", k.Service, k.Name, string(q.ID)})
	if release == nil {
		return "", &engine.Refusal{Status: http.StatusConflict, Type: "in-progress", Detail: fmt.Sprintf("%s %s is being adopted already", k.Name, q.ID)}
	}
	defer release()
	if k.Natural() { // whoever is making an object of that name publishes it first
		release, err := d.turns.take(ctx, "make", k, d.Site.Everywhere(ctx, k, string(q.ID)))
		if err != nil {
			return "", fmt.Errorf("wait for other requests on %s: %w", q.ID, err)
		}
		defer release()
	}
	if is, err := d.isResource(ctx, k, q.ID); is || err != nil { // somebody else has just done it
		return "", err
	}
	if !d.met(ctx, q.Sites) {
		return "", &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "unreachable", Detail: fmt.Sprintf(
			"%s %s may be a resource of other sites: %s has been compared with none of them since it was started; try again in a few "+
				"seconds, nothing has happened", k.Name, q.ID, d.name(d.self))}
	}
	before, _ := d.Store.ResourceByID(ctx, k.Service, k.Name, engine.ResourceID(d.Site.Everywhere(ctx, k, string(q.ID)))) // if it cannot be read, it differs
	o, err := d.create(ctx, q)
	if err != nil {
		return "", err
	}
	// It may have been made since: what has made it is still under way, or is known by now.
	if is, err := d.isResource(ctx, k, q.ID); is || err != nil {
		return "", err
	}
	about := &engine.About{Service: k.Service, Kind: k.Name, Collaboration: engine.Replication, Placement: []engine.SiteID{d.self}}
	if q.Parts != nil { // all at once, since it begins with two parts at least
		about.Collaboration, about.Parts, about.Placement = engine.Cross, q.Parts, slices.Sorted(slices.Values(q.Sites))
	}
	if about.Key, err = d.keyFor(ctx, k, q.ID); err != nil {
		return "", err
	}
	old, err := d.Store.ResourceByID(ctx, k.Service, k.Name, about.Key)
	there, err := found(err)
	switch {
	case err != nil:
		return "", fmt.Errorf("look up %s: %w", about.Key, err)
	case k.Natural() && (old.Document != before.Document || old.State != before.State || old.GoneAt(d.self) != before.GoneAt(d.self)):
		return "", &engine.Refusal{Status: http.StatusConflict, Type: "in-progress", Detail: fmt.Sprintf(
			"another site has made %s %s, or has deleted it, while it was looked at; nothing has happened, try again", k.Name, q.ID)}
	case there && old.Sites[d.self].State == engine.StateDeleting: // what is shown is what is about to go
		return "", issue.Deleting(k, about.Key)
	case there && !old.State.Past() && !old.GoneAt(d.self):
		return "", &engine.Refusal{Status: http.StatusConflict, Type: "exists", Detail: fmt.Sprintf(
			"%s %s is a resource of other sites; what is here is another object of that name", k.Name, about.Key)}
	}
	id, after, err := d.incarnate(ctx, about)
	if err != nil {
		return "", err
	}
	_, err = d.Site.Decide(ctx, id, about, &replica.Decide{What: replica.VerbPublish, Local: q.ID, Body: o.Body, Reply: engine.Reply{Status: http.StatusOK, Local: q.ID},
		Publish: &flight.Flight{Operation: *o, Creates: true, After: after}})
	if err != nil {
		return "", fmt.Errorf("adopt %s: %w", q.ID, err)
	}
	return o.ID, nil
}

// create is a create that makes another object like the one that is there.
func (d *Adoption) create(ctx context.Context, q adopting) (*engine.Operation, error) {
	k := q.Kind
	shown, err := d.shownTo(ctx, k, q.ID, q.Credentials)
	switch {
	case err == nil && shown.Gone():
		return nil, fmt.Errorf("adopt %s %s: %w: the application has no such object", k.Name, q.ID, engine.ErrNotFound)
	case err != nil || shown.Status != http.StatusOK:
		return nil, &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err, Detail: fmt.Sprintf(
			"the application's service %s does not show %s %s (%s); nothing has happened", k.Service, k.Name, q.ID, plan.Tell(shown, err))}
	}
	o := &engine.Operation{ID: engine.OperationID(d.NewID()), Type: engine.TypeCreate, Method: http.MethodPost, Path: k.Collection, Origin: d.self,
		User: q.User, Scope: q.Scope, Header: map[string]string{"Content-Type": "application/json"}}
	if k.ID.From == engine.IDFromPath {
		o.Method, o.Path = http.MethodPut, k.Item
	}
	if o.Body, err = tree.Creating(k, shown.Body); err != nil {
		return nil, &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "adopt", Err: err,
			Detail: fmt.Sprintf("the representation of %s %s is no JSON object, so that other sites cannot make it", k.Name, q.ID)}
	}
	if q.Parts != nil && len(k.Content) > 0 { // no operation has brought it, and no site is added
		return nil, &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "scope-type", Detail: fmt.Sprintf(
			"what lies beside %s %s would not come to the other parts; nothing has happened\nhelp: create it with a scope that spreads it", k.Name, q.ID)}
	}
	o.Body = q.share.Whole(o.Body, q.whole)
	o.Edit, err = merge.EditOf(k, engine.TypeCreate, o.Body, merge.New(k, engine.About{}, d.self).Nothing(), nil)
	if err == nil {
		err = issue.TooLarge(o)
	}
	if err != nil || len(o.Body) > engine.MaxInlineBody {
		return nil, &engine.Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Err: err,
			Detail: "the representation is more than an operation can carry to other sites; nothing has happened"}
	}
	return o, nil
}

// keyFor is what a resource is called that is made of an object: as the object where that is free, which a number is not: it means
// another object at the next site.
func (d *Adoption) keyFor(ctx context.Context, k *engine.Kind, id engine.LocalID) (engine.ResourceID, error) {
	key := d.Site.Everywhere(ctx, k, string(id))
	if k.Natural() {
		return engine.ResourceID(key), nil
	}
	container, own := k.Split(key)
	_, err := d.Store.ResourceByID(ctx, k.Service, k.Name, engine.ResourceID(key))
	taken, err := found(err)
	switch {
	case err != nil:
		return "", fmt.Errorf("look up %s: %w", id, err)
	case taken || tree.IsWhole(own):
		return engine.ResourceID(k.Inside(container, d.NewID())), nil
	}
	return engine.ResourceID(key), nil
}

// isResource reports whether an object is known to be a resource's. It is refused where it may become one.
func (d *Adoption) isResource(ctx context.Context, k *engine.Kind, id engine.LocalID) (bool, error) {
	if err := d.uncertain(ctx, k, id); err != nil {
		return false, err
	}
	_, err := d.Site.Lookup(ctx, k, string(id))
	return found(err)
}

// uncertain refuses to adopt an object that a request without a certain answer may have made, or may yet change: when that is
// settled it is a resource already, or shows something else.
func (d *Adoption) uncertain(ctx context.Context, k *engine.Kind, id engine.LocalID) error {
	refusal := func(of string) error {
		return &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Detail: fmt.Sprintf(
			"a request that may have made %s %s has had no certain answer yet (%s); nothing has happened", k.Name, id, of)}
	}
	for _, e := range d.errands.all(k) {
		name := named(k, e)
		if asked, _ := d.errands.asks(e); e.Makes != nil && !asked || name != "" && d.Site.Here(ctx, k, name) == id {
			return refusal("operation " + string(e.Request.Operation))
		}
	}
	making, err := d.making(ctx, k, id)
	if err == nil && making != "" {
		err = refusal("for " + string(making))
	}
	return err
}

// making finds a resource of which a request may have made, or may be making, an object here that nobody knows to be its; empty: there
// is none. The resources themselves are asked: what an earlier process has left open is not listed before it has been tried again.
func (d *Adoption) making(ctx context.Context, k *engine.Kind, id engine.LocalID) (key engine.ResourceID, err error) {
	var may []engine.DocumentID
	if k.Natural() {
		may, err = d.Store.SameName(ctx, k.Service, k.Name, engine.ResourceID(d.Site.Everywhere(ctx, k, string(id))))
	} else {
		may, err = d.Store.Pending(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("list what may have made %s %s: %w", k.Name, id, err)
	}
	for _, document := range may {
		err := d.Site.Look(ctx, document, func(r *replica.Replica) {
			if r.About.Service == k.Service && r.About.Kind == k.Name && makes(r) {
				key = r.About.Key
			}
		})
		if _, err := found(err); key != "" || err != nil {
			return key, err
		}
	}
	return "", nil
}

// makes reports whether a request may have made, or may be making, the object of a replica. One about which a person is asked counts
// only where the name tells which object it is about.
func makes(r *replica.Replica) bool {
	own := r.Own
	asked := own != nil && own.Stage == flight.Asked
	for _, o := range r.Mine.Outcomes {
		asked = asked || o.State == engine.StateUncertain
	}
	return flight.ClaimOf(r.View, &r.Flights).Maybe && (r.Kind.Natural() || !asked) || r.Mine.Local == "" && r.Busy()
}
