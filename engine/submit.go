package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Submit runs a request that changes something replicated, or that a scope sends elsewhere. It answers once the
// operation is durable and one involved site has applied it, or once it is kept for sites that cannot be
// reached. The error is a *Refusal where the client is to be told.
func (s *Site) Submit(ctx context.Context, r Request) (Answer, error) {
	if slices.Contains(r.Via, s.cfg.Self) {
		return Answer{}, &Refusal{Status: http.StatusLoopDetected, Type: "loop", Detail: "the request has come back to this site; a scope sends it in a circle"}
	}
	if len(r.Body) > MaxDocument {
		return Answer{}, &Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large",
			Detail: fmt.Sprintf("a body that is looked into has at most %d bytes; nothing has happened", MaxDocument)}
	}
	switch r.Type {
	case TypeCreate, TypeReplace, TypeMerge, TypePatch:
		if depthOf(r.Body) > maxDepth && json.Valid(r.Body) {
			return Answer{}, tooMuch(nil)
		}
	}
	if err := s.Writable(); err != nil {
		return Answer{}, err
	}
	if !plainID(r.Operation) {
		return Answer{}, &Refusal{Status: http.StatusBadRequest, Type: "operation", Detail: "the operation's identifier is none"}
	}
	if r.Kind.Within != "" {
		r.Within, _ = s.containers(ctx, r.Kind, r.Within)
		r.Target = s.everywhere(ctx, r.Kind, r.Target)
	}
	if r.Type == TypeContent {
		return s.content(ctx, r)
	}
	target := r.Target
	first := len(r.Via) == 0 && r.Operation == "" // from a client, and for the first time
	if first && (r.deferred() || !s.lines.empty()) {
		var err error
		if r, err = s.whole(ctx, r); err != nil {
			return Answer{}, fmt.Errorf("look up %s: %w", r.Target, err)
		}
	}
	if r.Large != nil {
		l := &large{Body: r.Large}
		defer l.end()
		r.Large = l
	}
	if r.Key != "" || r.Operation != "" { // what it is, is compared with what came under the same key before
		if err := s.takeLarge(ctx, r); err != nil {
			return Answer{}, err
		}
	}
	a, err := s.once(ctx, r, target, func(r Request, k keeper) (Answer, error) {
		row, err := s.Lookup(ctx, r.Kind, r.Target)
		if first && (err == nil || errors.Is(err, ErrNotFound)) {
			if a, kept, err := s.acceptFirst(ctx, r, row, k); kept || err != nil {
				return a, err
			}
		}
		switch {
		case err == nil && row.Sites[s.cfg.Self].State == StateLeaving && len(r.Via) == 0:
			return s.passOn(ctx, r, others(row, s.cfg.Self), k) // it has been removed here, and takes nothing new
		case err == nil && row.Sites[s.cfg.Self].State == StateLeaving:
			return Answer{}, notHere(s.name(s.cfg.Self), r)
		case err == nil && row.Local != "" && !(r.Type == TypeCreate && r.Target == ""):
			if paused := s.pausedHere(row); paused != nil && len(r.Via) > 0 {
				return Answer{}, paused
			}
			if err := s.askable(r, append(others(row, s.cfg.Self), s.cfg.Self)); err != nil {
				return Answer{}, err
			}
			return s.change(ctx, row, r, k)
		case err == nil && len(r.Via) > 0:
			return Answer{}, &Refusal{Status: http.StatusServiceUnavailable, Type: "no-replica",
				Detail: fmt.Sprintf("%s has no replica of %s %q yet; nothing has happened here", s.name(s.cfg.Self), r.Kind.Name, r.Target)}
		case err == nil: // replicated, and not made here yet
			rest := others(row, s.cfg.Self)
			if len(rest) == 0 { // the others have left before
				return s.whenMade(ctx, row, r, k)
			}
			return s.passOn(ctx, r, rest, k)
		case !errors.Is(err, ErrNotFound):
			return Answer{}, fmt.Errorf("look up %s: %w", r.Target, err)
		}
		return s.choose(ctx, r, k)
	})
	if err != nil {
		return Answer{}, err
	}
	return s.agreed(ctx, r, a), nil
}

// at runs a request that concerns nothing replicated here at its placement.
func (s *Site) at(ctx context.Context, r Request, k keeper) (Answer, error) {
	here := slices.Contains(r.Placement, s.cfg.Self)
	switch {
	case r.ExactlyOne:
		return s.exactlyOne(ctx, r, k)
	case len(r.Placement) == 0: // it was replicated when the request came, or where it came from
		return Answer{}, &Refusal{Status: http.StatusNotFound, Type: "gone", Detail: fmt.Sprintf("%s %q was deleted", r.Kind.Name, r.Target)}
	case !here && len(r.Via) > 0:
		return Answer{}, &Refusal{Status: http.StatusNotFound, Type: "not-replicated",
			Detail: fmt.Sprintf("%s has no part in %s %q; nothing has happened here", s.name(s.cfg.Self), r.Kind.Name, r.Target)}
	case !here:
		return s.passOn(ctx, r, r.Placement, k)
	case len(r.Placement) == 1:
		return s.alone(ctx, r, k)
	case r.creates():
		if err := s.askable(r, r.Placement); err != nil {
			return Answer{}, err
		}
		return s.createInside(ctx, r, k)
	case s.adopts(r):
		_, err := s.adoptHere(ctx, AdoptRequest{Kind: r.Kind, ID: s.here(ctx, r.Kind, r.Target), Sites: r.Placement, User: r.User, Scope: r.Scope, Credentials: r.Credentials})
		if err == nil {
			row, err := s.Lookup(ctx, r.Kind, r.Target)
			if err != nil {
				return Answer{}, fmt.Errorf("look up %s: %w", r.Target, err)
			}
			return s.change(ctx, row, r, k)
		}
		if !errors.Is(err, ErrNotFound) {
			return Answer{}, err
		}
	}
	rest := slices.DeleteFunc(slices.Clone(r.Placement), func(id SiteID) bool { return id == s.cfg.Self || slices.Contains(r.Via, id) })
	if len(rest) == 0 || len(r.Via) > 0 {
		return Answer{}, &Refusal{Status: http.StatusNotFound, Type: "not-replicated",
			Detail: fmt.Sprintf("%s %q is not a replicated resource; leave out the scope to change it at one site", r.Kind.Name, r.Target)}
	}
	return s.passOn(ctx, r, rest, k) // made elsewhere, and not heard of here yet
}

