package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// create runs a request that makes a new replicated resource.
func (s *Site) create(ctx context.Context, r Request, k keeper) (Answer, error) {
	if err := s.takeLarge(ctx, r); err != nil {
		return Answer{}, err
	}
	c := s.crossingOf(r, k)
	c.Operation.Type = TypeCreate
	c.Operation.Body = s.inMeta(ctx, r.Kind, r.Within, r.Body)
	placement := slices.Clone(r.Placement)
	slices.Sort(placement)
	about := &About{Schema: SchemaResource, Service: r.Kind.Service, Kind: r.Kind.Name, Collaboration: Replication, Placement: placement}
	if r.Parts != nil {
		about.Schema, about.Collaboration, about.Parts = SchemaCross, Cross, r.Parts
	}
	switch {
	case r.Target != "":
		about.Key = ResourceID(r.Target)
	case r.Kind.Natural():
		about.Key = ResourceID(r.Kind.inside(r.Within, ChosenID(r.Kind, r.Body)))
	default:
		about.Key = ResourceID(r.Kind.inside(r.Within, s.cfg.NewID()))
	}
	c.About = about
	at := s.addressed(ctx, r.Kind, r.Target, r.Within)
	if about.Key == "" {
		return s.cross(ctx, nil, r.Kind, c, Fold{}, at)
	}
	document, err := s.incarnate(ctx, c)
	if err != nil {
		return Answer{}, err
	}
	if !r.Kind.Natural() {
		return s.cross(ctx, nil, r.Kind, c, Fold{}, at)
	}
	// What others sent of the same document runs before this or after, never beside it.
	c.Document = document
	res := s.registry.acquire(c.Document)
	defer s.registry.release(res)
	if err := res.take(ctx); err != nil {
		return Answer{}, fmt.Errorf("wait for other requests on %s: %w", about.Key, err)
	}
	defer res.pass()
	if err := s.settleEarlier(ctx, res); err != nil {
		return Answer{}, err
	}
	if r.Type == TypeCreate {
		if err := s.remade(ctx, res, r.Kind); err != nil {
			return Answer{}, err
		}
	}
	release, err := s.naming.take(ctx, r.Kind, about.Key)
	if err != nil {
		return Answer{}, fmt.Errorf("wait for other requests on %s: %w", about.Key, err)
	}
	defer release()
	if row, err := s.Lookup(ctx, r.Kind, string(about.Key)); err == nil && row.Local != "" && row.Document != c.Document {
		return Answer{}, &Refusal{Status: http.StatusConflict, Type: "exists",
			Detail: fmt.Sprintf("%s %s has just been created by somebody else; nothing has happened", r.Kind.Name, about.Key)}
	}
	before, local, err := s.standsAt(ctx, res)
	if err != nil {
		return Answer{}, err
	}
	if res.yields() {
		return Answer{}, &Refusal{Status: http.StatusConflict, Type: "exists",
			Detail: fmt.Sprintf("another resource is called %s %s, and was created earlier; nothing has happened", r.Kind.Name, about.Key)}
	}
	if local != "" && r.Type != TypeCreate { // an earlier request has made it meanwhile
		c.About, c.Target, c.Operation.Type = nil, "", r.Type
		return s.cross(ctx, res, r.Kind, c, before, local)
	}
	return s.cross(ctx, res, r.Kind, c, before, at)
}

// incarnate makes what is to be created the incarnation after the last that is past here, and returns its document.
func (s *Site) incarnate(ctx context.Context, c *crossing) (id DocumentID, err error) {
	about := c.About
	old, err := s.cfg.Store.ResourceByID(ctx, about.Service, about.Kind, about.Key)
	for err == nil && (old.State.Past() || old.GoneAt(s.cfg.Self)) {
		if about.Incarnation, err = s.incarnation(ctx, old.Document); err != nil {
			return "", err
		}
		// The newest incarnation is the one created last.
		c.Operation.Time = max(c.Operation.Time, old.CreatedAt.UnixMicro()+1)
		if _, id, err = s.cfg.Documents.Encode(*about); err == nil {
			old, err = s.cfg.Store.ResourceByDocument(ctx, id) // it may be past, too, or this site may have left it
		}
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("look up %s: %w", about.Key, err)
	}
	if _, id, err = s.cfg.Documents.Encode(*about); err != nil {
		return "", fmt.Errorf("make the document of %s: %w", about.Key, err)
	}
	return id, nil
}

// incarnation is the one after that of a document.
func (s *Site) incarnation(ctx context.Context, old DocumentID) (uint64, error) {
	row, err := s.cfg.Store.Document(ctx, old)
	if err != nil {
		return 0, fmt.Errorf("read the last incarnation: %w", err)
	}
	var about About
	if err := json.Unmarshal(row.About, &about); err != nil {
		return 0, fmt.Errorf("read the last incarnation: %w", err)
	}
	return about.Incarnation + 1, nil
}

// ChosenID is the identifier that a client put into the body of a create, empty without one.
func ChosenID(k *Kind, body []byte) string {
	v, err := parseJSON(body)
	if err != nil {
		return ""
	}
	switch id, _ := valueAt(v, k.ID.At); id := id.(type) {
	case string:
		return id
	case json.Number:
		return id.String()
	}
	return ""
}
