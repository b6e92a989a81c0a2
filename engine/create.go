package engine

import (
	"context"
	"crypto/sha256"
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
	if a, here, err := s.createdBefore(ctx, r.Operation); here || err != nil {
		return a, err
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
	case r.Operation != "": // what comes once more is the same resource, also where a lost run of this agent has made it
		about.Key = ResourceID(r.Kind.inside(r.Within, madeBy(r.Operation)))
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
	if !r.Kind.Natural() && r.Operation == "" {
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
	if a, here, err := s.arrived(ctx, res, r.Operation); here || err != nil && !errors.Is(err, ErrNotFound) {
		return a, err
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
		c.About, c.Resource, c.Target, c.Operation.Type = nil, about.Key, "", r.Type
		return s.cross(ctx, res, r.Kind, c, before, local)
	}
	return s.cross(ctx, res, r.Kind, c, before, at)
}

// madeBy is the meta-identifier of what an operation makes whose identifier was there before it ran: a name-based UUID of version 8
// (RFC 9562, appendix B.2), the same for all who ask.
func madeBy(id OperationID) string {
	h := sha256.Sum256([]byte("skerry resource " + string(id)))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// createdBefore answers a request whose operation has come here already in the document of what it has made.
func (s *Site) createdBefore(ctx context.Context, id OperationID) (Answer, bool, error) {
	if id == "" {
		return Answer{}, false, nil
	}
	row, err := s.cfg.Store.Operation(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound) || err == nil && row.Document == "":
		return Answer{}, false, nil
	case err != nil:
		return Answer{}, false, fmt.Errorf("look whether operation %s has come here: %w", id, err)
	}
	res := s.registry.acquire(row.Document)
	defer s.registry.release(res)
	if err := res.take(ctx); err != nil {
		return Answer{}, false, fmt.Errorf("wait for other requests on %s: %w", row.Resource, err)
	}
	defer res.pass()
	if _, err := s.drain(ctx, res); err != nil {
		return Answer{}, false, err
	}
	return s.arrived(ctx, res, id)
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