// plainID reports whether an identifier that another site gave can be one.
func plainID(id OperationID) bool {
	return len(id) <= 64 && !strings.ContainsFunc(string(id), func(c rune) bool {
		return c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

func others(row ResourceRow, self SiteID) []SiteID {
	var ids []SiteID
	for id, st := range row.Sites {
		if id != self && st.State != StateLeaving {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// change runs a request at this site's replica and makes an operation of it.
func (s *Site) change(ctx context.Context, row ResourceRow, r Request, k keeper) (a Answer, err error) {
	if err := s.asideHere(row); err != nil {
		return Answer{}, err
	}
	err = s.guarded(ctx, row.Document, "change", func() error {
		a, err = s.changeHere(ctx, row, r, k)
		return err
	})
	return a, err
}

func (s *Site) changeHere(ctx context.Context, row ResourceRow, r Request, k keeper) (Answer, error) {
	if err := s.takeLarge(ctx, r); err != nil {
		return Answer{}, err
	}
	c := s.crossingOf(r, k)
	c.Document, c.Resource, c.Target = row.Document, row.ID, ""
	res := s.registry.acquire(row.Document)
	defer s.registry.release(res)
	if err := res.take(ctx); err != nil {
		return Answer{}, fmt.Errorf("wait for other requests on %s: %w", row.ID, err)
	}
	defer res.pass()
	if err := s.settleEarlier(ctx, res); err != nil {
		return Answer{}, err
	}
	if _, err := s.drain(ctx, res); err != nil {
		return Answer{}, err
	}
	if a, here, err := s.arrived(ctx, res, r.Operation); here || err != nil {
		return a, err
	}
	before, local, err := s.standsAt(ctx, res)
	if err == nil && r.creates() && len(before.Absolute) > 0 { // it would be made without its bytes
		if err = s.remade(ctx, res, r.Kind); err == nil {
			before, local, err = s.standsAt(ctx, res)
		}
	}
	if err != nil {
		return Answer{}, err
	}
	if local == "" {
		return Answer{}, &Refusal{Status: http.StatusNotFound, Type: "gone", Detail: fmt.Sprintf("%s %s was deleted", row.Kind, row.ID)}
	}
	if c.Grows, err = s.growth(ctx, res, r); err != nil {
		return Answer{}, err
	}
	if len(c.Grows) > 0 {
		c.Placing, c.Forced = OperationID(s.cfg.NewID()), r.Forced
	}
	c.Operation.Body = s.inMeta(ctx, r.Kind, r.Within, c.Operation.Body)
	return s.cross(ctx, res, r.Kind, c, before, local)
}

// arrived answers a request whose operation has come here in its document already, which sees to it that it runs here.
func (s *Site) arrived(ctx context.Context, res *resource, id OperationID) (a Answer, here bool, err error) {
	res.mu.Lock()
	defer res.mu.Unlock()
	v, err := s.open(ctx, res)
	if err != nil {
		return Answer{}, false, err
	}
	o := v.history.Get(id)
	if o == nil {
		return Answer{}, false, nil
	}
	a = Answer{Status: http.StatusAccepted, Operation: id, Resource: v.about.Key, Site: s.cfg.Self}
	if v.settled(s.cfg.Self, o) {
		a.Status = cmp.Or(v.status(s.cfg.Self, o).Status, http.StatusOK)
	}
	return a, true, nil
}

// standsAt returns the fold that the application shows and its identifier of the resource; empty when it is not there.
func (s *Site) standsAt(ctx context.Context, res *resource) (Fold, LocalID, error) {
	res.mu.Lock()
	defer res.mu.Unlock()
	v, err := s.open(ctx, res)
	if errors.Is(err, ErrNotFound) { // what is to be created
		return Fold{}, "", nil
	}
	if err != nil {
		return Fold{}, "", err
	}
	if v.history.Len() >= maxOperations {
		s.cfg.Log.Error("a resource has too many operations: no more are accepted", "resource", string(v.about.Key),
			"operations", v.history.Len())
		return Fold{}, "", &Refusal{Status: http.StatusInsufficientStorage, Type: "storage", Detail: fmt.Sprintf(
			"%s %s takes no more: %s; nothing has happened", v.about.Kind, v.about.Key, cmp.Or(v.crowded(), "its history is full"))}
	}
	before := v.shown()
	if !before.Exists {
		return before, "", nil
	}
	return before, v.local(), nil
}

// alone runs a request at this site's application only.
func (s *Site) alone(ctx context.Context, r Request, k keeper) (Answer, error) {
	container, inside, err := s.containerOf(ctx, r.Kind, r.Within)
	switch {
	case err != nil:
		return Answer{}, err
	case inside:
		return s.runInside(ctx, r, container, k)
	}
	return s.runPlain(ctx, r, k)
}
