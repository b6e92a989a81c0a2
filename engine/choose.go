package engine

import (
	"context"
	"errors"
	"net/http"
	"slices"
)

// choose runs a request that concerns nothing replicated here at the first of its alternatives that takes it. The next one is
// tried only while it is certain that nothing has happened at those before. When no site of any can be reached, the request is
// kept for all of them.
func (s *Site) choose(ctx context.Context, r Request, k keeper) (Answer, error) {
	if len(r.Alternatives) == 0 {
		return s.at(ctx, r, k)
	}
	if r.Operation == "" { // one and the same wherever it is tried
		r.Operation = OperationID(s.cfg.NewID())
	}
	all := r.Alternatives
	// A site that may have had it under the same key before is asked alone.
	if i := slices.IndexFunc(all, func(a Alternative) bool { return slices.Contains(a.Placement, k.sent) }); i >= 0 {
		all = all[i : i+1]
	}
	var last func() (Answer, error)
	told := false // an agent has said why it does not take it
	open := r     // what is kept when nobody could be asked
	open.Alternatives = nil
	var sites []SiteID
	for _, a := range all {
		r.Placement, r.Parts, r.Agreement, r.ExactlyOne = a.Placement, a.Parts, a.Agreement, a.ExactlyOne
		answer, err := s.at(ctx, r, k)
		if !untouched(answer, err) {
			return answer, err
		}
		last, told = func() (Answer, error) { return answer, err }, told || !isUnreachable(err)
		if a.Agreement != AgreeOne { // it is for now or not at all
			continue
		}
		open.Alternatives = append(open.Alternatives, a)
		for _, id := range a.Placement {
			if !slices.Contains(sites, id) && id != s.cfg.Self {
				sites = append(sites, id)
			}
		}
	}
	if told || len(sites) == 0 {
		return last()
	}
	first := open.Alternatives[0]
	open.Placement, open.Parts, open.ExactlyOne = first.Placement, first.Parts, first.ExactlyOne
	return s.keepFor(ctx, open, sites, k)
}

// isUnreachable reports whether an error says that no site could be reached.
func isUnreachable(err error) bool {
	var r *Refusal
	return errors.Is(err, ErrUnreachable) || errors.As(err, &r) && r.Type == "unreachable"
}

// untouched reports whether it is certain that no application was asked: there was no connection to a site or to its
// application, or an agent refused before it called any.
func untouched(a Answer, err error) bool {
	status, kind := a.Status, problemType(a)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		status, kind = refusal.Status, refusal.Type
	case err != nil:
		return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrStorage)
	}
	switch kind {
	case "unreachable", "loop", "storage", "stranger", "unknown-service", "unknown-site", "catalog-mismatch", "no-replica":
		return true
	case "upstream":
		return status == http.StatusBadGateway
	}
	return false
}

// target is a site that may be handed a request, and how the request runs then.
type target struct {
	site SiteID
	as   Alternative
}

// targets lists where a kept request may go, the sites of each alternative by distance.
func (s *Site) targets(e *kept) []target {
	var list []target
	if len(e.Request.Alternatives) == 0 {
		for _, id := range s.nearest(e.Placement) {
			list = append(list, target{id, Alternative{Placement: e.Request.Placement, Parts: e.Request.Parts, ExactlyOne: e.Request.ExactlyOne}})
		}
	}
	for _, a := range e.Request.Alternatives {
		for _, id := range s.nearest(a.Placement) {
			if id != s.cfg.Self {
				list = append(list, target{id, a})
			}
		}
	}
	if e.Sent != "" {
		list = slices.DeleteFunc(list, func(t target) bool { return t.site != e.Sent })
	}
	return list
}
