package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// AdoptRequest names an object of this site's application that is to become a resource.
type AdoptRequest struct {
	Kind *Kind
	ID   LocalID
	// Sites are those that it is to live at, beside this one.
	Sites []SiteID
	User  string
	// Scope is the canonical scope that asks for it, empty without one.
	Scope string
	// Credentials are the caller's own headers for the application; nil: the agent's.
	Credentials http.Header
}

// AdoptExisting makes a resource of an object that this site's application has, and has it replicated at other sites. Nothing is sent
// to this site's application but a read: the resource begins with a create made from what that shows. The other sites are
// added to it as to any resource, so that content which the catalog declares is copied. It returns the resource's identifier
// and the last operation that this took, empty when it lives at all of the sites already. ErrNotFound: the application has no
// such object; otherwise the error may be a *Refusal.
func (s *Site) AdoptExisting(ctx context.Context, q AdoptRequest) (ResourceID, OperationID, error) {
	row, err := s.Lookup(ctx, q.Kind, string(q.ID))
	first := OperationID("")
	switch {
	case errors.Is(err, ErrNotFound):
		if first, err = s.adoptHere(ctx, q); err != nil {
			return "", "", err
		}
		if row, err = s.Lookup(ctx, q.Kind, string(q.ID)); err != nil {
			return "", "", fmt.Errorf("adopt %s: %w", q.ID, err)
		}
	case err != nil:
		return "", "", fmt.Errorf("adopt %s: %w", q.ID, err)
	}
	placed, err := s.Place(ctx, row.Document, PlaceRequest{Add: q.Sites, User: q.User})
	if err != nil {
		return "", "", err
	}
	if placed != "" {
		first = placed
	}
	return row.ID, first, nil
}

// adoptHere makes a resource that lives at this site alone of an object that is not replicated.
func (s *Site) adoptHere(ctx context.Context, q AdoptRequest) (OperationID, error) {
	k, running := q.Kind, digest("adopt", string(q.Kind.Service), string(q.Kind.Name), string(q.ID))
	if !s.keyed.start(running) {
		return "", &Refusal{Status: http.StatusConflict, Type: "in-progress", Detail: fmt.Sprintf("%s %s is being adopted already", k.Name, q.ID)}
	}
	defer s.keyed.end(running)
	if k.Natural() { // whoever is making an object of that name publishes it first
		release, err := s.naming.take(ctx, k, ResourceID(s.everywhere(ctx, k, string(q.ID))))
		if err != nil {
			return "", fmt.Errorf("wait for other requests on %s: %w", q.ID, err)
		}
		defer release()
	}
	if _, err := s.Lookup(ctx, k, string(q.ID)); !errors.Is(err, ErrNotFound) { // somebody else has just done it
		return "", err
	}
	if err := s.uncertainObject(ctx, k, q.ID); err != nil {
		return "", err
	}
	if s.uncompared(q.Sites) {
		return "", &Refusal{Status: http.StatusServiceUnavailable, Type: "unreachable", Detail: fmt.Sprintf(
			"%s %s may be a resource of other sites: %s has been compared with none of them since it was started; try again in a few "+
				"seconds, nothing has happened", k.Name, q.ID, s.name(s.cfg.Self))}
	}
	shown, err := s.objectOf(ctx, q)
	if err != nil {
		return "", err
	}
	o := Operation{ID: OperationID(s.cfg.NewID()), Type: TypeCreate, Method: http.MethodPost, Path: k.Collection, Origin: s.cfg.Self,
		User: q.User, Scope: q.Scope, Header: map[string]string{"Content-Type": "application/json"}}
	if k.ID.From == IDFromPath {
		o.Method, o.Path = http.MethodPut, k.Item
	}
	if o.Body, err = k.creating(shown); err != nil {
		return "", &Refusal{Status: http.StatusUnprocessableEntity, Type: "adopt", Err: err,
			Detail: fmt.Sprintf("the representation of %s %s is no JSON object, so that other sites cannot make it", k.Name, q.ID)}
	}
	o.Change, err = ChangeOf(k, TypeCreate, o.Body, Fold{}, nil)
	if err == nil {
		err = o.Change.Validate()
	}
	if b, tooLarge := o.Encode(); err != nil || tooLarge != nil || len(b) > MaxEntry-entryReserve || len(o.Body) > MaxInlineBody {
		return "", &Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Err: errors.Join(err, tooLarge),
			Detail: "the representation is more than an operation can carry to other sites; nothing has happened"}
	}
	about := &About{Schema: SchemaResource, Service: k.Service, Kind: k.Name, Collaboration: Replication, Placement: []SiteID{s.cfg.Self}}
	if about.Key, err = s.keyFor(ctx, k, q.ID); err != nil {
		return "", err
	}
	old, err := s.cfg.Store.ResourceByID(ctx, k.Service, k.Name, about.Key)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return "", fmt.Errorf("look up %s: %w", about.Key, err)
	case !old.State.Past() && !old.GoneAt(s.cfg.Self):
		return "", &Refusal{Status: http.StatusConflict, Type: "exists", Detail: fmt.Sprintf(
			"%s %s is a resource of other sites; what is here is another object of that name", k.Name, about.Key)}
	default:
		if about.Incarnation, err = s.incarnation(ctx, old.Document); err != nil {
			return "", err
		}
		o.Time = old.CreatedAt.UnixMicro() + 1
	}
	c := &crossing{Operation: o, Service: k.Service, Kind: k.Name, About: about}
	if _, err := s.publish(ctx, nil, k, c, Reply{Status: http.StatusOK, Local: q.ID}); err != nil {
		return "", fmt.Errorf("adopt %s: %w", q.ID, err)
	}
	return o.ID, nil
}

