package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// RestoreRequest says which value is to be set again.
type RestoreRequest struct {
	Path Pointer
	// From is the operation that had set it; empty where only one value was lost at Path.
	From OperationID
	User string
	// Credentials are the caller's own headers for the application; nil: the agent's.
	Credentials http.Header
}

// Restore sets a value again that a concurrent, later operation took the place of. It is a request like any client's: it runs
// at this site's application first and is an operation then. ErrNotFound: the document is not here; otherwise the error may
// be a *Refusal.
func (s *Site) Restore(ctx context.Context, id DocumentID, q RestoreRequest) (Answer, error) {
	r := s.registry.acquire(id)
	defer s.registry.release(r)
	if err := r.take(ctx); err != nil {
		return Answer{}, err
	}
	defer r.pass()
	if err := s.settleEarlier(ctx, r); err != nil {
		return Answer{}, err
	}
	if _, err := s.drain(ctx, r); err != nil {
		return Answer{}, err
	}
	lost, k, key, err := s.lostValue(ctx, r, q)
	if err != nil {
		return Answer{}, err
	}
	before, local, err := s.standsAt(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	if local == "" {
		return Answer{}, &Refusal{Status: http.StatusServiceUnavailable, Type: "no-replica",
			Detail: fmt.Sprintf("%s has no replica of %s %s now; nothing has happened", s.name(s.cfg.Self), k.Name, key)}
	}
	shown, err := s.representation(ctx, k, local)
	if err != nil {
		return Answer{}, &Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err, Detail: fmt.Sprintf(
			"the application's service %s does not show %s; nothing has happened", k.Service, key)}
	}
	set := &Change{Set: map[Pointer]json.RawMessage{}}
	if set.Set[q.Path] = lost.Value; lost.Value == nil {
		set = &Change{Unset: []Pointer{q.Path}}
	}
	request := Request{Kind: k, Type: TypeReplace, Method: http.MethodPut, Path: k.Item, User: q.User, Credentials: q.Credentials,
		Header: map[string]string{"Content-Type": "application/json"}}
	switch {
	case k.MergePatch:
		request.Type, request.Method, request.Header["Content-Type"] = TypeMerge, http.MethodPatch, s.mergeType(r)
		request.Body, err = set.MergePatch(k, shown)
	case k.JSONPatch != "":
		request.Type, request.Method, request.Header["Content-Type"] = TypePatch, http.MethodPatch, k.JSONPatch
		request.Body, err = set.JSONPatch(k, shown)
	default:
		request.Body, err = set.ApplyTo(k, shown)
	}
	if err != nil {
		return Answer{}, &Refusal{Status: http.StatusConflict, Type: "restore", Err: err,
			Detail: fmt.Sprintf("the representation of %s is not JSON: write it anew instead", key)}
	}
	c := s.crossingOf(request, keeper{})
	c.Document, c.Resource = id, key
	return s.cross(ctx, r, k, c, before, local)
}

// lostValue finds what is to be restored.
func (s *Site) lostValue(ctx context.Context, r *resource, q RestoreRequest) (Superseded, *Kind, ResourceID, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return Superseded{}, nil, "", fmt.Errorf("restore a value: %w", err)
	}
	var at []string
	found := v.lost()
	for _, l := range found {
		at = append(at, string(l.Path))
	}
	found = slices.DeleteFunc(found, func(l Superseded) bool { return l.Path != q.Path || q.From != "" && l.By != q.From })
	refuse := func(format string, args ...any) (Superseded, *Kind, ResourceID, error) {
		return Superseded{}, nil, "", &Refusal{Status: http.StatusNotFound, Type: "restore", Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(at) == 0:
		return refuse("no value of %s %s has been lost", v.about.Kind, v.about.Key)
	case len(found) == 0 && q.From != "":
		return refuse("operation %s has lost no value at %q; values were lost at %s", q.From, q.Path, strings.Join(slices.Compact(at), ", "))
	case len(found) == 0:
		return refuse("no value was lost at %q; values were lost at %s", q.Path, strings.Join(slices.Compact(at), ", "))
	case slices.ContainsFunc(found, func(l Superseded) bool { return string(l.Value) != string(found[0].Value) }):
		var from []string
		for _, l := range found {
			from = append(from, string(l.By))
		}
		return refuse("several values were lost at %q: say which operation had set the one to restore (%s)", q.Path, strings.Join(slices.Compact(from), ", "))
	}
	return found[0], v.kind, v.about.Key, nil
}