// uncertainObject refuses to adopt an object that a request without a certain answer may have made, or may yet change: when that is
// settled it is a resource already, or shows something else.
func (s *Site) uncertainObject(ctx context.Context, k *Kind, id LocalID) error {
	refusal := func(o OperationID) error {
		return &Refusal{Status: http.StatusBadGateway, Type: "upstream", Detail: fmt.Sprintf(
			"a request that may have made %s %s has had no certain answer yet (operation %s); nothing has happened", k.Name, id, o)}
	}
	intents, err := s.cfg.Store.Intents(ctx)
	if err != nil {
		return fmt.Errorf("list open intents: %w", err)
	}
	for _, i := range intents {
		var c crossing
		if err := s.unseal(i.Operation, i.Data, &c); err != nil {
			return fmt.Errorf("open intent %s: %w", i.Operation, err)
		}
		unnamed := c.isOf(k) && c.About != nil && !k.Natural() && !c.Asked
		if unnamed || s.concerns(ctx, &c, k, id) {
			return refusal(i.Operation)
		}
	}
	if !k.Natural() {
		return nil
	}
	claims, err := s.rivals(ctx, k, ResourceID(s.everywhere(ctx, k, string(id))), "")
	if err != nil {
		return err
	}
	for _, c := range claims { // of other sites' creates
		if len(c.doubtful) > 0 {
			return refusal(c.doubtful[0].ID)
		}
	}
	return nil
}

// objectOf reads an object as clients see it.
func (s *Site) objectOf(ctx context.Context, q AdoptRequest) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	reply, err := s.cfg.App.Do(bounded, Call{Kind: q.Kind, Method: http.MethodGet, Path: q.Kind.Item, Local: q.ID,
		Header: map[string]string{"Accept": "application/json"}, Credentials: q.Credentials})
	if err == nil {
		reply, err = s.cfg.App.Present(ctx, q.Kind, reply)
	}
	switch {
	case isGone(reply, err):
		return nil, fmt.Errorf("adopt %s %s: %w: the application has no such object", q.Kind.Name, q.ID, ErrNotFound)
	case err != nil || reply.Status != http.StatusOK:
		return nil, &Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err, Detail: fmt.Sprintf(
			"the application's service %s does not show %s %s (%s); nothing has happened", q.Kind.Service, q.Kind.Name, q.ID, tell(reply, err))}
	}
	return reply.Body, nil
}

// creating is the body of a create that makes another object like the one that shows this: without what differs between
// replicas by nature, and without an identifier that another application is to assign.
func (k *Kind) creating(representation []byte) ([]byte, error) {
	tree, err := parseJSON(representation)
	if err != nil {
		return nil, err
	}
	if _, object := tree.(map[string]any); !object {
		return nil, errors.New("not an object")
	}
	for _, p := range k.Ignore {
		unsetAll(tree, p)
	}
	if k.ID.At != "" && !k.Natural() {
		unsetAt(tree, k.ID.At)
	}
	k.unmarked(tree)
	return compact(tree), nil
}

// keyFor is what a resource is called that is made of an object: as the object where that is free, which a number is not: it
// means another object at the next site.
func (s *Site) keyFor(ctx context.Context, k *Kind, id LocalID) (ResourceID, error) {
	key := ResourceID(s.everywhere(ctx, k, string(id)))
	if k.Natural() {
		return key, nil
	}
	container, own := k.Split(string(key))
	_, err := s.cfg.Store.ResourceByID(ctx, k.Service, k.Name, key)
	switch {
	case errors.Is(err, ErrNotFound) && !isWhole(own):
		return key, nil
	case err == nil || errors.Is(err, ErrNotFound):
		return ResourceID(k.inside(container, s.cfg.NewID())), nil
	}
	return "", fmt.Errorf("look up %s: %w", id, err)
}

// adopts reports whether a request that concerns nothing replicated has the object that it changes adopted, when there is one.
func (s *Site) adopts(r Request) bool {
	return len(r.Via) == 0 && r.Parts == nil && len(r.Placement) > 1 && slices.Contains(r.Placement, s.cfg.Self) &&
		r.Target != "" && r.Path == r.Kind.Item && (r.Method == http.MethodPut || r.Method == http.MethodPatch)
}
